package store

import (
	"context"
	"sync"
	"time"
)

// How often the background work looks.
const (
	flushEvery = time.Second
	packEvery  = 10 * time.Second
	purgeEvery = 5 * time.Minute
	holdEvery  = 20 * time.Second // far within lockIdle
	sayEvery   = time.Minute      // the same trouble is logged again
)

// Run commits, packs and purges until ctx ends, then commits what still waits. Errors of the store do not
// end it; they are logged, shown in [DB.Usage] and tried again.
func (db *DB) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { db.every(ctx, "commit history", flushEvery, nil, db.flush) })
	wg.Go(func() { db.every(ctx, "commit alerts", flushEvery, nil, db.flushAlerts) })
	wg.Go(func() { db.every(ctx, "pack history", packEvery, nil, db.pack) })
	wg.Go(func() { db.every(ctx, "purge history", purgeEvery, db.purgeNow, db.purge) })
	wg.Go(func() { db.every(ctx, "hold the store's lock", holdEvery, nil, db.mayWrite) })
	wg.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return db.finish(last)
}

// every does work at a steady distance, and when asked, until ctx ends. Trouble is said when it begins,
// once a minute while it lasts, and when it is over.
func (db *DB) every(ctx context.Context, doing string, distance time.Duration, ask <-chan struct{}, work func(context.Context) error) {
	tick := time.NewTicker(distance)
	defer tick.Stop()
	var since, said time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-ask:
		}
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		err := work(limited)
		cancel()
		now := db.now()
		switch {
		case err != nil && ctx.Err() != nil:
			return
		case err != nil:
			db.count.fail(doing, err, now)
			if since.IsZero() {
				since = now
			}
			if now.Sub(said) >= sayEvery {
				said = now
				polls, bytes, dropped := db.spool.size()
				db.log.Error("store fails", "doing", doing, "error", err, "since", since, "waiting_polls", polls, "waiting_bytes", bytes, "dropped_polls", dropped)
			}
		case !since.IsZero():
			db.count.fail(doing, nil, now)
			_, _, dropped := db.spool.size()
			db.log.Info("store works again", "doing", doing, "failed_for", now.Sub(since), "dropped_polls", dropped)
			since, said = time.Time{}, time.Time{}
		}
	}
}
