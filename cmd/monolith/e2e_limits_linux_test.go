package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"monolith/internal/mysqltest"
)

// setLimit changes a soft limit of a process that runs.
func setLimit(t *testing.T, pid, which int, soft func(now syscall.Rlimit) uint64) (before uint64) {
	t.Helper()
	var now syscall.Rlimit
	call := func(to, from *syscall.Rlimit) {
		if _, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(which), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(from)), 0, 0); errno != 0 {
			t.Fatalf("prlimit: %v", errno)
		}
	}
	call(nil, &now)
	call(&syscall.Rlimit{Cur: soft(now), Max: now.Max}, nil)
	return now.Cur
}

// TestDiskFullAndFreed fills the disk under the program: writes wait in memory, pages and /readyz say why, the watched server
// is up all the time; when space is free again everything is written, once.
func TestDiskFullAndFreed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	path := build(t)
	story := func(t *testing.T, p *program, words string, fill, free func()) {
		begin := time.Now()
		p.often("db1")
		until(t, "a first history", func() bool { return p.values("db1", "status.Threads_connected", begin).points() >= 2 })
		fill()
		full := time.Now()
		p.waits(words)
		until(t, "polling goes on", func() bool { return p.polled("db1").Sub(full) > 3*time.Second })
		p.inTrouble("db1")
		if status := p.do(http.MethodPost, "/api/v1/marks", map[string]any{"text": "x"}, nil); status != http.StatusServiceUnavailable {
			t.Errorf("a note on a full disk: %d", status)
		}
		free()
		p.quiet(words)
		p.inTrouble("db1")
		if s := p.values("db1", "status.Threads_connected", begin); s.gap() {
			t.Errorf("history has a gap: %v", s.Series[0].V)
		}
		p.stop()
	}
	t.Run("tmpfs", func(t *testing.T) {
		t.Parallel()
		data := t.TempDir()
		p := serveOnSmallDisk(t, path, data)
		filler := filepath.Join("/proc", fmt.Sprint(p.cmd.Process.Pid), "root", data, "filler")
		story(t, p, "the disk is full", func() {
			f, err := os.Create(filler)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{1 << 20, 4 << 10, 1} { // to the last byte
				for err == nil {
					_, err = f.Write(make([]byte, size))
				}
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatal(err)
				}
				err = nil
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}, func() {
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("limit of file sizes", func(t *testing.T) {
		t.Parallel()
		p := serve(t, path, nil, "--data", t.TempDir(), "--server", watched(t))
		limit := func(to uint64) uint64 {
			return setLimit(t, p.cmd.Process.Pid, syscall.RLIMIT_FSIZE, func(syscall.Rlimit) uint64 { return to })
		}
		var before uint64
		story(t, p, "ulimit -f", func() { before = limit(4 << 10) }, func() { limit(before) })
	})
}

// serveOnSmallDisk starts the program with its data on a disk of its own of a few megabytes, in a mount namespace that
// only it sees. Root may make one; others may where the system has user namespaces for everybody.
func serveOnSmallDisk(t *testing.T, path, data string) *program {
	t.Helper()
	const script = `set -e; mount --make-rprivate / 2>/dev/null || true; mount -t tmpfs -o size=24m,mode=0700 none "$0"; exec "$@"`
	attributes := &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		attributes.Cloneflags |= syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	try := exec.Command("/bin/sh", "-c", script, data, "true")
	try.SysProcAttr = attributes
	if out, err := try.CombinedOutput(); err != nil {
		// That it is not allowed is no missing part that somebody could install; the other half of the test stands in.
		fmt.Fprintf(os.Stderr, "\n*** SKIPPED %s: this system lets us mount no tmpfs of our own: %v %s\n", t.Name(), err, out)
		t.Skip("no tmpfs of our own")
	}
	cmd := exec.Command("/bin/sh", "-c", script, data, path, "serve", "--listen", "127.0.0.1:0", "--data", data, "--server", watched(t))
	cmd.SysProcAttr = attributes
	return start(t, cmd)
}

// TestOpenFileLimitReached takes the program's descriptors away while it has to connect again: it says that the fault is
// its own, and of the server nothing.
func TestOpenFileLimitReached(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Parallel()
	server := mysqltest.Shared(t)
	user, password := server.NewUser(t, "PROCESS, BINLOG MONITOR, REPLICA MONITOR")
	p := serve(t, build(t), nil, "--data", t.TempDir(), "--server", "db1="+server.DSN(user, password))
	begin := time.Now()
	p.often("db1")
	until(t, "a first history", func() bool { return p.values("db1", "status.Threads_connected", begin).points() >= 2 })
	before := setLimit(t, p.cmd.Process.Pid, syscall.RLIMIT_NOFILE, func(syscall.Rlimit) uint64 { return 4 })
	ended := 0
	rows, err := server.DB(t).Query("SELECT id FROM information_schema.processlist WHERE user = ?", user)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		server.Exec(t, fmt.Sprintf("KILL %d", id))
		ended++
	}
	if err := rows.Close(); err != nil || ended == 0 {
		t.Fatalf("%d connections of the program are ended; %v", ended, err)
	}
	var wrong problem
	until(t, "the limit is told", func() bool {
		w, up := p.trouble("db1")
		wrong = w
		if !up {
			t.Fatalf("the server is shown as down: %+v", w)
		}
		return w.Text != "" && w.Kind == "monitor"
	})
	if !strings.Contains(wrong.Text, "limit of open files") || !strings.Contains(wrong.Cure, "LimitNOFILE") {
		t.Errorf("the API says %+v", wrong)
	}
	if _, text := p.page("/"); !strings.Contains(text, ">not asked<") || strings.Contains(text, ">unreachable<") {
		t.Error("the first screen does not say that the server was not asked")
	}
	limited := time.Now()
	until(t, "polls go by", func() bool { return time.Since(limited) > 3*time.Second })
	setLimit(t, p.cmd.Process.Pid, syscall.RLIMIT_NOFILE, func(syscall.Rlimit) uint64 { return before })
	until(t, "the server is asked again", func() bool { return p.polled("db1").Sub(limited) > 4*time.Second })
	until(t, "nothing is left of it", func() bool { w, up := p.trouble("db1"); return up && w.Text == "" })
	if s := p.values("db1", "server.up", begin); !onlyOnes(s) {
		t.Errorf("history says that the server was down: %v", s.Series[0].V)
	}
	p.stop()
}

// onlyOnes reports whether each value that is there is 1.
func onlyOnes(s *series) bool {
	for _, v := range s.Series[0].V {
		if v != nil && *v != 1 {
			return false
		}
	}
	return s.points() > 0
}
