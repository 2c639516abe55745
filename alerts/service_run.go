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
		if now.Sub(s.saved[id]) >= saveEvery {
			save = append(save, id)
		}
		if now.Sub(s.longRead[id]) >= longEvery {
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
	s.writing.Lock()
	s.flush(ctx)
	s.writing.Unlock()
}

// saveSome writes the memory of some servers, a few in a transaction.
func (s *Service) saveSome(ctx context.Context, ids []monolith.ServerID, at time.Time) {
	for part := range slices.Chunk(ids, 50) {
		s.writing.Lock()
		if len(s.waiting) > 0 {
			s.writing.Unlock()
			return // the store is away: what waits comes first
		}
		s.mu.Lock()
		b := newBuilder(s, at)
		s.mu.Unlock()
		for _, id := range part {
			b.saves(id)
		}
		s.commit(ctx, b)
		s.writing.Unlock()
	}
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
	for _, text := range cat.LongInputs() {
		f, err := formula.ParseScope(text, nil)
		if err != nil {
			return nil, fmt.Errorf("alerts: long input %s: %w", text, err)
		}
		v, err := f.At(ctx, src, id, at, 0)
		if err != nil {
			return nil, fmt.Errorf("alerts: long input %s: %w", text, err)
		}
		if len(v.Each) == 0 {
			out[LongKey{Formula: text}] = longScalar(&v)
			continue
		}
		for i := range v.Each {
			out[LongKey{Formula: text, Instance: v.Each[i].Instance}] = longScalar(&v.Each[i])
		}
	}
	return out, nil
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
