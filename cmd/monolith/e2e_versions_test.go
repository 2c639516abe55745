package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"monolith/internal/replay"
)

// TestServersOfEveryKindOnPages lets the program watch recorded servers of kinds that can't be installed, and asks the API
// and the pages what they are.
func TestServersOfEveryKindOnPages(t *testing.T) {
	needFrontEnd(t)
	dirs, err := filepath.Glob("../../poller/testdata/servers/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%d servers, %v", len(dirs), err)
	}
	var lines strings.Builder
	expected := map[string]map[string]string{}
	for _, dir := range dirs {
		name := strings.NewReplacer(".", "-").Replace(filepath.Base(dir))
		fmt.Fprintf(&lines, "%s=%s\n", name, replay.Open(t, dir).DSN())
		b, err := os.ReadFile(filepath.Join(dir, "expected.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		expected[name] = map[string]string{}
		for line := range strings.Lines(string(b)) {
			what, want, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
			expected[name][what] = want
		}
	}
	fmt.Fprintf(&lines, "hostile=%s\n", hostileServer(t).DSN())
	file := filepath.Join(t.TempDir(), "servers")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serve(t, build(t), nil, "--data", t.TempDir(), "--server-file", file)
	hostileEverywhere(t, p)
	for name, want := range expected {
		var one struct {
			State *struct {
				Up      bool
				Flavour string
				Product string
			}
		}
		until(t, name+" is up", func() bool {
			p.get("/api/v1/servers/"+name, &one)
			return one.State != nil && one.State.Up && one.State.Flavour != ""
		})
		if one.State.Product != want["identity"] {
			t.Errorf("%s is a %s, want %s", name, one.State.Product, want["identity"])
		}
		if flavour, _, _ := strings.Cut(strings.ToLower(want["identity"]), " "); one.State.Flavour != flavour {
			t.Errorf("%s is of flavour %s, want %s", name, one.State.Flavour, flavour)
		}
		until(t, "the page of "+name+" says "+want["identity"], func() bool {
			_, text := p.page("/servers/" + name)
			return strings.Contains(text, want["identity"])
		})
		var replication struct {
			Channels *[]struct {
				Channel string
				IO      string `json:"io"`
				SQL     string `json:"sql"`
				Lag     *float64
				Delay   *float64
			}
		}
		p.get("/api/v1/servers/"+name+"/replication", &replication)
		got := "unknown"
		if replication.Channels != nil {
			var list []string
			for _, c := range *replication.Channels {
				list = append(list, fmt.Sprintf("%q %s/%s lag %s counts %s", c.Channel, c.IO, c.SQL, orNone(c.Lag), orNone(c.Delay)))
			}
			got = strings.Join(list, "; ")
		}
		if errors := regexp.MustCompile(` errors \d+/\d+`); got != errors.ReplaceAllString(want["channels"], "") {
			t.Errorf("%s: the channels are %s, want %s", name, got, want["channels"])
		}
	}
}

// hostileServer says what breaks pages, feeds and files of those who trust it.
func hostileServer(t *testing.T) *replay.Server {
	return replay.Start(t, replay.Record(map[string]string{"version": "8.0.40", "version_comment": "<i>MySQL</i> ]]>", "wait_timeout": "28800", "hostname": "h\x08\x1d<b>&amp;",
		"init_file": "a\x00b\uFFFE <script>alert(1)</script>", "log_error": "\xff\xfe\x80", "time_zone": "\u202eetc"},
		map[string]string{"Uptime": "99", "Questions": "83505516706205592384", "Threads_connected": "18446744073709551615", "Ssl_cipher": "<script>\x1b[2J"}).
		With("SHOW REPLICA STATUS", replay.Table([]string{"Replica_IO_Running", "Replica_SQL_Running", "Seconds_Behind_Source", "Channel_Name", "Last_SQL_Errno", "Last_SQL_Error", "Source_Host"},
			[]string{"Yes", "No", "0", "<b>\x00", "1146", "a\x08b \x1D <b>&amp; ]]> \x00 \xed\xa0\x80\nReplica_SQL_Running: Yes\n<script>alert(1)</script>", "fd00::1"})).
		With("SHOW FULL PROCESSLIST", replay.Table([]string{"Id", "User", "Host", "db", "Command", "Time", "State", "Info"},
			[]string{"7", "u\xff", "[::1]:4", "<b>", "Query", "5", "x\x1b", "INSERT INTO t VALUES ('\xff\xfe\x00\x80') </textarea><script>"})))
}

// hostileEverywhere looks at everything that shows what the hostile server says.
func hostileEverywhere(t *testing.T, p *program) {
	until(t, "it is read", func() bool {
		_, text := p.page("/servers/hostile/variables")
		_, more := p.page("/servers/hostile/processes")
		return strings.Contains(text, "init_file") && strings.Contains(more, "INSERT INTO")
	})
	for _, path := range []string{"", "/replication", "/processes", "/status", "/variables", "/monitoring", "/changes", "/alerts", "/schemas", "/graphs"} {
		status, text := p.page("/servers/hostile" + path)
		if status != http.StatusOK || strings.Contains(text, "<script>alert") || strings.Contains(text, "</textarea><script>") || strings.ContainsAny(text, "\x00\x08\x1b\x1d") || !utf8.ValidString(text) {
			t.Errorf("%s: %d, or what it said is there as it was", path, status)
		}
	}
	for _, path := range []string{"/api/v1/export.xml?fields=server,version,hostname,status.Ssl_cipher,variable.init_file,status.Questions", "/api/v1/servers.xml", "/api/v1/servers/hostile.xml", "/feeds/info.rss", "/feeds/info.atom", "/feeds/changes.rss", "/feeds/changes.atom"} {
		status, text := p.page(path)
		decoder := xml.NewDecoder(strings.NewReader(text))
		var err error
		for err == nil {
			_, err = decoder.Token()
		}
		if status != http.StatusOK || err != io.EOF {
			t.Errorf("%s: %d, %v", path, status, err)
		}
	}
	for _, path := range []string{"/api/v1/export.json?fields=server,status.Ssl_cipher,variable.init_file", "/api/v1/servers/hostile/processes", "/api/v1/servers/hostile/variables", "/api/v1/servers/hostile/replication"} {
		status, text := p.page(path)
		if status != http.StatusOK || !json.Valid([]byte(text)) {
			t.Errorf("%s: %d, %.200s", path, status, text)
		}
	}
	if _, text := p.page("/servers/hostile/replication"); strings.Count(text, `<span class="state up">Yes`) != 1 || !strings.Contains(text, "[fd00::1]:") {
		t.Error("a line of an error's text is taken for a thread's state")
	}
}

func orNone(n *float64) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}
