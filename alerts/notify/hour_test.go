package notify

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mailtest"
)

func TestCourse(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		of          Course
		text, spark string
	}{
		{Course{Name: "delay", Unit: "s", Values: []float64{nan, 0, 35, 70, 70, nan}}, "min 0 s, mean 43.8 s, max 70 s, now 70 s", "·▁▅██·"},
		{Course{Name: "free", Unit: "bytes", Values: []float64{1 << 30, nan, nan, nan}}, "min 1 GiB, mean 1 GiB, max 1 GiB, no value now", "█···"},
		{Course{Name: "idle", Unit: "", Values: []float64{0, 0}}, "min 0, mean 0, max 0, now 0", "▁▁"},
		{Course{Name: "skew", Unit: "s", Values: []float64{-1, 1}}, "min -1 s, mean 0 s, max 1 s, now 1 s", "▁█"},
		{Course{Name: "none", Unit: "s", Values: []float64{nan}}, "no values", "·"},
		{Course{Name: "empty", Unit: "s", Values: nil}, "no values", ""},
	} {
		if text, spark := c.of.String(), c.of.Spark(); text != c.text || spark != c.spark {
			t.Errorf("%s: %q %q, want %q %q", c.of.Name, text, spark, c.text, c.spark)
		}
	}
	long := Course{Values: make([]float64, 60)}
	long.Values[31] = 1 // one minute of two
	if got := long.Spark(); got != strings.Repeat("▁", 15)+"█"+strings.Repeat("▁", 14) {
		t.Errorf("an hour: %q", got)
	}
}

// A mail tells the last hour in its text too; where history has none, it says so.
func TestMailTellsTheLastHour(t *testing.T) {
	t.Parallel()
	r := mailtest.Start(t, mailtest.Plain, "")
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	var asked []time.Time
	answer, wrong := &Hour{Lines: []Course{{Name: "delay", Unit: "s", Values: []float64{1, 2, 400}}}}, error(nil)
	s := sender(t, channelTo(r, "mail", mailtest.Plain, nil, ""), Options{Now: func() time.Time { return now }, Hour: func(_ context.Context, a *monolith.Alert, to time.Time) (*Hour, error) {
		asked = append(asked, to)
		return answer, wrong
	}})
	sent := 0
	send := func(n *Notice) (text, html string) {
		t.Helper()
		if _, err := s.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		sent++
		m := r.Messages(sent)[sent-1]
		return m.Text, m.HTML
	}
	contain := func(text, html, want string) {
		t.Helper()
		for _, body := range []string{text, html} {
			if !strings.Contains(strings.Join(strings.Fields(body), " "), want) {
				t.Errorf("%q is not in %s", want, body)
			}
		}
	}
	text, html := send(Examples()[0])
	contain(text, html, "min 1 s, mean 2.24 min, max 6.67 min, now 6.67 min")
	contain(text, html, "▁▁█")
	if !strings.Contains(text, "Last hour: delay min 1 s") {
		t.Errorf("text: %s", text)
	}
	recovery := Examples()[3]
	text, html = send(recovery)
	contain(text, html, "max 6.67 min")
	if strings.Contains(text+html, "now") {
		t.Errorf("what is over has no value now: %s", text)
	}
	if len(asked) != 2 || !asked[0].Equal(now) || !asked[1].Equal(recovery.Alert.Closed) {
		t.Errorf("asked for the hour before %v", asked)
	}
	// The value that made the alert is told, though history has none yet.
	n := Examples()[0]
	n.At, answer.Lines[0].Values = now, []float64{math.NaN(), 2}
	text, html = send(n)
	contain(text, html, "min 2 s, mean 3.45 min, max 6.87 min, now 6.87 min")
	answer = &Hour{Lines: []Course{{Name: "other", Values: []float64{math.NaN()}}}, Why: "the rule judges rows"}
	text, html = send(Examples()[0])
	contain(text, html, "not known: the rule judges rows")
	answer, wrong = nil, errors.New("no store")
	text, html = send(Examples()[0])
	contain(text, html, "not known: the history did not answer")
}
