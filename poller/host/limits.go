package host

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// limits reads the limits of a process's control group, the tightest of it and the groups above; pid 0
// is Monolith itself. nil where there are no control groups.
func (l *Local) limits(pid int) *Limits {
	who := "self"
	if pid > 0 {
		who = strconv.Itoa(pid)
	}
	b, err := os.ReadFile(filepath.Join(l.proc, who, "cgroup"))
	if err != nil {
		return nil
	}
	r := &Limits{OOMKills: -1}
	for line := range strings.Lines(string(b)) {
		// hierarchy:controllers:path; version 2 has one line "0::path".
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			switch controller {
			case "":
				root := filepath.Join(l.sys, "fs/cgroup")
				own := ownGroup(root, parts[2])
				r.countKills(own, "memory.events")
				r.countTasks(own)
				l.walk(root, parts[2], func(dir string) { r.readV2(dir) })
			case "memory":
				root := filepath.Join(l.sys, "fs/cgroup/memory")
				r.countKills(ownGroup(root, parts[2]), "memory.oom_control")
				l.walk(root, parts[2], func(dir string) { r.readMemoryV1(dir) })
			case "pids":
				root := filepath.Join(l.sys, "fs/cgroup/pids")
				r.countTasks(ownGroup(root, parts[2]))
				l.walk(root, parts[2], func(dir string) { r.readTasks(dir) })
			case "cpu":
				l.walk(filepath.Join(l.sys, "fs/cgroup/cpu"), parts[2], func(dir string) { r.readCPUV1(dir) })
			}
		}
	}
	return r
}

// walk calls read for the group and every group above it. In a container the path may lead out of what
// is mounted there; then only the root is read.
func (l *Local) walk(root, path string, read func(dir string)) {
	path = filepath.Clean("/" + path)
	for {
		read(filepath.Join(root, path))
		if path == "/" {
			return
		}
		path = filepath.Dir(path)
	}
}

// ownGroup gives the folder of the group itself. In a container its path may lead out of what is mounted there, whose root is
// then the container's group.
func ownGroup(root, path string) string {
	dir := filepath.Join(root, filepath.Clean("/"+path))
	if _, err := os.Stat(dir); err != nil {
		return root
	}
	return dir
}

// countKills reads the line "oom_kill n" of the group's own file.
func (r *Limits) countKills(dir, name string) {
	if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
		r.OOMKills = max(r.OOMKills, killsIn(string(b)))
	}
}

// countTasks reads how many processes and threads the group has; the topmost group does not tell.
func (r *Limits) countTasks(dir string) {
	if n, ok := readNumber(dir, "pids.current"); ok {
		r.Tasks = n
	}
}

func (r *Limits) readTasks(dir string) {
	if n, ok := readNumber(dir, "pids.max"); ok && n > 0 && (r.TasksLimit == 0 || n < r.TasksLimit) {
		r.TasksLimit = n
	}
}

func (r *Limits) readV2(dir string) {
	r.readTasks(dir)
	if n, ok := readNumber(dir, "memory.max"); ok {
		r.tighten(n, func() (uint64, bool) { return readNumber(dir, "memory.current") })
	}
	b, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	if err != nil {
		return
	}
	quota, period, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	r.tightenCPU(quota, period)
}

func (r *Limits) readMemoryV1(dir string) {
	if n, ok := readNumber(dir, "memory.limit_in_bytes"); ok {
		r.tighten(n, func() (uint64, bool) { return readNumber(dir, "memory.usage_in_bytes") })
	}
}

func (r *Limits) readCPUV1(dir string) {
	quota, err1 := os.ReadFile(filepath.Join(dir, "cpu.cfs_quota_us"))
	period, err2 := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us"))
	if err1 == nil && err2 == nil {
		r.tightenCPU(strings.TrimSpace(string(quota)), strings.TrimSpace(string(period)))
	}
}

// tighten takes a memory limit over when it is the lowest so far. Version 1 writes "none" as a number near 2^63.
func (r *Limits) tighten(limit uint64, used func() (uint64, bool)) {
	if limit == 0 || limit >= 1<<60 || r.Memory != 0 && limit >= r.Memory {
		return
	}
	r.Memory = limit
	r.MemoryUsed, _ = used()
}

// tightenCPU takes a quota in microseconds per period over; "max" and −1 are none.
func (r *Limits) tightenCPU(quota, period string) {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || !(q > 0) || !(p > 0) || math.IsInf(q/p, 0) || math.IsNaN(q/p) {
		return
	}
	if cores := q / p; r.CPU == 0 || cores < r.CPU {
		r.CPU = cores
	}
}

// readNumber reads a file that holds one number; "max" is none.
func readNumber(dir, name string) (uint64, bool) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}
