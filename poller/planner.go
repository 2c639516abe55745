package poller

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"monolith"
)

// planner turns schedules into the moments of servers. There is one cron entry for each distinct
// schedule; its tick hands out the servers on it one after the other, each at its own fixed place.
type planner struct {
	log  *slog.Logger
	cron *cron.Cron

	mu      sync.Mutex
	ctx     context.Context // while it runs
	entries map[spec]*planEntry
	of      map[monolith.ServerID]plan
}

// planEntry is one distinct schedule.
type planEntry struct {
	schedule cron.Schedule
	id       cron.EntryID
	next     time.Time // its coming tick
	members  map[monolith.ServerID]*member
}

// member is a server on a schedule, for one or more of its schedule names.
type member struct {
	target *target
	names  []string
}

func newPlanner(log *slog.Logger) *planner {
	return &planner{
		log: log,
		// Jobs catch their own panics; cron's chain that skips running jobs does not survive one.
		cron:    cron.New(cron.WithLocation(time.UTC), cron.WithLogger(cron.DiscardLogger)),
		entries: map[spec]*planEntry{},
		of:      map[monolith.ServerID]plan{},
	}
}

// set puts a server on its schedules, or moves it.
func (p *planner) set(t *target, plan plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, ok := p.of[t.id]; ok {
		if old.equal(plan) {
			return
		}
		p.drop(t.id)
	}
	p.of[t.id] = plan
	for _, name := range monolith.ScheduleNames {
		spec := plan.specs[name]
		e := p.entries[spec]
		if e == nil {
			e = &planEntry{schedule: plan.schedules[name], members: map[monolith.ServerID]*member{}}
			p.entries[spec] = e
			if p.ctx != nil {
				p.add(e)
			}
		}
		m := e.members[t.id]
		if m == nil {
			m = &member{target: t}
			e.members[t.id] = m
		}
		m.names = append(slices.Clone(m.names), name)
	}
}

// remove takes a server off.
func (p *planner) remove(id monolith.ServerID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(id)
}

func (p *planner) drop(id monolith.ServerID) {
	delete(p.of, id)
	for spec, e := range p.entries {
		delete(e.members, id)
		if len(e.members) == 0 {
			if p.ctx != nil {
				p.cron.Remove(e.id)
			}
			delete(p.entries, spec)
		}
	}
}

// add gives an entry to cron. p.mu is held.
func (p *planner) add(e *planEntry) {
	e.next = e.schedule.Next(time.Now())
	e.id = p.cron.Schedule(e.schedule, cron.FuncJob(func() { p.tick(e) }))
}

// run keeps the schedules going until ctx ends.
func (p *planner) run(ctx context.Context) {
	p.mu.Lock()
	p.ctx = ctx
	for _, e := range p.entries {
		p.add(e)
	}
	p.mu.Unlock()
	p.cron.Start()
	p.watch(ctx)
	p.mu.Lock()
	p.ctx = nil // entries are no longer given to cron, which has no loop to take them
	p.mu.Unlock()
	<-p.cron.Stop().Done()
}

// watch is the scheduler's own watchdog. cron sleeps until a moment of the wall clock, so a clock set
// back by an hour would stop every poll for an hour, and a machine that slept would poll late.
func (p *planner) watch(ctx context.Context) {
	const every, slack = 5 * time.Second, 2 * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		wall := now.Round(0).Sub(last.Round(0)) // Round(0) takes the monotonic clock away
		stepped := wall - now.Sub(last)
		last = now
		if stepped > slack || stepped < -slack {
			p.log.Warn("poller: the clock was set, schedules are set anew", "by", stepped)
			p.again(func(*planEntry) bool { return true })
			continue
		}
		p.again(func(e *planEntry) bool {
			late := !e.next.IsZero() && now.Sub(e.next) > 2*every
			if late {
				p.log.Error("poller: a schedule did not fire and is set anew", "due", e.next)
			}
			return late
		})
	}
}

// again gives entries to cron anew.
func (p *planner) again(which func(*planEntry) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		return
	}
	for _, e := range p.entries {
		if which(e) {
			p.cron.Remove(e.id)
			p.add(e)
		}
	}
}

// slot is a server's moment within a tick.
type slot struct {
	id       monolith.ServerID
	offset   time.Duration
	at       time.Time
	interval time.Duration
}

// tick hands out the servers of an entry. It runs in a goroutine of cron's and takes up to the
// schedule's interval.
func (p *planner) tick(e *planEntry) {
	now := time.Now()
	p.mu.Lock()
	ctx := p.ctx
	at := e.next
	if at.IsZero() || at.After(now) {
		at = now.Truncate(time.Second)
	}
	for range 1000 { // ticks that were missed are not made up for
		next := e.schedule.Next(at)
		if next.IsZero() || next.After(now) {
			break
		}
		at = next
	}
	e.next = e.schedule.Next(at)
	interval := intervalAt(e.schedule, at)
	slots := make([]slot, 0, len(e.members))
	for id := range maps.Keys(e.members) {
		offset := offsetOf(id, spread(e.schedule, interval))
		slots = append(slots, slot{id, offset, at.Add(offset), interval})
	}
	p.mu.Unlock()
	if ctx == nil {
		return
	}
	slices.SortFunc(slots, func(a, b slot) int { return cmp.Compare(a.offset, b.offset) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for _, s := range slots {
		// The tick's own start is the reference, and its monotonic clock: a step of the wall clock
		// between two servers moves none of them.
		if wait := s.at.Sub(at) - time.Since(now) - now.Sub(at); wait > 0 {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
		p.mu.Lock()
		m := e.members[s.id]
		p.mu.Unlock()
		if m != nil {
			m.target.tick(m.names, s.at, s.interval)
		}
	}
}
