package alerts

import (
	"slices"
	"sync"

	"monolith"
)

// What a collector does not give when it runs does not count from the past: neither its numbers nor its lists. Only where it did not run, since its
// schedule did not ask for it, what it gave before holds, for as long as that schedule says.

// setsOf gives the lists of each collector, as indices of [rowSets], without those that the engine makes itself. Nobody changes it.
var setsOf = sync.OnceValue(func() map[string][]int {
	of := map[string][]int{}
	for i, set := range rowSets() {
		if set.given != nil {
			of[set.collector] = append(of[set.collector], i)
		}
	}
	return of
})

// noteGiven notes of the collectors that ran in a poll what they did not give in it.
func (s *serverState) noteGiven(snap *monolith.Snapshot) {
	if s.notGiven == nil {
		s.notGiven = make([]bool, len(rowSets()))
	}
	for i := range snap.Costs {
		collector := snap.Costs[i].Collector
		if k := slices.IndexFunc(s.slots, func(slot *sectionSlot) bool { return slot.collector == collector }); k >= 0 {
			s.slots[k].notGiven = snap.Section(collector) == nil
		}
		for _, set := range setsOf()[collector] {
			s.notGiven[set] = !rowSets()[set].given(&snap.Rows)
		}
	}
}

// whyNotGiven tells why a collector that ran did not give something; "" when it says nothing about it.
func (s *serverState) whyNotGiven(collector string) string {
	if why := s.leftOut(collector); why != "" {
		return why
	}
	for i := range s.state.Problems {
		if p := &s.state.Problems[i]; p.Collector == collector && p.Kind == monolith.ProblemPartial {
			return because(p)
		}
	}
	return ""
}

// doubted is a verdict by lists of which a part may be hidden: what is seen can be bad, but can't say that all is well.
func (ev *evaluator) doubted(r *Rule, v verdict) verdict {
	if v.state != monolith.StateOK {
		return v
	}
	doubt := func(set int) verdict {
		if set < 0 {
			return verdict{}
		}
		s := rowSets()[set]
		if why := ev.srv.leftOut(s.collector); why != "" {
			return verdict{state: monolith.StateCannotEvaluate, why: "the list " + s.name + " may be known only in part: " + why, failed: true}
		}
		return verdict{}
	}
	if d := doubt(r.set); d.state != "" {
		return d
	}
	for _, set := range r.sets {
		if d := doubt(set); d.state != "" {
			return d
		}
	}
	return v
}

// lacks reports whether a list's collector did not give it when it ran last.
func (s *serverState) lacks(set int) bool { return s.notGiven != nil && s.notGiven[set] }
