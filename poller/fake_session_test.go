package poller

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// fakeSession answers statements from a table, for versions that no test machine has. A statement that
// is not in the table is refused as MySQL refuses what it does not know, so that asking a version for
// what it does not have fails the test.
type fakeSession struct {
	t       testing.TB
	answers map[string]answer // by the beginning of the statement
	sent    []string
	refused []string
}

// answer is a result of named columns; null is NULL.
type answer struct {
	columns []string
	rows    [][]string
	err     error
}

const null = "\x00NULL"

// vertical makes a row of each block of "name: value" lines, as \G prints them.
func vertical(blocks ...string) answer {
	var a answer
	place := map[string]int{}
	for range 2 { // first the columns of all blocks, then the rows
		a.rows = nil
		for _, block := range blocks {
			row := slices.Repeat([]string{null}, len(a.columns))
			for line := range strings.Lines(block) {
				name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
				if !ok {
					continue
				}
				if _, known := place[name]; !known {
					place[name] = len(a.columns)
					a.columns = append(a.columns, name)
					row = append(row, null)
				}
				if value = strings.TrimSpace(value); value == "NULL" {
					value = null
				}
				row[place[name]] = strings.ReplaceAll(value, `\n`, "\n")
			}
			a.rows = append(a.rows, row)
		}
	}
	return a
}

func refuse(number uint16, text string) answer {
	return answer{err: &mysql.MySQLError{Number: number, Message: text}}
}

func (f *fakeSession) Query(_ context.Context, statement string, row func(Row) error) error {
	f.sent = append(f.sent, statement)
	best := ""
	for begin := range f.answers {
		if strings.HasPrefix(statement, begin) && len(begin) > len(best) {
			best = begin
		}
	}
	if best == "" {
		f.refused = append(f.refused, statement)
		return &mysql.MySQLError{Number: 1064, Message: "You have an error in your SQL syntax"}
	}
	a := f.answers[best]
	if a.err != nil {
		return a.err
	}
	cols := newColumns(a.columns)
	for _, r := range a.rows {
		values := make([]sql.RawBytes, len(a.columns))
		for i, v := range r {
			if v != null {
				values[i] = sql.RawBytes(v)
			}
		}
		if err := row(Row{columns: cols, values: values}); err != nil {
			return err
		}
		for _, v := range values { // the row is valid only during the call
			for i := range v {
				v[i] = 0xEE
			}
		}
	}
	return nil
}

func (f *fakeSession) Exec(ctx context.Context, statement string) error {
	return f.Query(ctx, statement, func(Row) error { return nil })
}

func (f *fakeSession) Either(ctx context.Context, row func(Row) error, statements ...string) error {
	var err error
	for _, s := range statements {
		if err = f.Query(ctx, s, row); !refusedStatement(err) {
			return err
		}
	}
	return err
}

func (f *fakeSession) ConnectionID() uint64 { return 42 }

// server makes an identity of a version text.
func server(version, comment string) monolith.Identity {
	return monolith.Identify(map[string]string{"version": version, "version_comment": comment})
}

// collect runs one collector against a fake session.
func collect(t testing.TB, c *Collector, id monolith.Identity, f *fakeSession, change ...func(*Gather)) (*monolith.Snapshot, error) {
	t.Helper()
	f.t = t
	g := &Gather{
		Session: f, Server: &monolith.Server{Name: "fake"}, Identity: id, Account: "monolith@%",
		snapshot: &monolith.Snapshot{}, collector: c, memory: new(memory),
	}
	for _, ch := range change {
		ch(g)
	}
	err := c.Collect(t.Context(), g)
	belongs(t, c, g.snapshot)
	return g.snapshot, err
}

// find gives a number of a snapshot as text: "none" where it has no value, "absent" where there is no such name.
func find(snap *monolith.Snapshot, name, instance string) string {
	for i := range snap.Sections {
		s := &snap.Sections[i]
		if at := s.NumNames.Index(monolith.Metric{Name: name, Instance: instance}); at >= 0 {
			if s.Nums[at].IsNone() {
				return "none"
			}
			return s.Nums[at].String()
		}
	}
	return "absent"
}

// wants compares several numbers at once: "name[instance]" → text.
func wants(t testing.TB, snap *monolith.Snapshot, want map[string]string) {
	t.Helper()
	for name, w := range want {
		metric, instance, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
		if got := find(snap, metric, instance); got != w {
			t.Errorf("%s is %s, want %s", name, got, w)
		}
	}
}

func problemKinds(snap *monolith.Snapshot) string {
	var kinds []string
	for _, p := range snap.Problems {
		kinds = append(kinds, string(p.Kind))
	}
	return fmt.Sprint(kinds)
}
