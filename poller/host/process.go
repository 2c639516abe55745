package host

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// seekAgain is how long a process that was not found is not looked for again: it takes a walk over
// all processes.
const seekAgain = 30 * time.Second

// found is a process that was found; a process number alone may be given to another program.
type found struct {
	pid     int32
	created int64
}

// serverNames are what the server's program is called. The kernel cuts names at 15 bytes.
var serverNames = []string{"mysqld", "mariadbd", "mysqld-debug", "mysqld.bin", "mysqld.exe", "mariadbd.exe"}

// process finds and reads the target's process; nil when it is not found.
func (l *Local) process(ctx context.Context, target Target, r *Report) *Process {
	if p := l.known(ctx, target); p != nil {
		return l.readProcess(ctx, p)
	}
	l.mu.Lock()
	last, ok := l.sought[target]
	if ok && r.Taken.Sub(last) < seekAgain && !r.Taken.Before(last) {
		l.mu.Unlock()
		return nil
	}
	l.sought[target] = r.Taken
	l.mu.Unlock()

	p := l.seek(ctx, target)
	if p == nil {
		return nil
	}
	created, err := p.CreateTimeWithContext(ctx)
	if err != nil {
		return nil
	}
	l.mu.Lock()
	delete(l.sought, target)
	l.found[target] = found{p.Pid, created}
	l.mu.Unlock()
	return l.readProcess(ctx, p)
}

func (l *Local) known(ctx context.Context, target Target) *process.Process {
	l.mu.Lock()
	f, ok := l.found[target]
	l.mu.Unlock()
	if !ok {
		return nil
	}
	p, err := process.NewProcessWithContext(ctx, f.pid)
	if err == nil {
		if created, err := p.CreateTimeWithContext(ctx); err == nil && created == f.created && !ended(ctx, p) {
			return p
		}
	}
	l.mu.Lock()
	delete(l.found, target)
	l.mu.Unlock()
	return nil
}

// seek looks into the pid file, which is often readable by the server's user only, and else for a server
// program whose command line names the target's files or port, or which works in the target's data
// directory: mysqld and mariadbd change into it at start, whatever named it to them. A program that tells
// nothing is the target only where it is the only one.
func (l *Local) seek(ctx context.Context, target Target) *process.Process {
	if pid := readPIDFile(target); pid > 0 {
		if p, err := process.NewProcessWithContext(ctx, pid); err == nil && isServer(ctx, p) {
			return p
		}
	}
	pids, err := process.PidsWithContext(ctx)
	if err != nil {
		return nil
	}
	var silent []*process.Process // neither match nor contradict
	for _, pid := range pids {
		p := &process.Process{Pid: pid}
		if !isServer(ctx, p) {
			continue
		}
		args, err := p.CmdlineSliceWithContext(ctx)
		if err != nil || ended(ctx, p) {
			continue
		}
		match := compareArgs(args, target)
		if match == 0 {
			match = compareFolder(ctx, p, target)
		}
		switch match {
		case 1:
			return p
		case 0:
			silent = append(silent, p)
		}
	}
	if len(silent) == 1 {
		return silent[0]
	}
	return nil
}

func isServer(ctx context.Context, p *process.Process) bool {
	name, err := p.NameWithContext(ctx)
	return err == nil && slices.Contains(serverNames, name)
}

func readPIDFile(target Target) int32 {
	if target.PIDFile == "" {
		return 0
	}
	path := target.PIDFile
	if !filepath.IsAbs(path) {
		path = filepath.Join(target.DataDir, path)
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) > 32 {
		return 0
	}
	pid, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 32)
	if err != nil {
		return 0
	}
	return int32(pid)
}

// compareArgs gives 1 when a command line names a place of the target, −1 when it names another one, and 0
// when it names none.
func compareArgs(args []string, target Target) int {
	result := 0
	for _, arg := range args {
		name, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !ok || !strings.HasPrefix(arg, "--") {
			continue
		}
		want := ""
		switch strings.ReplaceAll(name, "_", "-") {
		case "datadir":
			want = target.DataDir
		case "socket":
			want = target.Socket
		case "pid-file":
			want = target.PIDFile
		case "port":
			if target.Port != 0 {
				want = strconv.Itoa(target.Port)
			}
		}
		if want == "" {
			continue
		}
		if filepath.Clean(value) == filepath.Clean(want) {
			return 1
		}
		result = -1
	}
	return result
}

// compareFolder compares the folder that a process works in with the target's data directory as
// compareArgs does; 0 where this user may not see it, or where the directory is not known.
func compareFolder(ctx context.Context, p *process.Process, target Target) int {
	if target.DataDir == "" {
		return 0
	}
	folder, err := p.CwdWithContext(ctx)
	switch {
	case err != nil || folder == "":
		return 0
	case folder == filepath.Clean(target.DataDir):
		return 1
	}
	if real, err := filepath.EvalSymlinks(target.DataDir); err == nil && folder == real {
		return 1
	}
	return -1
}

// ended tells a process that has ended and only waits for its parent to ask how: it keeps number, name and
// start time for as long as the parent likes, and has no command line, memory or files.
func ended(ctx context.Context, p *process.Process) bool {
	status, err := p.StatusWithContext(ctx)
	return err != nil || slices.Contains(status, process.Zombie)
}

// readProcess reads what this user may see of a process.
func (l *Local) readProcess(ctx context.Context, p *process.Process) *Process {
	memory, err := p.MemoryInfoWithContext(ctx)
	if err != nil {
		return nil // it has just ended
	}
	r := &Process{PID: int(p.Pid), Resident: memory.RSS, OpenFiles: -1}
	r.Name, _ = p.NameWithContext(ctx)
	if created, err := p.CreateTimeWithContext(ctx); err == nil {
		r.Started = time.UnixMilli(created).UTC()
	}
	if t, err := p.TimesWithContext(ctx); err == nil {
		r.CPU = t.User + t.System
	}
	if n, err := p.NumThreadsWithContext(ctx); err == nil {
		r.Threads = int(n)
	}
	if n, err := p.NumFDsWithContext(ctx); err == nil {
		r.OpenFiles = int(n)
	}
	if limits, err := p.RlimitWithContext(ctx); err == nil {
		for _, limit := range limits {
			if limit.Resource == process.RLIMIT_NOFILE && limit.Soft < 1<<62 {
				r.FileLimit = limit.Soft
			}
		}
	}
	r.Swap = l.swapOf(int(p.Pid))
	return r
}

// swapOf reads VmSwap, which is in kB.
func (l *Local) swapOf(pid int) uint64 {
	b, err := os.ReadFile(filepath.Join(l.proc, strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmSwap:"); ok {
			n, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
