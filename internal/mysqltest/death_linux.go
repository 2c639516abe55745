package mysqltest

import "syscall"

// dieWithParent makes a child that the kernel kills when this program ends, and that a Ctrl-C at the terminal
// does not reach, since it is not of the terminal's process group.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
