package store

import (
	"strings"
	"sync"
	"unicode/utf8"
	"weak"

	"monolith"
	"monolith/store/history"
)

// dictionary numbers the metrics of all servers. Numbers are given here and not by the engine, so that
// a poll can be encoded while the store is away; only one process writes history.
type dictionary struct {
	mu      sync.RWMutex
	ids     map[monolith.Metric]history.MetricID
	metrics []monolith.Metric // by id; the first id is 1
	byName  map[string][]history.MetricID
	stored  int // ids up to this one are committed
	lists   map[weak.Pointer[monolith.Names]][]history.MetricID
}

// maxName is how many characters of a name and of an instance are kept.
const maxName = 255

// cleanName makes a text from a monitored server fit a column: valid UTF-8, not too long, no spaces at
// the end, which MySQL ignores when it compares.
func cleanName(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) > maxName {
		for i, n := 0, 0; i < len(s); n++ {
			if n == maxName {
				s = s[:i]
				break
			}
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
		}
	}
	if trimmed := strings.TrimRight(s, " "); len(trimmed) < len(s) {
		s = trimmed + strings.Repeat("\u00a0", min(len(s)-len(trimmed), 4))
	}
	return s
}

// add puts in a metric that the store knows already.
func (d *dictionary) add(id history.MetricID, m monolith.Metric) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.metrics) <= int(id) {
		d.metrics = append(d.metrics, monolith.Metric{})
	}
	d.put(id, m)
	d.stored = max(d.stored, int(id))
}

func (d *dictionary) put(id history.MetricID, m monolith.Metric) {
	if d.ids == nil {
		d.ids, d.byName = map[monolith.Metric]history.MetricID{}, map[string][]history.MetricID{}
	}
	d.metrics[id] = m
	d.ids[m] = id
	d.byName[m.Name] = append(d.byName[m.Name], id)
}

// list gives the ids of a list of names, new ones in the list's order. Servers that share a list of names share its ids,
// which must not be changed.
func (d *dictionary) list(names *monolith.Names) []history.MetricID {
	key := weak.Make(names)
	d.mu.Lock()
	defer d.mu.Unlock()
	if ids, ok := d.lists[key]; ok {
		return ids
	}
	for k := range d.lists {
		if k.Value() == nil {
			delete(d.lists, k) // no server has them any more
		}
	}
	ids := make([]history.MetricID, names.Len())
	for i := range ids {
		ids[i] = d.id(names.At(i))
	}
	if d.lists == nil {
		d.lists = map[weak.Pointer[monolith.Names]][]history.MetricID{}
	}
	d.lists[key] = ids
	return ids
}

// id gives the number of one metric, a new one where it has none. The lock is held.
func (d *dictionary) id(m monolith.Metric) history.MetricID {
	if id, ok := d.ids[m]; ok {
		return id
	}
	clean := monolith.Metric{Name: cleanName(m.Name), Instance: cleanName(m.Instance)}
	id, ok := d.ids[clean]
	if !ok {
		if len(d.metrics) == 0 {
			d.metrics = append(d.metrics, monolith.Metric{}) // 0 is no id
		}
		id = history.MetricID(len(d.metrics))
		d.metrics = append(d.metrics, clean)
		d.put(id, clean)
	}
	return id
}

// metric gives what a number stands for.
func (d *dictionary) metric(id history.MetricID) (monolith.Metric, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if int(id) >= len(d.metrics) || d.metrics[id].Name == "" {
		return monolith.Metric{}, false
	}
	return d.metrics[id], true
}

// named gives the numbers of all instances of a name.
func (d *dictionary) named(name string) []history.MetricID {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.byName[name]
}

// fresh gives the metrics that are not committed yet, with the number of the first one.
func (d *dictionary) fresh() (first int, metrics []monolith.Metric) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	first = max(d.stored+1, 1)
	if first >= len(d.metrics) {
		return first, nil
	}
	return first, d.metrics[first:len(d.metrics):len(d.metrics)]
}

// committed says that ids below end are in the store.
func (d *dictionary) committed(end int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored = max(d.stored, end-1)
}

// storedOnly says that ids above last are not in the store, whatever was said before.
func (d *dictionary) storedOnly(last int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stored = min(d.stored, last)
}
