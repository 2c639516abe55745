package alerts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"monolith"
	"monolith/formula"
)

const (
	// tick is how often what time alone changes is looked after.
	tick = time.Minute
	// saveEvery is how old a server's memory in the store may get while nothing happens to its alerts. It bounds what
	// its windows have to learn again after a kill.
	saveEvery = 10 * time.Minute
	// longEvery is how old values over long windows may get.
	longEvery = time.Hour
	// longTimeout bounds reading them for one server.
	longTimeout = 30 * time.Second
)

// Run looks after what time alone changes until ctx ends: silences and maintenance that are over, values over long
// windows, the engine's memory in the store, batches that wait for it. At the end it writes what is left.
func (s *Service) Run(ctx context.Context) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		s.lookAfter(ctx)
		select {
		case <-t.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			if err := s.Flush(last); err != nil {
				s.log.Error("the last states of alerts were not kept", "error", err)
			}
			return nil
		}
	}
}

// lookAfter does one round.
func (s *Service) lookAfter(ctx context.Context) {
	now := s.now()
	s.mu.Lock()
	s.silences = slices.DeleteFunc(s.silences, func(x monolith.Silence) bool { return !x.To.IsZero() && !x.To.After(now) })
	var save, read []monolith.ServerID
	for id, srv := range s.servers {
		if srv.Paused {
			continue
		}
		if now.Sub(s.saved[id]).Abs() >= saveEvery {
			save = append(save, id)
		}
		if now.Sub(s.longRead[id]).Abs() >= longEvery {
			read = append(read, id)
		}
	}
	s.mu.Unlock()
	s.requiet(ctx)
	s.fleet(ctx, now)
	slices.Sort(save)
	slices.Sort(read)
	s.saveSome(ctx, save, now)
	for _, id := range read {
		if ctx.Err() != nil {
			return
		}
		s.readLong(ctx, id, now)
	}
	s.writing.wait()
	defer s.writing.give()
	s.reparent(ctx, now)
	s.flush(ctx)
}

// saveSome writes the memory of some servers, a few in a transaction.
func (s *Service) saveSome(ctx context.Context, ids []monolith.ServerID, at time.Time) {
	for part := range slices.Chunk(ids, 50) {
		s.savePart(ctx, part, at)
	}
}

// savePart writes the memory of a few servers. While others wait it does nothing: what waits comes first.
func (s *Service) savePart(ctx context.Context, ids []monolith.ServerID, at time.Time) {
	s.writing.wait()
	defer s.writing.give()
	if len(s.waiting) > 0 {
		return
	}
	b := newBuilder(s, at)
	for _, id := range ids {
		b.saves(id)
	}
	s.commit(ctx, b)
}

// readLong reads from history what rules want to know of a server over long windows.
func (s *Service) readLong(ctx context.Context, id monolith.ServerID, at time.Time) {
	if s.cfg.History == nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longTimeout, fmt.Errorf("alerts: long windows took longer than %s", longTimeout))
	defer cancel()
	values, err := ReadLong(ctx, s.cfg.History, s.engine.Catalogue(), id, at)
	if err != nil {
		s.log.Warn("values over long windows could not be read; rules that need them learn or go by the last ones", "server_id", int64(id), "error", err)
		return
	}
	s.engine.SetLong(id, values)
	s.mu.Lock()
	s.longRead[id] = at
	s.mu.Unlock()
}

// ReadLong evaluates the long inputs of a catalogue for one server.
func ReadLong(ctx context.Context, src formula.Source, cat *Catalogue, id monolith.ServerID, at time.Time) (map[LongKey]formula.Scalar, error) {
	out := map[LongKey]formula.Scalar{}
	for _, in := range cat.longInputs() {
		var err error
		if in.usual() {
			err = readUsual(ctx, src, in, id, at, out)
		} else {
			err = readAt(ctx, src, in.String(), id, at, func(instance string, v formula.Scalar) {
				out[LongKey{Formula: in.String(), Instance: instance}] = v
			})
		}
		if err != nil {
			return nil, fmt.Errorf("alerts: long input %s: %w", in, err)
		}
	}
	return out, nil
}

// readAt evaluates a formula at a moment for each of its instances.
func readAt(ctx context.Context, src formula.Source, text string, id monolith.ServerID, at time.Time, yield func(instance string, v formula.Scalar)) error {
	f, err := formula.Parse(text)
	if err != nil {
		return err
	}
	v, err := f.At(ctx, src, id, at, 0)
	if err != nil {
		return err
	}
	if len(v.Each) == 0 {
		yield("", longScalar(&v))
	}
	for i := range v.Each {
		yield(v.Each[i].Instance, longScalar(&v.Each[i]))
	}
	return nil
}

// The days that what is usual is taken from, and of how many of them there must be values.
const (
	usualDays  = 7
	usualLeast = 3
)

// readUsual works out the median of a rate or a gauge at this hour of the last seven days.
func readUsual(ctx context.Context, src formula.Source, in inputSpec, id monolith.ServerID, at time.Time, out map[LongKey]formula.Scalar) error {
	hour := in.hourly()
	values := map[string][]float64{}
	for day := 1; day <= usualDays; day++ {
		err := readAt(ctx, src, hour.String(), id, at.AddDate(0, 0, -day), func(instance string, v formula.Scalar) {
			key := LongKey{Formula: in.String(), Instance: instance}
			if n, ok := v.Float(); ok {
				values[instance] = append(values[instance], n)
			} else if _, known := out[key]; !known {
				out[key] = v
			}
		})
		if err != nil {
			return err
		}
	}
	for instance, list := range values {
		out[LongKey{Formula: in.String(), Instance: instance}] = usualOf(in, list)
	}
	return nil
}

// hourly gives what is compared of the days by what is usual: the rate or the mean over an hour.
func (s inputSpec) hourly() inputSpec {
	if s.Func == "usual_rate" {
		return inputSpec{Name: s.Name, Func: "rate", Window: time.Hour}
	}
	return inputSpec{Name: s.Name, Func: "avg_over", Window: time.Hour}
}

// usualOf gives the median of the values of the last days, where there are enough. It sorts the list.
func usualOf(in inputSpec, list []float64) formula.Scalar {
	if len(list) < usualLeast {
		return formula.Nothing(formula.LackLearning, fmt.Sprintf("%s: there are values of %d of the last %d days", in.Name, len(list), usualDays))
	}
	slices.Sort(list)
	return formula.Number((list[(len(list)-1)/2] + list[len(list)/2]) / 2)
}

// longScalar makes a value of history one of a rule. What history does not have yet is learning, not failing.
func longScalar(v *formula.Value) formula.Scalar {
	switch {
	case v.Why == "" && v.IsText:
		return formula.Text(v.Text)
	case v.Why == "":
		return formula.Number(v.Num)
	case v.Absent:
		return formula.Nothing(formula.LackAbsent, v.Why)
	}
	return formula.Nothing(formula.LackLearning, v.Why)
}
