package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// about stands at the head of every answer about one server: how old what follows is. At is nil, and
// Note says why, where there is nothing yet. Note also says that the last poll failed: AsOf is then when the
// status was last read, nil if never.
type about struct {
	Server string     `json:"server"`
	At     *time.Time `json:"at"`
	AsOf   *time.Time `json:"as_of,omitempty"`
	Note   string     `json:"note,omitempty"`
}

func (s *Server) about(server *monolith.Server, st *monolith.State) about {
	a := about{Server: server.Name}
	switch {
	case st != nil:
		a.At = &st.At
		if st.OK {
			break
		}
		a.Note = "the last poll failed, and nothing was read before"
		if !st.Polled.IsZero() {
			a.AsOf, a.Note = &st.Polled, "the last poll failed: this is as last read"
		}
		if p := connectionProblem(st); p != nil {
			a.Note += "; " + p.Text
		}
	case server.Paused:
		a.Note = "polling of this server is paused"
	default:
		a.Note = "this server was not polled yet"
	}
	return a
}

// stateOf reads the path's server and what is known of it; st is nil when nothing is.
func (s *Server) stateOf(r *http.Request, q *query) (server monolith.Server, st *monolith.State, err error) {
	if q.err != nil {
		return server, nil, q.err
	}
	if server, err = s.pathServer(r); err != nil {
		return server, nil, err
	}
	return server, s.poller.State(server.ID), nil
}

// valueView is one metric as it was last read. Value is a number, a text, or null.
type valueView struct {
	Name     string          `json:"name"` // with its namespace only where several are listed
	Instance string          `json:"instance,omitempty"`
	Value    json.RawMessage `json:"value"`
	Said     string          `json:"said,omitempty"` // the server's own digits, where they are a small negative number in unsigned clothing
	Kind     string          `json:"kind"`
	Rate     *float64        `json:"rate,omitempty"` // per second between the last two polls, where the metric accumulates
	At       time.Time       `json:"at"`
}

// digits writes a value as the server does, but for a gauge that is a small negative number in unsigned clothing.
// 2^64−1 is also what servers write for "no limit", only not in a number of pages.
func digits(metric string, n monolith.Num) string {
	g := n.Gauge()
	if n.Float64() > 0 && g < 0 && (g < -1 || strings.Contains(metric, "_pages_")) && monolith.KindOf(metric) == monolith.Gauge {
		return strconv.FormatFloat(g, 'f', -1, 64)
	}
	return n.String()
}

// valuesOf lists the newest reading of every metric of a namespace, sorted by name.
func valuesOf(st *monolith.State, namespace string) []valueView {
	values := []valueView{}
	prefix := namespace + "."
	st.Sections(func(sec *monolith.Section, at time.Time) bool {
		for i := range sec.NumNames.Len() {
			m := sec.NumNames.At(i)
			name, ok := strings.CutPrefix(m.Name, prefix)
			if !ok {
				continue
			}
			v := valueView{Name: name, Instance: m.Instance, Kind: monolith.KindOf(m.Name).String(), At: at, Value: json.RawMessage("null")}
			if n := sec.Nums[i]; !n.IsNone() {
				value := digits(m.Name, n)
				if v.Value = json.RawMessage(value); value != n.String() {
					v.Said = n.String()
				}
			}
			if monolith.KindOf(m.Name).Accumulates() {
				if rate, ok := st.Rate(m); ok {
					v.Rate = &rate
				}
			}
			values = append(values, v)
		}
		for i := range sec.TextNames.Len() {
			m := sec.TextNames.At(i)
			if name, ok := strings.CutPrefix(m.Name, prefix); ok {
				values = append(values, valueView{Name: name, Instance: m.Instance, Kind: monolith.Text.String(), At: at,
					Value: mustJSON(sec.Texts[i])})
			}
		}
		return true
	})
	slices.SortFunc(values, func(a, b valueView) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Instance, b.Instance))
	})
	return values
}

func (s *Server) showStatus(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "namespace", "name", "search", "limit", "cursor")
	namespace := q.oneOf("namespace", monolith.Namespaces...)
	names, search := q.texts("name", 1000), strings.ToLower(q.text("search"))
	server, st, err := s.stateOf(r, q)
	if err != nil {
		return err
	}
	values := slices.DeleteFunc(valuesOf(st, namespace), func(v valueView) bool {
		return len(names) > 0 && !slices.Contains(names, v.Name) || !strings.Contains(strings.ToLower(v.Name), search)
	})
	part, next := cut(q, values, 5000, func(v valueView) string { return v.Name + "\x00" + v.Instance })
	if q.err != nil {
		return q.err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Namespace string      `json:"namespace"`
		Values    []valueView `json:"values"`
		Next      string      `json:"next,omitempty"`
	}{s.about(&server, st), namespace, part, next})
}

// variableView is one variable; Other is that of the server or moment compared with.
type variableView struct {
	Name  string  `json:"name"`
	Value *string `json:"value"` // nil: not there
	Other *string `json:"other,omitempty"`
	// Only where two are compared: the other side does not have it.
	Missing bool `json:"other_missing,omitempty"`
}

func (s *Server) showVariables(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "at", "search", "against", "against_at")
	at, otherAt := q.time("at", time.Time{}), q.time("against_at", time.Time{})
	search, against := strings.ToLower(q.text("search")), q.text("against")
	server, st, err := s.stateOf(r, q)
	if err != nil {
		return err
	}
	mine, err := s.variablesAt(r.Context(), server.ID, st, at)
	if err != nil {
		return err
	}
	head := s.about(&server, st)
	if !at.IsZero() {
		head = about{Server: server.Name, At: &at}
		if len(mine) == 0 {
			head.Note = "history has no variables of this server at that moment"
		}
	}
	var other map[string]string
	compare := against != "" || !otherAt.IsZero()
	if compare {
		with := server
		if against != "" {
			if with, err = s.serverNamed(r.Context(), "against", against); err != nil {
				return err
			}
		}
		if other, err = s.variablesAt(r.Context(), with.ID, s.poller.State(with.ID), otherAt); err != nil {
			return err
		}
	}
	names := map[string]bool{}
	for name := range mine {
		names[name] = true
	}
	for name := range other {
		names[name] = true
	}
	list := []variableView{}
	for _, name := range sortedKeys(names) {
		if !strings.Contains(strings.ToLower(name), search) {
			continue
		}
		v := variableView{Name: name}
		if text, ok := mine[name]; ok {
			v.Value = &text
		}
		if compare {
			text, ok := other[name]
			if ok {
				v.Other = &text
			}
			if v.Missing = !ok; ok && v.Value != nil && *v.Value == text {
				continue // the same on both sides
			}
		}
		list = append(list, v)
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Variables []variableView `json:"variables"`
	}{head, list})
}

// variablesAt gives the variables in force at a moment by MySQL's name; a zero time is now.
func (s *Server) variablesAt(ctx context.Context, id monolith.ServerID, st *monolith.State, at time.Time) (map[string]string, error) {
	const prefix = "variable."
	out := map[string]string{}
	if at.IsZero() {
		for _, v := range valuesOf(st, "variable") {
			text := string(v.Value)
			if v.Kind == monolith.Text.String() || strings.HasPrefix(text, `"`) {
				if err := json.Unmarshal(v.Value, &text); err != nil {
					return nil, err
				}
			}
			out[v.Name] = text
		}
		return out, nil
	}
	texts, err := s.store.TextsAt(ctx, id, "variable", at)
	if err != nil {
		return nil, err
	}
	for name, text := range texts {
		out[strings.TrimPrefix(name, prefix)] = text
	}
	return out, nil
}

func (s *Server) showProblems(w http.ResponseWriter, r *http.Request) error {
	server, st, err := s.stateOf(r, s.query(r))
	if err != nil {
		return err
	}
	problems := []monolith.Problem{}
	if st != nil {
		problems = append(problems, st.Problems...)
	}
	// The connection's problem, whose collector is "", comes first: it explains the others.
	slices.SortStableFunc(problems, func(a, b monolith.Problem) int { return cmp.Compare(a.Collector, b.Collector) })
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Problems []monolith.Problem `json:"problems"`
	}{s.about(&server, st), problems})
}

func (s *Server) showCollectors(w http.ResponseWriter, r *http.Request) error {
	server, st, err := s.stateOf(r, s.query(r))
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Collectors []monolith.CollectorStatus `json:"collectors"`
	}{s.about(&server, st), orEmpty(s.poller.Collectors(server.ID))})
}

func (s *Server) showReplication(w http.ResponseWriter, r *http.Request) error {
	server, st, err := s.stateOf(r, s.query(r))
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Channels []monolith.Replica `json:"channels"` // null: never read
	}{s.about(&server, st), s.channels(st)})
}

// channels gives the replication channels. What they say of a moment is unknown where it is not of this one:
// nobody shall take a delay of 0 for news who reads nothing else.
func (s *Server) channels(st *monolith.State) []monolith.Replica {
	list := known(st).Replicas
	if replicasAsOf(st, s.now()).IsZero() {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		rep := &list[i]
		rep.IO, rep.SQL, rep.IOState, rep.SQLState = "", "", "", ""
		rep.Lag, rep.Delay, rep.DelayBy, rep.SQLRemainingDelay = nil, nil, "", nil
	}
	return list
}

func (s *Server) showProcesses(w http.ResponseWriter, r *http.Request) error {
	server, st, err := s.stateOf(r, s.query(r))
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Processes *monolith.ProcessList `json:"processes"` // null: never read
	}{s.about(&server, st), known(st).Processes})
}

func (s *Server) showSchemas(w http.ResponseWriter, r *http.Request) error {
	server, st, err := s.stateOf(r, s.query(r))
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Sizes *monolith.SchemaSizes `json:"sizes"` // null: never read
	}{s.about(&server, st), known(st).Schemas})
}

func (s *Server) showAccounts(w http.ResponseWriter, r *http.Request) error {
	server, st, err := s.stateOf(r, s.query(r))
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Accounts []monolith.Account `json:"accounts"` // null: never read
	}{s.about(&server, st), known(st).Accounts})
}

func (s *Server) showBinaryLogs(w http.ResponseWriter, r *http.Request) error {
	server, st, err := s.stateOf(r, s.query(r))
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Logs []monolith.BinaryLog `json:"binary_logs"` // null: never read
	}{s.about(&server, st), known(st).BinaryLogs})
}

func (s *Server) showMetrics(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "prefix", "limit", "cursor")
	prefix := q.text("prefix")
	server, _, err := s.stateOf(r, q)
	if err != nil {
		return err
	}
	all, err := s.store.Metrics(r.Context(), server.ID)
	if err != nil {
		return err
	}
	type metricView struct {
		Name     string `json:"name"`
		Instance string `json:"instance,omitempty"`
		Kind     string `json:"kind"`
	}
	list := []metricView{}
	for _, m := range all {
		if strings.HasPrefix(m.Name, prefix) {
			list = append(list, metricView{m.Name, m.Instance, monolith.KindOf(m.Name).String()})
		}
	}
	slices.SortFunc(list, func(a, b metricView) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Instance, b.Instance))
	})
	part, next := cut(q, list, 5000, func(m metricView) string { return m.Name + "\x00" + m.Instance })
	if q.err != nil {
		return q.err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Server  string       `json:"server"`
		Metrics []metricView `json:"metrics"`
		Next    string       `json:"next,omitempty"`
	}{server.Name, part, next})
}

// known stands for a state that may not be there.
func known(st *monolith.State) *monolith.State {
	if st == nil {
		return &monolith.State{}
	}
	return st
}

// orEmpty makes a list that is shown as [] and not as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
