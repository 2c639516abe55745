package store

import (
	"context"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
	"monolith/store/history"
)

// texts feeds the steps of variables and texts into their lines. What did not change since the range
// began is known in memory.
func (p *reading) texts(ctx context.Context, wants []want) error {
	var ask []int
	now := p.db.now()
	until := p.to
	if until.After(now) {
		until = now // nothing is known of the time to come
	}
	p.tail.mu.Lock()
	for i := range wants {
		if !wants[i].text {
			continue
		}
		text, _ := p.tail.texts.get(wants[i].id)
		if text.since > p.from.UnixMilli() {
			ask = append(ask, i)
			continue
		}
		if !text.gone {
			wants[i].line.Steps([]monolith.TextStep{{At: time.UnixMilli(text.since).UTC(), Text: text.text}}, until)
		}
	}
	// Beyond the last poll nothing is known either.
	p.tail.mu.Unlock()
	if len(ask) == 0 {
		return nil
	}
	return p.db.inRead(ctx, func(tx *sqlx.Tx) error {
		for _, i := range ask {
			steps, gone, err := p.steps(ctx, tx, wants[i].id)
			if err != nil {
				return err
			}
			end := until
			if !gone.IsZero() && gone.Before(end) {
				end = gone
			}
			if len(steps) > 0 {
				wants[i].line.Steps(steps, end)
			}
		}
		return nil
	})
}

// steps reads the steps of one text: the one in force at the begin and all in the range. gone is when the
// server lost the name for the last time, zero when it has it.
func (p *reading) steps(ctx context.Context, tx *sqlx.Tx, id history.MetricID) (steps []monolith.TextStep, gone time.Time, err error) {
	from, to := p.from.UnixMilli(), p.to.UnixMilli()
	add := func(rows *sqlx.Rows) error {
		var at int64
		var flags int
		var text string
		if err := rows.Scan(&at, &flags, &text); err != nil {
			return err
		}
		gone = time.Time{}
		if flags&flagGone != 0 {
			gone = time.UnixMilli(at).UTC()
			return nil
		}
		steps = append(steps, monolith.TextStep{At: time.UnixMilli(at).UTC(), Text: text})
		return nil
	}
	if err := each(ctx, tx, add, `SELECT at_ms, flags, to_text FROM text_change
		WHERE server_id = ? AND metric_id = ? AND at_ms <= ? ORDER BY at_ms DESC, id DESC LIMIT 1`, int64(p.tail.id), int64(id), from); err != nil {
		return nil, gone, err
	}
	err = each(ctx, tx, add, `SELECT at_ms, flags, to_text FROM text_change
		WHERE server_id = ? AND metric_id = ? AND at_ms > ? AND at_ms < ? ORDER BY at_ms, id`, int64(p.tail.id), int64(id), from, to)
	// What is not committed yet.
	p.db.spool.each(func(w *work) {
		if w.tail != p.tail {
			return
		}
		for _, c := range w.texts {
			if c.id == id && c.at < to && (len(steps) == 0 || steps[len(steps)-1].At.UnixMilli() < c.at) {
				if c.flags&flagGone != 0 {
					gone = time.UnixMilli(c.at).UTC()
					continue
				}
				gone = time.Time{}
				steps = append(steps, monolith.TextStep{At: time.UnixMilli(c.at).UTC(), Text: c.to})
			}
		}
	})
	return steps, gone, err
}

// TextsAt gives all texts of a namespace as they were on a server at a moment, by what stands behind the
// first dot, with the instance in brackets where there is one. Names that the server did not have then are
// left out.
func (db *DB) TextsAt(ctx context.Context, id monolith.ServerID, namespace string, at time.Time) (map[string]string, error) {
	t := db.tail(id)
	if t == nil {
		return nil, notFound("server number %d", id)
	}
	texts := map[string]string{}
	ms, current := at.UnixMilli(), true
	put := func(metric history.MetricID, text string) {
		if m, ok := db.names.metric(metric); ok && strings.HasPrefix(m.Name, namespace+".") {
			texts[m.String()[len(namespace)+1:]] = text
		}
	}
	t.mu.Lock()
	for metric, now := range t.texts.all() {
		if m, _ := db.names.metric(metric); !strings.HasPrefix(m.Name, namespace+".") {
			continue
		}
		if now.since > ms {
			current = false
			break
		}
		if !now.gone {
			put(metric, now.text)
		}
	}
	t.mu.Unlock()
	if current {
		return texts, nil
	}
	clear(texts)
	err := db.inRead(ctx, func(tx *sqlx.Tx) error {
		return each(ctx, tx, func(rows *sqlx.Rows) error {
			var metric history.MetricID
			var flags int
			var text string
			if err := rows.Scan(&metric, &flags, &text); err != nil {
				return err
			}
			if flags&flagGone == 0 {
				put(metric, text)
			}
			return nil
		}, `SELECT metric_id, flags, to_text FROM text_change WHERE id IN
			(SELECT MAX(id) FROM text_change WHERE server_id = ? AND at_ms <= ? GROUP BY metric_id)`, int64(id), ms)
	})
	if err != nil {
		return nil, db.failed("read texts", err)
	}
	return texts, nil
}

// Metrics gives every metric that a server has ever had, texts and variables too, sorted.
func (db *DB) Metrics(_ context.Context, id monolith.ServerID) ([]monolith.Metric, error) {
	t := db.tail(id)
	if t == nil {
		return nil, notFound("server number %d", id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	metrics := make([]monolith.Metric, 0, t.seen.len())
	for metric := range t.seen.all() {
		if m, ok := db.names.metric(metric); ok {
			metrics = append(metrics, m)
		}
	}
	sortMetrics(metrics, func(m monolith.Metric) monolith.Metric { return m })
	return metrics, nil
}

// MetricsSeen gives every metric that a server has ever had with its first and last poll, sorted.
func (db *DB) MetricsSeen(_ context.Context, id monolith.ServerID) ([]SeenMetric, error) {
	t := db.tail(id)
	if t == nil {
		return nil, notFound("server number %d", id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	metrics := make([]SeenMetric, 0, t.seen.len())
	for metric, at := range t.seen.all() {
		if m, ok := db.names.metric(metric); ok {
			metrics = append(metrics, SeenMetric{m, monolith.KindOf(m.Name), time.Unix(int64(at.first), 0).UTC(), time.Unix(int64(at.last), 0).UTC()})
		}
	}
	sortMetrics(metrics, func(s SeenMetric) monolith.Metric { return s.Metric })
	return metrics, nil
}
