package formula

import "math"

// columns evaluates what stands in the group for each instance and makes one column of them. An
// instance without a value at a step is left out there: a device that came later is no gap of the others. Where none
// has a value there is none.
func (g *group) columns(in inputs) (map[string]*column, *lack) {
	b, missing := g.unit.bind(in)
	if missing != nil {
		return nil, missing
	}
	if g.fn == "only" {
		return g.one(b)
	}
	out := newColumn(b.n)
	count := make([]float64, b.n)
	for _, instance := range b.instances {
		v, why := b.numbers(b.of(instance))
		if why != "" && out.why == "" {
			out.why = why
		}
		for i, x := range v {
			if x != x {
				continue
			}
			if count[i]++; count[i] == 1 {
				out.num[i] = x
				continue
			}
			switch g.fn {
			case "min_of":
				out.num[i] = min(out.num[i], x)
			case "max_of":
				out.num[i] = max(out.num[i], x)
			default:
				out.num[i] = out.num[i] + x
			}
		}
	}
	for i, n := range count {
		switch {
		case n == 0:
			out.num[i] = math.NaN()
		case g.fn == "avg_of":
			out.num[i] /= n
		case g.fn == "count_of":
			out.num[i] = n
		}
		out.num[i] = finite(out.num[i])
	}
	if !out.empty() {
		out.why = ""
	}
	return map[string]*column{"": out}, nil
}

// one picks an instance.
func (g *group) one(b *bound) (map[string]*column, *lack) {
	for _, instance := range b.instances {
		if instance != g.instance {
			continue
		}
		slots := b.of(instance)
		if g.unit.root.op == opSlot {
			return map[string]*column{"": slots[g.unit.root.index]}, nil
		}
		out := newColumn(b.n)
		out.num, out.why = b.numbers(slots)
		return map[string]*column{"": out}, nil
	}
	return nil, &lack{why: "there is no instance " + `"` + g.instance + `"` + " of " + g.unit.slots[0].label()}
}
