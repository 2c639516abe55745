package web

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"monolith"
)

// ruleBody is a user's rule as it is sent.
type ruleBody struct {
	Source string `json:"source"` // YAML: one entry of a rule file
	By     string `json:"by"`
}

func readRule(r *http.Request) (in ruleBody, err error) {
	if err := decode(r, &in); err != nil {
		return in, err
	}
	if in.Source == "" {
		return in, monolith.Invalid("source", "the rule is empty", "one entry of a rule file, in YAML")
	}
	return in, checkSaid("by", in.By, 128)
}

// checkRule reads a rule without keeping it.
func (s *Server) checkRule(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	in, err := readRule(r)
	if err != nil {
		return err
	}
	rule, err := s.alerts.CheckOwnRule(in.Source)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "rule", viewRule(rule))
}

func (s *Server) addRule(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	in, err := readRule(r)
	if err != nil {
		return err
	}
	rule, err := s.alerts.CheckOwnRule(in.Source)
	if err != nil {
		return err
	}
	if there, err := s.ruleNamed("", rule.ID); err == nil {
		cure := "choose another id, or change the rule with PUT"
		if !there.Own {
			cure = "choose another id; a built-in rule is changed by its settings"
		}
		p := refuse(http.StatusConflict, kindConflict, fmt.Sprintf("there is a rule %q already", rule.ID), cure)
		p.Field = "source.id"
		return p
	}
	if rule, err = s.alerts.PutOwnRule(r.Context(), in.Source, in.By); err != nil {
		return err
	}
	w.Header().Set("Location", s.link("api", "v1", "rules", rule.ID))
	return s.respond(w, r, http.StatusCreated, "rule", viewRule(rule))
}

// ownRule gives the rule of the path, which must be a user's.
func (s *Server) ownRule(r *http.Request) (monolith.RuleInfo, error) {
	rule, err := s.ruleNamed("", pathValue(r, "id"))
	if err != nil {
		return rule, err
	}
	if !rule.Own {
		return rule, refuse(http.StatusConflict, kindConflict, fmt.Sprintf("%q is a built-in rule", rule.ID),
			"change its limits or switch it off with PUT …/settings")
	}
	return rule, nil
}

func (s *Server) putRule(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	rule, err := s.ownRule(r)
	if err != nil {
		return err
	}
	in, err := readRule(r)
	if err != nil {
		return err
	}
	read, err := s.alerts.CheckOwnRule(in.Source)
	if err != nil {
		return err
	}
	if read.ID != rule.ID {
		return monolith.Invalid("source.id", fmt.Sprintf("the rule's id is %q and the address says %q", read.ID, rule.ID), "a rule keeps its id; add one with POST and remove the other")
	}
	if rule, err = s.alerts.PutOwnRule(r.Context(), in.Source, in.By); err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "rule", viewRule(rule))
}

func (s *Server) deleteRule(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	rule, err := s.ownRule(r)
	if err != nil {
		return err
	}
	err = s.alerts.DeleteOwnRule(r.Context(), rule.ID)
	if errors.Is(err, monolith.ErrNotFound) {
		return notFound("rule", rule.ID, "/api/v1/rules lists them")
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// testRule says what a rule would have opened over a time that is past.
func (s *Server) testRule(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	var in struct {
		Source  string                        `json:"source"`
		Rule    string                        `json:"rule"`
		Limits  map[string]map[string]float64 `json:"limits"`
		Servers []string                      `json:"servers"`
		Group   string                        `json:"group"`
		From    momentText                    `json:"from"`
		To      momentText                    `json:"to"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	switch {
	case in.Source == "" && in.Rule == "":
		return monolith.Invalid("rule", "no rule is named", "give the id of a rule, or one in YAML as source")
	case in.Source != "" && in.Rule != "":
		return monolith.Invalid("source", "there are both a rule and a source", "give one of them")
	}
	if in.Rule != "" {
		if _, err := s.ruleNamed("rule", in.Rule); err != nil {
			return err
		}
	}
	now := s.now()
	ask := monolith.BackTest{Source: in.Source, Rule: in.Rule, Limits: in.Limits, From: now.Add(-7 * 24 * time.Hour), To: now}
	var err error
	for _, m := range []struct {
		field string
		text  momentText
		to    *time.Time
	}{{"from", in.From, &ask.From}, {"to", in.To, &ask.To}} {
		if m.text == "" {
			continue
		}
		if *m.to, err = monolith.ParseTime(m.field, string(m.text), now); err != nil {
			return err
		}
	}
	switch {
	case !ask.From.Before(ask.To):
		return monolith.Invalid("from", "the range ends before it begins", "from must be earlier than to")
	case ask.To.Sub(ask.From) > monolith.MaxBackTest:
		return refuseTooMuch("from", "a back-test goes over 92 days at most", "ask for a shorter range")
	}
	servers, err := s.chosen(r.Context(), in.Servers, in.Group)
	if err != nil {
		return err
	}
	for i := range servers {
		ask.Servers = append(ask.Servers, servers[i].ID)
	}
	if len(servers) == 0 {
		return monolith.Invalid("group", "there is no server")
	}
	result, err := s.alerts.BackTest(r.Context(), ask)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", viewBackTest(result))
}

// backTestView is a back-test with its lengths of time in seconds.
type backTestView struct {
	*monolith.BackTestResult
	Step    float64              `json:"step"`
	Servers []backTestServerView `json:"servers"`
}

type backTestServerView struct {
	monolith.BackTestServer
	Opened  int     `json:"opened"`  // how many alerts
	Open    float64 `json:"open"`    // seconds
	Unknown float64 `json:"unknown"` // seconds about which nothing can be said
}

func viewBackTest(result *monolith.BackTestResult) backTestView {
	v := backTestView{BackTestResult: result, Step: result.Step.Seconds(), Servers: []backTestServerView{}}
	for _, server := range result.Servers {
		server.Episodes = orEmpty(server.Episodes)
		v.Servers = append(v.Servers, backTestServerView{server, len(server.Episodes), server.Open.Seconds(), server.Unknown.Seconds()})
	}
	return v
}
