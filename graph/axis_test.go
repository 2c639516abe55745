package graph

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

// The script's test reads the same file: an axis says the same whoever draws it.
func TestAxesHaveOneUnit(t *testing.T) {
	text, err := os.ReadFile("testdata/axis.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][3]json.RawMessage
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		var ticks []float64
		var unit string
		var want []string
		for place, to := range []any{&ticks, &unit, &want} {
			if err := json.Unmarshal(c[place], to); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, axisLabels(ticks, unit)); diff != "" {
			t.Errorf("%v %s: %s", ticks, unit, diff)
		}
	}
}

func TestAxesOfTimesAndBytesReadWell(t *testing.T) {
	for _, unit := range []string{"days", "s", "ms", "bytes", "bytes/s", "", "1/s"} {
		most := 1e9
		if unit == "days" {
			most = 1e5
		}
		for high := 1e-3; high < most; high *= 1.37 {
			s := newScale(0, high, unit, nil, nil, false)
			labels := s.labels()
			if len(labels) < 2 || len(labels) > 9 {
				t.Errorf("%v %s: %d ticks: %v", high, unit, len(labels), labels)
			}
			names, seen := map[string]bool{}, map[string]bool{}
			for i, l := range labels {
				number, name, _ := strings.Cut(l, " ")
				if i > 0 {
					names[name] = true
				}
				if seen[l] || len([]rune(l)) > 9 {
					t.Errorf("%v %s: %q in %v", high, unit, l, labels)
				}
				if _, err := strconv.ParseFloat(number, 64); err != nil {
					t.Errorf("%v %s: %q", high, unit, l)
				}
				seen[l] = true
			}
			if len(names) != 1 {
				t.Errorf("%v %s: several units on one axis: %v", high, unit, labels)
			}
		}
	}
}

// written is a text of a picture with the box that it fills.
type written struct {
	text                     string
	left, right, top, bottom float64
}

// textsOf reads where the texts of a picture stand.
func textsOf(t *testing.T, d *Drawing, p Picture) (texts []written, height float64) {
	t.Helper()
	var out bytes.Buffer
	if err := d.SVG(&out, p); err != nil {
		t.Fatal(err)
	}
	dec, inText := xml.NewDecoder(&out), false
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return texts, height
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			attr := map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
			}
			number := func(name string) float64 { v, _ := strconv.ParseFloat(attr[name], 64); return v }
			if e.Name.Local == "svg" {
				height = number("height")
			}
			if inText = e.Name.Local == "text"; inText {
				texts = append(texts, written{attr["text-anchor"], number("x"), number("x"), number("y") - 8, number("y") + 2})
			}
		case xml.CharData:
			if !inText {
				continue
			}
			w := &texts[len(texts)-1]
			wide := (&svgCanvas{}).textWidth(string(e), fontSize)
			switch anchor := w.text; anchor {
			case "middle":
				w.left, w.right = w.left-wide/2, w.right+wide/2
			case "end":
				w.left -= wide
			default:
				w.right += wide
			}
			w.text, inText = string(e), false
		}
	}
}

// marked has a mark of each kind, one at the very left, and axes whose highest ticks are at their upper ends.
func marked() *Drawing {
	d := sample()
	d.Title, d.Server = "marked", "db1"
	flat := func(v float64) monolith.Floats {
		out := make(monolith.Floats, len(d.Times))
		for i := range out {
			out[i] = v
		}
		return out
	}
	line := func(unit string, v float64, right bool) Line {
		l := Line{Name: "x", Style: StyleLine, Unit: unit, Right: right, V: flat(v)}
		l.Stats = statsOf(l.V, lastSteps)
		return l
	}
	d.Panels = []PanelDrawing{
		{Title: "a", Unit: "transactions", Right: "retries/h", Lines: []Line{line("transactions", 40, false), line("retries/h", 4, true)}},
		{Title: "b", Unit: "bytes/s", Lines: []Line{line("bytes/s", 32<<10, false)}},
	}
	d.Marks = nil
	for i, m := range markWords {
		d.Marks = append(d.Marks, monolith.Mark{At: start.Add(time.Duration(i) * 80 * time.Second), Kind: m.kind})
	}
	return d
}

// The words of the axes and the signs of the marks have rows of their own.
func TestPictureTextsStandApart(t *testing.T) {
	unmarked := marked()
	unmarked.Marks = nil
	for _, p := range []Picture{{}, {Untitled: true, Width: 360}, {Width: 640, Height: 120}, {Dark: true, Width: 1200}} {
		for _, d := range []*Drawing{marked(), unmarked} {
			texts, height := textsOf(t, d, p)
			signs := signsOf(t, d, p)
			found := map[string]bool{}
			for i, a := range texts {
				found[a.text] = true
				if a.bottom > height || a.top < 0 {
					t.Errorf("%+v: %q stands outside", p, a.text)
				}
				for _, b := range append(texts[:i:i], signs...) {
					if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
						t.Errorf("%+v: %q stands on %q", p, a.text, b.text)
					}
				}
			}
			for _, want := range []string{"transactions", "retries/h", "bytes/s", "32 KiB"} {
				if !found[want] {
					t.Errorf("%+v: the picture does not say %s", p, want)
				}
			}
			if (len(signs) > 0) != (len(d.Marks) > 0) {
				t.Errorf("%+v: %d strokes of signs for %d marks", p, len(signs), len(d.Marks))
			}
		}
	}
}

// signsOf reads where the strokes of the marks' signs stand; no other line is as wide.
func signsOf(t *testing.T, d *Drawing, p Picture) (signs []written) {
	t.Helper()
	var out bytes.Buffer
	if err := d.SVG(&out, p); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`points="([^"]*)" stroke="[^"]*" stroke-width="1.3"`).FindAllStringSubmatch(out.String(), -1) {
		w := written{"a sign", math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
		for pair := range strings.FieldsSeq(m[1]) {
			var x, y float64
			if _, err := fmt.Sscanf(pair, "%g,%g", &x, &y); err != nil {
				t.Fatal(err)
			}
			w.left, w.right, w.top, w.bottom = min(w.left, x), max(w.right, x), min(w.top, y), max(w.bottom, y)
		}
		signs = append(signs, w)
	}
	return signs
}

func TestAnAxisWithoutLinesHasNoWord(t *testing.T) {
	d := marked()
	d.Panels[0].Lines[1].Hidden = true
	texts, _ := textsOf(t, d, Picture{})
	if slices.ContainsFunc(texts, func(w written) bool { return w.text == "retries/h" }) {
		t.Error("the word of an axis stands there without it")
	}
}

func TestPicturesExplainTheirMarks(t *testing.T) {
	says := func(d *Drawing, p Picture, word string) bool {
		texts, _ := textsOf(t, d, p)
		for _, w := range texts {
			if w.text == word {
				return true
			}
		}
		return false
	}
	d := marked()
	for _, m := range markWords {
		if len(markSigns[m.kind]) == 0 || !says(d, Picture{Width: 360}, m.word) || says(d, Picture{Bare: true}, m.word) {
			t.Errorf("%s has no sign, is not explained, or is in a small picture", m.kind)
		}
	}
	d.Marks = d.Marks[:1]
	if says(d, Picture{}, "note") {
		t.Error("a mark that is not there is explained")
	}
	d.Marks[0].At = d.From.Add(-time.Hour)
	if says(d, Picture{}, "restart") {
		t.Error("a mark outside of the range is explained")
	}
}

func TestAnAxisOnTheRightMayHaveNoUnit(t *testing.T) {
	list, err := Parse([]byte("id: x\ntitle: X\nsection: queries\npanels:\n  - unit: '%'\n    series:\n      - {name: a, expr: status.Threads_running, axis: right}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ds, err := Draw(t.Context(), history{"status.Threads_running": 10}, Target{ID: 1}, Request{From: start, To: start.Add(time.Minute), Step: 10 * time.Second}, list[0])
	if err != nil {
		t.Fatal(err)
	}
	texts, _ := textsOf(t, ds[0], Picture{})
	ticks := 0
	for _, w := range texts {
		if strings.HasSuffix(w.text, " %") && w.left > 100 {
			t.Errorf("%q on the right", w.text)
		}
		if w.left > 690 && w.top > 20 && w.bottom < 240 {
			ticks++
		}
	}
	if ticks < 3 {
		t.Errorf("%d ticks on the right: %v", ticks, texts)
	}
}

func TestStripsSayStatesAndShares(t *testing.T) {
	n := math.NaN()
	strip := func(unit string, v, low, high monolith.Floats) Line {
		return Line{Name: "x", Style: StyleStrip, Unit: unit, States: []string{"yes", "connecting", "no"}, V: v, Min: low, Max: high, Stats: statsOf(v, lastSteps)}
	}
	for _, c := range []struct {
		line Line
		want string
	}{
		{strip("", nan(1, 1, 1, 1), nil, nil), "last yes  100 % yes"},
		{strip("", nan(1, 1, 0.5, 0), nil, nil), "last no  50 % yes"},
		{strip("", nan(1, n, n, n, n), nil, nil), "100 % yes"},
		{strip("", nan(n, n), nil, nil), "–"},
		{strip("", nan(0.907, 0.5), nan(0, 0.5), nan(1, 0.5)), "last connecting  45.35 % yes"},
		{strip("%", nan(100, 100, 50, 0), nil, nil), "last no  50 % yes"},
	} {
		if got := c.line.stateFigures(); got != c.want {
			t.Errorf("%v: %q, want %q", c.line.V, got, c.want)
		}
	}
	d := drawOne(t, history{"replica.io_running": 1, "replica.sql_running": 0.5}, nil, "replica-delay")
	if l := find(t, d, "applier"); l.stateFigures() != "last connecting  0 % yes" {
		t.Errorf("%q of %+v", l.stateFigures(), l)
	}
	if shareText(0.99996) != "99.99 %" {
		t.Errorf("nearly always is %s", shareText(0.99996))
	}
}

// A strip is green, yellow or red by its state, within the plot, and has no numbers beside it.
func TestStripsArePaintedByState(t *testing.T) {
	d := &Drawing{ID: "x", Title: "x", From: start, To: start.Add(time.Minute), Step: 10}
	for i := range 7 {
		d.Times = append(d.Times, start.Unix()+int64(10*i))
	}
	l := Line{Name: "applier", Style: StyleStrip, Unit: "%", States: []string{"yes", "partly", "no"}, V: nan(100, 100, 50, math.NaN(), 0, 0, 0)}
	d.Panels = []PanelDrawing{{Unit: "%", Lines: []Line{l}}}
	var out bytes.Buffer
	if err := d.SVG(&out, Picture{}); err != nil {
		t.Fatal(err)
	}
	boxes := map[string]int{}
	for _, fill := range []string{lightInk.good, lightInk.between, lightInk.bad} {
		boxes[fill] = strings.Count(out.String(), `height="14" fill="`+fill+`"`)
	}
	if diff := cmp.Diff(map[string]int{lightInk.good: 1, lightInk.between: 1, lightInk.bad: 1}, boxes); diff != "" {
		t.Error(diff)
	}
	texts, height := textsOf(t, d, Picture{})
	for _, w := range texts {
		if strings.HasSuffix(w.text, "0 %") && w.left < leftMargin {
			t.Errorf("%q stands beside a state", w.text)
		}
	}
	if height > 140 {
		t.Errorf("one strip is %v high", height)
	}
}
