package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"monolith/internal/realpart"
)

// needFrontEnd ends a test that is about pages with script in a tree where that was not built.
func needFrontEnd(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("../../web/dist/app.js"); err != nil {
		realpart.Missing(t, "the pages' script (web/dist/app.js)", "make ui")
	}
}

// program is a monolith serve that runs.
type program struct {
	t       *testing.T
	address string // http://127.0.0.1:port
	cmd     *exec.Cmd
	drained chan struct{} // closed when its output has ended

	mu  sync.Mutex
	out bytes.Buffer
}

// serve starts the program and waits until it is ready. With the test's end it is stopped, if that was not done.
func serve(t *testing.T, path string, environment []string, args ...string) *program {
	t.Helper()
	cmd := exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return start(t, cmd)
}

// start starts a command that becomes the program, and waits until that is ready.
func start(t *testing.T, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{t: t, cmd: cmd, drained: make(chan struct{})}
	pipe, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(p.drained)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			if _, rest, ok := strings.Cut(lines.Text(), "serves on "); ok {
				select {
				case address <- strings.TrimSuffix(strings.TrimSpace(rest), "/"):
				default:
				}
			}
			p.mu.Lock()
			fmt.Fprintln(&p.out, lines.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("monolith said:\n%s", p.log())
		}
	})
	select {
	case p.address = <-address:
	case <-p.drained:
		t.Fatalf("monolith ended at once:\n%s", p.log())
	case <-time.After(patience):
		t.Fatalf("monolith does not serve:\n%s", p.log())
	}
	until(t, "monolith is ready", func() bool { return p.get("/readyz", nil) == http.StatusOK })
	return p
}

func (p *program) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// stop ends the program as an operator would; it must end well.
func (p *program) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.drained:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("monolith does not stop:\n%s", p.log())
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("monolith stopped with %v:\n%s", err, p.log())
	}
}

// kill ends the program as a crash would. Once it is gone it does nothing.
func (p *program) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		<-p.drained
		_ = p.cmd.Wait() // it was killed
	}
}

// get asks the API and decodes a good answer into out. It gives the status.
func (p *program) get(path string, out any) int {
	p.t.Helper()
	return p.do(http.MethodGet, path, nil, out)
}

func (p *program) do(method, path string, in, out any) int {
	p.t.Helper()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			p.t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, p.address+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", method, path, err, p.log())
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if out == nil {
		return response.StatusCode
	}
	if response.StatusCode/100 != 2 {
		p.t.Fatalf("%s %s: %s: %s", method, path, response.Status, text)
	}
	if err := json.Unmarshal(text, out); err != nil {
		p.t.Fatalf("%s %s: %v: %.300s", method, path, err, text)
	}
	return response.StatusCode
}

// mark is what a graph shows at a moment.
type mark struct {
	T                  int64
	Server, Kind, Text string
}

// series is an answer of the API for one formula of one server.
type series struct {
	Step   int64
	T      []int64
	Series []struct {
		V   []*float64
		Why string
	}
	Marks []mark
}

// values asks for a formula's values since a moment.
func (p *program) values(server, expr string, since time.Time) *series {
	p.t.Helper()
	s := &series{}
	ask := url.Values{"server": {server}, "expr": {expr}, "from": {fmt.Sprint(since.Unix())}, "step": {"2"}}
	p.get("/api/v1/series?"+ask.Encode(), s)
	if len(s.Series) != 1 || len(s.Series[0].V) != len(s.T) {
		p.t.Fatalf("%s of %s: %d series, not one of %d values", expr, server, len(s.Series), len(s.T))
	}
	return s
}

// points counts the values that are there.
func (s *series) points() (n int) {
	for _, v := range s.Series[0].V {
		if v != nil {
			n++
		}
	}
	return n
}

// gap reports whether values miss between values. One poll or two that a machine under load makes late are none.
func (s *series) gap() bool {
	const before, within, after = 0, 1, 2
	place := before
	missing := 0
	for _, v := range s.Series[0].V {
		switch {
		case v != nil && place == within && missing >= 3:
			place = after
		case v != nil && place != after:
			place, missing = within, 0
		case place == within:
			missing++
		}
	}
	return place == after
}

// marked reports whether there is a mark of a kind whose text holds a word.
func (s *series) marked(kind, word string) bool {
	for _, m := range s.Marks {
		if m.Kind == kind && strings.Contains(m.Text, word) {
			return true
		}
	}
	return false
}

// patience bounds every wait for what is no matter of time: a machine that tests other packages too may need seconds
// where an idle one needs none.
const patience = 90 * time.Second

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %v: %s", patience, what)
		case <-tick.C:
		}
	}
}

// runProgram runs the program until it ends and gives what it said.
func runProgram(ctx context.Context, path string, args ...string) (said string, err error) {
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	return string(out), err
}
