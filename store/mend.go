package store

import (
	"context"

	"github.com/jmoiron/sqlx"

	"monolith"
	"monolith/store/history"
)

// mendTexts looks, after another engine may have taken the place of the one that was there, whether the store still has
// the texts in force that memory knows to be committed. A replica that was made the primary, or a server that promises less
// than durability, lacks the last ones, and since a text is written only when it changes, it would lack them for ever:
// they are written again, at the time of their change.
func (db *DB) mendTexts(ctx context.Context) error {
	stored := map[monolith.ServerID]map[history.MetricID]textNow{}
	err := db.inRead(ctx, func(tx *sqlx.Tx) error {
		return each(ctx, tx, func(rows *sqlx.Rows) error {
			var id monolith.ServerID
			var metric history.MetricID
			var flags int
			var now textNow
			if err := rows.Scan(&id, &metric, &flags, &now.text); err != nil {
				return err
			}
			now.gone = flags&flagGone != 0
			if stored[id] == nil {
				stored[id] = map[history.MetricID]textNow{}
			}
			stored[id][metric] = now
			return nil
		}, `SELECT server_id, metric_id, flags, to_text FROM text_change
			WHERE id IN (SELECT MAX(id) FROM text_change GROUP BY server_id, metric_id)`)
	})
	if err != nil {
		return err
	}
	lost := 0
	for _, t := range db.tails() {
		if w := t.lostTexts(&db.spool, stored[t.id]); len(w.texts) > 0 {
			lost += len(w.texts)
			db.spool.carry(w)
		}
	}
	if lost > 0 {
		db.log.Warn("the store came back without texts that it had; they are written again", "store", db.place, "texts", lost)
	}
	return nil
}

// lostTexts gives the changes by which the stored texts become those in force. A text with a change that still waits
// mends itself.
func (t *tail) lostTexts(s *spool, stored map[history.MetricID]textNow) *work {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := s.waitingTexts(t)
	w := &work{tail: t}
	for id, now := range t.texts.all() {
		old, known := stored[id]
		if waiting[id] || known && old.text == now.text && old.gone == now.gone {
			continue
		}
		step := textStep{id: id, from: old.text, to: now.text, at: now.since, seq: t.seq}
		if !known {
			step.flags |= flagFirst
		}
		if now.gone {
			step.flags |= flagGone
		}
		w.texts = append(w.texts, step)
	}
	w.poll.at, w.poll.seq = t.polled, t.seq
	return w
}

// waitingTexts gives the texts of a server with changes that are not committed. The tail's lock is held.
func (s *spool) waitingTexts(t *tail) map[history.MetricID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := map[history.MetricID]bool{}
	for _, list := range [][]*work{s.queue, s.carried} {
		for _, w := range list {
			if w.tail != t {
				continue
			}
			for i := range w.texts {
				waiting[w.texts[i].id] = true
			}
		}
	}
	return waiting
}
