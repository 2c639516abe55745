package web

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"monolith"
)

// A first screen of more rows than this folds them into their groups, or, where that can't be, into pages.
const rowsOfPage = 200

// namesOfFold is how many servers that are not well a folded group names.
const namesOfFold = 3

// fold is what one row says of a whole group: the sum of its queries, and of everything else the worst, with the
// server that has it.
type fold struct {
	Counts    serverCounts
	Level     monolith.Level // the worst that is open
	Alerts    int
	Up        int
	Wrong     []serverRow // the worst of those that are not well
	MoreWrong int
	QPS       float64
	Conns     *serverRow // nil: no server has it
	Hit       *serverRow
	Lag       *serverRow
	CPU       *serverRow
	Disk      *serverRow
	Change    *serverRow
	Oldest    *serverRow // of those that are polled
}

// foldRows makes the row of a group. rows is not empty.
func foldRows(rows []serverRow) *fold {
	f := &fold{QPS: math.NaN()}
	var wrong []serverRow
	for i := range rows {
		r := &rows[i]
		f.Counts.add(r.Health)
		f.Level, f.Alerts = max(f.Level, r.Level), f.Alerts+r.Alerts
		switch r.Health.Look {
		case "up":
			f.Up++
		case "bad", "warn":
			wrong = append(wrong, *r)
		}
		if !math.IsNaN(r.QPS) && !r.Off {
			f.QPS = nanZero(f.QPS) + r.QPS
		}
		if r.Change != nil && (f.Change == nil || r.Change.At.After(f.Change.Change.At)) {
			f.Change = r
		}
		if r.Off {
			continue // its values are old ones
		}
		for _, worst := range []struct {
			of   **serverRow
			much func(*serverRow) float64
		}{
			{&f.Conns, func(r *serverRow) float64 { return r.Conns }},
			{&f.Hit, func(r *serverRow) float64 { return -r.Hit }},
			{&f.Lag, func(r *serverRow) float64 { return r.Lag.Sort() }},
			{&f.CPU, func(r *serverRow) float64 { return r.CPU }},
			{&f.Disk, func(r *serverRow) float64 { return -r.DiskFree }},
			{&f.Oldest, func(r *serverRow) float64 { return polledBefore(r.Polled) }},
		} {
			if v := worst.much(r); !math.IsNaN(v) && (*worst.of == nil || v > worst.much(*worst.of)) {
				*worst.of = r
			}
		}
	}
	slices.SortStableFunc(wrong, func(a, b serverRow) int { return cmp.Compare(a.Health.Look, b.Health.Look) }) // bad before warn
	f.Wrong = wrong[:min(len(wrong), namesOfFold)]
	f.MoreWrong = len(wrong) - len(f.Wrong)
	return f
}

// polledBefore grows with the age of the newest values; NaN before the first.
func polledBefore(t time.Time) float64 {
	if t.IsZero() {
		return math.NaN()
	}
	return -float64(t.UnixMilli())
}

// foldGroups turns groups of more rows than one page holds into one row each; those without a group stay, as many
// as fit, since no address narrows to them.
func (d *serversPage) foldGroups() {
	d.Folded = true
	for i := range d.Groups {
		g := &d.Groups[i]
		switch {
		case g.Path == "":
			g.More = max(0, len(g.Rows)-rowsOfPage)
			g.Rows = g.Rows[:len(g.Rows)-g.More]
		case len(g.Rows) > 0:
			g.Count, g.Fold = len(g.Rows), foldRows(g.Rows)
			g.Rows = nil
		}
	}
}

// cutPage keeps the rows of the page that the address names: the nearest where there is no such page.
func (d *serversPage) cutPage() {
	d.Pages = (d.Shown + rowsOfPage - 1) / rowsOfPage
	n, _ := strconv.Atoi(d.Param("page"))
	d.PageNumber = min(max(n, 1), max(d.Pages, 1))
	skip, left := (d.PageNumber-1)*rowsOfPage, rowsOfPage
	for i := range d.Groups {
		g := &d.Groups[i]
		g.Count = len(g.Rows)
		from := min(skip, len(g.Rows))
		to := min(from+left, len(g.Rows))
		skip, left = skip-from, left-(to-from)
		g.Rows = g.Rows[from:to]
	}
	d.Groups = slices.DeleteFunc(d.Groups, func(g groupRows) bool { return len(g.Rows) == 0 && g.Count > 0 })
}

// FoldTitles are the headings of columns that say something else where groups stand for their servers.
func (d *serversPage) FoldTitles() map[string]string {
	return map[string]string{"name": "Group", "role": "Not well"}
}

// GroupedSort is the sort that stays when the list goes under its groups: none where groups are folded, since
// a ranking has no place there.
func (d *serversPage) GroupedSort() string {
	if d.Shown > rowsOfPage {
		return ""
	}
	return d.Param("sort")
}

// PageSpan gives the places of the first and the last row of the page.
func (d *serversPage) PageSpan() [2]int {
	return [2]int{(d.PageNumber-1)*rowsOfPage + 1, min(d.PageNumber*rowsOfPage, d.Shown)}
}

// PageLink gives the address of a page; "" when there is none.
func (d *serversPage) PageLink(n int) string {
	switch {
	case n < 1 || n > d.Pages:
		return ""
	case n == 1:
		return d.With()
	}
	return d.With("page", strconv.Itoa(n))
}

// PageNumbers lists the pages.
func (d *serversPage) PageNumbers() []int {
	list := make([]int, d.Pages)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// manyGroups reports whether the rows stand in more than one group that an address narrows to.
func manyGroups(rows []serverRow, within string) bool {
	return slices.ContainsFunc(rows, func(r serverRow) bool { return r.Server.Group != within && monolith.InGroup(r.Server.Group, within) })
}
