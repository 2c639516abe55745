package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestWaitingIsReadFromTheKernel(t *testing.T) {
	proc := t.TempDir()
	l := newLocal(proc, t.TempDir(), time.Now)
	if _, _, ok := l.waiting(); ok {
		t.Error("a kernel that says nothing is read")
	}
	for text, want := range map[string][2]int{
		"cpu  1 2\nctxt 5\nbtime 9\nprocesses 100\nprocs_running 3\nprocs_blocked 2\nsoftirq 1\n": {3, 2},
		"cpu  1 2\nprocs_running 7\n":                  {-1, -1},
		"cpu  1 2\nprocs_running x\nprocs_blocked 2\n": {-1, -1},
	} {
		if err := os.WriteFile(filepath.Join(proc, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		running, blocked, ok := l.waiting()
		if !ok {
			running, blocked = -1, -1
		}
		if got := [2]int{running, blocked}; got != want {
			t.Errorf("%q is read as %v, want %v", text, got, want)
		}
	}
}
