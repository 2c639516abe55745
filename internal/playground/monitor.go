package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"monolith/internal/child"
)

// monitor is the Monolith that runs.
type monitor struct {
	address string // http://127.0.0.1:8080
	cmd     *exec.Cmd
	process *child.Process
	last    *tail
	peak    int // the most memory it had, in kB; 0: not known
}

// startMonitor starts "monolith serve". What holds passwords, the servers and the store, is given by a file and by
// the environment, not by arguments that everyone on the machine can list.
func startMonitor(binary, listen, dir, store string, servers []namedDSN, out io.Writer) (*monitor, error) {
	var lines strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&lines, "%s=%s\n", s.name, s.dsn)
	}
	file := filepath.Join(dir, "servers")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		return nil, fmt.Errorf("playground: start monolith: %w", err)
	}
	m := &monitor{address: "http://" + listen, last: &tail{}}
	args := []string{"serve", "--listen", listen, "--data", filepath.Join(dir, "data"), "--server-file", file}
	environment := os.Environ()
	if store != "" {
		args = append(args, "--migrate") // the database may be empty
		environment = append(environment, "MONOLITH_STORE="+store)
	}
	m.cmd = exec.Command(binary, args...)
	m.cmd.Env = environment
	m.cmd.Stdout = io.MultiWriter(out, m.last)
	m.cmd.Stderr = m.cmd.Stdout
	var err error
	if m.process, err = child.Start(m.cmd, syscall.SIGTERM); err != nil {
		return nil, fmt.Errorf("playground: start monolith: %w", err)
	}
	return m, nil
}

// namedDSN is a server for the server file.
type namedDSN struct{ name, dsn string }

// ready waits until Monolith says that it is.
func (m *monitor) ready(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := m.call(ctx, http.MethodGet, "/readyz", nil, nil)
		if err == nil {
			return nil
		}
		select {
		case <-m.process.Exited():
			return m.ended()
		case <-ctx.Done():
			return fmt.Errorf("playground: monolith is not ready: %w", err)
		case <-tick.C:
		}
	}
}

// ended says why Monolith ended by itself.
func (m *monitor) ended() error {
	cause := "exit status 0"
	if err := m.process.Err(); err != nil {
		cause = err.Error()
	}
	return fmt.Errorf("playground: monolith ended by itself (%s); its log's last lines:\n%s", cause, m.last)
}

// group puts a server into a group, unless a person gave it one.
func (m *monitor) group(ctx context.Context, name, group string) error {
	path := "/api/v1/servers/" + url.PathEscape(name)
	var server struct{ Group string }
	if err := m.call(ctx, http.MethodGet, path, nil, &server); err != nil {
		return err
	}
	if server.Group != "" {
		return nil
	}
	return m.call(ctx, http.MethodPatch, path, map[string]string{"group": group}, nil)
}

// call asks Monolith's API; an answer that is not of the 200s is an error with its text.
func (m *monitor) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, m.address+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, response.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// stop ends Monolith as an operator would, and kills it when it does not end in time.
func (m *monitor) stop() error {
	select {
	case <-m.process.Exited():
		return nil
	default:
	}
	m.peak = peakMemory(m.process.PID)
	if err := m.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("playground: stop monolith: %w", err)
	}
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case <-m.process.Exited():
		return m.process.Err()
	case <-timer.C:
		_ = m.process.Signal(syscall.SIGKILL) // what matters is that it is gone
		<-m.process.Exited()
		return errors.New("playground: stop monolith: it did not end within 20 s and was killed")
	}
}

// used says what Monolith cost, once it has ended.
func (m *monitor) used() string {
	state := m.cmd.ProcessState
	text := fmt.Sprintf("Monolith used %v of CPU time", (state.UserTime() + state.SystemTime()).Round(10*time.Millisecond))
	if m.peak > 0 {
		text += fmt.Sprintf(" and at most %d MB of memory", m.peak/1024)
	}
	return text + "."
}

// peakMemory gives the most memory that a process has had, in kB; 0 where the system does not tell. What wait tells
// after its end is of no use: it counts what this program had when it forked.
func peakMemory(pid int) (kB int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			_, _ = fmt.Sscanf(rest, "%d kB", &kB) // else it stays 0
		}
	}
	return kB
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 2048

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(p), nil
}

// String gives the whole lines among what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) == tailSize {
		if _, rest, ok := bytes.Cut(t.text, []byte("\n")); ok {
			return string(rest)
		}
	}
	return string(t.text)
}
