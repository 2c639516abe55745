package child

import "syscall"

func attributes(atDeath syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: atDeath, Setpgid: true}
}
