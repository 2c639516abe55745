package formula

import "math"

// group evaluates what stands in sum(…) or its like for each instance, and makes one value of them. An instance
// without a value is left out; one that failed makes the whole fail.
func (e *evaluation) group(g *group) Scalar {
	u := g.unit
	lists := make([]instanceList, len(u.slots))
	in := evaluation{f: e.f, unit: u, env: e.env, work: e.work, set: e.set, sets: e.sets}
	in.room()
	for i := range in.slotAt {
		in.put(i, e.value(i))
	}
	defer func() { e.work = in.work }()
	rowFailed := in.failedField(u.rows)
	first := -1 // the first input with instances
	for i, s := range u.slots {
		l := &lists[i]
		l.all, l.lack = e.env.Instances(e.f, s.input)
		if first < 0 && l.plural() {
			first = i
		}
	}
	if first < 0 {
		for i := range lists {
			in.put(in.slotAt+i, lists[i].single(u.slots[i]))
		}
		v := in.instance(rowFailed)
		if v.form == TypeNumber && g.fn == "count_of" {
			v.num = 1
		}
		if g.fn == "only" && g.instance != "" {
			if v.Lack() == LackFailed || v.Lack() == LackLearning {
				return v // whether there is one is not known
			}
			return noInstance(g)
		}
		return v
	}
	lack := Truth(true)
	out, count := 0.0, 0.0
	for k, inst := range lists[first].all {
		if g.fn == "only" && inst.Name != g.instance {
			continue
		}
		if !in.spend(len(lists) + u.size) {
			return tooMuch()
		}
		common := true
		for i := range lists {
			v, ok := lists[i].of(inst.Name, k)
			common = common && ok
			in.put(in.slotAt+i, fit(slotKind(u.slots[i]), v, u.slots[i].name))
		}
		if !common {
			continue
		}
		v := in.instance(rowFailed)
		if g.fn == "only" {
			return v
		}
		if v.form != TypeNumber {
			if v = in.noNumber(u.root, v); v.Lack() == LackFailed {
				return v
			}
			lack = graver(lack, v)
			continue
		}
		if count++; count == 1 {
			out = v.num
			continue
		}
		switch g.fn {
		case "min_of":
			out = math.Min(out, v.num)
		case "max_of":
			out = math.Max(out, v.num)
		default:
			out += v.num
		}
	}
	switch {
	case count == 0 && lack.form == TypeAny:
		return lack
	case g.fn == "only":
		return noInstance(g)
	case count == 0:
		return Nothing(LackNull, "there is no instance of "+u.slots[first].label())
	case g.fn == "avg_of":
		out /= count
	case g.fn == "count_of":
		out = count
	}
	return Number(out)
}

func noInstance(g *group) Scalar {
	return Nothing(LackNull, "there is no instance "+quote(g.instance)+" of "+g.unit.slots[0].label())
}

// instance evaluates the unit for one instance.
func (e *evaluation) instance(rowFailed bool) Scalar {
	failed := rowFailed
	for i := range e.unit.slots {
		failed = failed || e.value(e.slotAt+i).Lack() == LackFailed
	}
	if failed {
		if v := e.failed(e.unit.root); v.Lack() == LackFailed {
			return v
		}
	}
	return e.eval(e.unit.root)
}

// instanceList is an input of all its instances, or why there is none.
type instanceList struct {
	all  []Instance
	lack Scalar
}

// plural reports whether the input has instances, and not one value for all.
func (l *instanceList) plural() bool {
	return l.lack.form != TypeAny && (len(l.all) != 1 || l.all[0].Name != "")
}

// single gives the value of an input that is not plural.
func (l *instanceList) single(s *slot) Scalar {
	if l.lack.form == TypeAny {
		return l.lack
	}
	return fit(slotKind(s), l.all[0].Value, s.name)
}

// of gives the value of an instance, which is likely the one at place k.
func (l *instanceList) of(name string, k int) (Scalar, bool) {
	switch {
	case l.lack.form == TypeAny:
		return l.lack, true
	case !l.plural():
		return l.all[0].Value, true
	}
	if k < len(l.all) && l.all[k].Name == name {
		return l.all[k].Value, true
	}
	for _, inst := range l.all {
		if inst.Name == name {
			return inst.Value, true
		}
	}
	return Scalar{}, false
}
