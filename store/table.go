package store

import (
	"iter"
	"slices"

	"monolith/store/history"
)

// table holds a value for each of a server's metrics, in the order of their ids. A map of as many, which is what it stands
// for, takes twice the memory: a server has hundreds of texts and more than a thousand metrics, which hardly ever change. Ids
// are given in the order in which names come, so that most are added at the end. The zero table is empty.
type table[V any] struct {
	ids    []history.MetricID
	values []V
}

// get gives the value of a metric, the zero value where there is none.
func (t *table[V]) get(id history.MetricID) (value V, known bool) {
	at, known := slices.BinarySearch(t.ids, id)
	if known {
		value = t.values[at]
	}
	return value, known
}

// set puts a value in, in place of the one before.
func (t *table[V]) set(id history.MetricID, value V) {
	at, known := slices.BinarySearch(t.ids, id)
	if known {
		t.values[at] = value
		return
	}
	if len(t.ids) == cap(t.ids) {
		room := len(t.ids) + len(t.ids)/8 + 32 // less than append takes, for it stays
		t.ids = append(make([]history.MetricID, 0, room), t.ids...)
		t.values = append(make([]V, 0, room), t.values...)
	}
	t.ids, t.values = slices.Insert(t.ids, at, id), slices.Insert(t.values, at, value)
}

// all gives the values in the order of their ids. None may be put in meanwhile.
func (t *table[V]) all() iter.Seq2[history.MetricID, V] {
	return func(yield func(history.MetricID, V) bool) {
		for i, id := range t.ids {
			if !yield(id, t.values[i]) {
				return
			}
		}
	}
}

func (t *table[V]) len() int { return len(t.ids) }
