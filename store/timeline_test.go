package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"monolith"
)

func TestChangedVariablesMakeATimeline(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		s := newSource(b.server("a").ID)
		b.play(s, 12)
		before := s.at
		s.variables["max_connections"] = "500"
		s.variables["version"] = "10.11.9-MariaDB"
		b.play(s, 6)
		changed := origin.Add(13 * pollEvery)

		changes, err := b.db.Changes(ctx, monolith.ChangeQuery{Server: s.id, Name: "variable."})
		if err != nil {
			t.Fatal(err)
		}
		want := []monolith.Change{
			{Server: s.id, At: changed, Name: "variable.version", From: "10.11.6-MariaDB", To: "10.11.9-MariaDB"},
			{Server: s.id, At: changed, Name: "variable.max_connections", From: "151", To: "500"},
		}
		if diff := cmp.Diff(want, changes, cmpopts.IgnoreFields(monolith.Change{}, "ID")); diff != "" {
			t.Error(diff)
		}
		first, err := b.db.Changes(ctx, monolith.ChangeQuery{Server: s.id, Name: "variable.max_connections", Exact: true, First: true})
		if err != nil || len(first) != 2 || !first[1].First || first[1].To != "151" {
			t.Errorf("with first sights: %+v, %v", first, err)
		}
		other := b.server("b").ID
		for n, ids := range map[int][]monolith.ServerID{0: {other, 999}, 2: {other, s.id}} {
			if list, err := b.db.Changes(ctx, monolith.ChangeQuery{Servers: ids, Name: "variable."}); err != nil || len(list) != n {
				t.Errorf("of %v: %+v, %v", ids, list, err)
			}
		}
		page, err := b.db.Changes(ctx, monolith.ChangeQuery{Before: changes[0].ID, Limit: 1})
		if err != nil || len(page) != 1 || page[0].ID != changes[1].ID {
			t.Errorf("the page after the first: %+v, %v", page, err)
		}

		for _, when := range []struct {
			at   time.Time
			want map[string]string
		}{
			{origin, map[string]string{}},
			{before, map[string]string{"max_connections": "151", "sql_mode": "STRICT", "version": "10.11.6-MariaDB"}},
			{s.at, map[string]string{"max_connections": "500", "sql_mode": "STRICT", "version": "10.11.9-MariaDB"}},
		} {
			texts, err := b.db.TextsAt(ctx, s.id, "variable", when.at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(when.want, texts); diff != "" {
				t.Errorf("at %v: %s", when.at, diff)
			}
		}

		marks, err := b.db.Marks(ctx, monolith.MarkQuery{Servers: []monolith.ServerID{s.id}})
		if err != nil {
			t.Fatal(err)
		}
		wantMarks := []monolith.Mark{
			{Server: s.id, At: changed, Kind: monolith.MarkVersion, Text: "10.11.6-MariaDB → 10.11.9-MariaDB"},
			{Server: s.id, At: changed, Kind: monolith.MarkVariable, Text: "max_connections: 151 → 500"},
		}
		byKind := cmpopts.SortSlices(func(a, b monolith.Mark) bool { return a.Kind > b.Kind })
		if diff := cmp.Diff(wantMarks, marks, cmpopts.IgnoreFields(monolith.Mark{}, "ID"), byKind); diff != "" {
			t.Error(diff)
		}

		// A step function with its number filled in, from the tail's memory and from the table.
		for _, again := range []bool{false, true} {
			if again {
				b.reopen()
			}
			r := b.read(monolith.Query{Server: s.id, Metrics: []string{"variable.max_connections"}, From: origin, To: s.at, Step: pollEvery})
			line := series(t, r, "variable.max_connections", "")
			wantSteps := []monolith.TextStep{{At: origin.Add(pollEvery), Text: "151"}, {At: changed, Text: "500"}}
			if diff := cmp.Diff(wantSteps, line.Steps); diff != "" {
				t.Error(diff)
			}
			if line.Last[5] != 151 || line.Last[r.N-1] != 500 {
				t.Errorf("the numbers are %v", line.Last)
			}
		}

		// A start of the program is no change.
		b.play(s, 12)
		if again, err := b.db.Changes(ctx, monolith.ChangeQuery{Server: s.id}); err != nil || len(again) != 2 {
			t.Errorf("%d changes after a start, %v", len(again), err)
		}
	})
}

func TestVanishedVariableIsGone(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 6)
		s.textNames = monolith.NewNames([]monolith.Metric{{Name: "variable.max_connections"}, {Name: "variable.version"}})
		b.play(s, 6)
		texts, err := b.db.TextsAt(t.Context(), s.id, "variable", s.at)
		if err != nil {
			t.Fatal(err)
		}
		if _, there := texts["sql_mode"]; there || len(texts) != 2 {
			t.Errorf("texts now: %v", texts)
		}
		changes, err := b.db.Changes(t.Context(), monolith.ChangeQuery{Server: s.id})
		if err != nil || len(changes) != 1 || !changes[0].Gone || changes[0].From != "STRICT" {
			t.Errorf("changes: %+v, %v", changes, err)
		}
	})
}

func TestManyChangesShareAMarkAndRestlessOnesMakeNone(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		var metrics []monolith.Metric
		texts := []string{}
		for i := range 30 {
			metrics = append(metrics, monolith.Metric{Name: fmt.Sprintf("variable.v%02d", i)})
			texts = append(texts, "1")
		}
		metrics = append(metrics, monolith.Metric{Name: "variable.gtid_executed"})
		texts = append(texts, "a:1-5")
		list := monolith.NewNames(metrics)
		s := newSource(b.server("a").ID)
		send := func() {
			snap := s.next()
			snap.Sections = []monolith.Section{{Collector: "variables", TextNames: list, Texts: texts}}
			b.db.Append(snap)
			b.flush()
		}
		send()
		texts = append([]string{}, texts...)
		for i := range texts {
			texts[i] += "0"
		}
		send()
		marks, err := b.db.Marks(t.Context(), monolith.MarkQuery{Servers: []monolith.ServerID{s.id}})
		if err != nil {
			t.Fatal(err)
		}
		if len(marks) != maxMarks || marks[len(marks)-1].Text != "and 21 more variables changed" {
			t.Errorf("%d marks, the last %q", len(marks), marks[len(marks)-1].Text)
		}
		for _, m := range marks {
			if strings.Contains(m.Text, "gtid") {
				t.Errorf("mark %q", m.Text)
			}
		}
	})
}

func TestRestlessTextIsBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		list := monolith.NewNames([]monolith.Metric{{Name: "status.Innodb_buffer_pool_dump_status"}})
		s := newSource(b.server("a").ID)
		var text string
		for i := range 360 {
			snap := s.next()
			text = fmt.Sprint("dumped at ", i) + strings.Repeat("\xff", 20_000)
			if i > 300 {
				text = "done"
			}
			snap.Sections = []monolith.Section{{Collector: "status", TextNames: list, Texts: []string{text}}}
			b.db.Append(snap)
		}
		b.flush()
		if n := count(t, b.db, "SELECT COUNT(*) FROM text_change"); n > 2*maxSteps {
			t.Errorf("%d changes of one text in an hour", n)
		}
		if n := count(t, b.db, "SELECT MAX(LENGTH(to_text)) FROM text_change"); n > maxText+100 {
			t.Errorf("a text of %d bytes is kept", n)
		}
		// In the next hour the text in force is told.
		for range 12 {
			snap := s.next()
			snap.Sections = []monolith.Section{{Collector: "status", TextNames: list, Texts: []string{text}}}
			b.db.Append(snap)
		}
		b.flush()
		texts, err := b.db.TextsAt(t.Context(), s.id, "status", s.at)
		if err != nil || texts["Innodb_buffer_pool_dump_status"] != "done" {
			t.Errorf("the text in force is %.20q, %v", texts["Innodb_buffer_pool_dump_status"], err)
		}
	})
}

func TestMarksOfServersGroupsAndEverything(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		a, c := b.server("a"), b.server("c")
		at := func(m int) time.Time { return origin.Add(time.Duration(m) * time.Minute) }
		for i, m := range []monolith.Mark{
			{Server: a.ID, Text: "deploy a"}, {Server: c.ID, Text: "deploy c"}, {Text: "everything"},
			{Group: "acme", Text: "client"}, {Group: "acme/prod", Text: "production"}, {Group: "acmeother", Text: "other"},
		} {
			m.At, m.Kind = at(i), monolith.MarkNote
			if err := b.db.AddMark(ctx, &m); err != nil || m.ID == 0 {
				t.Fatal(err)
			}
		}
		for name, q := range map[string]struct {
			q    monolith.MarkQuery
			want []string
		}{
			"server":  {monolith.MarkQuery{Servers: []monolith.ServerID{a.ID}}, []string{"deploy a", "everything"}},
			"group":   {monolith.MarkQuery{Groups: []string{"acme/prod"}}, []string{"everything", "client", "production"}},
			"all":     {monolith.MarkQuery{}, []string{"deploy a", "deploy c", "everything", "client", "production", "other"}},
			"range":   {monolith.MarkQuery{From: at(1), To: at(3)}, []string{"deploy c", "everything"}},
			"newest":  {monolith.MarkQuery{Limit: 2}, []string{"production", "other"}},
			"kind":    {monolith.MarkQuery{Kinds: []monolith.MarkKind{monolith.MarkAlert}}, nil},
			"servers": {monolith.MarkQuery{Servers: []monolith.ServerID{a.ID, c.ID}, Groups: []string{"acme"}}, []string{"deploy a", "deploy c", "everything", "client"}},
		} {
			marks, err := b.db.Marks(ctx, q.q)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, m := range marks {
				texts = append(texts, m.Text)
			}
			if diff := cmp.Diff(q.want, texts); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		marks, err := b.db.Marks(ctx, monolith.MarkQuery{})
		if err != nil {
			t.Fatal(err)
		}
		seen := monolith.Mark{At: origin, Kind: monolith.MarkRename, Text: "renamed: a → b"}
		if err := b.db.AddMark(ctx, &seen); err != nil {
			t.Fatal(err)
		}
		if err := b.db.DeleteMark(ctx, seen.ID); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("deleting what Monolith saw: %v, want a conflict", err)
		}
		if err := b.db.DeleteMark(ctx, marks[0].ID); err != nil {
			t.Error(err)
		}
		if err := b.db.DeleteMark(ctx, marks[0].ID); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("deleting it again: %v", err)
		}
		for _, bad := range []monolith.Mark{{At: origin, Kind: "party", Text: "x"}, {At: origin, Kind: monolith.MarkNote, Text: " "}, {Kind: monolith.MarkNote, Text: "x"}} {
			if err := b.db.AddMark(ctx, &bad); !isInvalid(err) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

func TestFailoverIsMarked(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		send := func(hostname, source string) {
			snap := s.next()
			snap.Identity.Hostname = hostname
			snap.Replicas = []monolith.Replica{{SourceHost: source, SourcePort: 3306}}
			b.db.Append(snap)
			b.flush()
		}
		send("db1", "p1")
		send("db1", "p2")
		b.reopen()
		send("db2", "p2")
		marks, err := b.db.Marks(t.Context(), monolith.MarkQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range marks {
			texts = append(texts, string(m.Kind)+": "+m.Text)
		}
		want := []string{"failover: reads from another source: p1:3306 → p2:3306", "failover: another server answers: db1 (server_id 7) → db2 (server_id 7)"}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Error(diff)
		}
	})
}

// A channel that comes or goes is told, also over a start; what was not read is no channel that is gone, and those of a group come and
// go with its members.
func TestChannelsThatComeAndGoAreMarked(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		send := func(channels ...string) {
			snap := s.next()
			if channels != nil {
				snap.Replicas = []monolith.Replica{}
			}
			for _, c := range channels {
				if c != "none" {
					snap.Replicas = append(snap.Replicas, monolith.Replica{Channel: c, SourceHost: "p" + c, SourcePort: 3306})
				}
			}
			b.db.Append(snap)
			b.flush()
		}
		send("", "eu")
		send() // not read
		send("", "eu", "group_replication_applier")
		send("")
		b.reopen()
		send("none")
		send("us")
		marks, err := b.db.Marks(t.Context(), monolith.MarkQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range marks {
			texts = append(texts, string(m.Kind)+": "+m.Text)
		}
		want := []string{"failover: channel eu reads from no source any more: peu:3306 → none", "failover: reads from no source any more: p:3306 → none",
			"failover: channel us reads from a source now: pus:3306"}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLastStateFillsPagesAfterAStart(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		id := b.server("a").ID
		if state, err := b.db.LastState(ctx, id); err != nil || state != nil {
			t.Errorf("before any poll: %v, %v", state, err)
		}
		s := newSource(id)
		b.play(s, 6)
		lag := int64(3)
		snap := s.next()
		snap.Replicas = []monolith.Replica{{Channel: "", SourceHost: "p", SourcePort: 3306, Lag: &lag}}
		snap.Processes = &monolith.ProcessList{Total: 2, Rows: []monolith.Process{{ID: 5, User: "app"}}}
		snap.Accounts = []monolith.Account{{User: "app", Host: "%"}}
		snap.Schemas = &monolith.SchemaSizes{Tables: 3}
		snap.BinaryLogs = []monolith.BinaryLog{{Name: "bin.1", Size: 9}}
		b.db.Append(snap)
		b.play(s, 3)
		b.reopen()
		state, err := b.db.LastState(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if !state.Polled.Equal(s.at) || state.Seq != 10 || state.Identity.Version != (monolith.Version{Major: 10, Minor: 11, Patch: 6}) {
			t.Errorf("polled %v, seq %d, identity %+v", state.Polled, state.Seq, state.Identity)
		}
		if n, at, ok := state.Value(monolith.Metric{Name: "status.Questions"}); !ok || n != monolith.Uint(1500) || !at.Equal(s.at) {
			t.Errorf("Questions is %v of %v, %v", n, at, ok)
		}
		if text, _, ok := state.Text(monolith.Metric{Name: "variable.sql_mode"}); !ok || text != "STRICT" {
			t.Errorf("sql_mode is %q, %v", text, ok)
		}
		for _, diff := range []string{cmp.Diff(snap.Replicas, state.Replicas), cmp.Diff(snap.Processes, state.Processes), cmp.Diff(snap.Accounts, state.Accounts),
			cmp.Diff(snap.Schemas, state.Schemas), cmp.Diff(snap.BinaryLogs, state.BinaryLogs)} {
			if diff != "" {
				t.Error(diff)
			}
		}
		// A killed process leaves what was written last.
		b.play(s, 40)
		b.kill()
		b.open()
		if state, err := b.db.LastState(ctx, id); err != nil || state == nil || len(state.Accounts) != 1 || state.Seq == 0 || state.Interval != pollEvery || state.Polled.IsZero() {
			t.Errorf("after a kill: %+v, %v", state, err)
		}
	})
}

func TestRestartIsMarkedWhereTheServerStarted(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		restarted := func(uptime time.Duration, missed int) time.Time {
			b.db.Append(s.next())
			for range missed {
				snap := s.next()
				snap.Polled, snap.Up, snap.Sections = false, false, nil
				b.db.Append(snap)
			}
			snap := s.next()
			snap.Restart = true
			snap.Sections = append(snap.Sections, monolith.Section{Collector: "uptime", TextNames: monolith.NewNames(nil),
				NumNames: monolith.NewNames([]monolith.Metric{{Name: "status.Uptime"}}), Nums: []monolith.Num{monolith.Uint(uint64(uptime / time.Second))}})
			b.db.Append(snap)
			return snap.At
		}
		first := restarted(25*time.Second, 5)
		second := restarted(time.Hour, 0) // the clocks differ: not before the old run's last answer
		b.flush()
		marks, err := b.db.Marks(t.Context(), monolith.MarkQuery{Kinds: []monolith.MarkKind{monolith.MarkRestart}})
		if err != nil || len(marks) != 2 {
			t.Fatalf("%v, %v", marks, err)
		}
		if want := first.Add(-25 * time.Second); !marks[0].At.Equal(want) {
			t.Errorf("marked at %s, want %s", marks[0].At, want)
		}
		if want := second.Add(-pollEvery); !marks[1].At.Equal(want) {
			t.Errorf("marked at %s, want the poll before, %s", marks[1].At, want)
		}
	})
}

func TestLastChangesOfAllServers(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		a, idle := newSource(b.server("a").ID), newSource(b.server("b").ID)
		names := monolith.NewNames([]monolith.Metric{{Name: "variable.wait_timeout"}, {Name: "variable.timestamp"}, {Name: "status.Ssl_cipher"}})
		send := func(s *source, texts ...string) time.Time {
			snap := s.next()
			snap.Sections = append(snap.Sections, monolith.Section{Collector: "texts", NumNames: monolith.NewNames(nil), TextNames: names, Texts: texts})
			b.db.Append(snap)
			return snap.At
		}
		send(a, "100", "1", "x")
		send(idle, "100", "1", "x")
		at := send(a, "200", "2", "y")
		send(a, "200", "3", "z")
		b.flush()
		want := map[monolith.ServerID]monolith.Change{a.id: {Server: a.id, At: at, Name: "variable.wait_timeout", From: "100", To: "200"}}
		for range 2 {
			if diff := cmp.Diff(want, b.db.LastChanges("variable")); diff != "" {
				t.Error(diff)
			}
			b.reopen()
		}
	})
}
