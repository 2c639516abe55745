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
	Tier   int   `db:"tier"`
	Rows   int64 `db:"n"`
	Bytes  int64 `db:"bytes"`
	Oldest int64 `db:"oldest"`
	Newest int64 `db:"newest"`
}

func (db *DB) sums(ctx context.Context, tx *sqlx.Tx) ([3]tierSums, error) {
	var rows []tierSums
	var sums [3]tierSums
	err := tx.SelectContext(ctx, &rows, `SELECT tier, COUNT(*) AS n, COALESCE(SUM(bytes), 0) AS bytes, MIN(last_ms) AS oldest, MAX(last_ms) AS newest
		FROM history_block GROUP BY tier`)
	for _, r := range rows {
		if r.Tier >= 0 && r.Tier < len(sums) {
			sums[r.Tier] = r
		}
	}
	return sums, err
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
		var oldest int64
		if err := tx.QueryRowxContext(ctx, "SELECT COUNT(*), COALESCE(SUM(LENGTH(payload)), 0), COALESCE(MIN(at_ms), 0) FROM head").
			Scan(&head.Rows, &head.Bytes, &oldest); err != nil {
			return err
		}
		head.Oldest = moment(oldest)
		u.Tiers = append(u.Tiers, head)
		sums, err := db.sums(ctx, tx)
		if err != nil {
			return err
		}
		for tier, s := range sums {
			var first int64
			if err := tx.GetContext(ctx, &first, "SELECT COALESCE(MIN(start_ms), 0) FROM history_block WHERE tier = ? AND last_ms = ?", tier, s.Oldest); err != nil {
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

// growth measures what each server's raw blocks of the last day take, and adds what the roll-ups take
// a day in the mean of their life.
func (db *DB) growth(ctx context.Context, tx *sqlx.Tx) (map[monolith.ServerID]float64, error) {
	perDay := map[monolith.ServerID]float64{}
	now := db.now()
	scan := func(least time.Duration) func(rows *sqlx.Rows) error {
		return func(rows *sqlx.Rows) error {
			var id monolith.ServerID
			var bytes, from, to int64
			if err := rows.Scan(&id, &bytes, &from, &to); err != nil {
				return err
			}
			if days := float64(max(to-from, least.Milliseconds())) / float64(day.Milliseconds()); bytes > 0 {
				perDay[id] += float64(bytes) / days
			}
			return nil
		}
	}
	if err := each(ctx, tx, scan(tailAge), `SELECT server_id, COALESCE(SUM(bytes), 0), MIN(start_ms), MAX(last_ms)
		FROM history_block WHERE tier = 0 AND last_ms > ? GROUP BY server_id`, now.Add(-day).UnixMilli()); err != nil {
		return nil, err
	}
	err := each(ctx, tx, scan(day), `SELECT server_id, COALESCE(SUM(bytes), 0), MIN(first_ms), MAX(last_ms)
		FROM history_block WHERE tier > 0 GROUP BY server_id, tier`)
	return perDay, err
}

// Estimate says what a retention takes in the long run with the present servers, and what saving it would
// delete now.
func (db *DB) Estimate(ctx context.Context, r monolith.Retention) (monolith.Estimate, error) {
	var e monolith.Estimate
	if err := r.Validate(); err != nil {
		return e, err
	}
	now := db.now()
	err := db.inRead(ctx, func(tx *sqlx.Tx) error {
		for tier, days := range []int{tierRaw: r.RawDays, tierTen: r.TenMinuteDays, tierHour: r.HourDays} {
			s := monolith.TierEstimate{Tier: tierNames[tier]}
			var bytes, from, to, recent, recentFrom int64
			err := tx.QueryRowxContext(ctx, `SELECT COALESCE(SUM(bytes), 0), COALESCE(MIN(start_ms), 0), COALESCE(MAX(last_ms), 0) FROM history_block WHERE tier = ?`, tier).
				Scan(&bytes, &from, &to)
			if err != nil {
				return err
			}
			// What the last two days took tells more than a whole life with fewer servers.
			err = tx.QueryRowxContext(ctx, `SELECT COALESCE(SUM(bytes), 0), COALESCE(MIN(start_ms), 0) FROM history_block WHERE tier = ? AND last_ms > ?`,
				tier, now.AddDate(0, 0, -2).UnixMilli()).Scan(&recent, &recentFrom)
			if err != nil {
				return err
			}
			if recent > 0 {
				s.BytesPerDay = float64(recent) / (float64(max(to-recentFrom, tailAge.Milliseconds())) / float64(day.Milliseconds()))
			}
			s.Oldest = moment(from)
			edge := before(now, days)
			err = tx.GetContext(ctx, &s.Deletes, "SELECT COALESCE(SUM(bytes), 0) FROM history_block WHERE tier = ? AND last_ms < ?", tier, edge)
			if err != nil {
				return err
			}
			s.Bytes = int64(s.BytesPerDay * float64(days))
			s.NewOldest = s.Oldest
			if edge > from && from != 0 {
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
