package figures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"monolith/internal/child"
)

// patience bounds each start and each wait for a peer.
const patience = 60 * time.Second

// A Program is one that stands beside Monolith, while it runs.
type Program struct {
	Name string
	URL  string // http://127.0.0.1:port
	PID  int
	Dir  string // its data

	tb      testing.TB
	process *child.Process
	log     string
}

// The peers, by the names of their programs, which Debian's packages have too.
const (
	prometheusName = "prometheus"
	victoriaName   = "victoria-metrics"
	exporterName   = "prometheus-mysqld-exporter"
)

// Missing lists the peers that are not installed.
func Missing() (names []string) {
	for _, name := range []string{prometheusName, victoriaName, exporterName} {
		if _, err := exec.LookPath(name); err != nil {
			names = append(names, name)
		}
	}
	return names
}

// Prometheus starts Prometheus on a folder of data, which keeps what is in it. It scrapes what the configuration says and
// takes remote writes. nil: it is not installed.
func Prometheus(tb testing.TB, dir, config string) *Program {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}
	return start(tb, prometheusName, dir, "/-/ready", nil, func(address string) []string {
		return []string{"--config.file=" + file, "--storage.tsdb.path=" + dir, "--web.listen-address=" + address, "--log.level=warn",
			"--storage.tsdb.retention.time=100y", "--web.enable-remote-write-receiver", "--web.enable-admin-api"}
	})
}

// Scraping is a configuration of Prometheus and VictoriaMetrics that scrapes one page under so many instances' names.
func Scraping(page string, instances int, every time.Duration) string {
	address, path, _ := strings.Cut(strings.TrimPrefix(page, "http://"), "/")
	var b strings.Builder
	fmt.Fprintf(&b, "global:\n  scrape_interval: %s\n  scrape_timeout: %[1]s\nscrape_configs:\n- job_name: mysql\n  metrics_path: /%s\n  static_configs:\n", every, path)
	for i := range instances {
		fmt.Fprintf(&b, "  - targets: ['%s']\n    labels: {instance: 'db%d'}\n", address, i+1)
	}
	return b.String()
}

// Victoria starts VictoriaMetrics on a folder of data. config is what it scrapes, "" for nothing. nil: it is not installed.
func Victoria(tb testing.TB, dir, config string) *Program {
	tb.Helper()
	file := ""
	if config != "" {
		file = filepath.Join(tb.TempDir(), "scrape.yml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return start(tb, victoriaName, dir, "/health", nil, func(address string) []string {
		args := []string{"-storageDataPath=" + dir, "-httpListenAddr=" + address, "-retentionPeriod=100y", "-loggerLevel=ERROR", "-search.latencyOffset=0"}
		if file != "" {
			args = append(args, "-promscrape.config="+file)
		}
		return args
	})
}

// Exporter starts mysqld_exporter for a server. statusOnly leaves out all but the status. nil: it is not installed.
func Exporter(tb testing.TB, dsn string, statusOnly bool) *Program {
	tb.Helper()
	return start(tb, exporterName, tb.TempDir(), "/", []string{"DATA_SOURCE_NAME=" + dsn}, func(address string) []string {
		args := []string{"--web.listen-address=" + address, "--log.level=error"}
		if statusOnly {
			for _, part := range []string{"global_variables", "slave_status", "info_schema.innodb_cmp", "info_schema.innodb_cmpmem", "info_schema.query_response_time"} {
				args = append(args, "--no-collect."+part)
			}
		}
		return args
	})
}

// start starts a peer that listens on a free port and waits until it answers there. It ends with the test.
func start(tb testing.TB, name, dir, ready string, environment []string, args func(address string) []string) *Program {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p := &Program{Name: name, URL: "http://" + address, Dir: dir, tb: tb, log: filepath.Join(tb.TempDir(), "log")}
	log, err := os.Create(p.log)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(path, args(address)...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = log, log
	if p.process, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		tb.Fatal(err)
	}
	p.PID = p.process.PID
	tb.Cleanup(p.Stop)
	Until(tb, name+" answers", func() bool {
		select {
		case <-p.process.Exited():
			tb.Fatalf("%s ended: %v\n%s", name, p.process.Err(), p.said())
		default:
		}
		_, err := p.get(tb.Context(), ready)
		return err == nil
	})
	return p
}

// Stop ends the program and waits for that; once it is gone it does nothing.
func (p *Program) Stop() {
	_ = p.process.Signal(syscall.SIGTERM) // gone already is as good
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.process.Exited():
	case <-late.C:
		_ = p.process.Signal(syscall.SIGKILL)
		<-p.process.Exited()
	}
}

// CPU is the processor time that it has used.
func (p *Program) CPU() time.Duration {
	p.tb.Helper()
	used, err := CPU(p.PID)
	if err != nil {
		p.tb.Fatalf("%v\n%s", err, p.said())
	}
	return used
}

// Resident is the memory that it has, and the most that it ever had.
func (p *Program) Resident() (now, peak int64) {
	p.tb.Helper()
	now, peak, err := Resident(p.PID)
	if err != nil {
		p.tb.Fatalf("%v\n%s", err, p.said())
	}
	return now, peak
}

// Get asks for an address below the program's and gives the body of a good answer.
func (p *Program) Get(path string) []byte {
	p.tb.Helper()
	body, err := p.get(p.tb.Context(), path)
	if err != nil {
		p.tb.Fatalf("%v\n%s", err, p.said())
	}
	return body
}

func (p *Program) get(ctx context.Context, path string) ([]byte, error) {
	return p.do(ctx, http.MethodGet, path, nil, nil)
}

func (p *Program) do(ctx context.Context, method, path string, header http.Header, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("figures: %s: %s %s: %s: %.300s", p.Name, method, path, response.Status, answer)
	}
	return answer, err
}

func (p *Program) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// DiskUsage adds up what the files below a folder take on disk, as du does: in blocks.
func DiskUsage(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a program merges its files meanwhile
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			bytes += s.Blocks * 512
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("figures: disk usage: %w", err)
	}
	return bytes, nil
}

// Until waits until a condition holds.
func Until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-late.C:
			tb.Fatalf("not within %v: %s", patience, what)
		case <-tick.C:
		}
	}
}
