//go:build linux

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/formula"
	"monolith/internal/figures"
)

var figuresFile = flag.String("figures", "", "let TestFigures measure, which takes minutes, and write its table to this `file`")

// figureRows are what "make bench" measures, in the order of the table: each function gives a row, or several where they
// come from the same work. To add one, write the function in a file of its topic and name it here; it can then be run alone
// with FIGURES=name. What it measures should be processor time rather than time: other programs run too.
var figureRows = []struct {
	name string
	rows func(*testing.T, *bench) []figures.Row
}{
	{"poll", pollRows},
	{"watched", watchedRows},
	{"history", historyRows},
	{"month", monthRows},
	{"fleet", fleetRows},
	{"export", exportRows},
	{"program", programRows},
}

// TestFigures measures Monolith, and where they are installed the programs that are used for the same work, and prints the
// table. A figure above its target is no failure: it stands in the table.
func TestFigures(t *testing.T) {
	if *figuresFile == "" {
		t.Skip("it measures: make bench")
	}
	b := newBench(t)
	var rows []figures.Row
	for _, f := range figureRows {
		t.Run(f.name, func(t *testing.T) {
			began := time.Now()
			rows = append(rows, f.rows(t, b)...)
			t.Logf("took %v", time.Since(began).Round(time.Second))
		})
	}
	table := figures.Table(rows) + b.surroundings()
	if err := os.WriteFile(*figuresFile, []byte(table), 0o644); err != nil {
		t.Error(err)
	}
}

// bench is what the rows share.
type bench struct {
	program string           // the built binary
	traces  []*figures.Trace // the first is a usual server, the second a busy one
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{program: filepath.Join(t.TempDir(), "monolith")}
	compile := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.program, ".")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	names := statusNames()
	usual := figures.OLTP(names, figures.Steady)
	if dir := os.Getenv("MONOLITH_TRACES"); dir != "" {
		var err error
		if usual, err = figures.Read(filepath.Join(dir, "mariadb1.status.tsv.gz"), "recorded MariaDB"); err != nil {
			t.Fatal(err)
		}
	}
	b.traces = []*figures.Trace{usual, figures.OLTP(names, figures.Busy)}
	return b
}

// statusNames are the numbers of as many status values as a MariaDB 10.11 has.
func statusNames() []string {
	var names []string
	for _, name := range formula.Names("status") {
		if k := monolith.KindOf(name); k == monolith.Counter || k == monolith.Gauge {
			names = append(names, name)
		}
	}
	// Evenly over the alphabet, as the names are.
	const wanted = 562
	chosen := make([]string, wanted)
	for i := range chosen {
		chosen[i] = names[i*len(names)/wanted]
	}
	return slices.Compact(chosen)
}

// surroundings says what was measured, and what was not.
func (b *bench) surroundings() string {
	var s strings.Builder
	s.WriteByte('\n')
	for _, t := range b.traces {
		fmt.Fprintf(&s, "- %s: %d status values, %d of them counters that move all the time\n", t.Title, len(t.Names), len(t.Moving))
	}
	if os.Getenv("MONOLITH_TRACES") == "" {
		s.WriteString("- no recorded trace: MONOLITH_TRACES names no folder, so the usual server is made up\n")
	}
	if missing := figures.Missing(); len(missing) > 0 {
		fmt.Fprintf(&s, "- not installed, so that peers are missing: %s\n", strings.Join(missing, ", "))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Fprintf(&s, "- load of the machine at the end, over 1, 5 and 15 minutes: %s\n", strings.Join(strings.Fields(string(load))[:3], ", "))
	}
	return s.String()
}

// measure gives the processor time that a process takes while f runs.
func measure(t *testing.T, pid int, f func()) time.Duration {
	t.Helper()
	before, err := figures.CPU(pid)
	if err != nil {
		t.Fatal(err)
	}
	f()
	after, err := figures.CPU(pid)
	if err != nil {
		t.Fatal(err)
	}
	return after - before
}

// wait lets time pass in which others are measured.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

func milliseconds(d time.Duration, n int) float64 { return d.Seconds() * 1000 / float64(n) }

const megabyte = 1e6
