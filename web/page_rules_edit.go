package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
	"monolith/graph"
)

func encodeQuery(name, value string) string { return url.Values{name: {value}}.Encode() }

// readLimits reads the fields of a rule's limits; an empty one says nothing.
func readLimits(r *http.Request, columns []limitColumn) (map[string]map[string]float64, error) {
	limits := map[string]map[string]float64{}
	for _, col := range columns {
		text := strings.TrimSpace(r.PostFormValue(col.Field()))
		if text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v != v || v > 1e300 || v < -1e300 {
			return nil, monolith.Invalid(col.Field(), "this is not a number: "+strconv.Quote(text), "such as "+writeNumber(80)+", without unit")
		}
		level := col.Level.String()
		if limits[level] == nil {
			limits[level] = map[string]float64{}
		}
		limits[level][col.Name] = v
	}
	if len(limits) == 0 {
		return nil, nil
	}
	return limits, nil
}

// saveRuleLimits keeps a rule's limits at one place, or tries them over the days that are past.
func (s *Server) saveRuleLimits(w http.ResponseWriter, r *http.Request) error {
	rule, err := s.ruleNamed("", pathValue(r, "id"))
	if err != nil {
		return err
	}
	d := rulePage{Rule: rule, Sent: map[string]string{}, Days: daysOf(r)}
	if d.Scope, err = s.scopeOfPage(r); err != nil {
		return err
	}
	for name, values := range r.PostForm {
		d.Sent[name] = values[0]
	}
	columns := limitColumns(&rule)
	limits, err := readLimits(r, columns)
	if err == nil && r.PostFormValue("action") == "test" {
		d.Tested, d.TestLeft, err = s.testForm(r, monolith.BackTest{Rule: rule.ID, Limits: limits}, d.Scope.Server, d.Scope.Group, d.Days)
		if err == nil {
			return s.showRulePage(w, r, http.StatusOK, &d)
		}
	} else if err == nil {
		err = s.keepLimits(w, r, &d, limits)
	}
	if err == nil {
		to := s.link("rules", rule.ID)
		if d.Scope.Server != "" {
			to += queryOf("server", d.Scope.Server)
		} else if d.Scope.Group != "" {
			to += queryOf("group", d.Scope.Group)
		}
		s.back(w, r, to, "limits")
		return nil
	}
	d.Problem = s.problemOf(r, err)
	if d.Problem.Status >= http.StatusInternalServerError && d.Problem.Kind != kindUnavailable {
		return d.Problem
	}
	if level, name, ok := limitField(d.Problem.Field); ok {
		d.Problem.Field = "limit." + level + "." + name
	}
	return s.showRulePage(w, r, d.Problem.Status, &d)
}

// limitField finds a limit in the name of a field that the rule engine refused: "limits.warn.failed".
func limitField(field string) (level, name string, ok bool) {
	parts := strings.Split(field, ".")
	if len(parts) < 3 || !strings.HasPrefix(parts[len(parts)-3], "limit") {
		return "", "", false
	}
	return parts[len(parts)-2], parts[len(parts)-1], true
}

func (s *Server) keepLimits(w http.ResponseWriter, r *http.Request, d *rulePage, limits map[string]map[string]float64) error {
	by := s.by(w, r)
	setting := monolith.RuleSetting{Rule: d.Rule.ID, RuleScope: d.Scope.RuleScope, Limits: limits, Runbook: strings.TrimSpace(r.PostFormValue("runbook")), By: by, At: s.now()}
	if err := firstErr(checkSaid("by", by, 128), checkSaid("runbook", setting.Runbook, 1000)); err != nil {
		return err
	}
	if setting.Runbook != "" && externalLink(setting.Runbook) == "" {
		return monolith.Invalid("runbook", "this is no link", "an address that begins with http:// or https://")
	}
	switch on, off := true, false; r.PostFormValue("enabled") {
	case "on":
		setting.Enabled = &on
	case "off":
		setting.Enabled = &off
	}
	if r.PostFormValue("action") == "reset" {
		setting = monolith.RuleSetting{Rule: d.Rule.ID, RuleScope: d.Scope.RuleScope}
	}
	return s.alerts.PutRuleSettings(r.Context(), []monolith.RuleSetting{setting})
}

// testDays are the lengths of a back-test that pages offer.
var testDays = []int{1, 2, 7, 14, 30, 90}

// TestDays lists the lengths of a back-test.
func (pageBase) TestDays() []int { return testDays }

func daysOf(r *http.Request) int {
	n, err := strconv.Atoi(r.PostFormValue("days"))
	if err != nil || !slices.Contains(testDays, n) {
		return 7
	}
	return n
}

// testedServer is what a back-test found on one server, with its picture.
type testedServer struct {
	monolith.BackTestServer
	Episodes []monolith.BackTestEpisode // of the table
	Count    int
	More     int // episodes that the table leaves out
	From, To time.Time
	Light    template.HTML // pictures, both without script
	Dark     template.HTML
}

const (
	mostTested   = 8  // servers of one back-test on a page
	mostEpisodes = 20 // of one server in the table
)

// testForm runs a back-test over some days for the servers of a place.
func (s *Server) testForm(r *http.Request, ask monolith.BackTest, server, group string, days int) (tested []testedServer, left int, err error) {
	var names []string
	if server != "" {
		names = []string{server}
	}
	servers, err := s.chosen(r.Context(), names, group)
	if err != nil {
		return nil, 0, err
	}
	if len(servers) == 0 {
		return nil, 0, monolith.Invalid("server", "there is no server to test it on")
	}
	if len(servers) > mostTested {
		left, servers = len(servers)-mostTested, servers[:mostTested]
	}
	for i := range servers {
		ask.Servers = append(ask.Servers, servers[i].ID)
	}
	ask.To = s.now()
	ask.From = ask.To.Add(-time.Duration(days) * 24 * time.Hour)
	result, err := s.alerts.BackTest(unhurried(r.Context()), ask)
	if err != nil {
		return nil, left, err
	}
	b := s.pageBase(r, "", "")
	for i := range result.Servers {
		one, err := s.viewTested(r.Context(), &result.Servers[i], result, ask, &b)
		if err != nil {
			return nil, left, err
		}
		tested = append(tested, one)
	}
	return tested, left, nil
}

// viewTested draws what a back-test found.
func (s *Server) viewTested(ctx context.Context, t *monolith.BackTestServer, result *monolith.BackTestResult, ask monolith.BackTest, b *pageBase) (testedServer, error) {
	one := testedServer{BackTestServer: *t, Count: len(t.Episodes), Episodes: t.Episodes, From: result.From, To: result.To}
	if n := len(t.Episodes); n > mostEpisodes {
		one.More, one.Episodes = n-mostEpisodes, t.Episodes[n-mostEpisodes:]
	}
	d := &graph.Drawing{ID: "test", Title: result.Rule, Server: t.Name, From: result.From, To: result.To}
	drawTested(d, t, result.Step)
	if len(d.Panels) == 0 {
		return one, nil
	}
	if rule, limits := s.testedLimits(t.Server, ask); rule != nil {
		drawLimits(d, rule, limits)
	}
	for _, e := range t.Episodes {
		d.Bands = append(d.Bands, graph.Band{From: e.From, To: e.To, Level: e.Level, Text: e.Summary})
	}
	picture := graph.Picture{Width: 900, Height: 150, Zone: b.location, Untitled: true}
	for dark, to := range map[bool]*template.HTML{false: &one.Light, true: &one.Dark} {
		var out bytes.Buffer
		picture.Dark = dark
		if err := d.SVG(&out, picture); err != nil {
			return one, fmt.Errorf("web: back-test: %w", err)
		}
		*to = template.HTML(out.String()) // the writer escapes every text
	}
	if ctx.Err() != nil {
		return one, ctx.Err()
	}
	return one, nil
}

// testedLimits gives the rule that is tried and its limits as they were tried; nil where it can't be read.
func (s *Server) testedLimits(server monolith.ServerID, ask monolith.BackTest) (*monolith.RuleInfo, []graph.Limit) {
	rule, err := s.alerts.CheckOwnRule(ask.Source)
	var inForce []monolith.EffectiveLimit
	if ask.Rule != "" {
		if rule, err = s.ruleNamed("", ask.Rule); err == nil {
			var e monolith.EffectiveRule
			e, err = s.alerts.EffectiveRule(server, ask.Rule)
			inForce = e.Limits
		}
	}
	if err != nil {
		return nil, nil
	}
	var list []graph.Limit
	for _, col := range limitColumns(&rule) {
		v := ownLimit(&rule, col)
		if i := slices.IndexFunc(inForce, func(l monolith.EffectiveLimit) bool { return l.Level == col.Level && l.Name == col.Name }); i >= 0 {
			v = inForce[i].Value
		}
		if tried, is := ask.Limits[col.Level.String()][col.Name]; is {
			v = tried
		}
		if !math.IsNaN(v) {
			list = append(list, graph.Limit{Value: v, Level: col.Level, Name: col.Name, Always: true})
		}
	}
	return &rule, list
}

// ruleEditor is the page of a rule that people write.
type ruleEditor struct {
	pageBase
	Tab      string
	ID       string // of the rule that is changed; "": a new one
	Source   string
	Checked  *monolith.RuleInfo
	Columns  []limitColumn
	Problem  *problem
	Mark     string // the line of the source with the mistake
	Tested   []testedServer
	TestLeft int
	Days     int
	Server   string
	Servers  []monolith.Server
	Tried    map[string]string // limits of the back-test
}

// newRule is what stands in the editor at first.
const newRule = `id: many-running-threads
title: Many threads run at once
category: own
about: |
  More statements run at the same time than this server has ever needed.
each: server
let:
  running: {is: "avg_over(status.Threads_running, \"5m\")", unit: threads}
when:
- if: running >= limit.running
  limits:
    warn: {running: 20}
    critical: {running: 50}
  for: 2m
  clear: {after: 10m}
summary: "{running} threads run (limit {limit.running})"
says: >-
  On average {running} threads ran in the last five minutes.
`

func (s *Server) editRulePage(w http.ResponseWriter, r *http.Request) error {
	d := ruleEditor{Source: newRule, Days: 7}
	if id := pathValue(r, "id"); id != "" {
		rule, err := s.ownRule(r)
		if err != nil {
			return err
		}
		d.ID, d.Source = id, rule.Source
		kept, err := s.alerts.OwnRules(r.Context())
		if err != nil {
			return err
		}
		for i := range kept {
			if kept[i].ID == id {
				d.Source = kept[i].Source
			}
		}
	}
	return s.showEditor(w, r, http.StatusOK, &d)
}

func (s *Server) showEditor(w http.ResponseWriter, r *http.Request, status int, d *ruleEditor) error {
	title := "New rule"
	if d.ID != "" {
		title = "Edit " + d.ID
	}
	d.pageBase, d.Tab = s.pageBase(r, title, "alerts"), "rules"
	var err error
	d.Servers, err = s.store.Servers(r.Context())
	if err = d.unread(err, "the servers"); err != nil {
		return err
	}
	if d.Checked != nil {
		d.Columns = limitColumns(d.Checked)
	}
	return s.show(w, r, status, "rule_edit", "frame", d)
}

// saveRuleForm checks, tries or keeps a rule.
func (s *Server) saveRuleForm(w http.ResponseWriter, r *http.Request) error {
	d := ruleEditor{Source: strings.ReplaceAll(r.PostFormValue("source"), "\r\n", "\n"), Days: daysOf(r), Server: r.PostFormValue("server"), Tried: map[string]string{}}
	if id := pathValue(r, "id"); id != "" {
		if _, err := s.ownRule(r); err != nil {
			return err
		}
		d.ID = id
	}
	for name, values := range r.PostForm {
		d.Tried[name] = values[0]
	}
	err := s.tryRule(w, r, &d)
	if err == nil && r.PostFormValue("action") == "save" {
		s.back(w, r, s.link("rules", d.Checked.ID), "rule-saved")
		return nil
	}
	if err == nil {
		return s.showEditor(w, r, http.StatusOK, &d)
	}
	d.Problem = s.problemOf(r, err)
	if d.Problem.Status >= http.StatusInternalServerError && d.Problem.Kind != kindUnavailable {
		return d.Problem
	}
	d.Mark = markedLine(d.Source, d.Problem)
	return s.showEditor(w, r, d.Problem.Status, &d)
}

func (s *Server) tryRule(w http.ResponseWriter, r *http.Request, d *ruleEditor) error {
	if strings.TrimSpace(d.Source) == "" {
		return monolith.Invalid("source", "the rule is empty", "one entry of a rule file, in YAML")
	}
	rule, err := s.alerts.CheckOwnRule(d.Source)
	if err != nil {
		return err
	}
	d.Checked = &rule
	switch r.PostFormValue("action") {
	case "test":
		limits, err := readLimits(r, limitColumns(&rule))
		if err != nil {
			return err
		}
		d.Tested, d.TestLeft, err = s.testForm(r, monolith.BackTest{Source: d.Source, Limits: limits}, d.Server, "", d.Days)
		return err
	case "save":
		if d.ID != "" && rule.ID != d.ID {
			return monolith.Invalid("source", fmt.Sprintf("the rule's id is %q here and was %q", rule.ID, d.ID), "a rule keeps its id; make a new one and remove this")
		}
		if there, err := s.ruleNamed("", rule.ID); err == nil && (d.ID == "" || !there.Own) {
			return monolith.Invalid("source", fmt.Sprintf("there is a rule %q already", rule.ID), "choose another id")
		}
		by := s.by(w, r)
		if err := checkSaid("by", by, 128); err != nil {
			return err
		}
		_, err = s.alerts.PutOwnRule(r.Context(), d.Source, by)
		if errors.Is(err, monolith.ErrConflict) {
			err = monolith.Invalid("source", fmt.Sprintf("there is a built-in rule %q", rule.ID), "choose another id")
		}
	}
	return err
}

// markedLine gives the line of a text that a mistake is in, if the problem names it: "line 3: …".
func markedLine(source string, p *problem) string {
	_, rest, found := strings.Cut(p.Detail, "line ")
	if !found {
		return ""
	}
	digits := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	n, err := strconv.Atoi(rest[:max(0, cmp.Or(digits, 0))])
	lines := strings.Split(source, "\n")
	if err != nil || n < 1 || n > len(lines) {
		return ""
	}
	mark := fmt.Sprintf("%4d  %s", n, lines[n-1])
	column := p.Column
	if _, after, said := strings.Cut(rest, "column "); said && column == 0 {
		fmt.Sscanf(after, "%d", &column) // without a number there is no mark
	}
	if column > 0 && column <= len([]rune(lines[n-1]))+1 {
		mark += "\n" + strings.Repeat(" ", 5+column) + "^"
	}
	return mark
}

func (s *Server) deleteRuleForm(w http.ResponseWriter, r *http.Request) error {
	rule, err := s.ownRule(r)
	if err != nil {
		return err
	}
	if err := s.alerts.DeleteOwnRule(r.Context(), rule.ID); err != nil && !errors.Is(err, monolith.ErrNotFound) {
		return err
	}
	s.back(w, r, s.link("rules"), "deleted")
	return nil
}
