package poller

import (
	"hash/maphash"
	"slices"
	"sync"
	"weak"

	"monolith"
)

// entry is one name in the order in which it came.
type entry struct {
	namespace string // with its dot
	name      string // as the collector gave it
	instance  string
	text      bool // it stands in the list of texts
	isText    bool // it is text whatever it looks like
}

// layout is the list of names that a collector found on a server. It is immutable and shared.
type layout struct {
	entries     []entry
	nums, texts *monolith.Names
}

// layouts lets all servers on which a collector finds the same names share one list of them: a fleet
// has few versions, and a list of 560 names with its index takes some 100 kB. A nil *layouts shares
// nothing. Lists that no server uses any more are collected as garbage.
type layouts struct {
	seed  maphash.Seed
	mu    sync.Mutex
	known map[uint64]weak.Pointer[layout]
}

func newLayouts() *layouts {
	return &layouts{seed: maphash.MakeSeed(), known: map[uint64]weak.Pointer[layout]{}}
}

// share gives the layout of a list of entries, which must not be changed afterwards.
func (l *layouts) share(entries []entry) *layout {
	if l == nil {
		return newLayout(entries)
	}
	var h maphash.Hash
	h.SetSeed(l.seed)
	for i := range entries {
		maphash.WriteComparable(&h, entries[i])
	}
	key := h.Sum64()
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.known[key].Value(); old != nil && slices.Equal(old.entries, entries) {
		return old
	}
	for k, p := range l.known {
		if p.Value() == nil {
			delete(l.known, k)
		}
	}
	made := newLayout(entries)
	l.known[key] = weak.Make(made)
	return made
}

func newLayout(entries []entry) *layout {
	var nums, texts []monolith.Metric
	for i := range entries {
		e := &entries[i]
		m := monolith.Metric{Name: e.namespace + e.name, Instance: e.instance}
		e.name = m.Name[len(e.namespace):] // one copy of the text
		if e.text {
			texts = append(texts, m)
		} else {
			nums = append(nums, m)
		}
	}
	return &layout{entries: slices.Clip(entries), nums: monolith.NewNames(nums), texts: monolith.NewNames(texts)}
}
