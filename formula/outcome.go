package formula

// Outcome is a constant or a local that a formula may give as it stands.
type Outcome struct {
	Text   string // of a text in quotes
	Local  string // the name of a local; "" for a text
	Column int    // 1-based, in characters
}

// Outcomes lists the texts in quotes and the locals that the formula itself may give: it, or a branch of its ?: and ??. What
// is worked out, such as concat(…), and the values of names are not among them.
func (f *Formula) Outcomes() []Outcome {
	var out []Outcome
	var add func(n *node)
	add = func(n *node) {
		switch n.op {
		case opText:
			out = append(out, Outcome{Text: n.text, Column: n.pos - f.before + 1})
		case opLocal:
			out = append(out, Outcome{Local: n.text, Column: n.pos - f.before + 1})
		case opIf:
			add(n.args[1])
			add(n.args[2])
		case opElse:
			add(n.args[0])
			add(n.args[1])
		}
	}
	add(f.unit.root)
	return out
}
