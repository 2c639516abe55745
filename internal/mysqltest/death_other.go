//go:build unix && !linux

package mysqltest

import "syscall"

// dieWithParent makes a child that a Ctrl-C at the terminal does not reach. These systems can't bind it to its
// parent's life; the reaper of [scratch] ends what tests leave.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
