package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// built builds the program once for all tests, as "make build" does.
var built = sync.OnceValues(func() (path string, err error) {
	dir, err := os.MkdirTemp("", "monolith-built-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "monolith")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return path, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// started says that a test asked for the program, so that there is something to remove.
var started atomic.Bool

func TestMain(m *testing.M) {
	playTeller()
	code := m.Run()
	if started.Load() {
		if path, _ := built(); path != "" {
			os.RemoveAll(filepath.Dir(path)) // a rest in the folder for temporary files harms nobody
		}
	}
	os.Exit(code)
}

// build gives the path of the program.
func build(t testing.TB) string {
	t.Helper()
	started.Store(true)
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
