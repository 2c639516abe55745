//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"monolith/internal/child"
	"monolith/internal/figures"
	"monolith/internal/mysqltest"
)

// running is a "monolith serve" that is measured.
type running struct {
	address string
	pid     int
	first   time.Duration // from its start until it gave the first page
}

// serveFigures starts the program on a data folder, with servers in the form of its server file. It ends with the test.
func serveFigures(t *testing.T, b *bench, dir string, servers ...string) *running {
	t.Helper()
	args := []string{"serve", "--listen", "127.0.0.1:0", "--data", dir, "--log-level", "error"}
	if len(servers) > 0 {
		file := filepath.Join(t.TempDir(), "servers")
		if err := os.WriteFile(file, []byte(strings.Join(servers, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--server-file", file)
	}
	cmd := exec.Command(b.program, args...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	process, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Signal(syscall.SIGTERM) // gone already is as good
		<-process.Exited()
	})
	r := &running{pid: process.PID}
	for lines := bufio.NewScanner(pipe); r.address == "" && lines.Scan(); {
		if _, address, ok := strings.Cut(lines.Text(), "serves on "); ok {
			r.address = strings.TrimSuffix(strings.TrimSpace(address), "/")
		}
	}
	if r.address == "" {
		t.Fatal("monolith does not serve: ", process.Err())
	}
	r.get(t, "/", nil)
	r.first = time.Since(began)
	return r
}

// get asks for a page, or decodes an answer of the API.
func (r *running) get(t *testing.T, path string, out any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, response.Status)
	}
	body, err := io.ReadAll(response.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(body, out)
	}
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func (r *running) memory(t *testing.T) (now, peak float64) {
	t.Helper()
	n, p, err := figures.Resident(r.pid)
	if err != nil {
		t.Fatal(err)
	}
	return float64(n) / megabyte, float64(p) / megabyte
}

// highest looks now and then at the memory, until it is stopped, and says the most.
func (r *running) highest(t *testing.T, most *float64) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			now, _, err := figures.Resident(r.pid)
			if err != nil {
				t.Error(err)
				return
			}
			*most = max(*most, float64(now)/megabyte)
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// programRows are the size of the program and what it takes to watch three servers.
func programRows(t *testing.T, b *bench) []figures.Row {
	info, err := os.Stat(b.program)
	if err != nil {
		t.Fatal(err)
	}
	primary := mysqltest.MariaDB(t)
	three := []*mysqltest.Server{primary, mysqltest.Replica(t, primary), mysqltest.MariaDB(t)}
	var lines []string
	for i, s := range three {
		user, password := s.NewUser(t, "PROCESS", "REPLICATION CLIENT", "SELECT ON mysql.*")
		lines = append(lines, fmt.Sprintf("db%d=%s", i+1, s.DSN(user, password)))
	}
	p := serveFigures(t, b, t.TempDir(), lines...)
	memory := figures.Row{Name: "memory with three servers", Unit: "MB", Target: 45,
		Note: "resident, 70 s after the start; peers: an exporter a server and the program that keeps the history"}
	size := figures.Row{Name: "binary", Unit: "MB", Ours: float64(info.Size()) / megabyte, Target: 45, Note: "peers: the exporter and the program that keeps the history"}
	first := figures.Row{Name: "start to the first page", Unit: "s", Ours: p.first.Seconds(), Target: 1, Note: "wall clock, with an empty data folder"}

	exporters, exporter := 0.0, 0.0
	var page []byte
	for _, s := range three {
		e := figures.Exporter(t, exporterDSN(t, s), false)
		if e == nil {
			break
		}
		for range 10 {
			page = e.Get("/metrics")
		}
		now, _ := e.Resident()
		exporters += float64(now) / megabyte
		exporter = float64(e.Binary()) / megabyte
	}
	if page == nil {
		wait(t, 70*time.Second)
	} else {
		for _, s := range scraping(t, page, 3, pollEach, 70*time.Second) {
			now, _ := s.Resident()
			memory.Peers = append(memory.Peers, figures.Peer{Name: "exporters + " + s.Name, Value: exporters + float64(now)/megabyte})
			size.Peers = append(size.Peers, figures.Peer{Name: "exporter + " + s.Name, Value: exporter + float64(s.Binary())/megabyte})
		}
	}
	memory.Ours, _ = p.memory(t)
	return []figures.Row{memory, size, first}
}
