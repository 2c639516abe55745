package host

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/net"
)

func TestLocalReadsThisMachine(t *testing.T) {
	t.Parallel()
	l := NewLocal()
	tmp := t.TempDir()
	r, err := l.Read(t.Context(), Target{DataDir: t.TempDir(), TmpDir: tmp + ":/no/such/folder:" + tmp + ":relative"})
	if err != nil {
		t.Fatal(err)
	}
	if r.CPU == nil || r.CPU.Cores < 1 || r.CPU.Total() <= 0 || r.CPU.Idle >= r.CPU.Total() {
		t.Errorf("CPU %+v", r.CPU)
	}
	if r.Memory == nil || r.Memory.Total < 1<<24 || r.Memory.Available > r.Memory.Total {
		t.Errorf("memory %+v", r.Memory)
	}
	if len(r.TmpDirs) != 1 || r.TmpDirs[0].Path != tmp || r.TmpDirs[0].Size == 0 || r.TmpDirs[0].Used > r.TmpDirs[0].Size {
		t.Errorf("folders for temporary files %+v", r.TmpDirs)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "/no/such/folder") {
		t.Errorf("a folder that is not there is not noted: %q", r.Notes)
	}
	data := 0
	for _, m := range r.Mounts {
		if m.Size == 0 || m.Used > m.Size {
			t.Errorf("mount %+v", m)
		}
		if m.DataDir {
			data++
		}
	}
	if data != 1 {
		t.Errorf("the data directory lies on %d of %+v", data, r.Mounts)
	}
	later, err := l.Read(t.Context(), Target{})
	// Linux may take back some of the time that it counted as waiting for a disk.
	if err != nil || later.CPU.Total() < r.CPU.Total()-1 || later.Swap.In < r.Swap.In {
		t.Errorf("counters fell: %+v, %+v (%v)", r.CPU, later.CPU, err)
	}
	b, err := json.Marshal(r)
	var back Report
	if err != nil || json.Unmarshal(b, &back) != nil || !cmp.Equal(back.CPU, r.CPU) || !cmp.Equal(back.Mounts, r.Mounts) ||
		!cmp.Equal(back.System, r.System) || !cmp.Equal(back.Disks, r.Disks) {
		t.Errorf("the report does not survive JSON: %v", err)
	}
}

func TestCompareArgs(t *testing.T) {
	t.Parallel()
	target := Target{DataDir: "/var/lib/mysql/", Socket: "/run/mysqld.sock", PIDFile: "/run/mysqld.pid", Port: 3306}
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"/usr/sbin/mysqld"}, 0},
		{[]string{"mysqld", "--defaults-file=/etc/my.cnf"}, 0},
		{[]string{"mysqld", "--datadir=/var/lib/mysql"}, 1},
		{[]string{"mysqld", "--pid_file=/run/mysqld.pid"}, 1},
		{[]string{"mysqld", "--port=3307"}, -1},
		{[]string{"mysqld", "--port=3307", "--socket=/run/mysqld.sock"}, 1},
		{[]string{"mysqld", "--datadir=/other", "--user=mysql"}, -1},
	} {
		if got := compareArgs(c.args, target); got != c.want {
			t.Errorf("%q gives %d, want %d", c.args, got, c.want)
		}
	}
}

func TestRealDisksAreWholeDevices(t *testing.T) {
	t.Parallel()
	all := map[string]disk.IOCountersStat{}
	for _, name := range []string{"sda", "sda1", "sda12", "nvme0n1", "nvme0n1p2", "mmcblk0", "mmcblk0p1", "loop0", "ram3", "zram0", "sr0", "dm-0", "md127", "vdb1"} {
		all[name] = disk.IOCountersStat{ReadTime: 1500}
	}
	var got []string
	for _, d := range realDisks(all, map[string]int64{"sda": 7}) {
		got = append(got, d.Name)
		if want := map[bool]int64{true: 7, false: -1}[d.Name == "sda"]; d.Flushes != want {
			t.Errorf("%s was flushed %d times, want %d", d.Name, d.Flushes, want)
		}
		if d.ReadTime != 1.5 {
			t.Errorf("1500 ms are %v s", d.ReadTime)
		}
	}
	if diff := cmp.Diff([]string{"dm-0", "md127", "mmcblk0", "nvme0n1", "sda", "vdb1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseFlushes(t *testing.T) {
	t.Parallel()
	const text = "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n" + // Linux 5.5 and later
		"   8      16 sdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n   8      32 sdc 1 2 3 4 5 6 7 8 9 10 11\nnonsense\n"
	if diff := cmp.Diff(map[string]int64{"sda": 16}, parseFlushes(text)); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseFlushes(f *testing.F) {
	f.Add("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 -16 17\n\n")
	f.Add("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 99999999999999999999 17")
	f.Fuzz(func(t *testing.T, text string) {
		for name, n := range parseFlushes(text) {
			if n < 0 || name == "" {
				t.Errorf("%q was flushed %d times", name, n)
			}
		}
	})
}

func TestTmpDirsOverANetworkAreNotAsked(t *testing.T) {
	t.Parallel()
	r := &Report{}
	got := tmpDirs(t.Context(), []disk.PartitionStat{{Mountpoint: "/", Fstype: "ext4"}, {Mountpoint: "/far", Fstype: "nfs4"}}, "/far/tmp", r)
	if len(got) != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "network") {
		t.Errorf("%+v, %q", got, r.Notes)
	}
	if got := tmpDirs(t.Context(), nil, "", r); len(got) != 0 || len(r.Notes) != 1 {
		t.Errorf("without a folder: %+v, %q", got, r.Notes)
	}
}

func TestRealNets(t *testing.T) {
	t.Parallel()
	got := realNets([]net.IOCountersStat{{Name: "lo", BytesRecv: 1}, {Name: "veth12", BytesSent: 1}, {Name: "unused0"}, {Name: "eth0", BytesRecv: 5, Errin: 2, Dropout: 3}})
	if diff := cmp.Diff([]Net{{Name: "eth0", Received: 5, ReceiveErrors: 2, SendDrops: 3}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMountOf(t *testing.T) {
	t.Parallel()
	all := []disk.PartitionStat{{Mountpoint: "/", Device: "root"}, {Mountpoint: "/nowhere/data", Device: "old"}, {Mountpoint: "/nowhere/data", Device: "over"},
		{Mountpoint: "/nowhere/data2", Device: "other"}}
	for dir, want := range map[string]string{"/nowhere/data/mysql": "over", "/nowhere/data": "over", "/nowhere/data2/x": "other", "/nowhere/dat": "root"} {
		if m := mountOf(all, dir); m == nil || m.Device != want {
			t.Errorf("%s lies on %+v, want %s", dir, m, want)
		}
	}
	if mountOf(all, "") != nil || mountOf(all, "./data") != nil {
		t.Error("a folder that is not known has a mount")
	}
}

// files makes a source of a /proc and a /sys with the given content.
func files(t *testing.T, content map[string]string) *Local {
	t.Helper()
	root := t.TempDir()
	for name, text := range content {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return newLocal(filepath.Join(root, "proc"), filepath.Join(root, "sys"), time.Now)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	v2 := files(t, map[string]string{
		"proc/77/cgroup": "0::/system.slice/mariadb.service\n",
		"sys/fs/cgroup/system.slice/mariadb.service/memory.max":     "max\n",
		"sys/fs/cgroup/system.slice/mariadb.service/memory.current": "5\n",
		"sys/fs/cgroup/system.slice/mariadb.service/cpu.max":        "max 100000\n",
		"sys/fs/cgroup/system.slice/memory.max":                     "2147483648\n",
		"sys/fs/cgroup/system.slice/memory.current":                 "1073741824\n",
		"sys/fs/cgroup/cpu.max":                                     "150000 100000\n",
		"sys/fs/cgroup/system.slice/mariadb.service/pids.current":   "44\n",
		"sys/fs/cgroup/system.slice/mariadb.service/pids.max":       "max\n",
		"sys/fs/cgroup/system.slice/pids.max":                       "512\n",
		"sys/fs/cgroup/system.slice/pids.current":                   "900\n",
		"sys/fs/cgroup/system.slice/mariadb.service/memory.events":  "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n",
		"sys/fs/cgroup/system.slice/memory.events":                  "oom_kill 99\n",
	})
	if diff := cmp.Diff(&Limits{Memory: 2 << 30, MemoryUsed: 1 << 30, CPU: 1.5, Tasks: 44, TasksLimit: 512, OOMKills: 1}, v2.limits(77)); diff != "" {
		t.Error(diff)
	}
	v1 := files(t, map[string]string{
		"proc/self/cgroup": "5:pids:/docker/abc\n4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/docker/abc\n",
		"sys/fs/cgroup/memory/docker/abc/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
		"sys/fs/cgroup/pids/docker/abc/pids.current":            "5\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":            "9223372036854771712\n",
		"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "536870912\n",
		"sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": "7\n",
		"sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us":         "-1\n",
		"sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us":        "100000\n",
	})
	if diff := cmp.Diff(&Limits{Memory: 512 << 20, MemoryUsed: 7, Tasks: 5, OOMKills: 3}, v1.limits(0)); diff != "" {
		t.Error(diff)
	}
	if got := files(t, nil).limits(0); got != nil {
		t.Errorf("without control groups: %+v", got)
	}
}
