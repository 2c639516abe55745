package graph

import (
	"slices"
	"testing"
)

// TestInputsAreWhatFormulasRead: names in brackets and inside functions count, words in quotes do not.
func TestInputsAreWhatFormulasRead(t *testing.T) {
	t.Parallel()
	g := &Graph{ID: "own", Title: "Own", Section: "own", Panels: []Panel{{Unit: "1/s", Series: []Series{
		{Name: "a", Expr: []string{`sum(rate(status["Com_select"])) * 2`, `rate(status.Questions)`}},
		{Name: "b", Expr: []string{`variable.version == "status.Uptime" ? status.Threads_running : rate(status.Questions)`}},
	}}}}
	if err := g.Validate(nil); err != nil {
		t.Fatal(err)
	}
	if got, want := g.Inputs(), []string{"status.Com_select", "status.Questions", "variable.version", "status.Threads_running"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
