package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// load is the traffic of one server: a tide that comes and goes within minutes instead of a day, bursts, and the
// incidents.
type load struct {
	name   string
	shop   *shop
	peak   float64       // actions a second at high tide
	period time.Duration // from one high tide to the next
	phase  float64       // of the tide at the start, 0 … 1
	log    *slog.Logger

	mu   sync.Mutex
	told map[string]time.Time // when an action's failure was last logged
}

// inFlight bounds the actions that run at the same time, and so the load's connections.
const inFlight = 24

// run keeps the load up until ctx ends, and waits for all it started. A server that is away is waited for.
func (l *load) run(ctx context.Context) {
	l.told = map[string]time.Time{}
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, incident := range incidents {
		if incident.writes && !l.shop.writes {
			continue
		}
		wg.Go(func() { l.repeat(ctx, incident) })
	}
	var offered []action
	total := 0
	for _, a := range actions {
		if !a.writes || l.shop.writes {
			offered = append(offered, a)
			total += a.weight
		}
	}
	slots := make(chan struct{}, inFlight)
	start := time.Now()
	var burst time.Time // a burst's end
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		select {
		case slots <- struct{}{}:
			chosen := choose(offered, rand.IntN(total))
			wg.Go(func() {
				defer func() { <-slots }()
				l.try(ctx, chosen.name, chosen.run)
			})
		default: // all hands busy: the customer goes away
		}
		rate := l.peak * tide(time.Since(start), l.period, l.phase)
		if rand.Float64() < 1/(rate*80) { // about every 80 seconds
			burst = time.Now().Add(time.Duration(4+rand.IntN(10)) * time.Second)
		}
		if time.Now().Before(burst) {
			rate *= 3
		}
		timer.Reset(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
	}
}

// tide is the share of the peak at a moment: a wave between an eighth and one, with a smaller one on it.
func tide(since, period time.Duration, phase float64) float64 {
	turn := 2 * math.Pi * (since.Seconds()/period.Seconds() + phase)
	wave := 0.5 + 0.4*math.Sin(turn) + 0.1*math.Sin(5*turn)
	return 0.125 + 0.875*max(0, wave)
}

func choose(from []action, ticket int) action {
	for _, a := range from {
		if ticket -= a.weight; ticket < 0 {
			return a
		}
	}
	return from[len(from)-1]
}

// repeat lets an incident happen again and again, at irregular times.
func (l *load) repeat(ctx context.Context, i incident) {
	next := func() time.Duration { return time.Duration((0.5 + rand.Float64()) * float64(i.every)) }
	timer := time.NewTimer(time.Duration(rand.Float64() * float64(i.every)))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			l.try(ctx, i.name, i.run)
			timer.Reset(next())
		}
	}
}

// try runs something with a bound on its time. Failures that belong to the show are passed over; others are logged
// once a minute.
func (l *load) try(ctx context.Context, name string, run func(context.Context, *shop) error) {
	bounded, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err := run(bounded, l.shop)
	if err == nil || ctx.Err() != nil || expected(err) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, ok := l.told[name]; ok && time.Since(last) < time.Minute {
		return
	}
	l.told[name] = time.Now()
	l.log.Warn("load failed", "server", l.name, "action", name, "error", err)
}

// expected errors are a server that stops or is away, and the deadlocks and lock waits that a shop has.
func expected(err error) bool {
	var network net.Error
	return isError(err, 1213) || isError(err, 1205) || isError(err, 1053) || isError(err, 1927) || errors.As(err, &network) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, sql.ErrConnDone)
}
