package poller

import (
	"bytes"
	"slices"

	"monolith"
)

const (
	maxMetrics     = 20_000  // of one collector; a server that sends more is cut off with a note
	maxMetricName  = 128     // bytes of a name
	maxInstance    = 256     // bytes of an instance: a mount point may be long
	maxMetricValue = 1 << 16 // bytes of a text
)

// memory is what one collector keeps of one server between polls. The zero memory is ready to use. It
// is used by one poll at a time.
type memory struct {
	layout *layout // what came last time; nil: nothing yet
	// texts are those of the last poll. They are shared with its snapshot and never written to.
	texts  []string
	growth binlogGrowth // of the position collector
}

// Recorder turns names and values into the section of the running collector. As long as the same
// names come in the same order as at the last poll, it compares them in place: no map is asked and
// nothing is allocated but the list of numbers.
type Recorder struct {
	g         *Gather
	m         *memory
	namespace string  // with its dot
	last      []entry // as of the poll before
	at        int     // how many entries came
	fresh     []entry // in use once changed
	changed   bool    // the list differs from last
	nums      []monolith.Num
	texts     []string
	sameTexts bool // all texts so far equal those of the poll before: texts is a view of them
	dropped   int
}

// Recorder begins the section of the running collector; names get the namespace in front. The section
// enters the snapshot with [Recorder.Done] and not before.
func (g *Gather) Recorder(namespace string) *Recorder {
	if g.memory == nil {
		g.memory = new(memory)
	}
	r := &Recorder{g: g, m: g.memory, namespace: namespace + ".", sameTexts: true}
	if l := g.memory.layout; l != nil {
		r.last = l.entries
		r.nums = make([]monolith.Num, 0, l.nums.Len())
	}
	return r
}

// Add records a value as the server wrote it: a number where it is wholly one and the table of kinds
// does not say otherwise, else text. "NULL" and nil are no value. The slices are not kept.
func (r *Recorder) Add(name, value []byte) {
	if !r.changed && r.at < len(r.last) {
		if e := &r.last[r.at]; e.name == string(name) && e.instance == "" {
			if !e.text {
				if n, ok := monolith.ParseNum(value); ok || isNull(value) {
					r.nums = append(r.nums, n)
					r.at++
					return
				}
			} else if e.isText || !isNumber(value) && !isNull(value) {
				r.addText(value)
				r.at++
				return
			}
		}
	}
	key := printable(string(name))
	isText := monolith.KindOf(r.namespace+key) == monolith.Text
	n, ok := monolith.ParseNum(value)
	r.insert(entry{name: key, text: isText || !ok && !isNull(value), isText: isText}, n, value)
}

// Number records a number. No value is recorded as such: the name stays known.
func (r *Recorder) Number(name, instance string, n monolith.Num) {
	if !r.changed && r.at < len(r.last) {
		if e := &r.last[r.at]; !e.text && e.name == name && e.instance == instance {
			r.nums = append(r.nums, n)
			r.at++
			return
		}
	}
	r.insert(entry{name: name, instance: instance}, n, nil)
}

// Text records a text, whatever it looks like. The slices are not kept.
func (r *Recorder) Text(name, value []byte) {
	if !r.changed && r.at < len(r.last) {
		if e := &r.last[r.at]; e.isText && e.name == string(name) {
			r.addText(value)
			r.at++
			return
		}
	}
	r.insert(entry{name: printable(string(name)), text: true, isText: true}, monolith.Num{}, value)
}

// insert records a name that did not stand in its place at the poll before.
func (r *Recorder) insert(e entry, n monolith.Num, value []byte) {
	if r.at >= maxMetrics || len(e.name) > maxMetricName || len(e.instance) > maxInstance || e.name == "" {
		r.dropped++
		return
	}
	if !r.changed {
		r.changed = true
		r.fresh = append(make([]entry, 0, max(64, len(r.last)+8)), r.last[:r.at]...)
	}
	e.namespace = r.namespace
	r.fresh = append(r.fresh, e)
	r.at++
	if e.text {
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
	if i < len(r.m.texts) && r.m.texts[i] == string(value) {
		if r.sameTexts {
			r.texts = r.m.texts[: i+1 : i+1] // no room is left: the first append copies
		} else {
			r.texts = append(r.texts, r.m.texts[i])
		}
		return
	}
	r.sameTexts = false
	r.texts = append(r.texts, r.g.collector.words.text(value))
}

// Done puts the section into the snapshot and gives it, and whether its names and texts are those of
// the poll before. What was recorded before an error is dropped by not calling Done.
func (r *Recorder) Done() (section monolith.Section, same bool) {
	m := r.m
	same = m.layout != nil && !r.changed && r.at == len(r.last)
	if !same {
		if !r.changed {
			r.fresh = append([]entry(nil), r.last[:r.at]...)
		}
		m.layout = r.g.collector.layouts.share(r.fresh)
	}
	same = same && r.sameTexts && len(r.texts) == len(m.texts)
	if !same && cap(r.texts) > len(r.texts)+len(r.texts)/8 {
		r.texts = slices.Clone(r.texts) // it is kept for as long as nothing changes
	}
	m.texts = r.texts
	section = monolith.Section{
		Collector: r.g.collector.Name,
		NumNames:  m.layout.nums, Nums: r.nums,
		TextNames: m.layout.texts, Texts: r.texts,
	}
	r.g.snapshot.Sections = append(r.g.snapshot.Sections, section)
	if r.dropped > 0 {
		r.g.Note(monolith.ProblemPartial, "the server sent names that are too long, or too many; some were left out", "")
	}
	return section, same
}

// isNull reports whether a value stands for "no value": SQL's NULL, and the text NULL that MariaDB
// gives for Max_memory_used and others.
func isNull(value []byte) bool { return value == nil || bytes.Equal(value, []byte("NULL")) }

func isNumber(value []byte) bool {
	_, ok := monolith.ParseNum(value)
	return ok
}
