package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"monolith"
	"monolith/store/history"
)

// maxText is how many bytes of a text are kept. A longer one is cut and carries its length and hash, so
// that a change behind the cut is still a change.
const maxText = 16 << 10

// boundText gives a text as it is kept.
func boundText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	sum := sha256.Sum256([]byte(s))
	return fmt.Sprintf("%s… (%d bytes, sha256 %s)", s[:cut], len(s), hex.EncodeToString(sum[:8]))
}

// maxSteps is how many changes of one text are kept in an hour. Some status texts change with each
// poll; the first change of the next hour then tells from the last text that was kept.
const maxSteps = 60

// text compares a text with the one in force and records a change. It gives false when the change was
// not taken because there were too many. The lock is held.
func (t *tail) text(s *monolith.Snapshot, m monolith.Metric, id history.MetricID, text string, w *work) bool {
	old, known := t.texts.get(id)
	if known && !old.gone && old.text == text {
		return true
	}
	if len(text) > maxText || !utf8.ValidString(text) {
		if text = boundText(text); known && !old.gone && old.text == text {
			return true
		}
	}
	at := s.At.UnixMilli()
	if hour := time.Hour.Milliseconds(); at/hour != old.since/hour {
		old.count = 0
	}
	if old.count >= maxSteps {
		return false
	}
	step := textStep{id: id, from: old.text, to: text, at: at, seq: s.Seq}
	if !known {
		step.flags = flagFirst
	}
	w.texts = append(w.texts, step)
	t.texts.set(id, textNow{text: text, since: at, count: old.count + 1})
	if known {
		t.changed(m, newest{id: id, at: at, from: old.text, to: text})
		t.variableMark(s, m, old.text, text, false, w)
	}
	return true
}

// maxMarks is how many changed variables of one poll get a mark each; the rest share one.
const maxMarks = 10

// variableMark puts a changed variable on the time axis. The lock is held.
func (t *tail) variableMark(s *monolith.Snapshot, m monolith.Metric, from, to string, gone bool, w *work) {
	name, isVariable := strings.CutPrefix(m.Name, "variable.")
	if !isVariable || restless(name) {
		return
	}
	text := fmt.Sprintf("%s: %s → %s", name, short(from), short(to))
	if gone {
		text = name + " is gone, it was " + short(from)
	}
	marks := 0
	for i := range w.marks {
		if w.marks[i].Kind == monolith.MarkVariable {
			marks++
		}
	}
	if marks == maxMarks {
		last := &w.marks[len(w.marks)-1]
		var more int
		if n, _ := fmt.Sscanf(last.Text, "and %d more variables changed", &more); n == 1 {
			last.Text = fmt.Sprintf("and %d more variables changed", more+1)
			return
		}
		last.Text = "and 2 more variables changed"
		return
	}
	w.marks = append(w.marks, monolith.Mark{Server: t.id, At: s.At, Kind: monolith.MarkVariable, Text: text})
}

// short cuts a text for a mark.
func short(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) > most {
		r := []rune(s)
		s = string(r[:most]) + "…"
	}
	return quoteEmpty(s)
}

// restlessVariables change by themselves, or tell what an identity mark tells better. They are kept as
// changes and make no mark.
var restlessVariables = []string{
	"timestamp", "identity", "last_insert_id", "insert_id", "error_count", "warning_count", "last_gtid",
	"in_transaction", "wsrep_start_position", "wsrep_last_seen_gtid",
	"version", "version_comment", "version_suffix", "version_compile_machine", "version_compile_os", "version_ssl_library",
	"version_malloc_library", "version_source_revision", "innodb_version", "hostname", "server_uuid", "server_id",
}

var restlessPrefixes = []string{"gtid_", "rand_seed", "pseudo_", "innodb_buffer_pool_resize", "binlog_snapshot"}

func restless(variable string) bool {
	return slices.Contains(restlessVariables, variable) ||
		slices.ContainsFunc(restlessPrefixes, func(p string) bool { return strings.HasPrefix(variable, p) }) && variable != "gtid_mode"
}

// identityMarks notes restarts, new versions, another server behind the address, and replicas that read
// from another source, a first one or none any more. The lock is held.
func (t *tail) identityMarks(s *monolith.Snapshot, w *work) {
	add := func(kind monolith.MarkKind, format string, args ...any) {
		w.marks = append(w.marks, monolith.Mark{Server: t.id, At: s.At, Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	if s.Restart {
		w.marks = append(w.marks, monolith.Mark{Server: t.id, At: t.began(s), Kind: monolith.MarkRestart, Text: "the server was restarted"})
	}
	if now, old := s.Identity, t.identity; !now.IsZero() {
		if !old.IsZero() {
			if now.VersionText != old.VersionText {
				add(monolith.MarkVersion, "%s → %s", short(old.VersionText), short(now.VersionText))
			}
			switch {
			case now.UUID != old.UUID && now.UUID != "" && old.UUID != "",
				now.Hostname != old.Hostname && now.Hostname != "" && old.Hostname != "",
				now.ServerID != old.ServerID && now.ServerID != 0 && old.ServerID != 0 && now.UUID == "":
				add(monolith.MarkFailover, "another server answers: %s → %s", describe(old), describe(now))
			}
		}
		t.identity = now
	}
	if s.Replicas == nil {
		return
	}
	sources := make(map[string]string, len(s.Replicas))
	for i := range s.Replicas {
		r := &s.Replicas[i]
		if r.ReadsFromGroup() {
			continue // its channels come and go with the group's members
		}
		source := sourceOf(r)
		sources[r.Channel] = source
		switch old := t.sources[r.Channel]; {
		case t.sources == nil, old == source:
		case old == "":
			add(monolith.MarkFailover, "%sreads from a source now: %s", ofChannel(r.Channel), short(source))
		default:
			add(monolith.MarkFailover, "%sreads from another source: %s → %s", ofChannel(r.Channel), short(old), short(source))
		}
	}
	for _, channel := range slices.Sorted(maps.Keys(t.sources)) {
		if sources[channel] == "" {
			add(monolith.MarkFailover, "%sreads from no source any more: %s → none", ofChannel(channel), short(t.sources[channel]))
		}
	}
	t.sources = sources
}

func ofChannel(name string) string {
	if name == "" {
		return ""
	}
	return "channel " + short(name) + " "
}

// began says when a restarted server started: its uptime before the poll, but not before the last poll
// that the old run answered, since clocks differ and uptimes are whole seconds. The lock is held.
func (t *tail) began(s *monolith.Snapshot) time.Time {
	at := s.At
	for i := range s.Sections {
		sec := &s.Sections[i]
		if j := sec.NumNames.Index(monolith.Metric{Name: "status.Uptime"}); j >= 0 && !sec.Nums[j].IsNone() {
			at = s.At.Add(-time.Duration(sec.Nums[j].Float64() * float64(time.Second)))
		}
	}
	before := t.polled
	if n := len(t.polls); before == 0 && n > 0 {
		before = t.polls[n-1].at
	}
	if least := time.UnixMilli(before); before > 0 && at.Before(least) {
		at = least
	}
	if at.After(s.At) {
		return s.At
	}
	return at
}

// sourceOf gives the address that a replica reads from.
func sourceOf(r *monolith.Replica) string {
	return monolith.Endpoint{Host: r.SourceHost, Port: r.SourcePort}.Address()
}

// describe tells servers apart in a mark.
func describe(id monolith.Identity) string {
	s := quoteEmpty(short(id.Hostname))
	if id.ServerID != 0 {
		s += fmt.Sprintf(" (server_id %d)", id.ServerID)
	}
	return s
}
