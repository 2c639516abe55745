package web

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
	"monolith/graph"
)

// statusTab lists every value, alone or beside those of another server or another moment.
type statusTab struct {
	serverPage
	Values     []statusRow
	Namespace  string
	Namespaces []string
	Find       string
	All        int
	Others     []string
	Against    string // name of the other server; "" is this one
	OtherAt    string
	Compares   bool
	Error      string
}

// statusRow is one value and, where two are compared, the other one.
type statusRow struct {
	valueView
	Other *otherValue // nil: the other side does not have it
}

// otherValue is a value of the other side.
type otherValue struct {
	Text string   // "" for a counter of another moment: history keeps what it grew by
	Rate *float64 // per second
}

// momentSpan is how long before a moment values are looked for, in two steps.
const momentSpan = 2 * time.Minute

func (s *Server) statusPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "status", "status")
	if err != nil {
		return err
	}
	q := r.URL.Query()
	d := statusTab{serverPage: p, Namespace: q.Get("namespace"), Find: strings.TrimSpace(q.Get("q")), Against: q.Get("against"), OtherAt: q.Get("against_at")}
	if !slices.Contains(monolith.Namespaces, d.Namespace) {
		d.Namespace = "status"
	}
	for _, ns := range monolith.Namespaces {
		if ns != "variable" && (ns == "status" || p.State.Complete(ns)) {
			d.Namespaces = append(d.Namespaces, ns)
		}
	}
	values := valuesOf(p.State, d.Namespace)
	d.All = len(values)
	others, err := s.otherValues(r.Context(), &d, values)
	if err != nil {
		return err
	}
	needle := strings.ToLower(d.Find)
	for _, v := range values {
		if strings.Contains(strings.ToLower(v.Name+" "+v.Instance), needle) {
			d.Values = append(d.Values, statusRow{v, others[monolith.Metric{Name: v.Name, Instance: v.Instance}]})
		}
	}
	return s.render(w, r, "status", &d)
}

// otherValues gives what values are compared with, by name without namespace; nil where nothing is compared.
func (s *Server) otherValues(ctx context.Context, d *statusTab, values []valueView) (map[monolith.Metric]*otherValue, error) {
	servers, err := s.store.Servers(ctx)
	if err != nil {
		return nil, err
	}
	other := d.Server
	for i := range servers {
		if servers[i].ID != d.Server.ID {
			d.Others = append(d.Others, servers[i].Name)
		}
	}
	if d.Against != "" && d.Against != d.Server.Name {
		if other, err = s.serverNamed(ctx, "against", d.Against); err != nil {
			d.Error, err = noSuch(err)
			return nil, err
		}
		d.Compares = true
	}
	if d.OtherAt == "" {
		if !d.Compares {
			return nil, nil
		}
		return newestValues(s.poller.State(other.ID), d.Namespace), nil
	}
	at, err := d.readMoment("against_at", d.OtherAt, "")
	if err != nil {
		d.Error = err.Error()
		return nil, nil
	}
	d.Compares = true
	found, err := s.valuesAt(ctx, other.ID, d.Namespace, values, at.at)
	if err = d.unread(err, "the values of that moment"); err == nil && len(found) == 0 && d.Unread == nil {
		d.Error = "History has no values of " + other.Name + " in the two minutes before that moment."
	}
	return found, err
}

// newestValues gives what a server said last.
func newestValues(st *monolith.State, namespace string) map[monolith.Metric]*otherValue {
	found := map[monolith.Metric]*otherValue{}
	for _, v := range valuesOf(st, namespace) {
		found[monolith.Metric{Name: v.Name, Instance: v.Instance}] = &otherValue{v.Show(), v.Rate}
	}
	return found
}

// valuesAt gives what history has of some values at a moment.
func (s *Server) valuesAt(ctx context.Context, id monolith.ServerID, namespace string, values []valueView, at time.Time) (map[monolith.Metric]*otherValue, error) {
	q := monolith.Query{Server: id, From: at.Add(-momentSpan), To: at, Step: momentSpan / 2}
	for _, v := range values {
		if name := namespace + "." + v.Name; len(q.Metrics) == 0 || q.Metrics[len(q.Metrics)-1] != name {
			q.Metrics = append(q.Metrics, name) // sorted: instances of a name follow one another
		}
	}
	r, err := s.store.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	found := map[monolith.Metric]*otherValue{}
	for i := range r.Series {
		series := &r.Series[i]
		v := otherValue{}
		for j := range r.N {
			if j < len(series.Last) && !math.IsNaN(series.Last[j]) {
				v.Text = strconv.FormatFloat(series.Last[j], 'f', -1, 64)
			}
			if j < len(series.Increase) && series.Seconds[j] > 0 {
				rate := series.Increase[j] / series.Seconds[j]
				v.Rate = &rate
			}
		}
		for _, step := range series.Steps {
			v.Text = step.Text
		}
		if v.Text != "" || v.Rate != nil {
			found[monolith.Metric{Name: bare(series.Metric.Name), Instance: series.Metric.Instance}] = &v
		}
	}
	return found, nil
}

// Differs says how this side stands to the other: "× 3.2" of its rate or of its number, "≠" for texts, "same",
// or "" where there is nothing to say.
func (v statusRow) Differs() string {
	if v.Other == nil {
		return ""
	}
	var mine, theirs float64
	switch {
	case v.Rate != nil && v.Other.Rate != nil:
		mine, theirs = *v.Rate, *v.Other.Rate
	case v.Kind == monolith.Counter.String():
		return ""
	default:
		a, errA := strconv.ParseFloat(v.Show(), 64)
		b, errB := strconv.ParseFloat(v.Other.Text, 64)
		if errA != nil || errB != nil {
			if v.Show() == v.Other.Text {
				return "same"
			}
			return "≠"
		}
		mine, theirs = a, b
	}
	switch ratio := mine / theirs; {
	case mine == theirs:
		return "same"
	case theirs == 0 || ratio <= 0:
		return "≠"
	default:
		return "× " + graph.Format(ratio, "")
	}
}

// Expr gives the formula that draws a value.
func (d *statusTab) Expr(v statusRow) string {
	name := d.Namespace + "." + v.Name
	switch v.Kind {
	case monolith.Counter.String():
		return "rate(" + name + ")"
	case monolith.Text.String():
		return ""
	}
	return name
}

// Show writes a value as people read it: texts without quotes, numbers as they came.
func (v valueView) Show() string { return unquoteJSON(v.Value) }

// Words writes a large number in human units, or what the server wrote for a small negative one, for the tooltip; "" for a text and for a number that is short.
func (v valueView) Words() string {
	if v.Said != "" {
		return "the server says " + v.Said
	}
	var n float64
	if json.Unmarshal(v.Value, &n) != nil || math.Abs(n) < 1e5 {
		return ""
	}
	if strings.Contains(strings.ToLower(v.Name), "bytes") || strings.HasSuffix(v.Name, "_data_read") || strings.HasSuffix(v.Name, "_data_written") {
		return graph.Format(n, "bytes")
	}
	return graph.Format(n, "")
}
