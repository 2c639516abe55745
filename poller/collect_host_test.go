package poller

import (
	"context"
	"errors"
	"testing"
	"time"

	"monolith"
	"monolith/poller/host"
)

// fakeHost gives a report and keeps what it was asked for.
type fakeHost struct {
	report *host.Report
	err    error
	asked  host.Target
}

func (f *fakeHost) Name() string { return "local" }

func (f *fakeHost) Read(_ context.Context, target host.Target) (*host.Report, error) {
	f.asked = target
	return f.report, f.err
}

func TestHostNamesAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	boot := time.Unix(1000, 0)
	f := &fakeHost{report: &host.Report{
		Taken: boot.Add(time.Hour), BootTime: boot, Hostname: "db\x001", OS: "linux",
		CPU:    &host.CPU{Cores: 8, User: 10, Nice: 1, System: 5, IOWait: 2, Idle: 82},
		Load:   &host.Load{One: 1.5, Five: 1, Fifteen: 0.5, Running: -1, Blocked: -1},
		Memory: &host.Memory{Total: 1000, Available: 400, Free: 100}, Swap: &host.Swap{Total: 50, Used: 5, In: 7},
		Disks:   []host.Disk{{Name: "sda", ReadBytes: 11, BusyTime: 0.25, Flushes: 4}, {Name: "sdb", Flushes: -1}},
		TmpDirs: []host.TmpDir{{Path: "/tmp", Size: 90, Used: 9, Available: 81}},
		Mounts: []host.Mount{{Path: "/", Size: 100, Used: 40, Available: 55}, {Path: "/data", Size: 10, Inodes: 9, InodesUsed: 3, DataDir: true, Type: "ext4",
			Options: []string{"rw"}, Holds: []string{"datadir"}, Disks: []string{"sda"}}},
		Nets:    []host.Net{{Name: "eth0", Sent: 3, ReceiveDrops: 1}},
		Process: &host.Process{PID: 1, Resident: 77, CPU: 1.25, OpenFiles: -1},
		Limits:  &host.Limits{Memory: 800, MemoryUsed: 300, CPU: 2, Tasks: 5, OOMKills: 1},
		Logs:    []host.Log{{Kind: "general_log", Size: 12}},
		System:  &host.System{Swappiness: 0, Overcommit: -1, HugePages: "never", FileHandles: 10, FileHandleLimit: 100, OOMKills: -1},
		Notes:   []string{"disks can't be read"},
	}}
	c := hostCollector(f)
	snap, err := collect(t, c, server("8.4.0", ""), &fakeSession{}, func(g *Gather) {
		g.Variables = variablesOf(map[string]string{"pid_file": "m.pid", "datadir": "/d", "port": "3307", "socket": "/s", "tmpdir": "/tmp",
			"log_bin_basename": "/b/binlog", "log_error": "stderr", "innodb_undo_directory": "NULL"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := (host.Target{PIDFile: "m.pid", DataDir: "/d", Port: 3307, Socket: "/s", TmpDir: "/tmp",
		Places: host.Places{InnoDB: "/d", Binlog: "/b/binlog"}}); f.asked != want {
		t.Errorf("asked for %+v", f.asked)
	}
	wants(t, snap, map[string]string{
		"host.cpu_user_seconds_total": "10", "host.cpu_seconds_total": "100", "host.cores": "2", "host.load1": "1.5", "host.procs_blocked": "absent",
		"host.memory_total_bytes": "1000", "host.memory_limit_bytes": "800", "host.cgroup_memory_bytes": "300", "host.swap_in_bytes_total": "7",
		"host.uptime_seconds": "3600", "host.disk_read_bytes_total[sda]": "11", "host.disk_busy_seconds_total[sda]": "0.25",
		"host.disk_flushes_total[sda]": "4", "host.disk_flushes_total[sdb]": "absent", "host.tmpdir_used_bytes[/tmp]": "9",
		"host.tmpdir_size_bytes[/tmp]": "90", "host.tmpdir_available_bytes[/tmp]": "81",
		"host.mount_used_bytes[/]": "40", "host.mount_inodes[/]": "absent", "host.mount_inodes_used[/data]": "3",
		"host.net_sent_bytes_total[eth0]": "3", "host.net_receive_drops_total[eth0]": "1",
		"host.log_file_bytes[general_log]": "12", "host.log_file_bytes[slow_log]": "absent", "host.tasks": "5", "host.tasks_limit": "absent", "host.cgroup_oom_kills_total": "1", "host.oom_kills_total": "absent", "host.swappiness": "0",
		"host.overcommit_memory": "absent", "host.file_handles": "10", "host.file_handles_limit": "100", "host.pids_limit": "absent",
		"host.mysqld_resident_bytes": "77", "host.mysqld_cpu_seconds_total": "1.25", "host.mysqld_open_files": "absent",
	})
	if text(snap, "host.datadir_mount") != "/data" || text(snap, "host.datadir_type") != "ext4" || text(snap, "host.transparent_huge_pages") != "never" || text(snap, "host.hostname") != "db\uFFFD1" || problemKinds(snap) != "[partial]" {
		t.Errorf("texts %q, problems %v", snap.Sections[0].Texts, snap.Problems)
	}
	if m := snap.Mounts; len(m) != 2 || m[0].Server || m[0].Holds == nil || !m[1].Server || m[1].Devices[0] != "sda" || len(snap.Devices) != 2 {
		t.Errorf("mounts %+v, devices %+v", m, snap.Devices)
	}

	// What can't be read is left out, never 0.
	f.report = &host.Report{}
	snap, err = collect(t, c, server("8.4.0", ""), &fakeSession{})
	if err != nil || snap.Sections[0].NumNames.Len() != 0 {
		t.Errorf("an empty report gives %d numbers, %v", snap.Sections[0].NumNames.Len(), err)
	}
	f.err = errors.New("no /proc")
	if _, err = collect(t, c, server("8.4.0", ""), &fakeSession{}); err == nil {
		t.Error("a host that can't be read is no error")
	}
	if ok, why := c.Applies(&Gather{Server: &monolith.Server{Host: "none"}}); ok || why == "" {
		t.Error("the host is read without a source")
	}
}
