package formula

// Comparison is a part of a condition that compares a name with a local: lag > limit.lag.
type Comparison struct {
	Name  string // what is compared: a local or a metric, as it is written
	Local string
	// Alone reports that the condition holds whenever this comparison does: nothing else is wanted too.
	Alone bool
}

// Comparisons lists where the formula compares a name with a local for which is reports true, in the order of writing.
// Names that stand in more than that, such as lag * 2 or greatest(limit.a, limit.b), are not among them: beyond the
// local they say nothing by themselves.
func (f *Formula) Comparisons(is func(local string) bool) []Comparison {
	var out []Comparison
	var add func(n *node, alone bool)
	add = func(n *node, alone bool) {
		switch n.op {
		case "||":
			add(n.args[0], alone)
			add(n.args[1], alone)
		case "&&":
			add(n.args[0], false)
			add(n.args[1], false)
		case "!":
			add(n.args[0], false)
		case opIf:
			for _, arg := range n.args {
				add(arg, false)
			}
		case "<", "<=", ">", ">=":
			a, b := n.args[0], n.args[1]
			if a.op == opLocal && is(a.text) {
				a, b = b, a
			}
			if name := f.nameOf(a); name != "" && b.op == opLocal && is(b.text) {
				out = append(out, Comparison{Name: name, Local: b.text, Alone: alone})
			}
		}
	}
	add(f.unit.root, true)
	return out
}

// nameOf gives the local or the plain metric that a place stands for; "" for anything else.
func (f *Formula) nameOf(n *node) string {
	switch n.op {
	case opLocal:
		return n.text
	case opSlot:
		if s := f.unit.slots[n.index]; s.fn == "" && s.ago == 0 {
			return s.name
		}
	}
	return ""
}
