package poller

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"monolith"
)

const (
	maxMetrics     = 20_000  // of one collector; a server that sends more is cut off with a note
	maxMetricName  = 128     // bytes of a name, and of an instance
	maxMetricValue = 1 << 16 // bytes of a text
)

// memory is what one collector keeps of one server between polls: the list of what came last time,
// in the order in which it came. The zero memory is ready to use. It is used by one poll at a time.
type memory struct {
	entries []entry
	nums    *monolith.Names
	texts   *monolith.Names
	// lastTexts are the texts of the last poll. They are shared with its snapshot and never written to.
	lastTexts []string

	// variables is the last map given out by the variables collector; see collectVariables.
	variables map[string]string
}

// entry is one name in the order of arrival.
type entry struct {
	name     string // as the collector gave it, without the namespace
	instance string
	text     bool // it stands in the list of texts
	isText   bool // the table of kinds says that it is text whatever it looks like
	metric   monolith.Metric
}

// Recorder turns names and values into the section of the running collector. As long as the same
// names come in the same order as at the last poll, it compares them in place: no map is asked and
// nothing is allocated but the list of numbers.
type Recorder struct {
	g         *Gather
	m         *memory
	namespace string // with its dot
	at        int    // entries that came so far
	fresh     []entry
	changed   bool // the list differs from the last one from entry `at` on: fresh is in use
	nums      []monolith.Num
	texts     []string
	sameTexts bool // texts so far equal those of last time; texts is not in use yet
	dropped   int
}

// Recorder begins the section of the running collector; names get the namespace in front. The section
// enters the snapshot with [Recorder.Done] and not before.
func (g *Gather) Recorder(namespace string) *Recorder {
	if g.memory == nil {
		g.memory = new(memory)
	}
	m := g.memory
	return &Recorder{
		g: g, m: m, namespace: namespace + ".", sameTexts: true,
		nums: make([]monolith.Num, 0, m.nums.Len()),
	}
}

// Add records a value as the server wrote it: a number where it is wholly one and the table of kinds
// does not say otherwise, else text. "NULL" and nil are no value. The slices are not kept.
func (r *Recorder) Add(name, value []byte) {
	if !r.changed && r.at < len(r.m.entries) {
		if e := &r.m.entries[r.at]; e.name == string(name) && e.instance == "" {
			if !e.text {
				if n, ok := monolith.ParseNum(value); ok || isNull(value) {
					r.nums = append(r.nums, n)
					r.at++
					return
				}
			} else if e.isText || !isNumber(value) {
				r.addText(value)
				r.at++
				return
			}
		}
	}
	r.addSlow(strings.ToValidUTF8(string(name), "\uFFFD"), "", value)
}

// Number records a number. No value is recorded as such: the name stays known.
func (r *Recorder) Number(name, instance string, n monolith.Num) {
	if !r.changed && r.at < len(r.m.entries) {
		if e := &r.m.entries[r.at]; !e.text && e.name == name && e.instance == instance {
			r.nums = append(r.nums, n)
			r.at++
			return
		}
	}
	r.insert(name, instance, false, false, n, nil)
}

// Text records a text, whatever it looks like.
func (r *Recorder) Text(name, instance string, value []byte) {
	if !r.changed && r.at < len(r.m.entries) {
		if e := &r.m.entries[r.at]; e.text && e.isText && e.name == name && e.instance == instance {
			r.addText(value)
			r.at++
			return
		}
	}
	r.insert(name, instance, true, true, monolith.Num{}, value)
}

// addSlow records a name that did not stand in its place last time.
func (r *Recorder) addSlow(name, instance string, value []byte) {
	isText := monolith.KindOf(r.namespace+name) == monolith.Text
	n, ok := monolith.ParseNum(value)
	r.insert(name, instance, isText || !ok && !isNull(value), isText, n, value)
}

func (r *Recorder) insert(name, instance string, text, isText bool, n monolith.Num, value []byte) {
	if !r.changed {
		r.changed = true
		r.fresh = append(make([]entry, 0, max(64, len(r.m.entries)+8)), r.m.entries[:r.at]...)
	}
	if r.at >= maxMetrics || len(name) > maxMetricName || len(instance) > maxMetricName || name == "" {
		r.dropped++
		return
	}
	r.fresh = append(r.fresh, entry{name: name, instance: instance, text: text, isText: isText,
		metric: monolith.Metric{Name: r.namespace + name, Instance: instance}})
	r.at++
	if text {
		r.addText(value)
	} else {
		r.nums = append(r.nums, n)
	}
}

// addText adds the next text. While all texts equal the last poll's they are not copied at all.
func (r *Recorder) addText(value []byte) {
	if len(value) > maxMetricValue {
		value = value[:maxMetricValue]
	}
	i := len(r.texts)
	if i < len(r.m.lastTexts) && r.m.lastTexts[i] == string(value) {
		if r.sameTexts {
			// A view of the old list; it is copied before the first write.
			r.texts = r.m.lastTexts[: i+1 : i+1]
			return
		}
		r.texts = append(r.texts, r.m.lastTexts[i])
		return
	}
	r.sameTexts = false // append copies, since the view has no room left
	text := string(value)
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	r.texts = append(r.texts, text)
}

// Done puts the section into the snapshot. What was recorded before an error is dropped by not calling it.
func (r *Recorder) Done() {
	m := r.m
	switch {
	case r.changed:
		m.entries = r.fresh
	case r.at < len(m.entries):
		m.entries = m.entries[:r.at:r.at]
		r.changed = true
	}
	if r.changed || m.nums == nil {
		m.nums, m.texts = split(m.entries)
	}
	m.lastTexts = r.texts
	r.g.snapshot.Sections = append(r.g.snapshot.Sections, monolith.Section{
		Collector: r.g.collector.Name,
		NumNames:  m.nums, Nums: r.nums,
		TextNames: m.texts, Texts: r.texts,
	})
	if r.dropped > 0 {
		r.g.Note(monolith.ProblemPartial, "the server sent names that are too long or too many; some were left out", "")
	}
}

func split(entries []entry) (nums, texts *monolith.Names) {
	var n, t []monolith.Metric
	for i := range entries {
		if entries[i].text {
			t = append(t, entries[i].metric)
		} else {
			n = append(n, entries[i].metric)
		}
	}
	return monolith.NewNames(n), monolith.NewNames(t)
}

// isNull reports whether a value stands for "no value": SQL's NULL, and MariaDB's NULL as text.
func isNull(value []byte) bool { return value == nil || bytes.Equal(value, []byte("NULL")) }

func isNumber(value []byte) bool {
	_, ok := monolith.ParseNum(value)
	return ok
}
