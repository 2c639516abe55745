package poller

import (
	"iter"
	"slices"
	"strings"

	"monolith"
)

// Variables are a server's global variables: a view of the section that the variables collector gave, since hundreds of
// servers have hundreds of them each, and a second copy would take as much memory as the first. They are immutable; nil are
// those that were never read.
type Variables struct {
	names *monolith.Names
	texts []string
}

// variablePrefix is what stands before a variable's name in a section.
const variablePrefix = "variable."

// Get gives the value of a variable by its name, in lower case. known is false where the server has none of that name.
func (v *Variables) Get(name string) (value string, known bool) {
	if v == nil {
		return "", false
	}
	if i := v.names.Index(monolith.Metric{Name: variablePrefix + name}); i >= 0 {
		return v.texts[i], true
	}
	return "", false
}

// Value is Get with "" for what is not known.
func (v *Variables) Value(name string) string {
	value, _ := v.Get(name)
	return value
}

// All gives names and values in the order in which the server listed them.
func (v *Variables) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for i := range v.Len() {
			if !yield(strings.TrimPrefix(v.names.At(i).Name, variablePrefix), v.texts[i]) {
				return
			}
		}
	}
}

// Len gives the number of variables.
func (v *Variables) Len() int {
	if v == nil {
		return 0
	}
	return len(v.texts)
}

// equal reports whether both hold the same values under the same names. Names in another order count as others.
func (v *Variables) equal(o *Variables) bool {
	if v == nil || o == nil {
		return v == o
	}
	if !slices.Equal(v.texts, o.texts) {
		return false
	}
	if v.names == o.names {
		return true
	}
	for i := range v.texts {
		if v.names.At(i) != o.names.At(i) {
			return false
		}
	}
	return true
}
