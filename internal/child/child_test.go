package child

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this test binary stand in for the programs that are started: one that waits, and one that starts the
// first and is killed.
func TestMain(m *testing.M) {
	switch os.Getenv("CHILD_TEST_AS") {
	case "waiter":
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR1)
		<-never // until another signal ends it
		return
	case "parent":
		child, err := Start(self("waiter"), syscall.SIGKILL)
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(strconv.Itoa(child.PID) + "\n")
		<-child.Exited()
		return
	}
	os.Exit(m.Run())
}

func self(as string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CHILD_TEST_AS="+as)
	return cmd
}

func TestChildTellsHowItEnded(t *testing.T) {
	p, err := Start(self("waiter"), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Exited():
		t.Fatal("it ended by itself")
	default:
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if exit := new(exec.ExitError); !errors.As(p.Err(), &exit) || !strings.Contains(exit.Error(), "terminated") {
		t.Errorf("it ended with %v", p.Err())
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal to a program that is gone: %v", err)
	}
}

func TestChildThatCannotStart(t *testing.T) {
	if _, err := Start(exec.Command("/does/not/exist"), syscall.SIGKILL); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestChildDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no parent-death signal here")
	}
	parent := self("parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for runs(pid) {
		select {
		case <-deadline:
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the child outlives its parent")
		case <-tick.C:
		}
	}
}

// runs reports whether a process is there and not a zombie, which nobody may have waited for.
func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
