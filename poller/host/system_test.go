package host

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shirou/gopsutil/v4/disk"
)

func TestSystem(t *testing.T) {
	t.Parallel()
	l := files(t, map[string]string{
		"proc/sys/vm/swappiness": "60\n", "proc/sys/vm/overcommit_memory": "2\n", "proc/sys/kernel/pid_max": "4194304\n",
		"proc/sys/fs/file-nr": "2048\t48\t9223372036854775807\n", "proc/vmstat": "pswpin 4\noom_kill_x 9\noom_kill 3\n",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
	})
	want := &System{Swappiness: 60, Overcommit: 2, HugePages: "madvise", FileHandles: 2000, FileHandleLimit: 9223372036854775807, PIDLimit: 4194304, OOMKills: 3}
	if diff := cmp.Diff(want, l.system()); diff != "" {
		t.Error(diff)
	}
	// What is not there is not 0.
	l = files(t, map[string]string{"proc/sys/vm/swappiness": "nonsense", "proc/vmstat": "pswpin 4\n"})
	if diff := cmp.Diff(&System{Swappiness: -1, Overcommit: -1, OOMKills: -1}, l.system()); diff != "" {
		t.Error(diff)
	}
	if l = files(t, nil); l.system() != nil {
		t.Error("a system without /proc/sys is described")
	}
}

func TestParseChoice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"[none] mq-deadline kyber": "none", "mq-deadline [cfq]": "cfq", "none\n": "none", "": "", "a b": "", "[]": ""} {
		now, all := parseChoice(text)
		if now != want || now != "" && !slices.Contains(all, now) {
			t.Errorf("%q: %q of %q", text, now, all)
		}
	}
}

func FuzzParseSystem(f *testing.F) {
	f.Add("always [madvise] never")
	f.Add("2048 0 9223372036854775807")
	f.Add("oom_kill 3\noom_kill 99999999999999999999\n")
	f.Fuzz(func(t *testing.T, text string) {
		if now, all := parseChoice(text); now != "" && len(all) == 0 {
			t.Errorf("%q: %q of nothing", text, now)
		}
		if n := killsIn(text); n < -1 {
			t.Errorf("%q: %d", text, n)
		}
		parseFileNr(text)
	})
}

// blockTree is a /sys with a disk of two partitions, a RAID of two disks under LVM, and an NVMe disk.
func blockTree(t *testing.T) *Local {
	t.Helper()
	l := files(t, map[string]string{
		"sys/devices/a/block/sda/queue/rotational":     "1\n",
		"sys/devices/a/block/sda/queue/scheduler":      "mq-deadline kyber [cfq] none\n",
		"sys/devices/a/block/sda/queue/write_cache":    "write back\n",
		"sys/devices/a/block/sda/device/model":         "ST4000NM0033\n",
		"sys/devices/a/block/sda/sda2/partition":       "2\n",
		"sys/devices/b/block/sdb/queue/rotational":     "0\n",
		"sys/devices/b/block/sdb/device/vendor":        "QEMU    \n",
		"sys/devices/virtual/block/md0/slaves/sda2/x":  "",
		"sys/devices/virtual/block/md0/slaves/sdb/x":   "",
		"sys/devices/virtual/block/dm-0/slaves/md0/x":  "",
		"sys/devices/c/block/nvme0n1/queue/scheduler":  "[none]\n",
		"sys/devices/c/block/nvme0n1/queue/rotational": "0\n",
	})
	for _, dir := range []string{"class/block", "block"} {
		if err := os.MkdirAll(filepath.Join(l.sys, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, at := range map[string]string{"sda": "a/block/sda", "sda2": "a/block/sda/sda2", "sdb": "b/block/sdb", "md0": "virtual/block/md0",
		"dm-0": "virtual/block/dm-0", "nvme0n1": "c/block/nvme0n1"} {
		for _, dir := range []string{"class/block", "block"} {
			if err := os.Symlink(filepath.Join(l.sys, "devices", at), filepath.Join(l.sys, dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

func TestWholeDisks(t *testing.T) {
	t.Parallel()
	l := blockTree(t)
	for device, want := range map[string][]string{
		"/dev/sda2": {"sda"}, "/dev/sda": {"sda"}, "/dev/md0": {"sda", "sdb"}, "/dev/dm-0": {"sda", "sdb"}, "/dev/nvme0n1": {"nvme0n1"},
		"/dev/nothing": nil, "tank/data": nil, "host:/export": nil,
	} {
		if diff := cmp.Diff(want, l.wholeDisks(device)); diff != "" {
			t.Errorf("%s: %s", device, diff)
		}
	}
}

func TestDescribeDisk(t *testing.T) {
	t.Parallel()
	l := blockTree(t)
	want := Disk{Rotational: new(true), Scheduler: "cfq", Schedulers: []string{"mq-deadline", "kyber", "cfq", "none"}, WriteCache: "write back", Kind: "sata"}
	if diff := cmp.Diff(want, l.describeDisk("sda")); diff != "" {
		t.Error(diff)
	}
	if d := l.describeDisk("sdb"); !d.Virtual || d.Rotational == nil || *d.Rotational || d.Scheduler != "" {
		t.Errorf("%+v", d)
	}
	if d := l.describeDisk("vda"); !d.Virtual || d.Kind != "virtual" || d.Rotational != nil {
		t.Errorf("%+v", d)
	}
}

// TestSetUp: what lies where is told of mounts and disks, and kept for a minute.
func TestSetUp(t *testing.T) {
	t.Parallel()
	l := blockTree(t)
	all := []disk.PartitionStat{{Device: "/dev/nvme0n1", Mountpoint: "/", Opts: []string{"rw", "relatime"}},
		{Device: "/dev/dm-0", Mountpoint: "/nowhere/mysql", Opts: []string{"rw", "noatime"}}}
	target := Target{DataDir: "/nowhere/mysql/data", TmpDir: "/nowhere2/tmp", Places: Places{Binlog: "binlog/b", Redo: "./", ErrorLog: "/nowhere2/log/error.log", Undo: "."}}
	read := func(at time.Time, names ...string) *Report {
		r := &Report{Taken: at, Mounts: []Mount{{Path: "/", Device: "/dev/nvme0n1"}, {Path: "/nowhere/mysql", Device: "/dev/dm-0"}}}
		for _, name := range names {
			r.Disks = append(r.Disks, Disk{Name: name})
		}
		l.setUp(target, all, r)
		return r
	}
	now := time.Unix(1_000_000, 0)
	r := read(now, "sda", "sdb", "nvme0n1")
	data := r.Mounts[1]
	if !slices.Equal(data.Holds, []string{"datadir", "binlog", "redo", "undo"}) || !slices.Equal(data.Disks, []string{"sda", "sdb"}) || !slices.Equal(data.Options, []string{"rw", "noatime"}) {
		t.Errorf("%+v", data)
	}
	if !slices.Equal(r.Mounts[0].Holds, []string{"tmpdir", "error_log"}) || !slices.Contains(r.Disks[0].Holds, "redo") || r.Disks[0].Scheduler != "cfq" {
		t.Errorf("%+v, %+v", r.Mounts[0], r.Disks[0])
	}
	scheduler := filepath.Join(l.sys, "devices/a/block/sda/queue/scheduler")
	if err := os.WriteFile(scheduler, []byte("[none]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r = read(now.Add(30*time.Second), "sda", "sdb", "nvme0n1"); r.Disks[0].Scheduler != "cfq" {
		t.Error("settings are read at each poll")
	}
	if r = read(now.Add(time.Minute), "sda", "sdb", "nvme0n1"); r.Disks[0].Scheduler != "none" {
		t.Errorf("a minute later it is still %q", r.Disks[0].Scheduler)
	}
	if r = read(now.Add(70*time.Second), "sda", "sdb", "nvme0n1", "md0"); r.Disks[3].Kind != "other" {
		t.Errorf("a new disk is not described: %+v", r.Disks[3])
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, size := range map[string]int{"general.log": 7, "error.log": 0} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := Target{DataDir: dir, Places: Places{GeneralLog: "general.log", ErrorLog: filepath.Join(dir, "error.log"), SlowLog: "gone.log", RelayLog: "general.log", Redo: "./"}}
	if diff := cmp.Diff([]Log{{Kind: "general_log", Size: 7}, {Kind: "error_log"}}, logs(target, nil)); diff != "" {
		t.Error(diff)
	}
	far := []disk.PartitionStat{{Mountpoint: "/", Fstype: "nfs4"}}
	if got := logs(target, far); got != nil {
		t.Errorf("asked a file server: %+v", got)
	}
	if got := logs(Target{Places: Places{GeneralLog: "general.log"}}, nil); got != nil {
		t.Errorf("without a data directory: %+v", got)
	}
}
