//go:build unix && !linux

package child

import "syscall"

// These systems can't bind a child to its parent's life.
func attributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
