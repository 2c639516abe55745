package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/common"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
)

// Local reads the machine that Monolith itself runs on. It needs no rights of its own; what other users may not
// see (the open files of mysqld) is left out.
type Local struct {
	now       func() time.Time
	proc, sys string // "/proc" and "/sys", or copies of them

	mu     sync.Mutex
	fixed  *fixed
	found  map[Target]found
	sought map[Target]time.Time // when a process was looked for in vain
	setups map[Target]setup
}

// fixed is what does not change while the machine runs.
type fixed struct {
	hostname, os, kernel, platform string
	boot                           time.Time
	cores                          int
}

// NewLocal makes a local source. One serves all servers of the machine.
func NewLocal() *Local { return newLocal("/proc", "/sys", time.Now) }

func newLocal(proc, sys string, now func() time.Time) *Local {
	return &Local{now: now, proc: proc, sys: sys, found: map[Target]found{}, sought: map[Target]time.Time{}, setups: map[Target]setup{}}
}

// Name gives "local".
func (l *Local) Name() string { return "local" }

// Read reads the machine and the target's process.
func (l *Local) Read(ctx context.Context, target Target) (*Report, error) {
	ctx = context.WithValue(ctx, common.EnvKey, common.EnvMap{
		common.HostProcEnvKey: l.proc, common.HostSysEnvKey: l.sys,
	})
	r := &Report{Taken: l.now()}
	var failed []error
	try := func(what string, err error) bool {
		if err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("%s can't be read: %v", what, err))
			failed = append(failed, err)
		}
		return err == nil
	}
	f := l.describe(ctx)
	r.Hostname, r.OS, r.Kernel, r.Platform, r.BootTime = f.hostname, f.os, f.kernel, f.platform, f.boot

	times, err := cpu.TimesWithContext(ctx, false)
	if try("CPU times", err) && len(times) == 1 {
		t := times[0]
		r.CPU = &CPU{Cores: f.cores, User: t.User, Nice: t.Nice, System: t.System, IRQ: t.Irq, SoftIRQ: t.Softirq,
			Steal: t.Steal, IOWait: t.Iowait, Idle: t.Idle}
	}
	average, err := load.AvgWithContext(ctx)
	if try("load", err) {
		r.Load = &Load{One: average.Load1, Five: average.Load5, Fifteen: average.Load15, Running: -1, Blocked: -1}
		if running, blocked, ok := l.waiting(); ok {
			r.Load.Running, r.Load.Blocked = running, blocked
		} else if m, err := load.MiscWithContext(ctx); err == nil {
			r.Load.Running, r.Load.Blocked = m.ProcsRunning, m.ProcsBlocked
		}
	}
	memory, err := mem.VirtualMemoryWithContext(ctx)
	if try("memory", err) {
		r.Memory = &Memory{Total: memory.Total, Available: memory.Available, Free: memory.Free, Cached: memory.Cached, Buffers: memory.Buffers}
	}
	swap, err := mem.SwapMemoryWithContext(ctx)
	if try("swap", err) {
		r.Swap = &Swap{Total: swap.Total, Used: swap.Used, In: swap.Sin, Out: swap.Sout}
	}
	disks, err := disk.IOCountersWithContext(ctx)
	if try("disks", err) {
		r.Disks = realDisks(disks, l.flushes())
	}
	partitions, err := disk.PartitionsWithContext(ctx, true)
	if try("mounts", err) {
		r.Mounts = l.mounts(ctx, partitions, target.DataDir, r)
		r.TmpDirs = tmpDirs(ctx, partitions, target.TmpDir, r)
	}
	nets, err := net.IOCountersWithContext(ctx, true)
	if try("network", err) {
		r.Nets = realNets(nets)
	}
	if len(failed) == 7 {
		return nil, fmt.Errorf("host: local: read: %w", errors.Join(failed...))
	}
	r.Process = l.process(ctx, target, r)
	pid := 0
	if r.Process != nil {
		pid = r.Process.PID
	}
	r.Limits = l.limits(pid)
	r.System = l.system()
	l.setUp(target, partitions, r)
	r.Logs = logs(target, partitions)
	return r, nil
}

func (l *Local) describe(ctx context.Context) fixed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fixed != nil {
		return *l.fixed
	}
	f := &fixed{os: runtime.GOOS}
	if info, err := host.InfoWithContext(ctx); err == nil {
		f.hostname, f.kernel = info.Hostname, info.KernelVersion
		f.platform = strings.TrimSpace(info.Platform + " " + info.PlatformVersion)
		if info.BootTime > 0 {
			f.boot = time.Unix(int64(info.BootTime), 0).UTC()
		}
	}
	if n, err := cpu.CountsWithContext(ctx, true); err == nil {
		f.cores = n
	} else {
		f.cores = runtime.NumCPU()
	}
	if ctx.Err() == nil { // a reading that was cut short is not kept
		l.fixed = f
	}
	return *f
}

// waiting reads how many processes run and how many wait for a device. gopsutil gives the same and counts all processes
// too, a sixth of the work of a whole report.
func (l *Local) waiting() (running, blocked int, ok bool) {
	text, err := os.ReadFile(filepath.Join(l.proc, "stat"))
	if err != nil {
		return 0, 0, false
	}
	number := func(name string) (n int, ok bool) {
		_, rest, ok := strings.Cut(string(text), "\n"+name+" ")
		line, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(line)
		return n, ok && err == nil
	}
	running, hasRunning := number("procs_running")
	blocked, hasBlocked := number("procs_blocked")
	return running, blocked, hasRunning && hasBlocked
}

// flushes reads how often each device was told to empty its cache, which gopsutil leaves out. Systems that don't say
// give nil.
func (l *Local) flushes() map[string]int64 {
	text, err := os.ReadFile(filepath.Join(l.proc, "diskstats"))
	if err != nil {
		return nil
	}
	return parseFlushes(string(text))
}

// parseFlushes reads /proc/diskstats: behind major, minor and name stand 11 numbers, from Linux 4.18 on four of
// discards, and from 5.5 on two of flushes, their number first.
func parseFlushes(text string) map[string]int64 {
	const name, flushes = 2, 2 + 11 + 4 + 1
	found := map[string]int64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) <= flushes {
			continue
		}
		if n, err := strconv.ParseInt(f[flushes], 10, 64); err == nil && n >= 0 {
			found[f[name]] = n
		}
	}
	return found
}

// realDisks keeps whole block devices: what happens on a partition also happens on its disk. flushes has what is
// known of their caches.
func realDisks(all map[string]disk.IOCountersStat, flushes map[string]int64) []Disk {
	list := []Disk{}
	for name, d := range all {
		if virtualDisk(name) || partOf(name, all) {
			continue
		}
		flushed, ok := flushes[name]
		if !ok {
			flushed = -1
		}
		list = append(list, Disk{
			Flushes: flushed,
			Name:    name, Reads: d.ReadCount, Writes: d.WriteCount, ReadBytes: d.ReadBytes, WrittenBytes: d.WriteBytes,
			ReadTime: seconds(d.ReadTime), WriteTime: seconds(d.WriteTime), BusyTime: seconds(d.IoTime), InFlight: d.IopsInProgress,
		})
	}
	slices.SortFunc(list, func(a, b Disk) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func seconds(ms uint64) float64 { return float64(ms) / 1000 }

func virtualDisk(name string) bool {
	for _, p := range []string{"loop", "ram", "zram", "sr", "fd", "nbd"} {
		if rest, ok := strings.CutPrefix(name, p); ok && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return false
}

// partOf reports whether name is a partition of another device in the list: sda1 of sda, nvme0n1p2 of
// nvme0n1, mmcblk0p1 of mmcblk0.
func partOf(name string, all map[string]disk.IOCountersStat) bool {
	base := strings.TrimRight(name, "0123456789")
	if base == name {
		return false
	}
	if _, ok := all[base]; ok {
		return true
	}
	whole, ok := strings.CutSuffix(base, "p")
	if !ok || whole == "" || whole[len(whole)-1] < '0' || whole[len(whole)-1] > '9' {
		return false
	}
	_, ok = all[whole]
	return ok
}

func realNets(all []net.IOCountersStat) []Net {
	list := []Net{}
	for _, n := range all {
		if n.Name == "lo" || strings.HasPrefix(n.Name, "lo0") || strings.HasPrefix(n.Name, "veth") ||
			n.BytesRecv == 0 && n.BytesSent == 0 {
			continue
		}
		list = append(list, Net{
			Name: n.Name, Received: n.BytesRecv, Sent: n.BytesSent, ReceiveErrors: n.Errin, SendErrors: n.Errout,
			ReceiveDrops: n.Dropin, SendDrops: n.Dropout,
		})
	}
	slices.SortFunc(list, func(a, b Net) int { return strings.Compare(a.Name, b.Name) })
	return list
}
