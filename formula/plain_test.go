package formula

import (
	"fmt"
	"slices"
)

// plain is an interpreter of rules written for reading: it knows of lacks what the guide says.
type plain struct {
	f   *Formula
	env *fakeEnv
}

func (p plain) eval(n *node, row Row) Scalar {
	arg := func(i int) Scalar { return p.eval(n.args[i], row) }
	switch n.op {
	case opNumber:
		return Number(n.num)
	case opText:
		return Text(n.text)
	case opBool:
		return Truth(n.num == 1)
	case opLocal:
		return p.env.value(n.text)
	case opIt:
		return p.env.it.Field(slices.Index(Fields(ruleScope().It), n.text))
	case opField:
		return row.Field(n.index)
	case opSlot:
		return p.slot(p.f.unit.slots[n.index])
	case opElse:
		if arg(0).Lack() == LackAbsent {
			return arg(1)
		}
		return arg(0)
	case opHas:
		switch v := arg(0); v.Lack() {
		case LackNone:
			return Truth(true)
		case LackNull, LackAbsent:
			return Truth(false)
		default:
			return v
		}
	case opIf, "&&", "||":
		c := arg(0)
		yes, ok := c.Bool()
		switch {
		case !ok:
			return c
		case n.op == opIf && yes, n.op == "&&" && yes, n.op == "||" && !yes:
			return arg(1)
		case n.op == opIf:
			return arg(2)
		}
		return c
	}
	if n.rows != nil {
		return p.overRows(n)
	}
	var args []any
	var worst Scalar = Truth(true)
	for i := range n.args {
		v := arg(i)
		if v.Lack() > worst.Lack() {
			worst = v
		}
		if f, ok := v.Float(); ok {
			args = append(args, f)
		} else if s, ok := v.Text(); ok {
			args = append(args, s)
		} else {
			b, _ := v.Bool()
			args = append(args, b)
		}
	}
	if worst.Lack() != LackNone {
		return worst
	}
	switch n.op {
	case "!":
		return Truth(!args[0].(bool))
	case opMatches:
		return Truth(n.pattern.MatchString(asText(args[0])))
	}
	for _, op := range operations() {
		if op.Name == n.op {
			return p.result(op.Func(args...))
		}
	}
	panic("no operation " + n.op)
}

func (p plain) result(v any, err error) Scalar {
	switch v := v.(type) {
	case float64:
		if err == nil {
			return Number(v)
		}
	case bool:
		return Truth(v)
	case string:
		return Text(v)
	}
	return Nothing(LackNull, fmt.Sprint(err))
}

// slot works out sum(host.use) and max_of(host.use * limit.share), the only groups that ruleMaker makes.
func (p plain) slot(s *slot) Scalar {
	if s.group == nil {
		return p.env.value(s.label())
	}
	var values []float64
	worst := Truth(true)
	for _, inst := range p.env.each["host.use"] {
		v := inst.Value
		if s.group.fn == "max_of" {
			limit := p.env.value("limit.share")
			v = graver(v, limit)
			if x, ok := inst.Value.Float(); ok && v.Lack() == LackNone {
				y, _ := limit.Float()
				v = Number(x * y)
			}
		}
		if x, ok := v.Float(); ok {
			values = append(values, x)
		} else {
			worst = graver(worst, v)
		}
	}
	switch {
	case len(values) == 0:
		return worst
	case s.group.fn == "max_of":
		return Number(slices.Max(values))
	}
	return Number(total(values))
}

func total(values []float64) (sum float64) {
	for i, v := range values {
		if i == 0 {
			sum = v
		} else {
			sum += v
		}
	}
	return sum
}

func (p plain) overRows(n *node) Scalar {
	if v, ok := p.env.lacks["replicas"]; ok {
		return v
	}
	rows := p.env.sets["replicas"]
	if len(n.args) == 0 {
		return Number(float64(len(rows)))
	}
	var yes, no int
	var values []float64
	worst := Truth(true)
	for _, row := range rows {
		v := p.eval(n.args[0], row)
		worst = graver(worst, v)
		if x, ok := v.Float(); ok {
			values = append(values, x)
		} else if b, ok := v.Bool(); ok && b {
			yes++
		} else if ok {
			no++
		}
	}
	known := worst.Lack() == LackNone
	switch n.op {
	case "any", "none":
		if yes > 0 || known {
			return Truth((yes > 0) == (n.op == "any"))
		}
		return worst
	case "all":
		if no > 0 || known {
			return Truth(no == 0)
		}
		return worst
	case "count":
		if known {
			return Number(float64(yes))
		}
		return worst
	}
	switch {
	case worst.Lack() > LackNull:
		return worst
	case len(values) == 0 && (n.op != "sum" || len(rows) > 0):
		return null
	case n.op == "sum":
		return Number(total(values))
	case n.op == "avg_of":
		return Number(total(values) / float64(len(values)))
	case n.op == "min_of":
		return Number(slices.Min(values))
	}
	return Number(slices.Max(values))
}
