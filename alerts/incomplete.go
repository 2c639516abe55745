package alerts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"monolith"
)

// incomplete sums up what of a server has not been read for a while although it can be reached.
type incomplete struct {
	since time.Time // of the oldest; zero: there is none
	what  []string  // collectors and inputs, sorted
}

// countIncomplete sums up collectors that fail and rules that can't be evaluated for want of something that should be
// there. What people switched off is their decision, and what the server itself does not know is no fault of ours.
func (s *serverState) countIncomplete(at time.Time) {
	s.incomplete = incomplete{}
	if !s.state.OK {
		return
	}
	add := func(since time.Time, what string) {
		if what == "" || slices.Contains(s.incomplete.what, what) {
			return
		}
		s.incomplete.what = append(s.incomplete.what, what)
		if s.incomplete.since.IsZero() || since.Before(s.incomplete.since) {
			s.incomplete.since = since
		}
	}
	failing := map[string]bool{}
	for _, p := range s.state.Problems {
		switch p.Kind {
		case monolith.ProblemPartial, monolith.ProblemUnsupported:
			continue
		}
		if p.Collector == "" || slices.Contains(s.server.CollectorsOff, p.Collector) {
			continue
		}
		failing[p.Collector] = true
		add(p.Since, p.Collector)
	}
	for _, st := range s.states {
		if st.state != monolith.StateCannotEvaluate || !st.failed || st.input == "" {
			continue
		}
		if c := monolith.CollectorOf(st.input); failing[c] || slices.Contains(s.server.CollectorsOff, c) {
			continue
		}
		add(st.since.time(), st.input)
	}
	slices.Sort(s.incomplete.what)
}

// text names what is incomplete.
func (i *incomplete) text() string {
	const most = 8
	if len(i.what) > most {
		return strings.Join(i.what[:most], ", ") + " …"
	}
	return strings.Join(i.what, ", ")
}

// variableChange is a global variable that became another value.
type variableChange struct {
	Name string    `json:"name"`
	Was  string    `json:"was"`
	Now  string    `json:"now"`
	At   time.Time `json:"at"`
}

// cnfDifference is an option file that says something else than the running server.
type cnfDifference struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // lost at restart, pending restart, unknown option …
	File    string `json:"file"`
	Wanted  string `json:"wanted"`
	Running string `json:"running"`
}

// The bounds of what is remembered of changed variables.
const (
	changesKept = 24 * time.Hour
	maxChanges  = 100
	maxValue    = 400 // characters of a value
)

// compareVariables remembers which variables changed between two readings.
func (s *serverState) compareVariables(before, now *monolith.Section, at time.Time) {
	s.varChanges = slices.DeleteFunc(s.varChanges, func(c variableChange) bool { return at.Sub(c.At) > changesKept })
	if before == nil {
		return
	}
	counted := keptByGalera(now)
	for i, text := range now.Texts {
		m := now.TextNames.At(i)
		var was string
		if before.TextNames == now.TextNames {
			was = before.Texts[i]
		} else if k := before.TextNames.Index(m); k >= 0 {
			was = before.Texts[k]
		} else {
			continue
		}
		if was == text || keptByServer(strings.TrimPrefix(m.Name, "variable.")) || counted && strings.HasPrefix(m.Name, "variable.auto_increment_") {
			continue
		}
		if len(s.varChanges) >= maxChanges {
			s.varChanges = s.varChanges[1:]
		}
		s.varChanges = append(s.varChanges, variableChange{strings.TrimPrefix(m.Name, "variable."), shorten(was, maxValue), shorten(text, maxValue), at})
	}
}

// keptByServer reports whether the server changes a variable by itself.
func keptByServer(name string) bool {
	switch name {
	case "timestamp", "pseudo_thread_id", "last_insert_id", "insert_id", "error_count", "warning_count", "hostname", "identity",
		"wsrep_start_position", "in_transaction", "external_user", "proxy_user", "last_gtid", "skip_replication", "transaction_allow_batching":
		return true
	}
	for _, prefix := range []string{"gtid_", "innodb_buffer_pool_resize", "rand_seed", "binlog_snapshot", "innodb_buffer_pool_load", "wsrep_gtid"} {
		if strings.HasPrefix(name, prefix) && name != "gtid_mode" && name != "gtid_strict_mode" && name != "gtid_domain_id" && name != "gtid_next" {
			return true
		}
	}
	return false
}

// keptByGalera reports whether the cluster sets the steps of AUTO_INCREMENT by the number of its nodes.
func keptByGalera(variables *monolith.Section) bool {
	on := func(name string) bool {
		i := variables.TextNames.Index(monolith.Metric{Name: "variable." + name})
		return i >= 0 && (variables.Texts[i] == "ON" || variables.Texts[i] == "1")
	}
	return on("wsrep_on") && on("wsrep_auto_increment_control")
}

// lastOf sorts the newest first.
func lastOf(a, b variableChange) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Name, b.Name)) }
