package poller

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"monolith"
	"monolith/poller/host"
)

// hostCollector reads the machine that a server runs on. It needs no connection and goes on while the
// server is down.
func hostCollector(source host.Source) *Collector {
	return &Collector{
		Name:    "host",
		Title:   "Host",
		Help:    "CPU, load, memory, swap, disks, mounts and network of the server's machine, and the server's process.",
		Timeout: 5 * time.Second,
		Host:    true,
		Applies: func(g *Gather) (bool, string) {
			if g.Server.Host != source.Name() {
				return false, "no host source is set up for this server: host values of its machine are not read"
			}
			return true, ""
		},
		Collect: func(ctx context.Context, g *Gather) error {
			report, err := source.Read(ctx, targetOf(g))
			if err != nil {
				return fmt.Errorf("poller: host: %w", err)
			}
			rec := g.Recorder("host")
			recordHost(rec, report)
			recordSystem(rec, report)
			rec.Done()
			g.snapshot.Mounts, g.snapshot.Devices = mountRows(report), deviceRows(report)
			for _, note := range report.Notes {
				g.Note(monolith.ProblemPartial, printable(note), "")
			}
			return nil
		},
	}
}

// targetOf says which process is meant, from the variables as far as they are known.
func targetOf(g *Gather) host.Target {
	t := host.Target{PIDFile: g.variable("pid_file"), DataDir: g.variable("datadir"), Socket: g.variable("socket"), TmpDir: g.variable("tmpdir"),
		Places: placesOf(g)}
	t.Port, _ = strconv.Atoi(g.variable("port"))
	if t.Port == 0 && g.Server.Endpoint.Socket == "" {
		if t.Port = g.Server.Endpoint.Port; t.Port == 0 {
			t.Port = 3306
		}
	}
	return t
}

func recordHost(rec *Recorder, r *host.Report) {
	number := func(name string, v float64) { rec.Number(name, "", monolith.Float(v)) }
	size := func(name string, v uint64) { rec.Number(name, "", monolith.Uint(v)) }
	var quota float64
	if r.Limits != nil {
		quota = r.Limits.CPU
	}
	if c := r.CPU; c != nil {
		number("cpu_user_seconds_total", c.User)
		number("cpu_nice_seconds_total", c.Nice)
		number("cpu_system_seconds_total", c.System)
		number("cpu_irq_seconds_total", c.IRQ)
		number("cpu_softirq_seconds_total", c.SoftIRQ)
		number("cpu_steal_seconds_total", c.Steal)
		number("cpu_iowait_seconds_total", c.IOWait)
		number("cpu_idle_seconds_total", c.Idle)
		number("cpu_seconds_total", c.Total())
		cores := float64(c.Cores)
		if quota > 0 && quota < cores {
			cores = quota
		}
		number("cores", cores)
	}
	if l := r.Load; l != nil {
		number("load1", l.One)
		number("load5", l.Five)
		number("load15", l.Fifteen)
		if l.Running >= 0 {
			size("procs_running", uint64(l.Running))
			size("procs_blocked", uint64(max(0, l.Blocked)))
		}
	}
	if m := r.Memory; m != nil {
		size("memory_total_bytes", m.Total)
		size("memory_available_bytes", m.Available)
		size("memory_free_bytes", m.Free)
		size("memory_cached_bytes", m.Cached)
		size("memory_buffers_bytes", m.Buffers)
		limit := m.Total
		if r.Limits != nil && r.Limits.Memory > 0 && r.Limits.Memory < limit {
			limit = r.Limits.Memory
			size("cgroup_memory_bytes", r.Limits.MemoryUsed)
		}
		size("memory_limit_bytes", limit)
	}
	if s := r.Swap; s != nil {
		size("swap_total_bytes", s.Total)
		size("swap_used_bytes", s.Used)
		size("swap_in_bytes_total", s.In)
		size("swap_out_bytes_total", s.Out)
	}
	if !r.BootTime.IsZero() && r.Taken.After(r.BootTime) {
		size("uptime_seconds", uint64(r.Taken.Sub(r.BootTime).Seconds()))
	}
	recordProcess(rec, r.Process)
	recordDevices(rec, r)
	rec.Text([]byte("hostname"), []byte(printable(r.Hostname)))
	rec.Text([]byte("os"), []byte(r.OS))
	rec.Text([]byte("kernel"), []byte(r.Kernel))
	rec.Text([]byte("platform"), []byte(r.Platform))
}

func recordProcess(rec *Recorder, p *host.Process) {
	if p == nil {
		return
	}
	rec.Number("mysqld_resident_bytes", "", monolith.Uint(p.Resident))
	rec.Number("mysqld_swap_bytes", "", monolith.Uint(p.Swap))
	rec.Number("mysqld_cpu_seconds_total", "", monolith.Float(p.CPU))
	rec.Number("mysqld_threads", "", monolith.Int(int64(p.Threads)))
	if p.OpenFiles >= 0 {
		rec.Number("mysqld_open_files", "", monolith.Int(int64(p.OpenFiles)))
	}
	if p.FileLimit > 0 {
		rec.Number("mysqld_open_files_limit", "", monolith.Uint(p.FileLimit))
	}
}

func recordDevices(rec *Recorder, r *host.Report) {
	for i := range r.Disks {
		d := &r.Disks[i]
		rec.Number("disk_read_bytes_total", d.Name, monolith.Uint(d.ReadBytes))
		rec.Number("disk_written_bytes_total", d.Name, monolith.Uint(d.WrittenBytes))
		rec.Number("disk_reads_total", d.Name, monolith.Uint(d.Reads))
		rec.Number("disk_writes_total", d.Name, monolith.Uint(d.Writes))
		rec.Number("disk_read_seconds_total", d.Name, monolith.Float(d.ReadTime))
		rec.Number("disk_write_seconds_total", d.Name, monolith.Float(d.WriteTime))
		rec.Number("disk_busy_seconds_total", d.Name, monolith.Float(d.BusyTime))
		rec.Number("disk_in_flight", d.Name, monolith.Uint(d.InFlight))
		if d.Flushes >= 0 {
			rec.Number("disk_flushes_total", d.Name, monolith.Int(d.Flushes))
		}
	}
	for i := range r.Mounts {
		m := &r.Mounts[i]
		path := printable(m.Path)
		rec.Number("mount_size_bytes", path, monolith.Uint(m.Size))
		rec.Number("mount_used_bytes", path, monolith.Uint(m.Used))
		rec.Number("mount_available_bytes", path, monolith.Uint(m.Available))
		if m.Inodes > 0 {
			rec.Number("mount_inodes", path, monolith.Uint(m.Inodes))
			rec.Number("mount_inodes_used", path, monolith.Uint(m.InodesUsed))
		}
		if m.DataDir {
			rec.Text([]byte("datadir_mount"), []byte(path))
		}
	}
	for i := range r.TmpDirs {
		d := &r.TmpDirs[i]
		path := printable(d.Path)
		rec.Number("tmpdir_size_bytes", path, monolith.Uint(d.Size))
		rec.Number("tmpdir_used_bytes", path, monolith.Uint(d.Used))
		rec.Number("tmpdir_available_bytes", path, monolith.Uint(d.Available))
	}
	for i := range r.Nets {
		n := &r.Nets[i]
		rec.Number("net_received_bytes_total", n.Name, monolith.Uint(n.Received))
		rec.Number("net_sent_bytes_total", n.Name, monolith.Uint(n.Sent))
		rec.Number("net_receive_errors_total", n.Name, monolith.Uint(n.ReceiveErrors))
		rec.Number("net_send_errors_total", n.Name, monolith.Uint(n.SendErrors))
		rec.Number("net_receive_drops_total", n.Name, monolith.Uint(n.ReceiveDrops))
		rec.Number("net_send_drops_total", n.Name, monolith.Uint(n.SendDrops))
	}
}
