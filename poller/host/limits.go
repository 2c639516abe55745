package host

import (
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
	r := &Limits{}
	for line := range strings.Lines(string(b)) {
		// hierarchy:controllers:path; version 2 has one line "0::path".
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			switch controller {
			case "":
				l.walk(filepath.Join(l.sys, "fs/cgroup"), parts[2], func(dir string) { r.readV2(dir) })
			case "memory":
				l.walk(filepath.Join(l.sys, "fs/cgroup/memory"), parts[2], func(dir string) { r.readMemoryV1(dir) })
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

func (r *Limits) readV2(dir string) {
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
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
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
