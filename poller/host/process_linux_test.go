package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLocalFindsTheServersProcess uses a program that is called mysqld and does nothing.
func TestLocalFindsTheServersProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "mysqld")
	// A file that this process wrote might still be open in a child that another test starts at this moment, and the
	// kernel runs no program that is open for writing: another process makes the copy.
	if out, err := exec.Command("cp", "/bin/sh", program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	startIn := func(folder string, args ...string) *exec.Cmd {
		cmd := exec.Command(program, append([]string{"-c", "read x", "mysqld"}, args...)...)
		cmd.Dir = folder
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stdin.Close(); cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	start := func(args ...string) *exec.Cmd { return startIn(dir, args...) }
	one := start("--datadir=" + dir + "/one/")
	two := start("--port=49151")
	now := time.Now()
	l := newLocal("/proc", "/sys", func() time.Time { return now })
	find := func(target Target) int {
		t.Helper()
		r, err := l.Read(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		if r.Process == nil {
			return 0
		}
		if r.Process.Resident == 0 || r.Process.OpenFiles < 1 || r.Process.Threads != 1 || r.Process.FileLimit == 0 {
			t.Errorf("process %+v", r.Process)
		}
		return r.Process.PID
	}
	if got := find(Target{DataDir: dir + "/one"}); got != one.Process.Pid {
		t.Errorf("by data directory: %d, want %d", got, one.Process.Pid)
	}
	if got := find(Target{Port: 49151, DataDir: dir + "/two"}); got != two.Process.Pid {
		t.Errorf("by port: %d, want %d", got, two.Process.Pid)
	}
	pidFile := filepath.Join(dir, "server.pid")
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(one.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := find(Target{PIDFile: "server.pid", DataDir: dir}); got != one.Process.Pid {
		t.Errorf("by pid file: %d, want %d", got, one.Process.Pid)
	}
	// Another program's number in the pid file is not believed.
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := find(Target{PIDFile: pidFile, Port: 49151, DataDir: dir + "/two"}); got != two.Process.Pid {
		t.Errorf("with a wrong pid file: %d, want %d", got, two.Process.Pid)
	}
	// A server whose command line tells nothing is known by the folder that it works in.
	home := filepath.Join(dir, "three")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	three := startIn(home)
	if got := find(Target{DataDir: home + "/"}); got != three.Process.Pid {
		t.Errorf("by working folder: %d, want %d", got, three.Process.Pid)
	}
	// A process that ends is noticed, even while nobody has asked how it ended, and looked for again only
	// after a while.
	for _, cmd := range []*exec.Cmd{two, three} {
		cmd.Process.Kill()
		if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := find(Target{DataDir: home + "/"}); got != 0 {
		t.Errorf("by working folder, after the end: %d", got)
	}
	if got := find(Target{Port: 49151, DataDir: dir + "/two"}); got == two.Process.Pid {
		t.Error("a process that has ended is still read")
	}
	again := start("--port=49151")
	if got := find(Target{Port: 49151, DataDir: dir + "/two"}); got == again.Process.Pid {
		t.Error("all processes were walked over again at once")
	}
	now = now.Add(seekAgain + time.Second)
	if got := find(Target{Port: 49151, DataDir: dir + "/two"}); got != again.Process.Pid {
		t.Errorf("after a while: %d, want %d", got, again.Process.Pid)
	}
}
