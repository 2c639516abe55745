package alerts

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// Rule is a compiled rule. It is immutable and safe for use by several goroutines.
type Rule struct {
	id     string
	info   monolith.RuleInfo
	entry  ruleEntry // as written: for the documentation and the tests
	own    bool
	file   string
	index  int // in its catalogue
	needs  needs
	each   string
	set    int // row set behind each; −1: none
	key    []int
	only   *expr
	name   *expr
	gate   *expr
	window time.Duration
	warmup time.Duration
	poll   bool
	ofHost bool // about the machine itself: one alert speaks for all servers on it
	lets   []*quantity
	// limits are the names of limits, of all conditions.
	limits     []string
	limitUnits []string
	conditions []*condition
	summary    *template
	says       *template
	remedy     *remedy
	// inputs are all that it reads, through quantities too, also what is evidence only.
	inputs []int
	sets   []int // row sets, likewise
	// windowed reports that it judges by a window or a rate of the server's own counters.
	windowed bool
	graph    string
	plain    *effective // what is in force where nobody set anything
}

// Info describes the rule to people and programs.
func (r *Rule) Info() monolith.RuleInfo { return r.info }

// ID gives the rule's id.
func (r *Rule) ID() string { return r.id }

// Graph names the graph of the catalogue that shows what the rule judges; "" when none does.
func (r *Rule) Graph() string { return r.graph }

// quantity is a let of a rule or a shared quantity.
type quantity struct {
	name, unit string
	expr       *expr
	shared     bool
	index      int // among the rule's lets, or the catalogue's quantities
	perRow     bool
	hidden     bool // a step on the way, and no evidence
}

// condition is one entry of when.
type condition struct {
	index  int
	expr   *expr
	levels []conditionLevel // with limits: those given, from the mildest
	// constant is the level where there are no limits and no formula.
	constant monolith.Level
	level    *expr // gives the level as a text
	hold     [4]time.Duration
	clear    clearing
	title    string
	summary  *template
	says     *template
	value    string // quantity shown against its limit
	limit    string // its limit
	used     []int  // limits that the condition names: indices into Rule.limits
	ordered  bool   // where a milder level does not hold, no graver one does
}

// conditionLevel is a level of a condition with limits.
type conditionLevel struct {
	level monolith.Level
	// values are the built-in limits by their index in Rule.limits; NaN where the condition has none of the name.
	values []float64
}

// clearing says when a condition that held is over.
type clearing struct {
	after  time.Duration
	factor float64
	expr   *expr // instead of factor
	// direction says for each limit of the rule on which side the bad values lie: +1 above it, −1 below, 0 unknown.
	direction []int8
}

// relaxed gives the limits that must be crossed back for a level to be over.
func (c *clearing) relaxed(values []float64, units []string, into []float64) {
	for i, v := range values {
		switch d := c.direction[i]; {
		case math.IsNaN(v) || d == 0 || c.factor >= 1:
			into[i] = v
		case d > 0:
			into[i] = v - (1-c.factor)*math.Abs(v)
		case units[i] == "%" && v >= 0 && v <= 100:
			into[i] = v + (1-c.factor)*(100-v)
		default:
			into[i] = v + (1-c.factor)*math.Abs(v)
		}
	}
}

// remedy is what to do about an alert, compiled.
type remedy struct {
	text     *template
	set      []setting
	sql      []*template
	checks   []*template
	risk     *template
	rollback *template
	restart  *expr
}

// setting is one change of a variable.
type setting struct {
	variable *template
	to       *expr
	text     *template // instead of to
	when     *expr
	dynamic  *expr
	why      *template
}

// expr is a formula with its names resolved to places of the catalogue.
type expr struct {
	f      *formula.Formula
	inputs []int      // catalogue input of each of the formula's inputs
	locals []localRef // of each of its locals
	sets   []int      // row set of each of its row sets
}

type localKind uint8

const (
	localLet localKind = iota
	localShared
	localLimit
	localFact
	localTag
	localWindow
)

// localRef is what a local of a formula stands for.
type localRef struct {
	kind  localKind
	index int
	tag   string
}

// inputSpec is one thing that rules read of a server: a metric, or what a window function makes of it.
type inputSpec struct {
	Name   string
	Func   string
	Window time.Duration
	Ago    time.Duration
	Ahead  time.Duration
}

// String writes the input as a formula does.
func (s inputSpec) String() string {
	text := s.Name
	if ns, rest, _ := strings.Cut(s.Name, "."); !dottedName.MatchString(rest) {
		text = ns + "[" + strconv.Quote(rest) + "]"
	}
	switch {
	case s.usual():
		text = s.Func + "(" + text + ")"
	case s.Func == "forecast":
		text = fmt.Sprintf("forecast(%s, %q, %q)", text, shortSpan(s.Window), shortSpan(s.Ahead))
	case s.Func != "":
		text = fmt.Sprintf("%s(%s, %q)", s.Func, text, shortSpan(s.Window))
	}
	if s.Ago > 0 {
		text = "week_ago(" + text + ")"
	}
	return text
}

// dottedName is a name that needs no brackets in a formula.
var dottedName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// long reports whether the input comes from history and not from the windows in memory.
func (s inputSpec) long() bool {
	return s.Ago > 0 || s.Window > longestWindow || s.usual()
}

// usual reports whether the input is what was usual at this hour in the week before.
func (s inputSpec) usual() bool { return s.Func == "usual" || s.Func == "usual_rate" }

// shortSpan writes a length of time as rule files do: 15m, 1h, 7d.
func shortSpan(d time.Duration) string {
	for _, u := range []struct {
		one  time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= u.one && d%u.one == 0 {
			return formatNumber(float64(d/u.one), "") + u.name
		}
	}
	return formatNumber(d.Seconds(), "") + "s"
}
