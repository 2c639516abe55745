package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
	file := filepath.Join(t.TempDir(), "servers")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serve(t, build(t), nil, "--data", t.TempDir(), "--server-file", file)
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

func orNone(n *float64) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}
