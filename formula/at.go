package formula

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"monolith"
)

// DefaultWindow is what functions without a window of their own use at a moment.
const DefaultWindow = 5 * time.Minute

// Value is what a formula gives at one moment.
type Value struct {
	Instance string  // of what the value is; "" where the formula has no instances
	Num      float64 // NaN when there is no value, and for texts that are not numbers; true is 1, false 0
	Text     string  // a text as it is, a number in its shortest form; "" when there is no value
	IsText   bool    // the result is a text
	Why      string  // why there is no value, naming the input; "" when there is one
	Absent   bool    // because this server does not have an input by design
	Explain  string  // the formula with the numbers put in: rate(status.Questions)=412.3 / 2
	// Each holds one value an instance, sorted by instance, when the formula's inputs have instances;
	// else it is nil. With exactly one the fields above repeat it; with several they hold no value
	// and Why says so.
	Each []Value
}

// At evaluates the formula at a moment. Functions without a window of their own use window; 0 stands for
// [DefaultWindow]. Readings must cover four fifths of a window, except that rate makes do with any part of the
// default one, so that it speaks soon after Monolith was started. A plain name is its
// last reading of at most 5 minutes before (replica 90 seconds, variable 15 minutes, server 3 hours, schema 26 hours); a
// text is in force until another one was read.
func (f *Formula) At(ctx context.Context, src Source, server monolith.ServerID, at time.Time, window time.Duration) (Value, error) {
	all, err := AtAll(ctx, src, server, at, window, f)
	if err != nil {
		return Value{}, err
	}
	return all[0], nil
}

// AtAll evaluates several formulas of one server at a moment, with as few readings of history as one of them would
// need. See [Formula.At].
func AtAll(ctx context.Context, src Source, server monolith.ServerID, at time.Time, window time.Duration, formulas ...*Formula) ([]Value, error) {
	if window < 0 {
		return nil, monolith.Invalid("window", "the window must be longer than nothing")
	}
	units := make([]*unit, len(formulas))
	for i, f := range formulas {
		if err := f.only(); err != nil {
			return nil, err
		}
		units[i] = f.unit
	}
	m, err := readMoment(ctx, src, units, server, at, window)
	if err != nil {
		return nil, err
	}
	values := make([]Value, len(formulas))
	var run runner
	for i, f := range formulas {
		values[i] = f.at(m, &run)
	}
	return values, nil
}

// at evaluates the formula with what was read for the moment.
func (f *Formula) at(m *moment, run *runner) Value {
	b, missing := f.unit.bind(m)
	if missing != nil {
		return Value{Num: math.NaN(), Why: missing.why, Absent: missing.absent, Explain: f.text}
	}
	if !b.plural {
		return b.value(run, "")
	}
	each := make([]Value, len(b.instances))
	for i, instance := range b.instances {
		each[i] = b.value(run, instance)
	}
	if len(each) == 1 {
		v := each[0]
		v.Each = each
		return v
	}
	return Value{Num: math.NaN(), Each: each, Explain: f.text,
		Why: fmt.Sprintf("there are %d instances, each with its own value", len(each))}
}

// value runs the program for one instance.
func (b *bound) value(run *runner, instance string) Value {
	slots := b.of(instance)
	v := Value{Instance: instance, Num: math.NaN(), Explain: b.explain(slots)}
	now := make([]any, len(slots))
	if !fill(now, slots, 0) {
		v.Why = b.whyEmpty(nil, slots, "")
		return v
	}
	out, err := run.run(b.unit, now, b.absent)
	if text, ok := out.(string); ok && err == nil {
		v.Text, v.IsText = text, true
		return v
	}
	if v.Num, v.Why = asResult(out, err); v.Why == "" {
		v.Text = formatNumber(v.Num)
	}
	return v
}

// explain writes the formula with the value behind each input.
func (b *bound) explain(slots []*column) string {
	return b.unit.print(b.unit.root, func(n *node) string {
		switch c := slots[n.index]; {
		case c == nil:
			return "=not here"
		case c.isText != nil && c.isText[0]:
			return "=" + quote(c.text[0])
		case c.num[0] != c.num[0]:
			return "=no value"
		default:
			return "=" + rounded(c.num[0])
		}
	})
}

// staleness is how old a plain name's last reading may be: what is read seldom may be older.
func staleness(name string) time.Duration {
	switch ns, _, _ := strings.Cut(name, "."); ns {
	case "replica":
		return 90 * time.Second // a NULL is no reading: what a channel said before it must not stand for long
	case "variable":
		return 15 * time.Minute
	case "server":
		return 3 * time.Hour
	case "schema":
		return 26 * time.Hour
	}
	return 5 * time.Minute
}

// moment holds what was read for one moment. It implements inputs.
type moment struct {
	at      time.Time
	window  time.Duration // for functions without one
	strict  bool          // the caller named it
	sources map[momentKey]*source
}

// momentKey sorts inputs by how finely and when history is read for them: a window of a week needs no
// steps of ten seconds.
type momentKey struct {
	step time.Duration
	ago  time.Duration
}

// key gives the read of a slot, and how far back it reaches.
func (m *moment) key(s *slot) (momentKey, time.Duration) {
	back := s.window
	switch {
	case s.fn == "":
		back = staleness(s.name)
	case back == 0:
		back = m.window
	}
	return momentKey{coarse(back / 30), s.ago}, back
}

func readMoment(ctx context.Context, src Source, units []*unit, server monolith.ServerID, at time.Time, window time.Duration) (*moment, error) {
	m := &moment{at: at, window: cmp.Or(window, DefaultWindow), strict: window > 0, sources: map[momentKey]*source{}}
	wanted := map[momentKey]*demand{}
	var order []momentKey
	for _, u := range units {
		u.reads(false, func(s *slot, _ bool) {
			key, back := m.key(s)
			d := wanted[key]
			if d == nil {
				d = &demand{}
				wanted[key] = d
				order = append(order, key)
			}
			d.add(s, key.step)
			d.back = max(d.back, back+key.step)
		})
	}
	for _, key := range order {
		d := wanted[key]
		req := Request{Server: server, From: at, To: at, Step: key.step}
		got, err := fetch(ctx, src, req, d, key.ago)
		if err != nil {
			return nil, err
		}
		got.grid = newGrid(got.rng, at.Add(-key.ago), 0, 1)
		got.grid.window, got.grid.strict = m.window, m.strict
		m.sources[key] = got
	}
	return m, nil
}

func (m *moment) find(s *slot) ([]*monolith.Series, *grid) {
	key, _ := m.key(s)
	from := m.sources[key]
	g := *from.grid
	g.stale = staleness(s.name)
	return from.series[s.name], &g
}

func (m *moment) isAbsent(name string) bool {
	for _, s := range m.sources {
		if s.absent[name] {
			return true
		}
	}
	return false
}

func (m *moment) steps() int     { return 1 }
func (m *moment) period() string { return "at this moment" }
