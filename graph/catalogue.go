package graph

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

//go:embed catalogue/*.yaml
var catalogueFiles embed.FS

// catalogue reads the embedded files once. A mistake in them is found by the tests and, failing that,
// at the first use: it panics, since the binary itself is broken then.
var catalogue = sync.OnceValue(func() []*Graph {
	var all []*Graph
	names, err := fs.Glob(catalogueFiles, "catalogue/*.yaml")
	if err != nil {
		panic(fmt.Sprintf("graph: catalogue: %v", err))
	}
	for _, name := range names {
		text, err := catalogueFiles.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("graph: catalogue: %v", err))
		}
		graphs, err := Parse(text, nil)
		if err != nil {
			panic(fmt.Sprintf("graph: %s: %v", name, err))
		}
		all = append(all, graphs...)
	}
	slices.SortStableFunc(all, func(a, b *Graph) int {
		return slices.Index(Sections, a.Section) - slices.Index(Sections, b.Section)
	})
	return all
})

// Catalogue lists the built-in graphs by section, in the order of pages. The slice is the caller's;
// the graphs are shared and must not be changed.
func Catalogue() []*Graph { return slices.Clone(catalogue()) }

// Find gives the built-in graph with an id, or nil.
func Find(id string) *Graph {
	for _, g := range catalogue() {
		if g.ID == id {
			return g
		}
	}
	return nil
}
