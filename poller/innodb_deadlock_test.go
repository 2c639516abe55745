package poller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

// What MySQL 8.0 and MariaDB 10.11 write, and the time as MySQL 5.5 does.
const (
	deadlock80 = `
------------------------
LATEST DETECTED DEADLOCK
------------------------
2026-11-30 21:23:57 0x7ff5d18786c0
*** (1) TRANSACTION:
TRANSACTION 28963, ACTIVE 12 sec starting index read
mysql tables in use 1, locked 1
LOCK WAIT 3 lock struct(s), heap size 360, 2 row lock(s), undo log entries 1
MySQL thread id 13, OS thread handle 140, query id 44 app1.example 10.0.0.9 app updating
update dl set v='swordfish
*** not a line of the section' where id=2

*** (1) HOLDS THE LOCK(S):
RECORD LOCKS space id 12 page no 3 n bits 72 index PRIMARY of table ` + "`shop`.`dl`" + ` trx id 28963 lock_mode X locks rec but not gap
Record lock, heap no 3 PHYSICAL RECORD: n_fields 4; compact format; info bits 0
 0: len 4; hex 80000002; asc canary;;

*** (1) WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 12 page no 3 n bits 72 index by_v of table ` + "`shop`.`dl`" + ` trx id 28963 lock_mode X waiting

*** (2) TRANSACTION:
TRANSACTION 28964, ACTIVE 1 sec inserting
MySQL thread id 12, OS thread handle 140, query id 45 localhost root update
insert into dl values (1, 'hunter2')

*** (2) HOLDS THE LOCK(S):
TABLE LOCK table ` + "`shop`.`dl`" + ` trx id 28964 lock mode AUTO-INC

*** (2) WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 12 page no 3 n bits 72 index PRIMARY of table ` + "`shop`.`dl`" + ` /* Partition ` + "`p0`" + ` */ trx id 28964 lock_mode X locks gap before rec insert intention waiting
*** WE ROLL BACK TRANSACTION (2)
------------
TRANSACTIONS
------------
*** (3) TRANSACTION:
`
	deadlockMariaDB = `
LATEST DETECTED DEADLOCK
------------------------
261130  1:23:56 0x77a30849b6c0
*** (1) TRANSACTION:
TRANSACTION 45, ACTIVE 1 sec starting index read
MariaDB thread id 16, OS thread handle 131542102423232, query id 60 localhost root Updating
update shop.dl set v='hunter2' where id=1
*** WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 10 page no 3 n bits 320 index PRIMARY of table ` + "`shop`.`dl`" + ` trx id 45 lock_mode X locks rec but not gap waiting
*** CONFLICTING WITH:
RECORD LOCKS space id 10 page no 3 n bits 320 index PRIMARY of table ` + "`shop`.`dl`" + ` trx id 46 lock_mode X locks rec but not gap
*** WE ROLL BACK TRANSACTION (1)
`
)

func TestParseDeadlock(t *testing.T) {
	t.Parallel()
	d := parseDeadlock(deadlock80, false)
	want := monolith.Deadlock{At: time.Date(2026, 11, 30, 21, 23, 57, 0, time.UTC), Victim: 2, Transactions: []monolith.DeadlockTransaction{
		{Thread: 13, User: "app", Host: "app1.example", Seconds: 12, Statement: "update dl set v=?",
			Holds: []string{"RECORD index PRIMARY of shop.dl, X locks rec but not gap"}, Waits: []string{"RECORD index by_v of shop.dl, X"}},
		{Thread: 12, User: "root", Host: "localhost", Seconds: 1, Statement: "insert into dl values (?, …)",
			Holds: []string{"TABLE shop.dl, AUTO-INC"}, Waits: []string{"RECORD index PRIMARY of shop.dl, X locks gap before rec insert intention"}},
	}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	d = parseDeadlock(deadlockMariaDB, false)
	if len(d.Transactions) != 1 || d.Victim != 1 || d.At.IsZero() || len(d.Transactions[0].Waits) != 1 || len(d.Transactions[0].Holds) != 0 {
		t.Errorf("%+v", d)
	}
	ansi := parseDeadlock(strings.ReplaceAll(strings.ReplaceAll(deadlockMariaDB, "`", `"`), "index PRIMARY", `index "PRIMARY"`), false)
	if len(ansi.Transactions) != 1 || ansi.Transactions[0].Waits[0] != d.Transactions[0].Waits[0] {
		t.Errorf("with ANSI quotes: %+v", ansi)
	}
	for _, text := range []string{"", "=====\nTRANSACTIONS\n---TRANSACTION 1, not started\n", "\nLATEST DETECTED DEADLOCK\n"} {
		if d := parseDeadlock(text, false); len(d.Transactions) != 0 || d.Transactions == nil || d.Victim != 0 || !d.At.IsZero() {
			t.Errorf("%q: %+v", text, d)
		}
	}
	// Rows and literals stay in the server.
	for _, text := range []string{deadlock80, deadlockMariaDB} {
		for _, side := range parseDeadlock(text, false).Transactions {
			all := side.Statement + strings.Join(side.Holds, "") + strings.Join(side.Waits, "")
			for _, secret := range []string{"swordfish", "hunter2", "canary", "not a line"} {
				if strings.Contains(all, secret) {
					t.Errorf("%q holds %q", all, secret)
				}
			}
		}
	}
}
