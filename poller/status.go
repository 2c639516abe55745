package poller

import (
	"fmt"
	"slices"
	"time"

	"monolith"
)

// Collectors tells of each collector how it does on a server, or nil for one that is not polled.
func (p *Poller) Collectors(id monolith.ServerID) []monolith.CollectorStatus {
	t := p.target(id)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	waits := "it has not run yet"
	if s := t.state.Load(); s != nil && !s.OK {
		waits += ", since the server can't be read; it runs at once when that works"
	}
	list := make([]monolith.CollectorStatus, 0, len(p.collectors))
	for _, c := range p.collectors {
		s := monolith.CollectorStatus{Works: monolith.CollectorWaiting, Why: waits}
		if r := t.reports[c.Name]; r != nil {
			s = *r
		}
		s.Name, s.Title, s.Help, s.Schedule = c.Name, c.Title, c.Help, c.Schedule
		s.When = t.plan.specs[c.Schedule].words()
		s.Interval = t.intervalInForce(c)
		if c.Schedule == monolith.Fast {
			if why := t.slowdown.why(); why != "" {
				s.When += "; " + why
			}
			if s.Interval > t.interval() {
				s.When += "; only status and replication run at each of them"
			}
		}
		if s.Interval > 0 {
			s.CostPerMinute = time.Duration(float64(s.Cost.Took) * float64(time.Minute) / float64(s.Interval))
		}
		if slices.Contains(t.server.CollectorsOff, c.Name) {
			s.Works, s.Why, s.Grant, s.Since, s.Until = monolith.CollectorOff, "it is switched off in the server's settings", "", time.Time{}, time.Time{}
		}
		if !s.Until.After(now) {
			s.Until = time.Time{}
		}
		list = append(list, s)
	}
	return list
}

// Every gives the distance in force between two readings of a metric on a server; 0 when the server is
// not polled.
func (p *Poller) Every(id monolith.ServerID, metric string) time.Duration {
	t := p.target(id)
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	schedule := monolith.ScheduleOf(metric)
	if schedule != monolith.Fast {
		return intervalAt(t.plan.schedules[schedule], time.Now())
	}
	ns := monolith.Metric{Name: metric}.Namespace()
	return calm(t.interval(), ns == "host" || ns == "innodb")
}

// calm gives the interval of what need not be read at each poll: at short intervals only status and
// replication are.
func calm(interval time.Duration, others bool) time.Duration {
	if others && interval < calmInterval/2 {
		return calmInterval
	}
	return interval
}

// intervalInForce gives the distance between two runs of a collector. t.mu is held.
func (t *target) intervalInForce(c *Collector) time.Duration {
	if c.Schedule != monolith.Fast {
		return intervalAt(t.plan.schedules[c.Schedule], time.Now())
	}
	return calm(t.interval(), c.Name != statusName && c.Name != replicationName)
}

// intervalOf is intervalInForce for callers without the lock.
func (t *target) intervalOf(c *Collector) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.intervalInForce(c)
}

// report notes how a run of a collector ended.
func (t *target) report(c *Collector, r *result, cost monolith.Cost, until time.Time) {
	s := monolith.CollectorStatus{Works: monolith.CollectorWorks, LastRun: r.started, Cost: cost, Until: until}
	timedOut := false
	for _, p := range r.snap.Problems {
		if s.Works == monolith.CollectorWorks {
			s.Works = monolith.CollectorReduced
		}
		if p.Kind == monolith.ProblemUnsupported && r.err == nil {
			s.Works = monolith.CollectorOff
		}
		if needsGrant(p) {
			s.Grant = addGrant(s.Grant, grantFor(p, r.grant))
		}
		timedOut = timedOut || p.Kind == monolith.ProblemTimeout && r.err != nil
		s.Why = joinSentences(s.Why, p.Text)
	}
	switch {
	case timedOut:
		s.Works = monolith.CollectorWaiting
	case r.err != nil:
		s.Works = monolith.CollectorOff
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.reports[c.Name]
	if old != nil {
		s.Runs, s.Timeouts = old.Runs, old.Timeouts
	}
	s.Runs++
	if timedOut {
		s.Timeouts++
	}
	if s.Works != monolith.CollectorWorks {
		s.Since = r.started
		if old != nil && old.Works == s.Works && old.Why == s.Why {
			s.Since = old.Since
		}
	}
	t.reports[c.Name] = &s
}

// reportAbsent notes that a server has no such thing.
func (t *target) reportAbsent(c *Collector, r *result, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := monolith.CollectorStatus{Works: monolith.CollectorOff, Why: why, Since: r.started}
	if old := t.reports[c.Name]; old != nil {
		s.Runs, s.Timeouts, s.LastRun = old.Runs, old.Timeouts, old.LastRun
		if old.Works == s.Works && old.Why == why {
			s.Since = old.Since
		}
	}
	t.reports[c.Name] = &s
}

// The share of its interval that the status statement may take before polls become rarer, and that
// below which they become as frequent again.
const (
	slowShare  = 0.05
	quickShare = 0.02
	maxFactor  = 32
)

// slowdown makes polls rarer while the status statement takes too much of their interval. Its zero
// value is the schedule as people set it.
type slowdown struct {
	power  int // the interval is doubled so many times
	recent []time.Duration
	median time.Duration
}

// factor is by how much the interval is longer than set.
func (s *slowdown) factor() int { return 1 << s.power }

// observe takes in how long the status took and gives whether the interval changed.
func (s *slowdown) observe(took, base time.Duration) (changed bool) {
	if s.recent = append(s.recent, took); len(s.recent) < 10 {
		return false
	}
	sorted := slices.Sorted(slices.Values(s.recent))
	s.median = (sorted[4] + sorted[5]) / 2
	interval := base * time.Duration(s.factor())
	switch {
	case float64(s.median) > slowShare*float64(interval) && s.factor() < maxFactor:
		s.power++
	case s.power > 0 && float64(s.median) < quickShare*float64(interval)/2:
		s.power--
	default:
		s.recent = s.recent[1:]
		return false
	}
	s.recent = nil // judged anew at the new distance
	return true
}

// why says it to people; "" while the schedule is as set.
func (s *slowdown) why() string {
	if s.power == 0 {
		return ""
	}
	return fmt.Sprintf("made %d times longer, since the status took %s (median of ten), more than %.0f %% of the interval",
		s.factor(), shortDuration(s.median), slowShare*100)
}

// observe lets the target judge how much of its time the status takes.
func (t *target) observe(p *poll, took time.Duration) {
	t.mu.Lock()
	base := t.baseInterval()
	changed := t.slowdown.observe(took, base)
	why, interval := t.slowdown.why(), t.interval()
	t.mu.Unlock()
	if changed {
		t.p.log.Warn("poller: the interval changed", "server", p.server.Name, "interval", interval, "why", why)
	}
}
