package figures

import (
	"fmt"
	"math"
	"strings"
)

// A Row is one figure: Monolith's, and that of every program beside it that did the same work, all in the same unit.
type Row struct {
	Name  string
	Unit  string
	Ours  float64
	Peers []Peer // those that were there
	// Target is what ours must not be above; 0: there is none.
	Target float64
	// Note says what the figure can't: how it was reached, or from what it was worked out.
	Note string
}

// Peer is the figure of one program, or of several that do the work together.
type Peer struct {
	Name  string
	Value float64
}

// Best gives the lowest figure of a peer; false: there was none.
func (r *Row) Best() (Peer, bool) {
	best, found := Peer{Value: math.Inf(1)}, false
	for _, p := range r.Peers {
		if p.Value < best.Value {
			best, found = p, true
		}
	}
	return best, found
}

// Missed reports whether there is a target and ours is above it.
func (r *Row) Missed() bool { return r.Target > 0 && r.Ours > r.Target }

// Table is the rows as Markdown, with the notes below it.
func Table(rows []Row) string {
	var b, notes strings.Builder
	b.WriteString("| figure | unit | Monolith | best peer | | peer / ours | target | |\n|---|---|--:|--:|---|--:|--:|---|\n")
	for _, r := range rows {
		name, peer, who, ratio, target, verdict := r.Name, "", "", "", "", ""
		if r.Note != "" {
			fmt.Fprintf(&notes, "- %s: %s\n", r.Name, r.Note)
		}
		if best, ok := r.Best(); ok {
			peer, who = Format(best.Value), best.Name
			if r.Ours > 0 {
				ratio = Format(best.Value / r.Ours)
			}
		}
		if r.Target > 0 {
			target, verdict = "≤ "+Format(r.Target), "ok"
			if r.Missed() {
				verdict = "missed"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", name, r.Unit, Format(r.Ours), peer, who, ratio, target, verdict)
	}
	if notes.Len() > 0 {
		b.WriteString("\n" + notes.String())
	}
	return b.String()
}

// Format writes a figure with three digits that count.
func Format(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0:
		return "0"
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	}
	decimals := 2 - int(math.Floor(math.Log10(a)))
	text := fmt.Sprintf("%.*f", decimals, v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
