package web

import (
	"encoding/json"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
	"monolith/graph"
)

// viewFuncs are what templates may call besides the methods of their page.
var viewFuncs = template.FuncMap{
	"human":      human,
	"bytes":      func(n int64) template.HTML { return human(float64(n), "bytes") },
	"count":      func(n int64) template.HTML { return human(float64(n), "") },
	"sub":        func(a, b int) int { return a - b },
	"int":        func(n int) template.HTML { return human(float64(n), "") },
	"age":        graph.Age,
	"seconds":    func(s int64) string { return graph.Age(time.Duration(s) * time.Second) },
	"delayBy":    delayBy,
	"ms":         func(d time.Duration) string { return graph.Format(float64(d)/1e6, "ms") },
	"plural":     plural,
	"join":       strings.Join,
	"deref":      func(p *int64) int64 { return *p },
	"has":        func(list []string, s string) bool { return slices.Contains(list, s) },
	"list":       func(s ...string) []string { return s },
	"title":      firstUpper,
	"sentence":   sentence,
	"short":      short,
	"dict":       dict,
	"known":      func(v float64) bool { return !math.IsNaN(v) },
	"bare":       bare,
	"tier":       func(t string) string { return tierNames[t] },
	"derefFloat": func(p *float64) float64 { return *p },
	"derefTime":  func(p *time.Time) time.Time { return *p },
	"derefText":  func(p *string) string { return *p },
	"derefBool":  func(p *bool) bool { return *p },
	"orEmpty": func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	},
}

// human writes a number for people and keeps the raw value in the tooltip. NaN is "–".
func human(v float64, unit string) template.HTML {
	text := graph.Format(v, unit)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return template.HTML(`<span class="faint" title="no value">–</span>`)
	}
	raw := strconv.FormatFloat(v, 'f', -1, 64)
	if raw == text {
		return template.HTML(template.HTMLEscapeString(text))
	}
	if unit != "" {
		raw += " " + unit
	}
	return template.HTML(`<span class="raw" title="` + template.HTMLEscapeString(raw) + `">` + template.HTMLEscapeString(text) + `</span>`)
}

// plural writes a count with its noun: plural 2 "server" gives "2 servers".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ay") {
		return strconv.Itoa(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func firstUpper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// sentence begins a text with a capital and ends it with a point, if it has no end yet.
func sentence(s string) string {
	if s == "" || strings.ContainsRune(".?!…", []rune(s)[len([]rune(s))-1]) {
		return firstUpper(s)
	}
	return firstUpper(s) + "."
}

// short cuts a text to n characters, saying so with "…".
func short(n int, s string) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// delayBy says in words what told a replica's delay.
func delayBy(by monolith.DelayBy) string {
	switch by {
	case monolith.ByHeartbeat:
		return "the heartbeat table"
	case monolith.ByCommit:
		return "commit times"
	}
	return "what the server says"
}

// dict makes the arguments of a shared part: dict "Name" .Name "Page" $.
func dict(pairs ...any) map[string]any {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if key, ok := pairs[i].(string); ok {
			m[key] = pairs[i+1]
		}
	}
	return m
}

// When writes a moment relative to now with the absolute one in the tooltip; script keeps it fresh and
// shows it in the reader's zone.
func (b pageBase) When(t time.Time) template.HTML {
	if t.IsZero() {
		return template.HTML(`<span class="faint">never</span>`)
	}
	return b.timeElement(t, b.relative(t), "ago")
}

// Age writes how old something is, without "ago".
func (b pageBase) Age(t time.Time) template.HTML {
	return b.timeElement(t, graph.Age(max(0, b.Now.Sub(t))), "age")
}

// ShortAge writes how old something is in its largest unit alone: "10 h" for "10 h 46 min".
func (b pageBase) ShortAge(t time.Time) template.HTML {
	words := strings.Fields(graph.Age(max(0, b.Now.Sub(t))))
	return b.timeElement(t, strings.Join(words[:min(2, len(words))], " "), "short")
}

// Moment writes a moment with date and time.
func (b pageBase) Moment(t time.Time) template.HTML {
	if t.IsZero() {
		return template.HTML(`<span class="faint">–</span>`)
	}
	return b.timeElement(t, t.In(b.location).Format("2006-01-02 15:04:05"), "at")
}

func (b pageBase) timeElement(t time.Time, text, kind string) template.HTML {
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" data-show="` + kind + `" title="` +
		template.HTMLEscapeString(t.In(b.location).Format("2006-01-02 15:04:05 -07:00")) + `">` + template.HTMLEscapeString(text) + `</time>`)
}

func (b pageBase) relative(t time.Time) string {
	switch d := b.Now.Sub(t); {
	case d < -time.Second:
		return "in " + graph.Age(d)
	case d < 2*time.Second:
		return "now"
	default:
		return graph.Age(d) + " ago"
	}
}

// ZoneName names the zone in which the server writes times.
func (b pageBase) ZoneName() string { return b.location.String() }

// stateValue gives a metric of a state as a number; NaN when there is none.
func stateValue(st *monolith.State, name string) float64 {
	n, _, ok := st.Value(monolith.Metric{Name: name})
	if !ok {
		return math.NaN()
	}
	return n.Gauge()
}

// stateRate gives a metric's rate per second between the two newest readings; NaN when there is none.
func stateRate(st *monolith.State, name string) float64 {
	v, ok := st.Rate(monolith.Metric{Name: name})
	if !ok {
		return math.NaN()
	}
	return v
}

// stateText gives a metric of a state as text; "" when there is none.
func stateText(st *monolith.State, name string) string {
	s, _, _ := st.Text(monolith.Metric{Name: name})
	return s
}

// bare gives a metric's name as the server writes it, without our namespace.
func bare(metric string) string {
	if _, rest, ok := strings.Cut(metric, "."); ok {
		return rest
	}
	return metric
}

// Length writes a number of seconds as a length of time, exact in the tooltip.
func (b pageBase) Length(seconds float64) template.HTML {
	if math.IsNaN(seconds) {
		return human(seconds, "")
	}
	return template.HTML(`<span class="raw" title="` + strconv.FormatFloat(seconds, 'f', -1, 64) + ` s">` +
		graph.Age(time.Duration(seconds*float64(time.Second))) + `</span>`)
}

// Percent writes a share with as many figures as help: 0.4 %, 37 %.
func (b pageBase) Percent(v float64) template.HTML { return percent(v, v < 9.95, false) }

// Hit writes a share of which the last hundredth counts, rounded down: 99.99 % is not all.
func (b pageBase) Hit(v float64) template.HTML { return percent(v, true, true) }

func percent(v float64, tenths, near100 bool) template.HTML {
	rounded := math.Round(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return human(v, "%")
	case near100 && v > 99:
		rounded = math.Floor(v*100+1e-9) / 100
	case tenths:
		rounded = math.Round(v*10) / 10
	}
	raw := strconv.FormatFloat(v, 'f', -1, 64) + " %"
	return template.HTML(`<span class="raw" title="` + raw + `">` + graph.Format(rounded, "%") + `</span>`)
}

// unquoteJSON writes a JSON number or text as people read it; null is "".
func unquoteJSON(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// tierNames are what people call the tiers of history.
var tierNames = map[string]string{"head": "newest, not packed yet", "raw": "every poll", "10m": "ten minutes", "1h": "hours"}

// Clock writes the time of day of a moment, with date and zone in the tooltip.
func (b pageBase) Clock(t time.Time) template.HTML {
	return b.timeElement(t, t.In(b.location).Format("15:04:05"), "clock")
}

// Bar gives the range picker what it needs: it keeps the other parameters of the address.
func (p *serverPage) Bar() rangeBar {
	bar := rangeBar{pageBase: p.pageBase, Range: p.Range}
	for _, name := range sortedKeys(p.URL.Query()) {
		for _, v := range p.URL.Query()[name] {
			if !slices.Contains([]string{"from", "to", "ago", "tz", "refresh", "done"}, name) {
				bar.Keep = append(bar.Keep, [2]string{name, v})
			}
		}
	}
	return bar
}

type rangeBar struct {
	pageBase
	Range timeRange
	Keep  [][2]string
}

// Frame gives the frame itself, for methods that take one.
func (b rangeBar) Frame() pageBase { return b.pageBase }
