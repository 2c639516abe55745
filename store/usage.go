package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

const day = 24 * time.Hour

// tierSums is what a tier's blocks take.
type tierSums struct {
	Tier  int   `db:"tier"`
	Rows  int64 `db:"n"`
	Bytes int64 `db:"bytes"`
}

func (db *DB) sums(ctx context.Context, tx *sqlx.Tx) ([3]tierSums, error) {
	var rows []tierSums
	var sums [3]tierSums
	err := tx.SelectContext(ctx, &rows, `SELECT tier, COUNT(*) AS n, COALESCE(SUM(bytes), 0) AS bytes
		FROM history_block GROUP BY tier`)
	for _, r := range rows {
		if r.Tier >= 0 && r.Tier < len(sums) {
			sums[r.Tier] = r
		}
	}
	return sums, err
}

// oldest gives the moment of the oldest value of a tier, 0 when it is empty.
func oldest(ctx context.Context, tx *sqlx.Tx, tier int) (first int64, err error) {
	err = each(ctx, tx, func(rows *sqlx.Rows) error { return rows.Scan(&first) },
		"SELECT first_ms FROM history_block WHERE tier = ? ORDER BY last_ms LIMIT 1", tier)
	return first, err
}

// Usage says what the store takes on disk, by tier and server, and how it fares. It adds up an index of all
// blocks: some milliseconds.
func (db *DB) Usage(ctx context.Context) (monolith.Usage, error) {
	u := monolith.Usage{Path: db.place, WAL: db.walBytes(), Spool: db.spool.usage(), Servers: []monolith.ServerUsage{}}
	var err error
	if u.Engine, err = db.dialect.version(ctx, db.r); err != nil {
		return u, db.failed("ask for the version", err)
	}
	if u.Bytes, u.Free, err = db.dialect.usage(ctx, db.r); err != nil {
		return u, db.failed("ask for the size", err)
	}
	u.LastError, u.LastErrorAt = db.count.trouble()
	if ms := db.count.lastCommit.Load(); ms != 0 {
		u.LastCommit = time.UnixMilli(ms).UTC()
	}
	servers, err := db.Servers(ctx)
	if err != nil {
		return u, err
	}
	byID := map[monolith.ServerID]*monolith.ServerUsage{}
	for i := range servers {
		byID[servers[i].ID] = &monolith.ServerUsage{Server: servers[i].ID, Name: servers[i].Name}
	}
	err = db.inRead(ctx, func(tx *sqlx.Tx) error {
		head := monolith.TierUsage{Tier: "head"}
		var first int64
		if err := tx.QueryRowxContext(ctx, "SELECT COUNT(*), COALESCE(SUM(LENGTH(payload)), 0), COALESCE(MIN(at_ms), 0) FROM head").
			Scan(&head.Rows, &head.Bytes, &first); err != nil {
			return err
		}
		head.Oldest = moment(first)
		u.Tiers = append(u.Tiers, head)
		sums, err := db.sums(ctx, tx)
		if err != nil {
			return err
		}
		for tier, s := range sums {
			first, err := oldest(ctx, tx, tier)
			if err != nil {
				return err
			}
			u.Tiers = append(u.Tiers, monolith.TierUsage{Tier: tierNames[tier], Rows: s.Rows, Bytes: s.Bytes, Oldest: moment(first)})
		}
		err = each(ctx, tx, func(rows *sqlx.Rows) error {
			var id monolith.ServerID
			var bytes int64
			if err := rows.Scan(&id, &bytes); err != nil {
				return err
			}
			if s := byID[id]; s != nil {
				s.Bytes = bytes
			}
			return nil
		}, "SELECT server_id, COALESCE(SUM(bytes), 0) FROM history_block GROUP BY server_id")
		if err != nil {
			return err
		}
		perDay, err := db.growth(ctx, tx)
		for id, bytes := range perDay {
			if s := byID[id]; s != nil {
				s.BytesPerDay = bytes
				u.BytesPerDay += bytes
			}
		}
		return err
	})
	if err != nil {
		return u, db.failed("add up the store", err)
	}
	for _, s := range byID {
		u.Servers = append(u.Servers, *s)
	}
	slices.SortFunc(u.Servers, func(a, b monolith.ServerUsage) int { return strings.Compare(a.Name, b.Name) })
	return u, nil
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// growthOver is the time over which each tier's growth is measured: some blocks of it.
var growthOver = [...]time.Duration{tierRaw: day, tierTen: 3 * day, tierHour: 9 * day}

// growth measures what each server's newest blocks of every tier take a day.
func (db *DB) growth(ctx context.Context, tx *sqlx.Tx) (map[monolith.ServerID]float64, error) {
	perDay := map[monolith.ServerID]float64{}
	for tier, over := range growthOver {
		err := each(ctx, tx, func(rows *sqlx.Rows) error {
			var id monolith.ServerID
			var bytes, from, to int64
			if err := rows.Scan(&id, &bytes, &from, &to); err != nil {
				return err
			}
			perDay[id] += daily(bytes, from, to)
			return nil
		}, `SELECT server_id, COALESCE(SUM(bytes), 0), MIN(first_ms), MAX(last_ms)
			FROM history_block WHERE tier = ? AND last_ms > ? GROUP BY server_id`, tier, db.now().Add(-over).UnixMilli())
		if err != nil {
			return nil, err
		}
	}
	for _, t := range db.tails() {
		if day, ok := t.firstGrowth(); ok {
			perDay[t.id] = day[tierRaw] + day[tierTen] + day[tierHour]
		}
	}
	return perDay, nil
}

// The sizes of a server that has no block yet are told from its polls in memory: packing makes so much of
// them. BenchmarkDayRecorded measured these shares on recorded servers polled each ten seconds; the
// roll-ups' are of a day with so many polls, since their size does not depend on how many there are.
var packedShares = [...]float64{tierRaw: 0.24, tierTen: 0.025, tierHour: 0.0045}

const (
	packedPolls = 8640
	firstLook   = 15 * time.Minute // the first poll holds everything, the next ones what changed
)

// firstGrowth estimates what a server that has no block yet will take a day in each tier; false: it has
// blocks, which tell better, or too few polls.
func (t *tail) firstGrowth() (day [3]float64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.polls)
	if t.packed > 0 || n < 2 {
		return day, false
	}
	covered := t.polls[n-1].at - t.polls[0].at
	if covered < firstLook.Milliseconds() {
		return day, false
	}
	polls := [...]float64{tierRaw: float64(24*time.Hour.Milliseconds()) / float64(covered) * float64(n), tierTen: packedPolls, tierHour: packedPolls}
	for tier, share := range packedShares {
		day[tier] = float64(t.bytes) / float64(n) * polls[tier] * share
	}
	return day, true
}

// daily spreads the bytes of blocks over the time that they hold, at least an hour.
func daily(bytes, from, to int64) float64 {
	return float64(bytes) * float64(day.Milliseconds()) / float64(max(to-from, tailAge.Milliseconds()))
}

// Estimate says what a retention takes in the long run with the present servers, and what saving it would
// delete now.
func (db *DB) Estimate(ctx context.Context, r monolith.Retention) (monolith.Estimate, error) {
	var e monolith.Estimate
	if err := r.Validate(); err != nil {
		return e, err
	}
	now := db.now()
	var first [3]float64
	for _, t := range db.tails() {
		if day, ok := t.firstGrowth(); ok {
			for tier := range first {
				first[tier] += day[tier]
			}
		}
	}
	e.Known = true
	err := db.inRead(ctx, func(tx *sqlx.Tx) error {
		for tier, days := range []int{tierRaw: r.RawDays, tierTen: r.TenMinuteDays, tierHour: r.HourDays} {
			s := monolith.TierEstimate{Tier: tierNames[tier]}
			var bytes, recent, from, to int64
			if err := tx.GetContext(ctx, &bytes, "SELECT COALESCE(SUM(bytes), 0) FROM history_block WHERE tier = ?", tier); err != nil {
				return err
			}
			// What was written last tells more than a whole life with fewer servers.
			err := tx.QueryRowxContext(ctx, `SELECT COALESCE(SUM(bytes), 0), COALESCE(MIN(first_ms), 0), COALESCE(MAX(last_ms), 0)
				FROM history_block WHERE tier = ? AND last_ms > ?`, tier, now.Add(-growthOver[tier]).UnixMilli()).Scan(&recent, &from, &to)
			if err != nil {
				return err
			}
			if recent > 0 {
				s.BytesPerDay = daily(recent, from, to)
			}
			s.BytesPerDay += first[tier]
			s.Known = s.BytesPerDay > 0
			e.Known = e.Known && s.Known
			oldest, err := oldest(ctx, tx, tier)
			if err != nil {
				return err
			}
			s.Oldest = moment(oldest)
			edge := before(now, days)
			err = tx.GetContext(ctx, &s.Deletes, "SELECT COALESCE(SUM(bytes), 0) FROM history_block WHERE tier = ? AND last_ms < ?", tier, edge)
			if err != nil {
				return err
			}
			s.Bytes = int64(s.BytesPerDay * float64(days))
			s.NewOldest = s.Oldest
			if edge > oldest && oldest != 0 {
				s.NewOldest = moment(edge)
			}
			if tier == tierRaw {
				if s.BytesPerDay > 0 {
					e.BudgetDays = float64(r.RawBytes) / s.BytesPerDay
				}
				s.Bytes = min(s.Bytes, r.RawBytes)
				if over := bytes - s.Deletes - r.RawBytes; over > 0 {
					if s.NewOldest, err = db.budgetEdge(ctx, tx, bytes-r.RawBytes); err != nil {
						return err
					}
					s.Deletes += over
				}
			}
			e.Tiers = append(e.Tiers, s)
			e.Bytes += s.Bytes
			e.Deletes += s.Deletes
		}
		return nil
	})
	return e, db.failed("estimate a retention", err)
}

// budgetEdge finds the moment up to which the oldest raw blocks add up to so many bytes.
func (db *DB) budgetEdge(ctx context.Context, tx *sqlx.Tx, bytes int64) (time.Time, error) {
	var edge int64
	err := each(ctx, tx, func(rows *sqlx.Rows) error {
		var last, size int64
		if err := rows.Scan(&last, &size); err != nil {
			return err
		}
		if bytes > 0 {
			edge = last
		}
		bytes -= size
		return nil
	}, "SELECT last_ms, bytes FROM history_block WHERE tier = 0 ORDER BY last_ms")
	return moment(edge), err
}
