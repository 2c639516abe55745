package mysqltest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// scratch is the folder of every server that this program's tests start. It is removed when the program is gone,
// however it ended: a process of its own waits for that, since neither a test's time-out nor a kill runs any
// cleanup.
var scratch = sync.OnceValues(func() (*scratchFolder, error) {
	dir, err := os.MkdirTemp("", "monolith-mysql-") // short: a socket's path may have 103 bytes
	if err != nil {
		return nil, fmt.Errorf("mysqltest: make scratch folder: %w", err)
	}
	// The pipe to its standard input closes with this program. The pid files name servers that may still run
	// where no parent-death signal exists; a few tries, since a server may be dying while it is removed.
	reaper := exec.Command("/bin/sh", "-c", `cat >/dev/null
		for f in "$1"/*/mysqld.pid; do [ -s "$f" ] && kill -9 "$(cat "$f")" 2>/dev/null; done
		for i in 1 2 3 4 5; do rm -rf -- "$1" && exit 0; sleep 1; done`, "reaper", dir)
	reaper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := reaper.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("mysqltest: make scratch folder: %w", err)
	}
	if err := reaper.Start(); err != nil {
		return nil, fmt.Errorf("mysqltest: make scratch folder: %w", err)
	}
	return &scratchFolder{dir, pipe}, nil
})

type scratchFolder struct {
	dir  string
	pipe io.Closer // held, never closed: the garbage collector would close it, and the reaper begin
}

// scratchDir makes a new folder in the scratch folder.
func scratchDir() (string, error) {
	s, err := scratch()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(s.dir, "")
}
