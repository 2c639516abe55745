//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreFileSizeSignal lets a write beyond the limit of file sizes (ulimit -f, LimitFSIZE) fail as on a full disk. The
// signal would end the program.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
