package formula

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"monolith"
)

func (b *builder) call(n *ast.CallNode, pos int) (*node, error) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return nil, wrong(pos, "", "only functions can be called")
	}
	f, ok := lookupFunction(id.Value)
	if !ok {
		return nil, b.unknownFunction(id.Value, pos)
	}
	if isFold(f.name) && len(n.Arguments) > 0 && b.isRowSet(n.Arguments[0]) {
		f = function{f.name, classRows, 2, 2, f.name + "(rows, value)"}
	}
	if len(n.Arguments) < f.min || len(n.Arguments) > f.max {
		return nil, wrong(pos, f.usage, "%s has %d arguments here", f.name, len(n.Arguments))
	}
	switch f.class {
	case classWindow:
		s, err := b.window(f, n, pos)
		if err != nil {
			return nil, err
		}
		return b.slot(s), nil
	case classGroup:
		return b.group(f, n, pos)
	case classRows:
		return b.rows(f, n, pos)
	case classHas:
		return b.has(f, n, pos)
	case classVersion:
		return version(f, n, pos)
	case classText:
		return b.text(f, n, pos)
	}
	out := &node{op: f.name, kind: kindNumber, pos: pos}
	for _, a := range n.Arguments {
		arg, err := b.node(a)
		if err != nil {
			return nil, err
		}
		if err := number(arg); err != nil {
			return nil, err
		}
		out.args = append(out.args, arg)
	}
	if f.name == "round" {
		if len(out.args) == 1 {
			out.args = append(out.args, &node{op: opNumber, kind: kindNumber, pos: pos})
		}
		if d := out.args[1]; d.op != opNumber || d.num != float64(int(d.num)) || d.num > 15 {
			return nil, wrong(d.pos, f.usage, "the number of digits must be written as 0 to 15")
		}
	}
	return out, nil
}

// text reads a function that makes a text. concat takes numbers too.
func (b *builder) text(f function, n *ast.CallNode, pos int) (*node, error) {
	out := &node{op: f.name, kind: kindText, pos: pos}
	for _, a := range n.Arguments {
		arg, err := b.node(a)
		switch {
		case err != nil:
		case f.name != opConcat:
			err = textual(arg)
		case arg.kind == kindBool:
			err = wrong(arg.pos, `write condition ? "a" : "b"`, "a text or a number is needed here, not true or false")
		}
		if err != nil {
			return nil, err
		}
		out.args = append(out.args, arg)
	}
	return out, nil
}

// window reads a function of a name. week_ago may also hold another function of a name, since a
// counter by itself says nothing about a week ago.
func (b *builder) window(f function, n *ast.CallNode, pos int) (*slot, error) {
	if inner, ok := n.Arguments[0].(*ast.CallNode); ok && f.name == "week_ago" {
		if g, ok := windowFunction(inner); ok {
			s, err := b.window(g, inner, inner.Location().From)
			if err != nil {
				return nil, err
			}
			s.ago = week
			return s, nil
		}
	}
	if !isName(n.Arguments[0]) {
		return nil, wrong(n.Arguments[0].Location().From, f.usage,
			"the first argument of %s must be a name and nothing else", f.name)
	}
	name, _, err := b.name(n.Arguments[0])
	if err != nil {
		return nil, err
	}
	s := &slot{name: name, fn: f.name, pos: pos}
	if f.name == "week_ago" {
		s.fn, s.ago = "", week
		return s, nil
	}
	switch f.name {
	case "forecast", "slope":
		s.window = 6 * time.Hour
	case "usual", "usual_rate":
		if !b.scoped {
			return nil, wrong(pos, "week_ago(a)", "%s is for the formulas of rules", f.name)
		}
		b.names.needScope(f.name)
	}
	for i, a := range n.Arguments[1:] {
		d, err := length(a)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.window = d
		} else {
			s.ahead = d
		}
	}
	if f.name == "forecast" && s.ahead == 0 {
		s.ahead = s.window
	}
	return s, nil
}

// windowFunction gives the function that a call calls, if week_ago may hold it.
func windowFunction(n *ast.CallNode) (function, bool) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return function{}, false
	}
	f, ok := lookupFunction(id.Value)
	return f, ok && f.class == classWindow && f.name != "week_ago" && f.name != "usual" && f.name != "usual_rate" && len(n.Arguments) >= f.min && len(n.Arguments) <= f.max
}

func length(a ast.Node) (time.Duration, error) {
	pos := a.Location().From
	t, ok := a.(*ast.StringNode)
	if !ok {
		return 0, wrong(pos, `such as "15m", "1h" or "7d"`, "the window must be a length of time in quotes")
	}
	d, err := monolith.ParseDuration("", t.Value)
	if err != nil {
		return 0, wrong(pos, `such as "15m", "1h" or "7d"`, "%q is not a length of time", t.Value)
	}
	if d < time.Second || d > maxWindow {
		return 0, wrong(pos, "", "a window is between 1 second and 366 days long")
	}
	return d, nil
}

func (b *builder) group(f function, n *ast.CallNode, pos int) (*node, error) {
	if b.inside {
		return nil, wrong(pos, "", "%s can't stand inside a function over instances", f.name)
	}
	inner := &builder{scope: b.scope, scoped: b.scoped, names: b.names, table: b.table, unit: &unit{columns: true}, left: b.left, inside: true}
	u, err := inner.build(n.Arguments[0])
	if err != nil {
		return nil, err
	}
	if err := number(u.root); err != nil {
		return nil, err
	}
	if len(u.slots) == 0 {
		return nil, wrong(pos, f.usage, "%s needs something with instances", f.name)
	}
	g := &group{fn: f.name, unit: u}
	if f.name == "only" {
		t, ok := n.Arguments[1].(*ast.StringNode)
		if !ok {
			return nil, wrong(n.Arguments[1].Location().From, f.usage, "the instance must be a text in quotes")
		}
		g.instance = t.Value
	}
	return b.slot(&slot{group: g, pos: pos}), nil
}

func isName(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return true
	case *ast.MemberNode:
		_, ok := n.Property.(*ast.StringNode)
		return ok && !n.Optional && !n.Method && isName(n.Node)
	}
	return false
}

// name puts a metric's name together and checks it against the tables. pos is where it begins.
func (b *builder) name(n ast.Node) (name string, pos int, err error) {
	var parts []string
	written, trusted := n, false
	for {
		m, ok := n.(*ast.MemberNode)
		if !ok {
			break
		}
		p, ok := m.Property.(*ast.StringNode)
		if !ok || m.Optional || m.Method {
			return "", 0, wrong(m.Location().From, `status.Name or status["Name"]`, "this is not a name")
		}
		// The parser places a name after a dot at the name itself, one in brackets at the bracket.
		if m.Location() != p.Location() {
			trusted = true
		}
		parts = append([]string{p.Value}, parts...)
		n = m.Node
	}
	id, ok := n.(*ast.IdentifierNode)
	if !ok {
		return "", 0, wrong(written.Location().From, "", "this is not a name")
	}
	pos = id.Location().From
	if whole := strings.Join(append([]string{id.Value}, parts...), "."); b.isLocal(whole) {
		return "", 0, wrong(pos, "", "%s is no metric: nothing is kept of what it was before", whole)
	}
	if len(parts) == 0 {
		return "", 0, b.noNamespace(id.Value, pos)
	}
	if _, ok := b.table.spaces[id.Value]; !ok {
		if best := b.nearestScope(strings.Join(append([]string{id.Value}, parts...), ".")); best != "" {
			return "", 0, wrong(pos, best+"?", "%s.%s is not a known name", id.Value, strings.Join(parts, "."))
		}
		best := Nearest(id.Value, monolith.Namespaces)
		if best == "" {
			best = strings.Join(monolith.Namespaces, ", ")
		}
		return "", 0, wrong(pos, "names begin with "+best, "%s is not a namespace", id.Value)
	}
	rest := strings.Join(parts, ".")
	name = id.Value + "." + rest
	if rest == "" || utf8.RuneCountInString(rest) > maxName || strings.ContainsFunc(rest, isControl) {
		return "", 0, wrong(pos, "", "a name has 1 to %d printable characters", maxName)
	}
	if trusted || b.table.has(name) || b.scope.Known != nil && b.scope.Known(name) {
		return name, pos, nil
	}
	cure := `write ` + id.Value + `["` + rest + `"] to use it anyway`
	if best := Nearest(name, slices.Concat(b.table.spaces[id.Value], b.scopeWords())); best != "" {
		cure = best + "? Or " + cure
	}
	return "", 0, wrong(pos, cure, "%s is not a known name", name)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }

func (b *builder) noNamespace(word string, pos int) error {
	if _, ok := b.table.spaces[word]; ok {
		return wrong(pos, word+".Name", "%s is a namespace, not a name", word)
	}
	if _, ok := lookupFunction(word); ok {
		return wrong(pos, word+"(…)", "%s is a function", word)
	}
	if best := b.nearestScope(word); best != "" {
		return wrong(pos, best+"?", "%s is not a known word", word)
	}
	for _, ns := range monolith.Namespaces {
		if b.table.has(ns + "." + word) {
			return wrong(pos, ns+"."+word, "%s lacks its namespace", word)
		}
	}
	return wrong(pos, "status."+word+" or variable."+word, "%s is not a known word", word)
}

func (b *builder) unknownFunction(name string, pos int) error {
	instead := map[string]string{
		"min": "least(a, b), or min_over(name) over time", "max": "greatest(a, b), or max_over(name) over time",
		"mean": "avg_over(name) over time, avg_of(a) over instances", "len": "count(rows), count_of(a) over instances",
		"increase": "delta(name)", "avg": "avg_over(name) over time, avg_of(a) over instances",
	}
	cure := instead[name]
	if cure == "" {
		var all []string
		for _, f := range functionTable() {
			all = append(all, f.name)
		}
		if cure = Nearest(name, all); cure == "" {
			cure = "the functions are " + strings.Join(all, ", ")
		}
	}
	return wrong(pos, cure, "there is no function %s", name)
}
