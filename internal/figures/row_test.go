package figures

import (
	"strings"
	"testing"
)

func TestTableJudgesEachRow(t *testing.T) {
	rows := []Row{
		{Name: "poll", Unit: "ms", Ours: 0.25, Peers: []Peer{{"slow", 20}, {"quick", 12.5}}, Target: 1, Note: "in a loop"},
		{Name: "disk", Unit: "MB", Ours: 0.9, Target: 0.8},
		{Name: "binary", Unit: "MB", Ours: 31},
	}
	got := Table(rows)
	for _, want := range []string{
		"| poll | ms | 0.25 | 12.5 | quick | 50 | ≤ 1 | ok |",
		"| disk | MB | 0.9 |  |  |  | ≤ 0.8 | missed |",
		"| binary | MB | 31 |  |  |  |  |  |",
		"- poll: in a loop",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

func TestFormatKeepsThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.012345: "0.0123", 1: "1", 1.2: "1.2", 12.345: "12.3", 123.4: "123", 1234.5: "1234", 0.1: "0.1"} {
		if got := Format(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}
