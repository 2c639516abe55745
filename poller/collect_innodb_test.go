package poller

import (
	"strings"
	"testing"

	"monolith"
)

const innodbText55 = `
=====================================
111228 12:00:00 INNODB MONITOR OUTPUT
=====================================
------------------------
LATEST DETECTED DEADLOCK
------------------------
*** (1) TRANSACTION:
TRANSACTION 0 1, ACTIVE 999 sec
LOCK WAIT 2 lock struct(s)
------------
TRANSACTIONS
------------
Trx id counter 0 1200
Purge done for trx's n:o < 0 1100 undo n:o < 0 0
History list length 17
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 0 0, not started, process no 1
---TRANSACTION 0 1199, ACTIVE 3 sec, process no 1, OS thread id 7
2 lock struct(s), heap size 368
---TRANSACTION 0 1198, ACTIVE (PREPARED) 40 sec, OS thread id 8
LOCK WAIT 2 lock struct(s), heap size 368, 1 row lock(s)
--------
LOG
---
Log sequence number 1 500
Log flushed up to   1 400
Last checkpoint at  1 100
`

func TestParseInnoDBText(t *testing.T) {
	t.Parallel()
	got := parseInnoDBText(innodbText55)
	want := innodbText{History: monolith.Uint(17), LSN: monolith.Uint(1<<32 + 500), Flushed: monolith.Uint(1<<32 + 400), Checkpoint: monolith.Uint(1<<32 + 100),
		Transactions: monolith.Uint(2), Waiting: monolith.Uint(1), Oldest: monolith.Uint(40)}
	if got != want || got.CheckpointAge() != monolith.Uint(400) {
		t.Errorf("got %+v, age %v", got, got.CheckpointAge())
	}
	if got := parseInnoDBText("Log sequence number          12345\nLast checkpoint at           12000\n"); got.CheckpointAge() != monolith.Uint(345) || !got.Transactions.IsNone() {
		t.Errorf("got %+v", got)
	}
	if got := parseInnoDBText("History list length \nLog sequence number x\n"); got != (innodbText{}) {
		t.Errorf("numbers that are not there became %+v", got)
	}
}

func TestInnoDBOfOldServersIsReadFromTheText(t *testing.T) {
	t.Parallel()
	text := answer{columns: []string{"Status"}, rows: [][]string{{innodbText55}}}
	snap, err := collect(t, innodbCollector(), server("5.0.96", ""), &fakeSession{answers: map[string]answer{"SHOW ENGINE INNODB STATUS": text}})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"innodb.trx_rseg_history_len": "17", "innodb.log_lsn_checkpoint_age": "400", "innodb.transactions": "2",
		"innodb.transactions_waiting": "1", "innodb.oldest_transaction_seconds": "40"})

	text.columns = []string{"Type", "Name", "Status"}
	text.rows[0] = []string{"InnoDB", "", innodbText55}
	snap, err = collect(t, innodbCollector(), server("5.5.62", ""), &fakeSession{answers: map[string]answer{
		"SHOW ENGINE INNODB STATUS": text, "SELECT COUNT(*) AS open": {columns: []string{"open", "waiting", "oldest"}, rows: [][]string{{"0", null, null}}}}})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"innodb.trx_rseg_history_len": "17", "innodb.transactions": "0", "innodb.oldest_transaction_seconds": "0"})
}

func TestInnoDBMetricsByVersion(t *testing.T) {
	t.Parallel()
	for version, column := range map[string]string{"5.6.51": "STATUS", "8.4.0": "STATUS", "10.4.34-MariaDB": "STATUS", "10.5.3-MariaDB": "ENABLED", "12.3.1-MariaDB": "ENABLED"} {
		f := &fakeSession{answers: map[string]answer{
			"SELECT COUNT(*) AS open": {columns: []string{"open", "waiting", "oldest"}, rows: [][]string{{"2", "1", "77"}}},
			"SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE " + column: {columns: []string{"NAME", "COUNT"},
				rows: [][]string{{"lock_deadlocks", "3"}, {"buffer_pool_pages_misc", "-40"}}},
		}}
		age := "absent" // the status tells it
		if version == "5.6.51" || version == "10.4.34-MariaDB" {
			f.answers["SHOW ENGINE INNODB STATUS"] = answer{columns: []string{"Type", "Name", "Status"},
				rows: [][]string{{"InnoDB", "", "Log sequence number 5000\nLog flushed up to   4990\nLast checkpoint at  4200\n"}}}
			age = "800"
		}
		snap, err := collect(t, innodbCollector(), server(version, ""), f)
		if err != nil || len(f.refused) > 0 {
			t.Errorf("%s: %v, refused %q", version, err, f.refused)
			continue
		}
		wants(t, snap, map[string]string{"innodb.lock_deadlocks": "3", "innodb.buffer_pool_pages_misc": "-40", "innodb.oldest_transaction_seconds": "77",
			"innodb.log_lsn_checkpoint_age": age})
	}
}

// TestCheckpointAgeIsReadOnceAndNeverSilentlyMissing: a counter that is switched on makes the text unnecessary, so does the
// status of Percona Server; a text without it, or a refused one, is said and costs nothing else.
func TestCheckpointAgeIsReadOnceAndNeverSilentlyMissing(t *testing.T) {
	t.Parallel()
	metrics := func(rows ...[]string) answer { return answer{columns: []string{"NAME", "COUNT"}, rows: rows} }
	status := &monolith.Section{Collector: "status", NumNames: monolith.NewNames([]monolith.Metric{{Name: "status.Innodb_checkpoint_age"}}), Nums: []monolith.Num{monolith.Uint(7)}}
	var none *monolith.State
	for name, c := range map[string]struct {
		metrics, text  answer
		state          *monolith.State
		age, problems  string
		asksForTheText bool
	}{
		"counter": {metrics: metrics([]string{"log_lsn_checkpoint_age", "12"}), age: "12", problems: "[]"},
		"status": {metrics: metrics([]string{"lock_deadlocks", "3"}), age: "absent", problems: "[]",
			state: none.With(&monolith.Snapshot{Polled: true, Sections: []monolith.Section{*status}})},
		"no log":  {metrics: metrics([]string{"lock_deadlocks", "3"}), text: answer{columns: []string{"Status"}, rows: [][]string{{"nothing"}}}, age: "none", problems: "[partial]", asksForTheText: true},
		"refused": {metrics: metrics([]string{"lock_deadlocks", "3"}), text: refuse(1227, "Access denied"), age: "absent", problems: "[privilege]", asksForTheText: true},
	} {
		f := &fakeSession{answers: map[string]answer{
			"SELECT COUNT(*) AS open":   {columns: []string{"open", "waiting", "oldest"}, rows: [][]string{{"0", null, null}}},
			"SELECT NAME":               c.metrics,
			"SHOW ENGINE INNODB STATUS": c.text,
		}}
		snap, err := collect(t, innodbCollector(), server("5.6.51", ""), f, func(g *Gather) { g.State = c.state })
		if err != nil || problemKinds(snap) != c.problems || (len(f.sent) == 3) != c.asksForTheText {
			t.Errorf("%s: %v, %v, sent %q", name, err, snap.Problems, f.sent)
		}
		wants(t, snap, map[string]string{"innodb.log_lsn_checkpoint_age": c.age, "innodb.transactions": "0"})
	}
}

func FuzzInnoDBText(f *testing.F) {
	f.Add(innodbText55)
	f.Add("Log sequence number 99999999999 99999999999\nLast checkpoint at 18446744073709551615\n---TRANSACTION, ACTIVE")
	f.Add(strings.Repeat("LIST OF TRANSACTIONS FOR EACH SESSION:\n---TRANSACTION 1, ACTIVE 99999999999999999999 sec\n", 3))
	f.Fuzz(func(t *testing.T, s string) {
		got := parseInnoDBText(s)
		lsn, _, _, ok := got.LSN.Bits()
		if age, _, _, has := got.CheckpointAge().Bits(); has && (!ok || age > lsn) {
			t.Fatalf("age %d of %d", age, lsn)
		}
	})
}

// A server leaves out the middle of a text that would be too long: how many transactions are open is not known then,
// but the oldest one stands last.
func TestInnoDBTextWithoutItsMiddle(t *testing.T) {
	t.Parallel()
	const head, deadlock = "LIST OF TRANSACTIONS FOR EACH SESSION:\n---TRANSACTION 9, ACTIVE 1 sec\n", "TRANSACTION 3, ACTIVE 4711 sec starting index read\n"
	const tail = "... truncated...\n---TRANSACTION 8, not started\n---TRANSACTION 7, ACTIVE 2 sec\nLOCK WAIT 2 lock struct(s)\n---TRANSACTION 5, ACTIVE 40 sec\n"
	for text, oldest := range map[string]monolith.Num{deadlock + head + tail: monolith.Uint(40), deadlock + tail: monolith.Uint(40), deadlock + "... truncated...\n": {}} {
		got := parseInnoDBText(text)
		if !got.Transactions.IsNone() || !got.Waiting.IsNone() || got.Oldest != oldest {
			t.Errorf("%q is %+v, want the oldest %v", text, got, oldest)
		}
	}
	if got := parseInnoDBText(deadlock + head); got.Transactions != monolith.Uint(1) || got.Oldest != monolith.Uint(1) {
		t.Errorf("a whole text is %+v", got)
	}
}
