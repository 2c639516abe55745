package alerts

import (
	"slices"
	"strings"
	"time"

	"monolith"
)

// atEase reports whether a collector reads without the database server.
func atEase(collector string) bool {
	return collector == "host" || collector == "server" || collector == "self"
}

// trouble gives what keeps a collector from reading anything. A part that was read counts as an answer: see [serverState.noteGiven].
func (s *serverState) trouble(collector string) (monolith.Problem, bool) {
	if slices.Contains(s.server.CollectorsOff, collector) {
		return monolith.Problem{Collector: collector, Kind: monolith.ProblemOff, Text: "the collector " + collector + " is switched off for this server"}, true
	}
	var unsupported monolith.Problem
	for _, p := range s.state.Problems {
		switch {
		case p.Kind == monolith.ProblemPartial:
		case p.Collector == collector && p.Kind == monolith.ProblemUnsupported:
			unsupported = p
		case p.Collector == collector:
			return p, true
		case p.Collector == "" && !s.state.OK && !atEase(collector):
			return p, true
		}
	}
	if !s.state.OK && !atEase(collector) && !s.state.At.IsZero() {
		return monolith.Problem{Collector: collector, Kind: monolith.ProblemUnreachable, Text: "the server's status could not be read"}, true
	}
	return unsupported, unsupported.Collector != ""
}

// because says why something could not be read, with the statement that gives the right to it where that is what lacks.
func because(p *monolith.Problem) string {
	if strings.HasPrefix(p.Cure, "GRANT ") {
		return p.Text + "; " + p.Cure
	}
	return p.Text
}

// leftOut says what a collector that works left out for want of a right, with what gives it; "" when it is not known to have
// left out anything. Other notes of a part, of a cap say, have no cure.
func (s *serverState) leftOut(collector string) string {
	for i := range s.state.Problems {
		if p := &s.state.Problems[i]; p.Collector == collector && p.Kind == monolith.ProblemPartial && p.Cure != "" {
			return because(p)
		}
	}
	return ""
}

// settling is how long after the first poll that read the status every collector has had its turn: each runs at once
// then. One that said nothing by then has nothing to say on this server.
const settling = 2 * time.Minute

// answered reports whether a collector has answered, so that what is not there is not there by design.
func (s *serverState) answered(collector string, at time.Time) bool {
	for _, slot := range s.slots {
		if slot.collector == collector {
			return true
		}
	}
	for i := range s.state.Costs {
		if s.state.Costs[i].Collector == collector {
			return true
		}
	}
	return !s.first.IsZero() && at.Sub(s.first) >= settling
}
