package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/disk"
)

// setUpAgain is how long what seldom changes (settings of devices, where files lie) is kept.
const setUpAgain = time.Minute

// setup is how a machine's disks are set up and what of a server lies where.
type setup struct {
	at     time.Time
	mounts map[string]Mount // by path: only Options, Holds and Disks
	disks  map[string]Disk  // by name: only what setUp fills in
}

// setUp fills in what is known of mounts and disks beside their counters.
func (l *Local) setUp(target Target, all []disk.PartitionStat, r *Report) {
	l.mu.Lock()
	s, ok := l.setups[target]
	l.mu.Unlock()
	if !ok || r.Taken.Sub(s.at) >= setUpAgain || r.Taken.Before(s.at) || !s.covers(r) {
		s = l.readSetup(target, all, r)
		l.mu.Lock()
		l.setups[target] = s
		l.mu.Unlock()
	}
	for i := range r.Mounts {
		m := &r.Mounts[i]
		k := s.mounts[m.Path]
		m.Options, m.Holds, m.Disks = k.Options, k.Holds, k.Disks
	}
	for i := range r.Disks {
		d := &r.Disks[i]
		k := s.disks[d.Name]
		d.Rotational, d.Scheduler, d.Schedulers, d.WriteCache = k.Rotational, k.Scheduler, k.Schedulers, k.WriteCache
		d.Kind, d.Virtual, d.Holds = k.Kind, k.Virtual, k.Holds
	}
}

// covers reports whether the setup knows all mounts and disks of a report.
func (s setup) covers(r *Report) bool {
	for i := range r.Mounts {
		if _, ok := s.mounts[r.Mounts[i].Path]; !ok {
			return false
		}
	}
	for i := range r.Disks {
		if _, ok := s.disks[r.Disks[i].Name]; !ok {
			return false
		}
	}
	return true
}

func (l *Local) readSetup(target Target, all []disk.PartitionStat, r *Report) setup {
	s := setup{at: r.Taken, mounts: map[string]Mount{}, disks: map[string]Disk{}}
	holds := placesByDevice(target, all)
	below := map[string][]string{} // disk → what lies on it
	for i := range r.Mounts {
		m := &r.Mounts[i]
		k := Mount{Holds: holds[m.Device], Disks: l.wholeDisks(m.Device)}
		if p := slices.IndexFunc(all, func(p disk.PartitionStat) bool { return p.Mountpoint == m.Path && p.Device == m.Device }); p >= 0 {
			k.Options = slices.Clone(all[p].Opts)
		}
		s.mounts[m.Path] = k
		for _, name := range k.Disks {
			below[name] = append(below[name], k.Holds...)
		}
	}
	for i := range r.Disks {
		name := r.Disks[i].Name
		d := l.describeDisk(name)
		slices.Sort(below[name])
		d.Holds = slices.Compact(below[name])
		s.disks[name] = d
	}
	return s
}

// placesByDevice says what of the server lies on which device, by the device's name in the table of mounts.
func placesByDevice(target Target, all []disk.PartitionStat) map[string][]string {
	holds := map[string][]string{}
	put := func(what, dir string) {
		if m := mountOf(all, dir); m != nil && !slices.Contains(holds[m.Device], what) {
			holds[m.Device] = append(holds[m.Device], what)
		}
	}
	put("datadir", target.DataDir)
	for _, dir := range filepath.SplitList(target.TmpDir) {
		put("tmpdir", dir)
	}
	for _, x := range target.places() {
		path := x.path
		if x.file {
			path = filepath.Dir(path)
		}
		put(x.what, path)
	}
	return holds
}

// place is one of the target's files or folders.
type place struct {
	what, path string
	file       bool
}

// places gives those that are known, with whole paths.
func (t Target) places() []place {
	p := t.Places
	list := []place{
		{"binlog", p.Binlog, true}, {"relay_log", p.RelayLog, true}, {"redo", p.Redo, false}, {"undo", p.Undo, false}, {"innodb", p.InnoDB, false},
		{"slow_log", p.SlowLog, true}, {"general_log", p.GeneralLog, true}, {"error_log", p.ErrorLog, true},
	}
	list = slices.DeleteFunc(list, func(x place) bool { return x.path == "" })
	for i := range list {
		if !filepath.IsAbs(list[i].path) {
			list[i].path = filepath.Join(t.DataDir, list[i].path)
		}
	}
	return list
}

// logs measures the log files. One that is not there or lies out of sight is left out, and so is one over a network: asking a dead
// file server takes for ever.
func logs(target Target, all []disk.PartitionStat) []Log {
	var list []Log
	for _, x := range target.places() {
		if !strings.HasSuffix(x.what, "_log") || x.what == "relay_log" || !filepath.IsAbs(x.path) {
			continue
		}
		if m := mountOf(all, filepath.Dir(x.path)); m != nil && network[m.Fstype] {
			continue
		}
		if info, err := os.Stat(x.path); err == nil && info.Mode().IsRegular() {
			list = append(list, Log{Kind: x.what, Size: uint64(info.Size())})
		}
	}
	return list
}

// wholeDisks gives the whole disks that a device of the table of mounts lies on: through partitions, the device mapper and
// software RAID. nil where there are none to be found, as with network and in-memory filesystems and with ZFS.
func (l *Local) wholeDisks(device string) []string {
	if !strings.HasPrefix(device, "/dev/") {
		return nil
	}
	name := filepath.Base(device)
	if _, err := os.Stat(filepath.Join(l.sys, "class/block", name)); err != nil {
		real, err := filepath.EvalSymlinks(device) // /dev/mapper/vg-data, /dev/disk/by-uuid/…
		if err != nil {
			return nil
		}
		name = filepath.Base(real)
	}
	var disks []string
	l.descend(name, 0, &disks)
	slices.Sort(disks)
	return slices.Compact(disks)
}

// maxLayers is how many layers of devices may lie on each other.
const maxLayers = 8

func (l *Local) descend(name string, layer int, disks *[]string) {
	dir := filepath.Join(l.sys, "class/block", name)
	if layer > maxLayers {
		return
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			l.descend(filepath.Base(filepath.Dir(real)), layer+1, disks)
		}
		return
	}
	slaves, _ := os.ReadDir(filepath.Join(dir, "slaves"))
	for _, s := range slaves {
		l.descend(s.Name(), layer+1, disks)
	}
	if _, err := os.Stat(dir); err == nil && len(slaves) == 0 {
		*disks = append(*disks, name)
	}
}

// describeDisk reads what the system says of a device.
func (l *Local) describeDisk(name string) Disk {
	dir := filepath.Join(l.sys, "block", name)
	d := Disk{Kind: kindOfDisk(name)}
	if n, ok := readNumber(dir, "queue/rotational"); ok {
		d.Rotational = new(n != 0)
	}
	text := func(file string) string {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || len(b) > 256 {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	d.Scheduler, d.Schedulers = parseChoice(text("queue/scheduler"))
	d.WriteCache = text("queue/write_cache")
	d.Virtual = d.Kind == "virtual" || isVirtual(text("device/vendor")+" "+text("device/model"))
	return d
}

func kindOfDisk(name string) string {
	for _, k := range []struct{ prefix, kind string }{
		{"nvme", "nvme"}, {"sd", "sata"}, {"hd", "sata"}, {"vd", "virtual"}, {"xvd", "virtual"}, {"mmcblk", "mmc"},
	} {
		if strings.HasPrefix(name, k.prefix) {
			return k.kind
		}
	}
	return "other"
}

// isVirtual knows the names that disks of virtual machines and clouds go by.
func isVirtual(model string) bool {
	model = strings.ToLower(model)
	return slices.ContainsFunc([]string{"qemu", "vmware", "virtual", "vbox", "msft", "google", "amazon", "xen", "nutanix"}, func(s string) bool {
		return strings.Contains(model, s)
	})
}
