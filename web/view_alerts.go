package web

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"monolith"
)

// alertRow is one cause on a page: an alert with those that it speaks for.
type alertRow struct {
	monolith.Alert
	Children []monolith.Alert
	Same     []monolith.Alert // others of the same rule on the same server, where a page folds them
}

// Acked reports whether somebody has seen the alert.
func (r alertRow) Acked() bool { return !r.AckedAt.IsZero() }

// Taken reports whether somebody works on it.
func (r alertRow) Taken() bool { return !r.TakenAt.IsZero() }

// rollUp puts alerts under the one that speaks for them, where that is in the list too; the order stays.
func rollUp(alerts []monolith.Alert) []alertRow {
	byID := make(map[monolith.AlertID]int, len(alerts))
	for i := range alerts {
		byID[alerts[i].ID] = i
	}
	// The topmost cause in the list. A chain is never longer than the list, whatever it says.
	root := func(i int) int {
		for range alerts {
			up, there := byID[alerts[i].Parent]
			if alerts[i].Parent == 0 || !there || up == i {
				break
			}
			i = up
		}
		return i
	}
	var rows []alertRow
	place := map[int]int{}
	for i := range alerts {
		if root(i) == i {
			place[i] = len(rows)
			rows = append(rows, alertRow{Alert: alerts[i]})
		}
	}
	for i := range alerts {
		at, there := place[root(i)]
		switch {
		case !there: // a ring of alerts that name each other: each stands for itself
			rows = append(rows, alertRow{Alert: alerts[i]})
		case root(i) != i:
			rows[at].Children = append(rows[at].Children, alerts[i])
		}
	}
	return rows
}

// foldSame puts alerts of one rule on one server, which have one remedy, under the first of them: what somebody has
// acknowledged and what nobody has each for itself, or the one would hide the other. What has others below it stays as it is.
func foldSame(rows []alertRow) []alertRow {
	type part struct {
		monolith.AlertKey
		acked bool
	}
	first := map[part]int{}
	out := rows[:0]
	for _, r := range rows {
		key := part{monolith.AlertKey{Server: r.Server, Rule: r.Rule}, r.Acked()}
		if at, there := first[key]; there && len(r.Children) == 0 {
			out[at].Same = append(out[at].Same, r.Alert)
			continue
		} else if !there {
			first[key] = len(out)
		}
		out = append(out, r)
	}
	return out
}

// alertCounts are the figures of the counts line: causes by level, and servers about which some rule can't tell.
type alertCounts struct{ Critical, Warn, Info, Unknown int }

func (c *alertCounts) add(level monolith.Level) {
	switch level {
	case monolith.LevelCritical:
		c.Critical++
	case monolith.LevelWarn:
		c.Warn++
	case monolith.LevelInfo:
		c.Info++
	}
}

// alarm is what the bar of every page says about open alerts.
type alarm struct {
	Count int // of causes
	Level monolith.Level
}

// alarm gives what is open now, from memory.
func (s *Server) alarm() (a alarm) {
	if s.alerts == nil {
		return a
	}
	for _, one := range rollUp(s.alerts.Open()) {
		a.Count++
		a.Level = max(a.Level, one.Level)
	}
	return a
}

// unknowns remembers for some seconds how many rules of each server can't be evaluated: every page of a large fleet
// asks.
type unknowns struct {
	mu   sync.Mutex
	at   time.Time
	of   map[monolith.ServerID]int
	size int
}

const unknownsLast = 15 * time.Second

// cannotEvaluate gives how many rules of each server can't be evaluated now; servers without any are left out.
func (s *Server) cannotEvaluate(servers []monolith.Server) map[monolith.ServerID]int {
	if s.alerts == nil {
		return nil
	}
	u := &s.unknowns
	u.mu.Lock()
	defer u.mu.Unlock()
	now := s.now()
	if u.of != nil && u.size == len(servers) && now.Sub(u.at).Abs() < unknownsLast {
		return u.of
	}
	u.of, u.at, u.size = map[monolith.ServerID]int{}, now, len(servers)
	for i := range servers {
		rules := map[string]bool{}
		for _, st := range s.alerts.Statuses(servers[i].ID) {
			if st.State == monolith.StateCannotEvaluate {
				rules[st.Rule] = true
			}
		}
		if len(rules) > 0 {
			u.of[servers[i].ID] = len(rules)
		}
	}
	return u.of
}

// worstLevels gives the worst level that is open of each server, with its causes rolled up or not.
func worstLevels(open []monolith.Alert) map[monolith.ServerID]monolith.Level {
	worst := map[monolith.ServerID]monolith.Level{}
	for i := range open {
		worst[open[i].Server] = max(worst[open[i].Server], open[i].Level)
	}
	return worst
}

// stateWords are the states of rules as pages write them.
var stateWords = map[monolith.RuleState]string{
	monolith.StateOK: "ok", monolith.StatePending: "pending", monolith.StateOpen: "open", monolith.StateLearning: "learning",
	monolith.StateCannotEvaluate: "cannot evaluate", monolith.StateNotApplicable: "not applicable",
}

// stateLooks are the shapes and colours of the states.
var stateLooks = map[monolith.RuleState]string{
	monolith.StateOK: "up", monolith.StatePending: "warn", monolith.StateOpen: "bad", monolith.StateLearning: "wait",
	monolith.StateCannotEvaluate: "unknown", monolith.StateNotApplicable: "off",
}

// eventWords are the kinds of event as pages write them.
var eventWords = map[monolith.AlertEventKind]string{
	monolith.EventOpened: "opened", monolith.EventRaised: "raised to", monolith.EventLowered: "lowered to", monolith.EventClosed: "closed",
	monolith.EventFlapping: "flapping: kept open", monolith.EventAcknowledged: "acknowledged", monolith.EventTaken: "taken",
	monolith.EventSilenced: "silenced", monolith.EventUnsilenced: "silence ended", monolith.EventNote: "note",
}

// closeWords say why an alert closed.
var closeWords = map[monolith.CloseReason]string{
	monolith.ClosedCleared: "it is over", monolith.ClosedNotApplicable: "what it was about is gone", monolith.ClosedDisabled: "the rule was switched off here",
	monolith.ClosedRemoved: "the server or the rule was removed", monolith.ClosedRolledUp: "another alert speaks for it",
}

// levelStep is a time of one level in an alert's life.
type levelStep struct {
	Level    monolith.Level
	From, To time.Time
}

// levelSteps gives the levels of an alert over time, by its events.
func levelSteps(a *monolith.Alert, events []monolith.AlertEvent, now time.Time) []levelStep {
	end := now
	if !a.Open() {
		end = a.Closed
	}
	steps := []levelStep{{From: a.Opened}}
	for _, e := range events {
		last := &steps[len(steps)-1]
		switch e.Kind {
		case monolith.EventOpened:
			last.Level = e.Level
		case monolith.EventRaised, monolith.EventLowered:
			if last.Level == monolith.LevelOK { // its opening is not known any more
				last.Level = monolith.LevelInfo
			}
			last.To = e.At
			steps = append(steps, levelStep{Level: e.Level, From: e.At})
		}
	}
	last := &steps[len(steps)-1]
	last.To = end
	if last.Level == monolith.LevelOK {
		last.Level = a.Level
	}
	return slices.DeleteFunc(steps, func(l levelStep) bool { return len(steps) > 1 && !l.To.After(l.From) })
}

// levelBar is one bar of the picture of levels over time, in thousandths of its width; the worse, the taller.
type levelBar struct {
	levelStep
	X, Width, Y, Height int
}

func levelBars(steps []levelStep) []levelBar {
	if len(steps) == 0 {
		return nil
	}
	begin := steps[0].From
	whole := max(1, steps[len(steps)-1].To.Sub(begin))
	var bars []levelBar
	for _, l := range steps {
		x := int(1000 * float64(l.From.Sub(begin)) / float64(whole))
		end := int(1000 * float64(l.To.Sub(begin)) / float64(whole))
		height := 6 * int(l.Level)
		bars = append(bars, levelBar{l, x, max(2, end-x), 18 - height, height})
	}
	return bars
}

// lasted is how long something took, in seconds.
func lasted(from, to time.Time) float64 { return max(0, to.Sub(from).Seconds()) }

// by gives who does something: as the form says, else as the same browser said last. A name in the form is kept.
func (s *Server) by(w http.ResponseWriter, r *http.Request) string {
	if name := strings.TrimSpace(r.PostFormValue("by")); name != "" {
		if checkSaid("by", name, 128) == nil {
			http.SetCookie(w, &http.Cookie{Name: "by", Value: url.QueryEscape(name), Path: s.base + "/", MaxAge: 400 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode})
		}
		return name
	}
	return rememberedName(r)
}

func rememberedName(r *http.Request) string {
	c, err := r.Cookie("by")
	if err != nil {
		return ""
	}
	name, err := url.QueryUnescape(c.Value)
	if err != nil || checkSaid("by", name, 128) != nil {
		return ""
	}
	return name
}

// By is the name that this browser gave last.
func (b pageBase) By() string { return b.by }

// cameFrom gives the address of ours that a form stood on, without what was done there before.
func (s *Server) cameFrom(r *http.Request, otherwise string) string {
	ref, err := url.Parse(r.Referer())
	if err != nil || ref.Host != r.Host || !s.root.Match(chi.NewRouteContext(), http.MethodGet, ref.EscapedPath()) {
		return otherwise // or a form that came back with its error, whose address takes no GET
	}
	q := ref.Query()
	q.Del("done")
	if len(q) == 0 {
		return ref.EscapedPath()
	}
	return ref.EscapedPath() + "?" + q.Encode()
}

// judged lets pages about alerts be there only with a rule engine.
func (s *Server) judged(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.alerts == nil {
			return refuse(http.StatusNotFound, kindNotFound, "no rules are evaluated here", "")
		}
		return h(w, r)
	}
}

// errorText is what a refused form says at its top.
func errorText(p *problem) string {
	return strings.TrimSpace(sentence(p.Detail) + " " + sentence(p.Cure))
}

// externalLink gives a runbook's address if a page may link to it: only the web's own schemes.
func externalLink(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return address
}

// alertFuncs are what templates call for alerts.
var alertFuncs = template.FuncMap{
	"stateWord":    func(s monolith.RuleState) string { return cmp.Or(stateWords[s], string(s)) },
	"stateLook":    func(s monolith.RuleState) string { return cmp.Or(stateLooks[s], "wait") },
	"eventWord":    func(k monolith.AlertEventKind) string { return cmp.Or(eventWords[k], string(k)) },
	"closeWord":    func(r monolith.CloseReason) string { return cmp.Or(closeWords[r], string(r)) },
	"lasted":       lasted,
	"isOpen":       func(a monolith.Alert) bool { return a.Open() },
	"unending":     func(a monolith.Alert) bool { return a.SilencedUntilClosed() },
	"externalLink": externalLink,
	"number":       writeNumber,
	"inUnit":       formatUnit,
	"statements":   func(s []string) string { return strings.Join(s, "\n") },
}
