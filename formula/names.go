package formula

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"monolith"
)

// Name is one entry of the name table, for completion.
type Name struct {
	Name string // "status.Questions"
	Kind string // "counter", "gauge", "untyped", "high-water", "text"
}

// names holds one file a namespace, one name a line: what MySQL 5.0 to 9, MariaDB 5.5 to 12, Galera
// and Percona Server call their status values and variables, and what the collectors add.
//
//go:embed names/*.txt
var names embed.FS

// table is the name table in memory; read-only once made.
type table struct {
	spaces map[string][]string // full names by namespace, sorted
}

// nameTable reads the embedded lists at the first call.
var nameTable = sync.OnceValue(func() *table {
	t := &table{spaces: make(map[string][]string, len(monolith.Namespaces))}
	for _, ns := range monolith.Namespaces {
		t.spaces[ns] = nil
		text, _ := names.ReadFile("names/" + ns + ".txt") // TestNameTable holds that each is there
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" {
				t.spaces[ns] = append(t.spaces[ns], ns+"."+line)
			}
		}
		slices.Sort(t.spaces[ns])
		t.spaces[ns] = slices.Compact(t.spaces[ns])
	}
	return t
})

// has reports whether a name is known. What a status counter is called, Monolith's own part in it may be
// called too: it is absent where it is not measured.
func (t *table) has(name string) bool {
	ns, rest, _ := strings.Cut(name, ".")
	_, ok := slices.BinarySearch(t.spaces[ns], name)
	if !ok && ns == "self" {
		_, ok = slices.BinarySearch(t.spaces["status"], "status."+rest)
	}
	return ok
}

// Names lists the known names of a namespace, sorted, with the namespace in front; nil for a
// namespace that does not exist. The caller may keep and change the list.
func Names(namespace string) []string { return slices.Clone(nameTable().spaces[namespace]) }

// Complete lists known names that begin with prefix, then those that hold it, each part sorted, at
// most limit. Capitals don't matter; a prefix without namespace is looked for in all of them.
func Complete(prefix string, limit int) []Name {
	want := strings.ToLower(prefix)
	var first, second []Name
	for _, ns := range monolith.Namespaces {
		for _, full := range nameTable().spaces[ns] {
			lower := strings.ToLower(full)
			switch {
			case strings.HasPrefix(lower, want) || strings.HasPrefix(lower[len(ns)+1:], want):
				first = append(first, Name{full, monolith.KindOf(full).String()})
			case strings.Contains(lower, want):
				second = append(second, Name{full, monolith.KindOf(full).String()})
			}
		}
	}
	all := append(first, second...)
	return all[:min(max(limit, 0), len(all))]
}

// Nearest gives the candidate with the smallest edit distance, capitals not counted; "" when none is near enough to be meant:
// one mistake in three characters is the most, so that no word of two is taken for another.
func Nearest(word string, candidates []string) string {
	if len(word) > mostMisspelt {
		return ""
	}
	best, name := len(word)/3, ""
	lower := strings.ToLower(word)
	for _, c := range candidates {
		if d := distance(lower, strings.ToLower(c), best); d < best || d == best && name == "" {
			best, name = d, c
		}
	}
	return name
}

// mostMisspelt is the longest word for which [Nearest] looks: the work grows with its length.
const mostMisspelt = 200

// distance gives the number of bytes to insert, delete, change or swap to make b of a; limit+1 when the
// lengths alone differ by more than limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
