package alerts

import (
	"strings"
	"testing"
)

// TestWordsAgree fills in a text that counts.
func TestWordsAgree(t *testing.T) {
	const rule = `
id: counting
title: Counting
each: server
every: poll
let:
  n: {is: status.Threads_running}
  twice: {is: 2 * n, show: false}
when:
- if: n >= 0
  level: info
summary: "{n} process(|es)"
says: "It is a thread(s) matter (a|b): {n} thread(s) (runs|run), at most {server.name} of them, and {variable.max_connections} thread(s) (waits|wait)."
`
	for n, want := range map[float64]string{
		0: "0 processes: It is a thread(s) matter (a|b): 0 threads run, at most db1 of them, and ? threads wait.",
		1: "1 process: It is a thread(s) matter (a|b): 1 thread runs, at most db1 of them, and ? threads wait.",
		2: "2 processes: It is a thread(s) matter (a|b): 2 threads run, at most db1 of them, and ? threads wait.",
	} {
		w, _ := play(t, ownCatalogue(t, rule))
		if err := w.set("status.Threads_running", n); err != nil {
			t.Fatal(err)
		}
		w.poll()
		if len(w.events) != 1 || w.events[0].Alert == nil {
			t.Fatalf("%v: %v", n, w.told())
		}
		a := w.events[0].Alert
		if got := a.Summary + ": " + a.Text; got != want {
			t.Errorf("%v:\n%s, want\n%s", n, got, want)
		}
		var names []string
		for _, v := range a.Values {
			names = append(names, v.Name)
		}
		if got := strings.Join(names, " "); got != "n" {
			t.Errorf("the evidence is %q, want n alone", got)
		}
	}
}
