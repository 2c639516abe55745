package graph

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// CSV writes the drawing as a table: one row a step with its time in RFC 3339, one column a line; an
// empty field is "no value". Names that a spreadsheet would take for a formula are made harmless.
func (d *Drawing) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	header := []string{"time"}
	for i := range d.Panels {
		for j := range d.Panels[i].Lines {
			l := &d.Panels[i].Lines[j]
			name := label(l)
			if t := d.Panels[i].Title; t != "" {
				name = t + ": " + name
			}
			if l.Unit != "" {
				name += " (" + l.Unit + ")"
			}
			header = append(header, harmless(name))
		}
	}
	rows := [][]string{header}
	for k, t := range d.Times {
		row := []string{time.Unix(t, 0).UTC().Format(time.RFC3339)}
		for i := range d.Panels {
			for j := range d.Panels[i].Lines {
				v, cell := d.Panels[i].Lines[j].V, ""
				if k < len(v) && !math.IsNaN(v[k]) {
					cell = strconv.FormatFloat(v[k], 'g', -1, 64)
				}
				row = append(row, cell)
			}
		}
		rows = append(rows, row)
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("graph: csv: %w", err)
	}
	return nil
}

func harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
