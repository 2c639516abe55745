package alerts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
	"monolith/graph"
)

// ruleID is the form of a rule's id.
var ruleID = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// defaultGrace is for how long after a start windows and rates are not judged.
const defaultGrace = 10 * time.Minute

// eaches gives for each word of each: its row set and the fields that make an instance's name.
func eachOf(word string) (set string, key []string, ok bool) {
	switch word {
	case "server":
		return "", nil, true
	case "replica":
		return "replicas", []string{"channel"}, true
	case "account":
		return "accounts", []string{"user", "host"}, true
	case "mount":
		return "mounts", []string{"path"}, true
	case "device":
		return "devices", []string{"name"}, true
	case "schema":
		return "databases", []string{"name"}, true
	case "table":
		return "tables", []string{"schema", "table"}, true
	case "transaction":
		return "transactions", []string{"id"}, true
	case "member":
		return "members", []string{"id"}, true
	case "source":
		return "replicas", []string{"source_host", "source_port"}, true
	case "column":
		return "auto_increments", []string{"schema", "table", "column"}, true
	}
	return "", nil, false
}

// rule compiles one entry. path is the place of the entry in its file.
func (c *compiler) rule(e *ruleEntry, own bool, fail func(path string, err error) error) (*Rule, error) {
	window := time.Duration(e.Window)
	sc := c.baseScope(window)
	r := &Rule{id: e.ID, entry: *e, own: own, window: window, set: -1, graph: e.Graph}
	sc.rule = r
	if e.Graph != "" && !slices.ContainsFunc(graph.Catalogue(), func(g *graph.Graph) bool { return g.ID == e.Graph }) {
		return nil, fail("graph", monolith.Invalid("", quoted(e.Graph)+" is no graph of the catalogue", "the last part of a graph's address is its name"))
	}
	if err := c.head(e, r, fail); err != nil {
		return nil, err
	}
	if err := c.instances(e, r, sc, fail); err != nil {
		return nil, err
	}
	for _, cond := range e.When {
		for _, byName := range cond.Limits {
			for name := range byName {
				if !plainName.MatchString(name) {
					return nil, fail("when", monolith.Invalid("", quoted(name)+" can't be the name of a limit", "lower-case letters, digits and _"))
				}
				if local := "limit." + name; !slices.Contains(r.limits, local) {
					r.limits = append(r.limits, local)
				}
			}
		}
	}
	slices.Sort(r.limits)
	for i, name := range r.limits {
		sc.limits[name], sc.Locals[name] = i, formula.TypeNumber
	}
	r.limitUnits = make([]string, len(r.limits))
	sc.Locals["window"] = formula.TypeText
	lets, err := c.compileLets(e.Let, sc, false, fail, "let")
	if err != nil {
		return nil, err
	}
	r.lets = lets
	for _, q := range lets {
		for _, l := range q.expr.locals {
			if l.kind == localLimit {
				return nil, fail("let."+q.name+".is", monolith.Invalid("", "a quantity can't depend on a limit", "name limits in when"))
			}
		}
	}
	if err := c.conditions(e, r, sc, fail); err != nil {
		return nil, err
	}
	if err := c.needs(e, r, sc, fail); err != nil {
		return nil, err
	}
	if e.Gate != "" {
		if r.gate, err = c.truth(e.Gate, sc); err != nil {
			return nil, fail("gate", err)
		}
	}
	if err := c.texts(e, r, sc, fail); err != nil {
		return nil, err
	}
	c.finish(e, r, sc)
	return r, nil
}

func (c *compiler) head(e *ruleEntry, r *Rule, fail func(string, error) error) error {
	for _, missing := range []struct{ field, value string }{{"id", e.ID}, {"title", e.Title}, {"summary", e.Summary}, {"says", e.Says}} {
		if strings.TrimSpace(missing.value) == "" {
			return fail("", monolith.Invalid("", "the rule has no "+missing.field))
		}
	}
	if strings.ContainsFunc(e.Title, monolith.Misleads) {
		return fail("title", monolith.Invalid("", "the title holds a control character, or one that turns the direction of writing"))
	}
	if !ruleID.MatchString(e.ID) || len(e.ID) > 64 {
		return fail("id", monolith.Invalid("", quoted(e.ID)+" is not an id", "words of lower-case letters and digits, joined by -"))
	}
	if len(e.When) == 0 {
		return fail("", monolith.Invalid("", "the rule has no condition", "when: [{if: …}]"))
	}
	if !r.own && (strings.TrimSpace(e.About) == "" || e.Category == "") {
		return fail("", monolith.Invalid("", "a built-in rule needs about and category"))
	}
	switch e.Every {
	case "", "slow":
	case "poll":
		r.poll = true
	default:
		return fail("every", monolith.Invalid("", quoted(e.Every)+" is not an interval", "slow or poll"))
	}
	switch {
	case e.Scope != "" && e.Scope != scopeHost:
		return fail("scope", monolith.Invalid("", quoted(e.Scope)+" is not a scope", "host, or none"))
	case e.Scope == scopeHost && e.Needs.Source != sourceHost:
		return fail("scope", monolith.Invalid("", "a rule about the machine needs what is read of it", "needs: {source: host}"))
	}
	r.ofHost = e.Scope == scopeHost
	for _, w := range []span{e.Window} {
		if time.Duration(w) > 366*24*time.Hour {
			return fail("window", monolith.Invalid("", "a window is at most 366 days long"))
		}
	}
	return nil
}

func (c *compiler) instances(e *ruleEntry, r *Rule, sc *scopeOf, fail func(string, error) error) error {
	r.each = cmp.Or(e.Each, "server")
	set, key, ok := eachOf(r.each)
	if !ok && e.Rows == "" {
		return fail("each", monolith.Invalid("", quoted(r.each)+" is not known", "server, replica, account, mount, device, schema, table …, or give rows"))
	}
	if e.Rows != "" {
		if r.each == "server" {
			return fail("rows", monolith.Invalid("", "rows goes with an each other than server"))
		}
		if e.Rows != set {
			key = nil
		}
		set = e.Rows
	}
	if set == "" {
		for field, text := range map[string]string{"only": e.Only, "name": e.Name} {
			if text != "" {
				return fail(field, monolith.Invalid("", field+" goes with an each other than server"))
			}
		}
		return nil
	}
	if r.set = rowSetIndex(set); r.set < 0 {
		names := make([]string, len(rowSets()))
		for i, s := range rowSets() {
			names[i] = s.name
		}
		return fail("rows", monolith.Invalid("", quoted(set)+" is not a set of rows", "one of "+strings.Join(names, ", ")))
	}
	sc.It = rowSets()[r.set].schema
	for _, k := range key {
		r.key = append(r.key, slices.IndexFunc(rowSets()[r.set].fields, func(f rowField) bool { return f.name == k }))
	}
	var err error
	if e.Name != "" {
		if r.name, err = c.expr(e.Name, sc); err != nil {
			return fail("name", err)
		}
	} else if len(r.key) == 0 {
		return fail("", monolith.Invalid("", "instances of "+set+" have no name of their own", "name: a formula such as it.id"))
	}
	if e.Only != "" {
		if r.only, err = c.truth(e.Only, sc); err != nil {
			return fail("only", err)
		}
	}
	return nil
}

func (c *compiler) conditions(e *ruleEntry, r *Rule, sc *scopeOf, fail func(string, error) error) error {
	for i := range e.When {
		entry := &e.When[i]
		path := fmt.Sprintf("when[%d]", i)
		cond := &condition{index: i, title: entry.Title, value: entry.Value}
		var err error
		if cond.expr, err = c.truth(entry.If, sc); err != nil {
			return fail(path+".if", err)
		}
		cond.clear.direction = make([]int8, len(r.limits))
		for k, name := range r.limits {
			cond.clear.direction[k] = direction(entry.If, name)
		}
		for _, l := range cond.expr.locals {
			if l.kind == localLimit {
				cond.used = append(cond.used, l.index)
			}
		}
		slices.Sort(cond.used)
		cond.ordered = !slices.ContainsFunc(cond.used, func(i int) bool { return cond.clear.direction[i] == 0 })
		switch {
		case len(entry.Limits) > 0 && entry.Level != "":
			return fail(path+".level", monolith.Invalid("", "a condition has limits or a level, not both"))
		case len(entry.Limits) > 0:
			for name := range entry.Limits {
				if l, err := monolith.ParseLevel(name); err != nil || l == monolith.LevelOK {
					return fail(path+".limits", monolith.Invalid("", quoted(name)+" is not a level", "info, warn or critical"))
				}
			}
			if err := c.limitUnits(entry, r, cond, sc); err != nil {
				return fail(path+".limits", err)
			}
			if err := r.limitsOf(entry, cond); err != nil {
				return fail(path+".limits", err)
			}
		case len(cond.used) > 0:
			return fail(path+".if", monolith.Invalid("", "the condition names limits but has none", "limits: {info: {…}, …}"))
		default:
			if err := c.level(entry, cond, sc); err != nil {
				return fail(path+".level", err)
			}
		}
		for _, l := range monolith.Levels {
			cond.hold[l] = entry.For.of(l)
		}
		if err := c.clearing(entry, r, cond, sc, path, fail); err != nil {
			return err
		}
		if cond.value == "" && len(cond.used) > 0 {
			cond.value = strings.TrimPrefix(r.limits[cond.firstUsed(entry.If, r)], "limit.")
		}
		if cond.value != "" {
			cond.limit = "limit." + cond.value
			if i := slices.Index(r.limits, cond.limit); i < 0 || !slices.Contains(cond.used, i) {
				cond.limit = ""
				if len(cond.used) > 0 {
					cond.limit = r.limits[cond.firstUsed(entry.If, r)]
				}
			}
		}
		r.conditions = append(r.conditions, cond)
	}
	return nil
}

// firstUsed gives the limit that stands first in the condition.
func (c *condition) firstUsed(text string, r *Rule) int {
	for _, t := range tokens(text) {
		if i := slices.Index(r.limits, t); i >= 0 {
			return i
		}
	}
	return c.used[0]
}

// limitUnits gives each limit the unit of the quantity of its name.
func (c *compiler) limitUnits(entry *conditionEntry, r *Rule, cond *condition, sc *scopeOf) error {
	for i, name := range r.limits {
		plain := strings.TrimPrefix(name, "limit.")
		if q, ok := sc.lets[plain]; ok {
			r.limitUnits[i] = q.unit
		} else if q, ok := c.shared[plain]; ok {
			r.limitUnits[i] = q.unit
		}
	}
	for name := range allLimitNames(entry) {
		i := slices.Index(r.limits, "limit."+name)
		if !slices.Contains(cond.used, i) {
			return monolith.Invalid("", "the limit "+quoted(name)+" is not used by the condition", "name it as limit."+name)
		}
	}
	return nil
}

func allLimitNames(entry *conditionEntry) map[string]bool {
	names := map[string]bool{}
	for _, byName := range entry.Limits {
		for name := range maps.Keys(byName) {
			names[name] = true
		}
	}
	return names
}

func (c *compiler) level(entry *conditionEntry, cond *condition, sc *scopeOf) error {
	if entry.Level == "" {
		return monolith.Invalid("", "the condition has neither limits nor a level", "level: info, warn or critical")
	}
	if l, err := monolith.ParseLevel(entry.Level); err == nil && l != monolith.LevelOK {
		cond.constant = l
		return nil
	}
	e, err := c.expr(entry.Level, sc)
	if err != nil {
		return err
	}
	if t := e.f.Type(); t != formula.TypeText && t != formula.TypeAny {
		return monolith.Invalid("", "a level is a text, this gives "+t.String(), `"info", "warn", "critical" or "ok"`)
	}
	if err := c.levelWords(e.f, sc); err != nil {
		return err
	}
	cond.level = e
	return nil
}

// levelWords refuses a formula that may give a text, itself or through a quantity, that is no level.
func (c *compiler) levelWords(f *formula.Formula, sc *scopeOf) error {
	for _, r := range f.Outcomes() {
		if r.Local == "" {
			if _, err := monolith.ParseLevel(r.Text); err != nil {
				return &monolith.InvalidError{Column: r.Column, Reason: quoted(r.Text) + " is not a level", Cure: `"info", "warn", "critical" or "ok"`}
			}
			continue
		}
		q := sc.lets[r.Local]
		if q == nil {
			q = c.shared[r.Local]
		}
		if q != nil {
			if err := c.levelWords(q.expr.f, sc); err != nil {
				return &monolith.InvalidError{Column: r.Column, Reason: r.Local + ": " + reasonOf(err), Cure: `"info", "warn", "critical" or "ok"`}
			}
		}
	}
	return nil
}

// reasonOf gives what is wrong without the place, which is that of another formula.
func reasonOf(err error) string {
	var invalid *monolith.InvalidError
	if errors.As(err, &invalid) {
		return invalid.Reason
	}
	return err.Error()
}

func (c *compiler) clearing(entry *conditionEntry, r *Rule, cond *condition, sc *scopeOf, path string, fail func(string, error) error) error {
	cond.clear.factor = 1
	if len(cond.levels) > 0 {
		cond.clear.after, cond.clear.factor = 15*time.Minute, 0.9
	}
	cl := entry.Clear
	if cl == nil {
		return nil
	}
	if cl.After != nil {
		cond.clear.after = time.Duration(*cl.After)
	}
	if cl.Factor != nil {
		if f := *cl.Factor; math.IsNaN(f) || f <= 0 || f > 1 {
			return fail(path+".clear.factor", monolith.Invalid("", "the factor is above 0 and at most 1", "0.9: back past 90 % of the limit"))
		}
		if len(cond.levels) == 0 {
			return fail(path+".clear.factor", monolith.Invalid("", "a factor goes with limits"))
		}
		cond.clear.factor = *cl.Factor
	}
	if cl.If != "" {
		var err error
		if cond.clear.expr, err = c.truth(cl.If, sc); err != nil {
			return fail(path+".clear.if", err)
		}
	}
	return nil
}

func (c *compiler) needs(e *ruleEntry, r *Rule, sc *scopeOf, fail func(string, error) error) (err error) {
	n := &e.Needs
	for _, f := range n.Flavour {
		switch fl := monolith.Flavour(f); fl {
		case monolith.MySQL, monolith.MariaDB, monolith.Percona, monolith.Aurora, "tidb":
			r.needs.flavours = append(r.needs.flavours, fl)
		default:
			return fail("needs.flavour", monolith.Invalid("", quoted(f)+" is not a flavour", "mysql, percona, mariadb, aurora or tidb"))
		}
	}
	if r.needs.mysql, err = parseBounds(n.MySQL); err != nil {
		return fail("needs.mysql", monolith.Invalid("", err.Error(), `such as ">= 5.6.5"`))
	}
	if r.needs.mariadb, err = parseBounds(n.MariaDB); err != nil {
		return fail("needs.mariadb", monolith.Invalid("", err.Error(), `such as ">= 10.0.4"`))
	}
	switch n.Source {
	case "", sourceHost, sourceCnf, sourceRemoteHost:
		r.needs.source = n.Source
	default:
		return fail("needs.source", monolith.Invalid("", quoted(n.Source)+" is not a source", "host, cnf or remote-host"))
	}
	if all := monolith.CollectorNames(); n.Collector != "" && !slices.Contains(all, n.Collector) {
		cure := strings.Join(all, ", ")
		if near := formula.Nearest(n.Collector, all); near != "" {
			cure = near
		}
		return fail("needs.collector", monolith.Invalid("", quoted(n.Collector)+" is not a collector", cure))
	}
	r.needs.collector = n.Collector
	for i, entry := range n.If {
		path := fmt.Sprintf("needs.if[%d]", i)
		var one need
		if one.is, err = c.truth(entry.Is, sc); err != nil {
			return fail(path+".is", err)
		}
		if strings.TrimSpace(entry.Else) == "" {
			return fail(path, monolith.Invalid("", "there is no reason for the case that it does not hold", "else: words"))
		}
		if one.els, err = c.template(entry.Else, sc); err != nil {
			return fail(path+".else", err)
		}
		r.needs.ifs = append(r.needs.ifs, one)
	}
	return nil
}

// finish works out what follows from all parts.
func (c *compiler) finish(e *ruleEntry, r *Rule, sc *scopeOf) {
	judging := []*expr{r.gate, r.only}
	for _, cond := range r.conditions {
		judging = append(judging, cond.expr, cond.level)
	}
	for _, n := range r.needs.ifs {
		judging = append(judging, n.is)
	}
	ids, sets := map[int]bool{}, map[int]bool{}
	c.reads(r, sc, judging, ids, sets)
	r.inputs, r.sets = slices.Sorted(maps.Keys(ids)), slices.Sorted(maps.Keys(sets))
	for _, id := range r.inputs {
		s := c.inputs[id]
		ns := monolith.Metric{Name: s.Name}.Namespace()
		if (s.Func == "rate" || s.Func == "delta") && !s.long() && ns != "host" && ns != "self" {
			r.windowed = true
		}
	}
	switch {
	case e.Warmup != nil:
		r.warmup = time.Duration(*e.Warmup)
	case r.windowed:
		r.warmup = defaultGrace
	}
	r.info = c.info(e, r)
}
