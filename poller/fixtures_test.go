package poller

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"monolith"
	"monolith/internal/replay"
)

// TestServersOfEveryKind polls the servers of testdata/servers: captured ones and such as are written by hand after
// what the versions document. Each folder says in expected.tsv how it must be read.
func TestServersOfEveryKind(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("testdata/servers/*")
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%d servers, %v", len(dirs), err)
	}
	var servers []*replay.Server
	for _, dir := range dirs {
		servers = append(servers, replay.Open(t, dir))
	}
	for i, s := range readAll(t, servers...) {
		t.Run(filepath.Base(dirs[i]), func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dirs[i], "expected.tsv"))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(b)) {
				what, want, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
				if got := aspect(s, what); got != strings.ReplaceAll(want, `\n`, "\n") {
					t.Errorf("%s is\n%s, want\n%s", what, got, want)
				}
			}
		})
	}
}

// aspect gives what is known of a server in a form to compare: an aspect of it, the right that a
// collector needs, the gauge of a metric, or a metric.
func aspect(s *monolith.State, what string) string {
	metric, isGauge := strings.CutPrefix(what, "gauge ")
	collector, isRight := strings.CutPrefix(what, "right of ")
	switch {
	case isRight:
		if slices.ContainsFunc(s.Problems, func(p monolith.Problem) bool { return p.Collector == collector && needsGrant(p) }) {
			return "missing"
		}
		return "there"
	case isGauge:
		n, _, _ := s.Value(monolith.Metric{Name: metric})
		return fmt.Sprint(n.Gauge())
	case what == "identity":
		return s.Identity.String()
	case what == "cloud":
		return s.Identity.Cloud
	case what == "galera":
		return fmt.Sprint(s.Identity.Galera)
	case what == "channels":
		return channels(s)
	case what == "accounts":
		return accountsOf(s, func(monolith.Account) bool { return true }, describeAccount)
	case what == "passwordless":
		return accountsOf(s, func(a monolith.Account) bool { return a.Passwordless && a.Usable && !a.Reserved }, nameOfAccount)
	case what == "processes":
		if s.Processes == nil {
			return "unknown"
		}
		return fmt.Sprint(s.Processes.Total)
	case what == "problems":
		var list []string
		for _, p := range s.Problems {
			if p.Kind != monolith.ProblemOff && p.Kind != monolith.ProblemUnsupported || p.Code != 0 {
				list = append(list, p.Collector+": "+p.Text)
			}
		}
		return strings.Join(list, "; ")
	}
	return known(s, what)
}

func nameOfAccount(a monolith.Account) string { return fmt.Sprintf("%q@%q", a.User, a.Host) }

func describeAccount(a monolith.Account) string {
	text := nameOfAccount(a)
	if a.AuthEmpty {
		text += " empty"
	} else {
		text += fmt.Sprint(" ", a.AuthLength)
	}
	for _, way := range a.Alternatives {
		if way.Plugin != a.Plugin {
			text += " or " + way.Plugin
		}
	}
	for _, mark := range []struct {
		is   bool
		word string
	}{{a.Locked, " locked"}, {a.IsRole, " role"}, {a.Reserved, " reserved"}, {a.SecondFactor, " second"}} {
		if mark.is {
			text += mark.word
		}
	}
	return text
}

func accountsOf(s *monolith.State, which func(monolith.Account) bool, words func(monolith.Account) string) string {
	if s.Accounts == nil {
		return "unknown"
	}
	var list []string
	for _, a := range s.Accounts {
		if which(a) {
			list = append(list, words(a))
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
