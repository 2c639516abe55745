package graph

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"monolith"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// history answers with the same value at every step; names that it does not have are absent.
type history map[string]float64

func (h history) Read(_ context.Context, q monolith.Query) (*monolith.Range, error) {
	n := int(q.To.Sub(q.From) / q.Step)
	r := &monolith.Range{Start: q.From, Step: q.Step, N: n, Tier: "raw"}
	for _, name := range q.Metrics {
		v, ok := h[name]
		if !ok {
			r.Absent = append(r.Absent, name)
			continue
		}
		s := monolith.Series{Metric: monolith.Metric{Name: name}, Kind: monolith.KindOf(name)}
		fill := func(v float64) []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = v
			}
			return out
		}
		s.Avg, s.Min, s.Max, s.Last = fill(v), fill(v), fill(v), fill(v)
		if s.Kind.Accumulates() {
			s.Increase, s.Seconds = fill(v), fill(q.Step.Seconds())
			s.RateMin, s.RateMax = fill(v/q.Step.Seconds()), fill(v/q.Step.Seconds())
		}
		r.Series = append(r.Series, s)
	}
	return r, nil
}

func state(flavour monolith.Flavour, version string, variables map[string]string) *monolith.State {
	var names []monolith.Metric
	var texts []string
	for k, v := range variables {
		names, texts = append(names, monolith.Metric{Name: "variable." + k}), append(texts, v)
	}
	var none *monolith.State
	return none.With(&monolith.Snapshot{
		Server: 1, At: start, Polled: true, Up: true, Interval: 10 * time.Second,
		Identity: monolith.Identity{Flavour: flavour, Version: monolith.ParseVersion(version)},
		Sections: []monolith.Section{{Collector: "variables", TextNames: monolith.NewNames(names), Texts: texts}},
	})
}

func drawOne(t *testing.T, src history, st *monolith.State, id string) *Drawing {
	t.Helper()
	ds, err := Draw(t.Context(), src, Target{ID: 1, Name: "db1", State: st},
		Request{From: start, To: start.Add(10 * time.Minute), Step: 10 * time.Second}, Find(id))
	if err != nil {
		t.Fatal(err)
	}
	return ds[0]
}

func find(t *testing.T, d *Drawing, name string) Line {
	t.Helper()
	for _, p := range d.Panels {
		for _, l := range p.Lines {
			if l.Name == name {
				return l
			}
		}
	}
	t.Fatalf("%s has no line %q", d.ID, name)
	return Line{}
}

// The hit ratio counts differently: Com_select contains the hits on MariaDB only.
func TestQueryCacheRatioByFlavour(t *testing.T) {
	vars := map[string]string{"query_cache_type": "ON", "query_cache_size": "16777216"}
	src := history{"status.Qcache_hits": 50000, "status.Com_select": 50000}
	d := drawOne(t, src, state(monolith.MySQL, "5.7.33", vars), "query-cache")
	if got := *find(t, d, "hit ratio").Stats.Mean; got != 50 {
		t.Errorf("MySQL 5.7: %v %%, want 50", got)
	}
	src["status.Com_select"] = 100000
	d = drawOne(t, src, state(monolith.MariaDB, "10.11.6", vars), "query-cache")
	if got := *find(t, d, "hit ratio").Stats.Mean; got != 50 {
		t.Errorf("MariaDB: %v %%, want 50", got)
	}
}

func TestNotApplicableSaysWhy(t *testing.T) {
	for _, st := range []*monolith.State{
		state(monolith.MySQL, "8.0.46", map[string]string{"max_connections": "151"}),
		state(monolith.MySQL, "5.7.1", map[string]string{"query_cache_type": "OFF", "query_cache_size": "0"}),
	} {
		d := drawOne(t, history{}, st, "query-cache")
		if want := st.Identity.String() + " has no query cache in use."; d.Note != want || len(d.Panels) != 0 {
			t.Errorf("note %q with %d panels, want %q and none", d.Note, len(d.Panels), want)
		}
	}
}

func TestAlternativesTakeTheFirstThatExists(t *testing.T) {
	st := state(monolith.MariaDB, "10.11.6", map[string]string{"table_open_cache": "2000"})
	d := drawOne(t, history{"variable.table_open_cache": 2000, "status.Open_tables": 10}, st, "open-tables")
	if l := find(t, d, "capacity"); *l.Stats.Last != 2000 || l.Expr != "variable.table_open_cache" {
		t.Errorf("capacity is %v by %s", *l.Stats.Last, l.Expr)
	}
	d = drawOne(t, history{"variable.table_open_cache": 2000, "status.Table_open_cache_active_instances": 4, "status.Open_tables": 10}, st, "open-tables")
	if l := find(t, d, "capacity"); *l.Stats.Last != 8000 {
		t.Errorf("capacity with four instances is %v, want 8000", *l.Stats.Last)
	}
}

type failing struct{}

func (failing) Read(context.Context, monolith.Query) (*monolith.Range, error) {
	return nil, errors.New("the store is away")
}

func TestDrawReportsAFailingStore(t *testing.T) {
	_, err := Draw(t.Context(), failing{}, Target{ID: 1}, Request{From: start, To: start.Add(time.Minute), Step: time.Second}, Find("query-rate"))
	if err == nil || !strings.Contains(err.Error(), "the store is away") {
		t.Errorf("got %v", err)
	}
}

func nan(v ...float64) monolith.Floats { return v }

func TestStackKeepsGapsAndCountsMissingAsNothing(t *testing.T) {
	n := math.NaN()
	out := stack([]Line{{Style: StyleStack, V: nan(1, n, n)}, {Style: StyleLine, V: nan(9, 9, 9)}, {Style: StyleStack, V: nan(2, 3, n)}}, 3)
	if out[1] != nil {
		t.Error("a line was stacked")
	}
	if got := out[2]; got[0] != 3 || got[1] != 3 || !math.IsNaN(got[2]) {
		t.Errorf("upper edge %v, want 3 3 NaN", got)
	}
}

func TestTopAddsTheRestUp(t *testing.T) {
	mk := func(name string, v float64) Line {
		l := Line{Instance: name, V: nan(v, v)}
		l.Stats = statsOf(l.V, lastSteps)
		return l
	}
	got := topLines([]Line{mk("a", 1), mk("b", 5), mk("c", 3), mk("d", 2)}, 2, lastSteps)
	if len(got) != 3 || got[0].Instance != "b" || got[1].Instance != "c" || got[2].Instance != "others" || got[2].V[0] != 3 {
		t.Errorf("got %+v", got)
	}
}

// sample has every style, gaps, a band, last week's values, a mark and hostile names.
func sample() *Drawing {
	n := 60
	d := &Drawing{ID: "x", Title: "Query rate </title><script>alert(1)</script>", Server: "db\x081 ]]>", From: start, To: start.Add(10 * time.Minute), Step: 10, Tier: "raw"}
	wave := func(base, amp, shift float64) monolith.Floats {
		v := make(monolith.Floats, n)
		for i := range v {
			v[i] = base + amp*math.Sin(float64(i)/8+shift)
			if i > 20 && i < 26 {
				v[i] = math.NaN()
			}
		}
		return v
	}
	for i := range n {
		d.Times = append(d.Times, start.Unix()+int64(10*i))
	}
	line := func(name string, style Style, v monolith.Floats) Line {
		return Line{Name: name, Style: style, Unit: "queries/s", V: v, Stats: statsOf(v, lastSteps)}
	}
	banded := line("questions", StyleLine, wave(400, 150, 0))
	banded.Min, banded.Max, banded.Ago = wave(300, 150, 0), wave(500, 150, 0), wave(380, 100, 1)
	right := line("slow", StyleLine, wave(2, 1, 2))
	right.Right = true
	strip := line("io & sql", StyleStrip, wave(1, 0, 0))
	below := line("out", StyleArea, wave(100, 20, 0))
	below.Below = true
	d.Panels = []PanelDrawing{
		{Title: "total", Unit: "queries/s", Right: "queries/s", Lines: []Line{banded, right, line("limit", StyleLimit, wave(600, 0, 0))}},
		{Title: "by kind", Unit: "queries/s", Lines: []Line{line("select", StyleStack, wave(200, 50, 0)), line("<b>insert</b>", StyleStack, wave(100, 50, 1)), line("rows", StyleBars, wave(50, 20, 0))}},
		{Title: "rest", Unit: "bytes/s", Lines: []Line{below, line("step", StyleStep, wave(50, 20, 0)), strip}},
		{Title: "none", Unit: "s", Note: "no values in this range"},
	}
	d.Marks = []monolith.Mark{{At: start.Add(4 * time.Minute), Kind: monolith.MarkRestart, Text: "restarted"}}
	return d
}

func TestSVGIsWellFormedWithHostileText(t *testing.T) {
	for _, p := range []Picture{{}, {Dark: true, Width: 390}, {Bare: true, Height: 60}} {
		var out bytes.Buffer
		if err := sample().SVG(&out, p); err != nil {
			t.Fatal(err)
		}
		dec := xml.NewDecoder(&out)
		elements := map[string]int{}
		for {
			tok, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("not well-formed: %v", err)
			}
			if el, ok := tok.(xml.StartElement); ok {
				elements[el.Name.Local]++
				for _, a := range el.Attr {
					if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
						t.Fatalf("<%s %s=%q>", el.Name.Local, a.Name.Local, a.Value)
					}
				}
			}
		}
		if elements["script"] > 0 || elements["b"] > 0 {
			t.Errorf("text became markup: %v", elements)
		}
		if elements["polyline"] < 10 || elements["polygon"] < 4 {
			t.Errorf("little was drawn: %v", elements)
		}
	}
}

func TestGapsBreakTheLine(t *testing.T) {
	d := sample()
	x, y := scale{low: 0, high: 1, from: 0, to: 1}, scale{low: 0, high: 1, from: 0, to: 1}
	if got := d.runs(d.Panels[0].Lines[0].V, x, y, false); len(got) != 2 || len(got[0])+len(got[1]) != 55 {
		t.Errorf("a line with a gap of five gave %d runs", len(got))
	}
}

func TestPNGIsAPicture(t *testing.T) {
	var out bytes.Buffer
	if err := sample().PNG(&out, Picture{Width: 600, Height: 160}); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	colours := map[[3]uint32]bool{}
	for y := 0; y < img.Bounds().Dy(); y += 2 {
		for x := 0; x < img.Bounds().Dx(); x += 2 {
			r, g, b, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if img.Bounds().Dx() != 600 || len(colours) < 12 {
		t.Errorf("%v with %d colours", img.Bounds(), len(colours))
	}
}

func TestCSVKeepsGapsEmptyAndNamesHarmless(t *testing.T) {
	d := sample()
	d.Panels = d.Panels[:1]
	d.Panels[0].Title, d.Panels[0].Lines[0].Name, d.Panels[0].Lines[0].Unit = "", "=cmd()", ""
	var out bytes.Buffer
	if err := d.CSV(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 61 || rows[0][1] != "'=cmd()" || rows[1][0] != "2026-03-01T12:00:00Z" || rows[22][1] != "" || rows[1][1] != "400" {
		t.Errorf("rows %d, header %q, first %q, gap %q", len(rows), rows[0], rows[1], rows[22])
	}
}

func TestUntitledPicturesKeepThePanelsTitles(t *testing.T) {
	var titled, untitled, bare bytes.Buffer
	d := sample()
	d.Title = "the graph"
	for out, p := range map[*bytes.Buffer]Picture{&titled: {}, &untitled: {Untitled: true}, &bare: {Bare: true}} {
		if err := d.SVG(out, p); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(titled.String(), " · the graph · by kind<") || strings.Contains(untitled.String(), "the graph · by kind<") ||
		!strings.Contains(untitled.String(), ">by kind<") || strings.Contains(bare.String(), "by kind") {
		t.Error("titles do not follow the picture's wishes")
	}
}

// A replica that stopped has no delay now, whatever it was before.
func TestLastIsOfTheNewestSteps(t *testing.T) {
	n := math.NaN()
	for _, c := range []struct {
		v    monolith.Floats
		want any
	}{
		{nan(1, 2, 3, 4), 4.0}, {nan(1, 2, 3, n), 3.0}, {nan(0, 0, n, n, n), nil}, {nan(n, n), nil}, {nil, nil}, {nan(7), 7.0},
	} {
		got := any(nil)
		if st := statsOf(c.v, lastSteps); st.Last != nil {
			got = *st.Last
		}
		if got != c.want {
			t.Errorf("%v: last is %v, want %v", c.v, got, c.want)
		}
	}
}

func TestPicturesNameServerRangeAndZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	d := sample()
	d.Title, d.Server = "Query rate", "shop-db1"
	var out bytes.Buffer
	if err := d.SVG(&out, Picture{Zone: berlin}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">shop-db1 · Query rate · total<", ">1 Mar 2026 13:00 – 13:10 CET<"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the picture does not say %s", want)
		}
	}
}

// What is left of 0.1 + 0.2 − 0.3 is nothing; history's own values stay as they are.
func TestDustIsNothing(t *testing.T) {
	v := nan(0.1+0.2-0.3+1e-17, math.NaN(), -1e-10, 1e-8, 5)
	got := withoutDust(v)
	if got[0] != 0 || !math.IsNaN(got[1]) || got[2] != 0 || got[3] != 1e-8 || got[4] != 5 || v[2] == 0 {
		t.Errorf("got %v of %v", got, v)
	}
}

// A counter that is read each minute grew in the minute before; that there is no later reading yet is no end.
func TestLastOfWhatIsReadRarely(t *testing.T) {
	h := &readings{every: time.Minute, values: map[monolith.Metric][]float64{
		{Name: "server.binlog_written_bytes_total"}: {0, 600, 1200}, {Name: "server.binary_log_bytes"}: {5, 5, 5}}}
	draw := func(until time.Duration) Line {
		t.Helper()
		ds, err := Draw(t.Context(), h, Target{ID: 1, State: state(monolith.MySQL, "8.4.0", map[string]string{"log_bin": "ON"})},
			Request{From: start, To: start.Add(until), Step: 10 * time.Second}, Find("binlog"))
		if err != nil {
			t.Fatal(err)
		}
		return find(t, ds[0], "written")
	}
	if l := draw(170 * time.Second); l.Stats.Last == nil || *l.Stats.Last != 10 {
		t.Errorf("50 s after the last reading: %+v", l.Stats)
	}
	if l := draw(400 * time.Second); l.Stats.Last != nil {
		t.Errorf("long after the last reading: %v", *l.Stats.Last)
	}
}
