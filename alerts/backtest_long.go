package alerts

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"monolith"
	"monolith/formula"
)

// backTestLongSteps bounds how many values over a long window a back-test works out for one server: they change slowly.
const backTestLongSteps = 750

// pastLong are the values over long windows that a rule reads, as they were at moments that are past: what
// [Engine.SetLong] is handed while Monolith watches.
type pastLong struct {
	begin  time.Time // of step 0; a value is that of its step's end
	step   time.Duration
	values []map[LongKey]formula.Scalar
}

// longInputsOf lists what a rule reads over long windows, for its conditions and its evidence.
func (c *Catalogue) longInputsOf(r *Rule) []inputSpec {
	var out []inputSpec
	add := func(ids []int) {
		for _, id := range ids {
			if in := c.inputs[id]; in.long() && !slices.Contains(out, in) {
				out = append(out, in)
			}
		}
	}
	add(r.inputs)
	for _, q := range r.lets {
		add(q.expr.inputs)
	}
	return out
}

// readPastLong works out the long inputs of a rule over a range, from history's tiers.
func readPastLong(ctx context.Context, src formula.Source, inputs []inputSpec, id monolith.ServerID, from, to time.Time) (*pastLong, error) {
	step := longEvery
	for to.Sub(from)/step > backTestLongSteps {
		step *= 2
	}
	p := &pastLong{begin: from.Truncate(step).Add(-step), step: step}
	p.values = make([]map[LongKey]formula.Scalar, int(to.Sub(p.begin)/step)+1)
	for i := range p.values {
		p.values[i] = make(map[LongKey]formula.Scalar, len(inputs))
	}
	for _, in := range inputs {
		read := p.read
		if in.usual() {
			read = p.readUsual
		}
		if err := read(ctx, src, in, id); err != nil {
			return nil, fmt.Errorf("alerts: back-test: long input %s: %w", in, err)
		}
	}
	return p, nil
}

func (p *pastLong) end() time.Time { return p.begin.Add(time.Duration(len(p.values)) * p.step) }

// at gives the values in force at a moment: the newest that were there then.
func (p *pastLong) at(at time.Time) (values map[LongKey]formula.Scalar, number int) {
	number = int(at.Sub(p.begin)/p.step) - 1
	if number < 0 || number >= len(p.values) {
		return nil, number
	}
	return p.values[number], number
}

// series evaluates an input over the range and more before it.
func (p *pastLong) series(ctx context.Context, src formula.Source, in inputSpec, id monolith.ServerID, before time.Duration, step time.Duration) (formula.Result, error) {
	f, err := formula.Parse(in.String())
	if err != nil {
		return formula.Result{}, err
	}
	results, err := formula.Series(ctx, src, formula.Request{Server: id, From: p.begin.Add(-before), To: p.end(), Step: step}, f)
	if err != nil {
		return formula.Result{}, err
	}
	return results[0], nil
}

// read works out an input over a long window.
func (p *pastLong) read(ctx context.Context, src formula.Source, in inputSpec, id monolith.ServerID) error {
	r, err := p.series(ctx, src, in, id, 0, p.step)
	if err != nil {
		return err
	}
	if len(r.Lines) == 0 {
		p.nowhere(in, &r)
		return nil
	}
	for _, line := range r.Lines {
		key := LongKey{in.String(), line.Instance}
		for i := range p.values {
			p.values[i][key] = orLearning(valueAt(&r, line.V, p.begin.Add(time.Duration(i+1)*p.step)), in)
		}
	}
	return nil
}

// readUsual works out what was usual at the hour of each moment.
func (p *pastLong) readUsual(ctx context.Context, src formula.Source, in inputSpec, id monolith.ServerID) error {
	r, err := p.series(ctx, src, in.hourly(), id, usualDays*24*time.Hour, time.Hour)
	if err != nil {
		return err
	}
	if len(r.Lines) == 0 {
		p.nowhere(in, &r)
		return nil
	}
	for _, line := range r.Lines {
		key := LongKey{in.String(), line.Instance}
		for i := range p.values {
			moment := p.begin.Add(time.Duration(i+1) * p.step)
			var days []float64
			for day := 1; day <= usualDays; day++ {
				if v := valueAt(&r, line.V, moment.AddDate(0, 0, -day)); v == v {
					days = append(days, v)
				}
			}
			p.values[i][key] = usualOf(in, days)
		}
	}
	return nil
}

// nowhere notes why an input had no value at all.
func (p *pastLong) nowhere(in inputSpec, r *formula.Result) {
	lack := formula.LackLearning
	if r.Absent {
		lack = formula.LackAbsent
	}
	for i := range p.values {
		p.values[i][LongKey{Formula: in.String()}] = formula.Nothing(lack, r.Why)
	}
}

// valueAt gives the value of the last step of a result that had ended at a moment; NaN when there is none.
func valueAt(r *formula.Result, v monolith.Floats, at time.Time) float64 {
	if i := int(at.Sub(r.Start)/r.Step) - 1; i >= 0 && i < len(v) {
		return v[i]
	}
	return math.NaN()
}

func orLearning(v float64, in inputSpec) formula.Scalar {
	if v != v {
		return formula.Nothing(formula.LackLearning, "the history of "+in.Name+" over "+inWords(max(in.Window, in.Ago))+" was not complete then")
	}
	return formula.Number(v)
}
