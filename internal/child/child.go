// Package child starts programs that end with the one that started them.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a program that was started. Its methods may be called from any goroutine.
type Process struct {
	PID int

	exited chan struct{}
	cmd    *exec.Cmd
	err    error // written before exited is closed
}

// Start starts cmd. When this program ends, in whatever way, the kernel sends the signal to it, on systems where the
// kernel can. A Ctrl-C at the terminal does not reach it: this program decides when it stops.
func Start(cmd *exec.Cmd, atDeath syscall.Signal) (*Process, error) {
	p := &Process{exited: make(chan struct{}), cmd: cmd}
	cmd.SysProcAttr = attributes(atDeath)
	started := make(chan error)
	go func() {
		// The kernel sends the signal when the thread that forked ends, not when the whole program does: this
		// goroutine keeps its thread for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			p.PID = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.exited)
	}()
	return p, <-started
}

// Exited is closed when the program is gone, however it ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says how the program ended, in the way of [exec.Cmd.Wait]. It waits for that.
func (p *Process) Err() error {
	<-p.exited
	return p.err
}

// Signal sends a signal; a program that is gone gives os.ErrProcessDone.
func (p *Process) Signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }
