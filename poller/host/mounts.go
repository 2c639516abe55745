package host

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"
)

// unreal are filesystems without space of their own, and those over a network: asking a dead file
// server how full it is takes for ever. Types that begin with "fuse." are left out too.
var unreal = map[string]bool{
	"proc": true, "sysfs": true, "cgroup": true, "cgroup2": true, "devtmpfs": true, "devpts": true, "tmpfs": true, "ramfs": true,
	"mqueue": true, "debugfs": true, "tracefs": true, "securityfs": true, "pstore": true, "bpf": true, "autofs": true,
	"hugetlbfs": true, "configfs": true, "fusectl": true, "squashfs": true, "rpc_pipefs": true, "nsfs": true, "binfmt_misc": true,
	"efivarfs": true, "overlay": true, "aufs": true, "iso9660": true, "udf": true, "devfs": true, "fdescfs": true, "linprocfs": true,
	"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "afs": true, "9p": true, "ceph": true, "glusterfs": true, "selinuxfs": true,
}

// network are the types of those over a network.
var network = map[string]bool{"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "afs": true, "ceph": true, "glusterfs": true}

// mounts gives the real filesystems, one per device, and in any case the one that the data directory lies
// on, unless it is on a network.
func (l *Local) mounts(ctx context.Context, all []disk.PartitionStat, dataDir string, r *Report) []Mount {
	data := mountOf(all, dataDir)
	kept := map[string]disk.PartitionStat{}
	for _, p := range all {
		if unreal[p.Fstype] || strings.HasPrefix(p.Fstype, "fuse.") {
			continue
		}
		// A device that is mounted several times (bind mounts, subvolumes) has its space once.
		if old, ok := kept[p.Device]; !ok || len(p.Mountpoint) < len(old.Mountpoint) {
			kept[p.Device] = p
		}
	}
	if data != nil && !network[data.Fstype] {
		if _, ok := kept[data.Device]; !ok {
			kept[data.Device] = *data
		}
	}
	list := []Mount{}
	for _, p := range kept {
		u, err := disk.UsageWithContext(ctx, p.Mountpoint)
		if err != nil {
			r.Notes = append(r.Notes, "the mount "+p.Mountpoint+" can't be read: "+err.Error())
			continue
		}
		if u.Total == 0 {
			continue
		}
		list = append(list, Mount{
			Path: p.Mountpoint, Device: p.Device, Type: p.Fstype, Size: u.Total, Used: u.Used, Available: u.Free,
			Inodes: u.InodesTotal, InodesUsed: u.InodesUsed,
			ReadOnly: slices.Contains(p.Opts, "ro"),
			DataDir:  data != nil && data.Device == p.Device,
		})
	}
	slices.SortFunc(list, func(a, b Mount) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// tmpDirs measures the filesystems of the folders that the server puts temporary files into. Any kind will do, also one in
// memory, but not one over a network.
func tmpDirs(ctx context.Context, all []disk.PartitionStat, folders string, r *Report) []TmpDir {
	list := []TmpDir{}
	for _, dir := range filepath.SplitList(folders) {
		if !filepath.IsAbs(dir) || slices.ContainsFunc(list, func(d TmpDir) bool { return d.Path == dir }) {
			continue
		}
		if m := mountOf(all, dir); m != nil && network[m.Fstype] {
			r.Notes = append(r.Notes, "the folder "+dir+" for temporary files lies on a network, which is not asked how full it is")
			continue
		}
		u, err := disk.UsageWithContext(ctx, dir)
		if err != nil {
			r.Notes = append(r.Notes, "the folder "+dir+" for temporary files can't be read: "+err.Error())
			continue
		}
		list = append(list, TmpDir{Path: dir, Size: u.Total, Used: u.Used, Available: u.Free})
	}
	return list
}

// mountOf gives the mount that a folder lies on: the longest mount point above it, the last one where it
// was mounted over.
func mountOf(all []disk.PartitionStat, dir string) *disk.PartitionStat {
	if dir == "" || !filepath.IsAbs(dir) {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	dir = filepath.Clean(dir)
	var best *disk.PartitionStat
	for i := range all {
		m := all[i].Mountpoint
		if dir != m && m != "/" && !strings.HasPrefix(dir, m+"/") {
			continue
		}
		if best == nil || len(m) >= len(best.Mountpoint) {
			best = &all[i]
		}
	}
	return best
}
