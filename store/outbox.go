package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// DeliveryLease is how long a claimed delivery belongs to who claimed it. Sending must give up well before; a
// delivery whose lease ran out is due again.
const DeliveryLease = 5 * time.Minute

// maxPayload is how large a notice may be: rows stay far below what a server takes.
const maxPayload = 900 << 10

var deliveryColumns = []string{"channel_id", "subscription_id", "event_id", "kind", "thread_key", "state", "finished", "due_ms", "attempts", "worker",
	"created_ms", "answer", "payload"}

// checkDelivery refuses what no store could keep.
func checkDelivery(d *monolith.Delivery) error {
	if len(d.Payload) > maxPayload {
		return monolith.Invalid("payload", fmt.Sprintf("the notice is longer than %d bytes", maxPayload))
	}
	return nil
}

// insertDelivery adds an entry of the outbox.
func (db *DB) insertDelivery(ctx context.Context, tx *sqlx.Tx, id int64, d *monolith.Delivery) error {
	state, created := d.State, d.Created
	if state == "" {
		state = monolith.DeliveryPending
	}
	if created.IsZero() {
		created = db.now()
	}
	due := d.Next
	if due.IsZero() {
		due = created
	}
	payload := d.Payload
	if payload == nil {
		payload = []byte{}
	}
	finished := isFinished(state)
	if finished && !d.Done.IsZero() {
		due = d.Done
	}
	_, err := tx.ExecContext(ctx, insertInto("delivery", append([]string{"id"}, deliveryColumns...)),
		id, d.Channel, d.Subscription, d.Event, cutText(string(d.Kind), 16), cutText(d.Key, maxWho), cutText(string(state), 16), finished,
		due.UnixMilli(), d.Attempts, "", created.UnixMilli(), boundText(d.Answer), payload)
	if err != nil {
		return err
	}
	rows := newInserter(ctx, tx, "delivery_alert", "alert_id", "delivery_id", "place")
	for i, alert := range d.Alerts {
		rows.add(int64(alert), id, i)
	}
	return rows.done()
}

func isFinished(s monolith.DeliveryState) bool {
	return s == monolith.DeliverySent || s == monolith.DeliveryFailed || s == monolith.DeliveryDropped
}

// AddDeliveries adds entries to the outbox that belong to no event of their own, as tests and digests do, in one
// transaction, and sets their ids.
func (db *DB) AddDeliveries(ctx context.Context, list []*monolith.Delivery) error {
	for _, d := range list {
		if err := checkDelivery(d); err != nil {
			return err
		}
	}
	first := db.alerting.deliveryIDs(len(list))
	err := db.inTx(ctx, func(tx *sqlx.Tx) error {
		for i, d := range list {
			if err := db.insertDelivery(ctx, tx, first+int64(i), d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return db.failed("add to the outbox", err)
	}
	for i, d := range list {
		d.ID = first + int64(i)
	}
	return nil
}

type deliveryRow struct {
	ID           int64  `db:"id"`
	Channel      int64  `db:"channel_id"`
	Subscription int64  `db:"subscription_id"`
	Event        int64  `db:"event_id"`
	Kind         string `db:"kind"`
	Key          string `db:"thread_key"`
	State        string `db:"state"`
	Finished     bool   `db:"finished"`
	Due          int64  `db:"due_ms"`
	Attempts     int    `db:"attempts"`
	Created      int64  `db:"created_ms"`
	Answer       string `db:"answer"`
	Payload      []byte `db:"payload"`
}

// The columns of an entry without and with what is to be sent.
const (
	deliverySelect = `SELECT d.id AS id, d.channel_id AS channel_id, d.subscription_id AS subscription_id, d.event_id AS event_id, d.kind AS kind,
	d.thread_key AS thread_key, d.state AS state, d.finished AS finished, d.due_ms AS due_ms, d.attempts AS attempts, d.created_ms AS created_ms,
	d.answer AS answer`
	deliveryFrom    = deliverySelect + " FROM delivery d"
	deliveryPayload = deliverySelect + ", d.payload AS payload FROM delivery d"
)

func (r *deliveryRow) delivery() monolith.Delivery {
	d := monolith.Delivery{ID: r.ID, Channel: r.Channel, Subscription: r.Subscription, Kind: monolith.NoticeKind(r.Kind), Event: r.Event, Key: r.Key,
		State: monolith.DeliveryState(r.State), Created: timeOf(r.Created), Attempts: r.Attempts, Answer: r.Answer}
	if len(r.Payload) > 0 {
		d.Payload = r.Payload
	}
	if r.Finished {
		d.Done = timeOf(r.Due)
	} else {
		d.Next = timeOf(r.Due)
	}
	return d
}

// deliveries reads entries of the outbox with the alerts that they speak of.
func (db *DB) deliveries(ctx context.Context, tx *sqlx.Tx, query string, args ...any) ([]monolith.Delivery, error) {
	var rows []deliveryRow
	if err := tx.SelectContext(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	list, place := make([]monolith.Delivery, len(rows)), make(map[int64]int, len(rows))
	ids := make([]any, len(rows))
	for i := range rows {
		list[i], ids[i], place[rows[i].ID] = rows[i].delivery(), rows[i].ID, i
	}
	for len(ids) > 0 {
		part := ids[:min(len(ids), 500)]
		ids = ids[len(part):]
		err := each(ctx, tx, func(rows *sqlx.Rows) error {
			var id, alert int64
			if err := rows.Scan(&id, &alert); err != nil {
				return err
			}
			d := &list[place[id]]
			d.Alerts = append(d.Alerts, monolith.AlertID(alert))
			return nil
		}, "SELECT delivery_id, alert_id FROM delivery_alert WHERE delivery_id IN "+values(1, len(part))+" ORDER BY delivery_id, place", part...)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ClaimDeliveries gives at most so many entries (0 is 100) that are due at now, the longest due first, and lends them
// to a worker until now + [DeliveryLease]: nobody else gets them before. The count of attempts has this one. What a worker
// doesn't finish because it died is due again when the lease has run out; what was acknowledged never is.
func (db *DB) ClaimDeliveries(ctx context.Context, now time.Time, worker string, most int) ([]monolith.Delivery, error) {
	if worker == "" || len(worker) > maxWord {
		return nil, monolith.Invalid("worker", "a worker has a name of at most 128 characters")
	}
	var due int
	// Most times there is nothing: that must not take the writer's turn.
	if err := db.r.GetContext(ctx, &due, "SELECT COUNT(*) FROM (SELECT id FROM delivery WHERE finished = 0 AND due_ms <= ? LIMIT 1) first_due", now.UnixMilli()); err != nil {
		return nil, db.failed("look into the outbox", err)
	}
	if due == 0 {
		return nil, nil
	}
	var claimed []monolith.Delivery
	lease := now.Add(DeliveryLease).UnixMilli()
	err := db.inTx(ctx, func(tx *sqlx.Tx) error {
		list, err := db.deliveries(ctx, tx, deliveryPayload+" WHERE d.finished = 0 AND d.due_ms <= ? ORDER BY d.due_ms, d.id LIMIT ?", now.UnixMilli(), limit(most, 100))
		if err != nil {
			return err
		}
		for _, d := range list {
			res, err := tx.ExecContext(ctx, "UPDATE delivery SET state = ?, worker = ?, attempts = attempts + 1, due_ms = ? WHERE id = ? AND finished = 0 AND due_ms = ?",
				string(monolith.DeliveryClaimed), worker, lease, d.ID, d.Next.UnixMilli())
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				continue // another one was faster
			}
			d.State, d.Attempts, d.Next = monolith.DeliveryClaimed, d.Attempts+1, timeOf(lease)
			claimed = append(claimed, d)
		}
		return nil
	})
	if err != nil {
		return nil, db.failed("claim from the outbox", err)
	}
	return claimed, nil
}

// FinishDelivery says how it went with an entry that the worker had claimed: d.State is sent, failed or dropped, or pending to be tried again at
// d.Next; d.Answer is kept with it. How the channel fares follows from it, but not from one that is given back without an answer. What was acknowledged counts also after
// the lease ran out; else an entry that another worker has by now, or that is finished, gives [monolith.ErrConflict], and
// an unknown one [monolith.ErrNotFound]. It may be repeated after an error.
func (db *DB) FinishDelivery(ctx context.Context, worker string, d monolith.Delivery) error {
	finished := isFinished(d.State)
	if !finished && d.State != monolith.DeliveryPending {
		return monolith.Invalid("state", fmt.Sprintf("a delivery does not end as %q", d.State))
	}
	now := keptTime(db.now())
	due := d.Next
	if finished {
		if due = d.Done; due.IsZero() {
			due = now
		}
	}
	if due.IsZero() {
		return monolith.Invalid("next", "a delivery that is to be tried again needs a time")
	}
	answer := boundText(d.Answer)
	err := db.inTx(ctx, func(tx *sqlx.Tx) error {
		query, args := "UPDATE delivery SET state = ?, finished = ?, due_ms = ?, worker = '', answer = ? WHERE id = ? AND finished = 0",
			[]any{string(d.State), finished, due.UnixMilli(), answer, d.ID}
		if d.State != monolith.DeliverySent {
			query, args = query+" AND worker = ?", append(args, worker)
		}
		res, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return db.whyUnfinished(ctx, tx, d, err)
		}
		switch d.State {
		case monolith.DeliverySent:
			_, err = tx.ExecContext(ctx, "UPDATE notify_channel SET failing = '', failing_ms = 0, sent_ms = ? WHERE id = ?", due.UnixMilli(), d.Channel)
		case monolith.DeliveryDropped:
		default:
			if !finished && answer == "" {
				return nil // given back unsent: that says nothing about the channel
			}
			_, err = tx.ExecContext(ctx, "UPDATE notify_channel SET failing_ms = CASE WHEN failing_ms = 0 THEN ? ELSE failing_ms END, failing = ? WHERE id = ?",
				now.UnixMilli(), cutText(d.Answer, maxLine), d.Channel)
		}
		return err
	})
	return db.failed("finish a delivery", err)
}

// whyUnfinished tells an entry that is not there from one that is not the worker's. One that already is as wanted is no
// error: the call was repeated.
func (db *DB) whyUnfinished(ctx context.Context, tx *sqlx.Tx, d monolith.Delivery, err error) error {
	var states []string
	if err == nil {
		err = tx.SelectContext(ctx, &states, "SELECT state FROM delivery WHERE id = ?", d.ID)
	}
	switch {
	case err != nil:
		return err
	case len(states) == 0:
		return notFound("delivery %d", d.ID)
	case states[0] == string(d.State):
		return nil
	}
	return conflict("delivery %d is %s", d.ID, states[0])
}

// RetryDelivery makes an entry that was given up or dropped due now. An unknown one gives [monolith.ErrNotFound], one
// that waits, is being sent or was sent [monolith.ErrConflict].
func (db *DB) RetryDelivery(ctx context.Context, id int64) error {
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		res, err := tx.ExecContext(ctx, "UPDATE delivery SET state = ?, finished = 0, due_ms = ?, attempts = 0 WHERE id = ? AND state IN (?, ?)",
			string(monolith.DeliveryPending), db.now().UnixMilli(), id, string(monolith.DeliveryFailed), string(monolith.DeliveryDropped))
		if err != nil {
			return db.failed("retry a delivery", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return db.whyUnfinished(ctx, tx, monolith.Delivery{ID: id}, err)
		}
		return nil
	})
}

// Delivery gives one entry of the outbox, or [monolith.ErrNotFound].
func (db *DB) Delivery(ctx context.Context, id int64) (d monolith.Delivery, err error) {
	err = db.inRead(ctx, func(tx *sqlx.Tx) error {
		list, err := db.deliveries(ctx, tx, deliveryPayload+" WHERE d.id = ?", id)
		switch {
		case err != nil:
			return db.failed("read a delivery", err)
		case len(list) == 0:
			return notFound("delivery %d", id)
		}
		d = list[0]
		return nil
	})
	return d, err
}

// Deliveries gives entries of the outbox without their payloads, newest first; see [monolith.DeliveryQuery].
func (db *DB) Deliveries(ctx context.Context, q monolith.DeliveryQuery) (list []monolith.Delivery, err error) {
	var c conditions
	if q.Channel != 0 {
		c.add("d.channel_id = ?", q.Channel)
	}
	if q.Subscription != 0 {
		c.add("d.subscription_id = ?", q.Subscription)
	}
	if q.Alert != 0 {
		c.add("d.id IN (SELECT a.delivery_id FROM delivery_alert a WHERE a.alert_id = ?)", int64(q.Alert))
	}
	oneOf(&c, "d.state", q.States, wordValue)
	c.between("d.created_ms", q.From, q.To)
	if q.Before > 0 {
		c.add("d.id < ?", q.Before)
	}
	err = db.inRead(ctx, func(tx *sqlx.Tx) (err error) {
		list, err = db.deliveries(ctx, tx, deliveryFrom+c.where()+" ORDER BY d.id DESC LIMIT ?", append(c.args, limit(q.Limit, 200))...)
		return err
	})
	if err != nil {
		return nil, db.failed("list deliveries", err)
	}
	return list, nil
}

// NextDelivery gives when the next entry of the outbox is due, zero when nothing waits.
func (db *DB) NextDelivery(ctx context.Context) (time.Time, error) {
	var due []int64
	if err := db.r.SelectContext(ctx, &due, "SELECT due_ms FROM delivery WHERE finished = 0 ORDER BY due_ms LIMIT 1"); err != nil {
		return time.Time{}, db.failed("look into the outbox", err)
	}
	if len(due) == 0 {
		return time.Time{}, nil
	}
	return timeOf(due[0]), nil
}
