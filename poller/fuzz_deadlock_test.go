package poller

import (
	"testing"
	"unicode/utf8"
)

// FuzzDeadlock reads the section about the latest deadlock; of the rows' data nothing is kept.
func FuzzDeadlock(f *testing.F) {
	f.Add("\nLATEST DETECTED DEADLOCK\n------------------------\n2026-03-10 12:00:00 0x7f\n*** (1) TRANSACTION:\nTRANSACTION 1, ACTIVE 1 sec starting index read\n" +
		"MySQL thread id 5, OS thread handle 1, query id 9 h u updating\nupdate t set a='x' where id=1\n*** (1) WAITING FOR THIS LOCK TO BE GRANTED:\n" +
		"RECORD LOCKS space id 1 page no 3 n bits 72 index PRIMARY of table `a`.`b` trx id 1 lock_mode X waiting\n 0: len 4; hex 80000001; asc canary;;\n" +
		"*** WE ROLL BACK TRANSACTION (1)\n------------\nTRANSACTIONS\n")
	f.Add("\nLATEST DETECTED DEADLOCK\n*** (99999999999999999999) TRANSACTION:\n*** WE ROLL BACK TRANSACTION (18446744073709551616)\n")
	f.Add("\nLATEST DETECTED DEADLOCK\n\n*** (1) HOLDS\n*** (2) WAITING\nTABLE LOCK table `")
	f.Fuzz(func(t *testing.T, text string) {
		d := parseDeadlock(text, false)
		if len(d.Transactions) > maxDeadlockSides {
			t.Errorf("%d sides", len(d.Transactions))
		}
		for _, side := range d.Transactions {
			if !utf8.ValidString(side.Statement) {
				t.Errorf("the statement %q is no text", side.Statement)
			}
		}
	})
}
