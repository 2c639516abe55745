package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// The bounds of what one answer may hold.
const (
	maxServers = 200
	maxExprs   = 50
	maxPoints  = 11_000  // of one series
	maxValues  = 500_000 // points × series
)

// usualPoints is how many points a series gets when no step is asked for: about one each two pixels of
// a wide screen.
const usualPoints = 720

// ladder holds the steps that are chosen from: they divide hours and days evenly, so that neighbouring
// ranges share their grid.
var ladder = []time.Duration{
	1 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second,
	1 * time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	1 * time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
	7 * 24 * time.Hour, 28 * 24 * time.Hour, 364 * 24 * time.Hour,
}

// stepFor chooses a step that cuts the range into no more than so many points and is not below least.
func stepFor(span, least time.Duration, points int) time.Duration {
	for _, step := range ladder {
		if step >= least && span/step <= time.Duration(points) {
			return step
		}
	}
	return ladder[len(ladder)-1]
}

// intervalOf gives how often a server is polled, for the choice of a step.
func (s *Server) intervalOf(id monolith.ServerID) time.Duration {
	if st := s.poller.State(id); st != nil && st.Interval > 0 {
		return st.Interval
	}
	return 10 * time.Second
}

// grid reads step (or points) for a range over servers that are polled every so often.
func (q *query) grid(from, to time.Time, interval time.Duration) time.Duration {
	points := q.number("points", usualPoints, 1, maxPoints)
	step := q.duration("step", 0)
	if q.err != nil {
		return 0
	}
	span := to.Sub(from)
	if step == 0 {
		return stepFor(span, interval, points)
	}
	if step%time.Second != 0 {
		q.fail(monolith.Invalid("step", "a step is a whole number of seconds"))
	}
	if n := span / step; n > maxPoints {
		q.fail(refuseTooMuch("step", fmt.Sprintf("the range holds %d steps; a series has at most %d", n, maxPoints),
			fmt.Sprintf("a step of at least %d s, or a shorter range", int64(math.Ceil(span.Seconds()/maxPoints)))))
	}
	return step
}

// seriesView is one line of an answer. A nil value is "no value"; Why names the reason where a formula
// has none at all.
type seriesView struct {
	Server   string          `json:"server"`
	Instance string          `json:"instance"`
	Expr     string          `json:"expr"`
	Unit     string          `json:"unit"`
	V        monolith.Floats `json:"v"`
	Min      monolith.Floats `json:"min,omitempty"`
	Max      monolith.Floats `json:"max,omitempty"`
	Why      string          `json:"why,omitempty"`
	Absent   bool            `json:"absent,omitempty"` // the server does not have an input, by design
}

// seriesAnswer is the answer to a series request.
type seriesAnswer struct {
	Step   int64        `json:"step"` // seconds
	Tier   string       `json:"tier"`
	T      []int64      `json:"t"` // unix seconds at which each step begins
	Series []seriesView `json:"series"`
	Marks  []markView   `json:"marks"`
}

// size implements [appender].
func (a *seriesAnswer) size() int {
	n := rowSize * len(a.T)
	for i := range a.Series {
		n += lineSize + rowSize*(len(a.Series[i].V)+len(a.Series[i].Min)+len(a.Series[i].Max))
	}
	return n
}

func (s *Server) showSeries(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "server", "group", "expr", "from", "to", "step", "points")
	names, group, texts := q.texts("server", maxServers), q.text("group"), q.texts("expr", maxExprs)
	from, to := q.span(time.Hour)
	switch {
	case q.err != nil:
	case len(names) == 0 && group == "":
		q.fail(monolith.Invalid("server", "no server is named", "server=NAME, which may stand several times, or group=PATH"))
	case len(texts) == 0:
		q.fail(monolith.Invalid("expr", "there is no formula", "such as expr=rate(status.Questions)"))
	}
	if q.err != nil {
		return q.err
	}
	servers, err := s.chosen(r.Context(), names, group)
	if err != nil {
		return err
	}
	if len(servers) > maxServers {
		return refuseTooMuch("group", fmt.Sprintf("the group holds %d servers; one request takes at most %d", len(servers), maxServers))
	}
	formulas, err := s.parseAll(r.Context(), servers, texts)
	if err != nil {
		return err
	}
	interval := time.Duration(0)
	for i := range servers {
		interval = max(interval, s.intervalOf(servers[i].ID))
	}
	step := q.grid(from, to, interval)
	if q.err != nil {
		return q.err
	}
	if err := checkValues(len(servers)*len(formulas), from, to, step); err != nil {
		return err
	}
	answer, err := s.series(r.Context(), servers, formulas, from, to, step)
	if err != nil {
		return err
	}
	marks, err := s.marksOf(r.Context(), servers, monolith.MarkQuery{From: from, To: to, Limit: 1000})
	if err != nil {
		return err
	}
	answer.Marks = nameMarks(marks, servers)
	return s.respond(w, r, http.StatusOK, "answer", answer)
}

// checkValues refuses answers that nobody could look at and that would cost everybody else.
func checkValues(series int, from, to time.Time, step time.Duration) error {
	if values := (int64(to.Sub(from)/step) + 1) * int64(series); values > maxValues {
		return refuseTooMuch("step", fmt.Sprintf("%d series of %d steps are more than the %d values of one answer", series, values/int64(series), maxValues),
			"a longer step, a shorter range, or fewer servers and formulas")
	}
	return nil
}

// parseAll reads formulas. Names that the table does not hold are looked for among those that the
// servers were seen to have; this is asked only when it is needed.
func (s *Server) parseAll(ctx context.Context, servers []monolith.Server, texts []string) ([]*formula.Formula, error) {
	formulas := make([]*formula.Formula, len(texts))
	var known func(string) bool
	for i, text := range texts {
		f, err := formula.Parse(text)
		if err != nil {
			if known == nil {
				seen, seenErr := s.namesSeen(ctx, servers)
				if seenErr != nil {
					return nil, seenErr
				}
				known = func(name string) bool { return seen[name] }
			}
			f, err = formula.ParseWith(text, known)
		}
		if err != nil {
			if bad, ok := errors.AsType[*monolith.InvalidError](err); ok {
				located := *bad
				if located.Field = "expr"; len(texts) > 1 {
					located.Field = fmt.Sprintf("expr[%d]", i)
				}
				return nil, &located
			}
			return nil, err
		}
		formulas[i] = f
	}
	return formulas, nil
}

// namesSeen gathers the metric names that servers have had. Beyond a few dozen servers new names are rare.
func (s *Server) namesSeen(ctx context.Context, servers []monolith.Server) (map[string]bool, error) {
	seen := map[string]bool{}
	for i := range servers[:min(len(servers), 40)] {
		metrics, err := s.store.Metrics(ctx, servers[i].ID)
		if err != nil {
			return nil, err
		}
		for _, m := range metrics {
			seen[m.Name] = true
		}
	}
	return seen, nil
}

// series evaluates every formula on every server and lays the results on one grid.
func (s *Server) series(ctx context.Context, servers []monolith.Server, formulas []*formula.Formula, from, to time.Time, step time.Duration) (*seriesAnswer, error) {
	leave, err := s.room.enter(ctx, len(servers)*len(formulas), to.Sub(from), step)
	if err != nil {
		return nil, fmt.Errorf("web: series: %w", err)
	}
	defer leave()
	results := make([][]formula.Result, len(servers))
	ask := func(i int, step time.Duration) (err error) {
		results[i], err = formula.Series(ctx, s.store, formula.Request{Server: servers[i].ID, From: from, To: to, Step: step}, formulas...)
		if err != nil {
			return fmt.Errorf("web: series: %w", err)
		}
		return nil
	}
	for i := range servers {
		if err := ask(i, step); err != nil {
			return nil, err
		}
	}
	// History may answer in longer steps than asked for, where only a coarse tier reaches so far back.
	// That may differ between servers; one axis needs the longest.
	longest := step
	for _, rs := range results {
		for _, r := range rs {
			longest = max(longest, r.Step)
		}
	}
	for i, rs := range results {
		if slices.ContainsFunc(rs, func(r formula.Result) bool { return len(r.Lines) > 0 && r.Step != longest }) {
			if err := ask(i, longest); err != nil {
				return nil, err
			}
		}
	}
	return layOut(servers, formulas, results, from, to, longest)
}

// tiers from the finest to the coarsest.
var tiers = []string{"raw", "10m", "1h"}

func layOut(servers []monolith.Server, formulas []*formula.Formula, results [][]formula.Result, from, to time.Time, step time.Duration) (*seriesAnswer, error) {
	answer := &seriesAnswer{Step: int64(step / time.Second), Series: []seriesView{}}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	coarsest := -1
	for _, rs := range results {
		for _, r := range rs {
			coarsest = max(coarsest, slices.Index(tiers, r.Tier))
			for _, l := range r.Lines {
				if len(l.V) > 0 {
					first = min(first, r.Start.Unix())
					last = max(last, r.Start.Unix()+int64(len(l.V)-1)*answer.Step)
				}
			}
		}
	}
	if first > last { // nothing at all: the grid that was asked for
		first = from.Unix() - from.Unix()%answer.Step
		last = to.Unix() - 1 - (to.Unix()-1)%answer.Step
	}
	answer.Tier = tiers[max(coarsest, 0)]
	for t := first; t <= last; t += answer.Step {
		answer.T = append(answer.T, t)
	}
	n := len(answer.T)
	for i := range servers {
		for j, r := range results[i] {
			view := seriesView{Server: servers[i].Name, Expr: formulas[j].String(), Unit: formulas[j].Unit(), Why: r.Why, Absent: r.Absent}
			if len(r.Lines) == 0 {
				view.Why = cmp.Or(view.Why, "no values in this range")
				view.V = onGrid(nil, 0, n)
				answer.Series = append(answer.Series, view)
				continue
			}
			offset := int((r.Start.Unix() - first) / answer.Step)
			for _, l := range r.Lines {
				view.Instance, view.V = l.Instance, onGrid(l.V, offset, n)
				view.Min, view.Max = nil, nil
				if l.Min != nil && l.Max != nil {
					view.Min, view.Max = onGrid(l.Min, offset, n), onGrid(l.Max, offset, n)
				}
				answer.Series = append(answer.Series, view)
			}
		}
	}
	if values := len(answer.Series) * n; values > maxValues {
		return nil, refuseTooMuch("expr", fmt.Sprintf("the formulas have %d series of %d steps here, more than the %d values of one answer",
			len(answer.Series), n, maxValues), "a longer step, a shorter range, or fewer servers and formulas")
	}
	return answer, nil
}

// onGrid places values on the common axis; what is not covered has no value.
func onGrid(v monolith.Floats, offset, n int) monolith.Floats {
	if offset == 0 && len(v) == n {
		return v
	}
	out := make(monolith.Floats, n)
	for i := range out {
		out[i] = math.NaN()
	}
	if offset >= 0 && offset < n {
		copy(out[offset:], v)
	}
	return out
}

// showNames lists names for completion while someone writes a formula.
func (s *Server) showNames(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "prefix", "server", "limit")
	prefix, limit, on := q.text("prefix"), q.number("limit", 50, 1, 1000), q.text("server")
	if q.err != nil {
		return q.err
	}
	type nameView struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
		Here *bool  `json:"here,omitempty"` // whether the server was ever seen to have it; only with server=
	}
	list := []nameView{}
	for _, n := range formula.Complete(prefix, limit) {
		list = append(list, nameView{Name: n.Name, Kind: n.Kind})
	}
	if on != "" {
		server, err := s.serverNamed(r.Context(), "server", on)
		if err != nil {
			return err
		}
		seen, err := s.namesSeen(r.Context(), []monolith.Server{server})
		if err != nil {
			return err
		}
		for i := range list {
			here := seen[list[i].Name]
			list[i].Here = &here
			delete(seen, list[i].Name)
		}
		here := true
		for _, name := range sortedKeys(seen) {
			if len(list) < limit && strings.HasPrefix(strings.ToLower(name), strings.ToLower(prefix)) {
				list = append(list, nameView{Name: name, Kind: monolith.KindOf(name).String(), Here: &here})
			}
		}
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Names []nameView `json:"names"`
	}{list})
}
