package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// keptSubscription is what table subscription holds as JSON.
type keptSubscription struct {
	Levels   []monolith.Level    `json:"levels,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Servers  []monolith.ServerID `json:"servers,omitempty"`
	Rules    []string            `json:"rules,omitempty"`
	Hours    string              `json:"hours,omitempty"`
	Zone     string              `json:"zone,omitempty"`
	Delay    time.Duration       `json:"delay,omitempty"`
	Repeat   time.Duration       `json:"repeat,omitempty"`
	Digest   time.Duration       `json:"digest,omitempty"`
	PerHour  int                 `json:"per_hour,omitempty"`
	Recovery bool                `json:"recovery,omitempty"`
	Quiet    string              `json:"quiet,omitempty"`
}

// Subscriptions gives all subscriptions by name. An id in Servers may be that of a server that was deleted since: it
// chooses nothing, and is not the same as an empty list.
func (db *DB) Subscriptions(ctx context.Context) ([]monolith.Subscription, error) {
	return db.subscriptions(ctx, " ORDER BY name")
}

// Subscription gives one subscription, or [monolith.ErrNotFound].
func (db *DB) Subscription(ctx context.Context, id int64) (monolith.Subscription, error) {
	all, err := db.subscriptions(ctx, " WHERE id = ?", id)
	if err == nil && len(all) == 0 {
		err = notFound("subscription %d", id)
	}
	if err != nil {
		return monolith.Subscription{}, err
	}
	return all[0], nil
}

func (db *DB) subscriptions(ctx context.Context, rest string, args ...any) ([]monolith.Subscription, error) {
	var rows []struct {
		ID      int64  `db:"id"`
		Name    string `db:"name"`
		Channel int64  `db:"channel_id"`
		Enabled bool   `db:"enabled"`
		Body    []byte `db:"body"`
		Created int64  `db:"created_ms"`
		Updated int64  `db:"updated_ms"`
	}
	if err := db.r.SelectContext(ctx, &rows, "SELECT id, name, channel_id, enabled, body, created_ms, updated_ms FROM subscription"+rest, args...); err != nil {
		return nil, db.failed("list subscriptions", err)
	}
	all := make([]monolith.Subscription, len(rows))
	for i, r := range rows {
		var k keptSubscription
		if err := json.Unmarshal(r.Body, &k); err != nil {
			return nil, fmt.Errorf("store: subscription %q: %w", r.Name, err)
		}
		all[i] = monolith.Subscription{ID: r.ID, Name: r.Name, Channel: r.Channel, Enabled: r.Enabled, Levels: k.Levels, Groups: k.Groups,
			Servers: k.Servers, Rules: k.Rules, Hours: k.Hours, Zone: k.Zone, Delay: k.Delay, Repeat: k.Repeat, Digest: k.Digest,
			PerHour: k.PerHour, Recovery: k.Recovery, Quiet: k.Quiet, Created: timeOf(r.Created), Updated: timeOf(r.Updated)}
	}
	return all, nil
}

func subscriptionBody(s *monolith.Subscription) (string, error) {
	body, err := json.Marshal(keptSubscription{s.Levels, s.Groups, s.Servers, s.Rules, s.Hours, s.Zone, s.Delay, s.Repeat, s.Digest,
		s.PerHour, s.Recovery, s.Quiet})
	if err != nil {
		return "", fmt.Errorf("store: subscription %q: %w", s.Name, err)
	}
	return string(body), nil
}

// PutSubscription adds a subscription (ID 0, set by the call) or changes one, and sets Created and Updated. A name that is
// taken gives [monolith.ErrConflict], an unknown ID or channel [monolith.ErrNotFound].
func (db *DB) PutSubscription(ctx context.Context, s *monolith.Subscription) error {
	if err := checkTitle("name", s.Name); err != nil {
		return err
	}
	body, err := subscriptionBody(s)
	if err != nil {
		return err
	}
	n := *s
	n.Updated = keptTime(db.now())
	err = db.inTx(ctx, func(tx *sqlx.Tx) (err error) {
		var there int
		if err := tx.GetContext(ctx, &there, "SELECT COUNT(*) FROM notify_channel WHERE id = ?", n.Channel); err != nil {
			return db.failed("keep a subscription", err)
		}
		if there == 0 {
			return notFound("channel %d", n.Channel)
		}
		n.ID, n.Created, err = db.putNamed(ctx, tx, "subscription", n.ID, n.Updated, []string{"name", "channel_id", "enabled", "body"},
			n.Name, n.Channel, n.Enabled, body)
		return err
	})
	if err == nil {
		*s = n
	}
	return err
}

// putNamed is put for a table that keeps when a row was made and changed.
func (db *DB) putNamed(ctx context.Context, tx *sqlx.Tx, table string, id int64, now time.Time, columns []string, args ...any) (int64, time.Time, error) {
	created := now.UnixMilli()
	columns, args = append(columns, "updated_ms"), append(args, created)
	if id == 0 {
		columns, args = append(columns, "created_ms"), append(args, created)
	}
	id, err := db.put(ctx, tx, table, id, columns, args...)
	if err != nil {
		return 0, time.Time{}, err
	}
	err = tx.GetContext(ctx, &created, "SELECT created_ms FROM "+table+" WHERE id = ?", id)
	return id, timeOf(created), db.failed("keep a row of "+table, err)
}

// DeleteSubscription removes a subscription; what waits because of it is dropped. An unknown id gives [monolith.ErrNotFound].
func (db *DB) DeleteSubscription(ctx context.Context, id int64) error {
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE delivery SET state = ?, finished = 1, due_ms = ?, answer = ? WHERE subscription_id = ? AND finished = 0",
			string(monolith.DeliveryDropped), db.now().UnixMilli(), "the subscription was removed", id)
		if err != nil {
			return db.failed("delete a subscription", err)
		}
		res, err := tx.ExecContext(ctx, "DELETE FROM subscription WHERE id = ?", id)
		if err != nil {
			return db.failed("delete a subscription", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(notFound("subscription %d", id), err)
		}
		return nil
	})
}

// MessageTemplates gives the templates that people made, by name.
func (db *DB) MessageTemplates(ctx context.Context) ([]monolith.MessageTemplate, error) {
	var rows []struct {
		Name    string `db:"name"`
		Source  string `db:"source"`
		By      string `db:"made_by"`
		Updated int64  `db:"updated_ms"`
	}
	if err := db.r.SelectContext(ctx, &rows, "SELECT name, source, made_by, updated_ms FROM message_template ORDER BY name"); err != nil {
		return nil, db.failed("list templates", err)
	}
	all := make([]monolith.MessageTemplate, len(rows))
	for i, r := range rows {
		all[i] = monolith.MessageTemplate{Name: r.Name, Source: r.Source, By: r.By, Updated: timeOf(r.Updated)}
	}
	return all, nil
}

// PutMessageTemplate keeps a template in the place of the one of its name, to the byte, and sets Updated. The text
// must be whole UTF-8.
func (db *DB) PutMessageTemplate(ctx context.Context, m *monolith.MessageTemplate) error {
	if err := checkTitle("name", m.Name); err != nil {
		return err
	}
	if err := checkSource(m.Source); err != nil {
		return err
	}
	now := keptTime(db.now())
	_, err := db.exec(ctx, db.dialect.upsert("message_template", []string{"name"}, []string{"source", "made_by", "updated_ms"}),
		m.Name, m.Source, cutText(m.By, maxWho), now.UnixMilli())
	if err == nil {
		m.Updated = now
	}
	return db.failed("keep a template", err)
}

// DeleteMessageTemplate removes a template, so that the built-in one holds; an unknown name gives [monolith.ErrNotFound].
func (db *DB) DeleteMessageTemplate(ctx context.Context, name string) error {
	return db.deleteNamed(ctx, "message_template", name)
}

// keptProfile is what table export_profile holds as JSON.
type keptProfile struct {
	Fields  []string            `json:"fields"`
	Servers []monolith.ServerID `json:"servers,omitempty"`
	Groups  []string            `json:"groups,omitempty"`
	From    string              `json:"from,omitempty"`
	To      string              `json:"to,omitempty"`
	Step    string              `json:"step,omitempty"`
}

// ExportProfiles gives all export profiles by name. An id in Servers may be that of a server that was deleted since.
func (db *DB) ExportProfiles(ctx context.Context) ([]monolith.ExportProfile, error) {
	var rows []struct {
		ID      int64  `db:"id"`
		Name    string `db:"name"`
		Body    []byte `db:"body"`
		Created int64  `db:"created_ms"`
		Updated int64  `db:"updated_ms"`
	}
	if err := db.r.SelectContext(ctx, &rows, "SELECT id, name, body, created_ms, updated_ms FROM export_profile ORDER BY name"); err != nil {
		return nil, db.failed("list export profiles", err)
	}
	all := make([]monolith.ExportProfile, len(rows))
	for i, r := range rows {
		var k keptProfile
		if err := json.Unmarshal(r.Body, &k); err != nil {
			return nil, fmt.Errorf("store: export profile %q: %w", r.Name, err)
		}
		all[i] = monolith.ExportProfile{ID: r.ID, Name: r.Name, Fields: k.Fields, Servers: k.Servers, Groups: k.Groups, From: k.From, To: k.To, Step: k.Step,
			Created: timeOf(r.Created), Updated: timeOf(r.Updated)}
	}
	return all, nil
}

func profileBody(p *monolith.ExportProfile) (string, error) {
	body, err := json.Marshal(keptProfile{p.Fields, p.Servers, p.Groups, p.From, p.To, p.Step})
	if err != nil {
		return "", fmt.Errorf("store: export profile %q: %w", p.Name, err)
	}
	return string(body), nil
}

// PutExportProfile adds a profile (ID 0, set by the call) or changes one, and sets Created and Updated. A name that is taken
// gives [monolith.ErrConflict], an unknown ID [monolith.ErrNotFound].
func (db *DB) PutExportProfile(ctx context.Context, p *monolith.ExportProfile) error {
	if err := checkTitle("name", p.Name); err != nil {
		return err
	}
	body, err := profileBody(p)
	if err != nil {
		return err
	}
	n := *p
	n.Updated = keptTime(db.now())
	err = db.inTx(ctx, func(tx *sqlx.Tx) (err error) {
		n.ID, n.Created, err = db.putNamed(ctx, tx, "export_profile", n.ID, n.Updated, []string{"name", "body"}, n.Name, body)
		return err
	})
	if err == nil {
		*p = n
	}
	return err
}

// DeleteExportProfile removes a profile by its name; an unknown one gives [monolith.ErrNotFound].
func (db *DB) DeleteExportProfile(ctx context.Context, name string) error {
	return db.deleteNamed(ctx, "export_profile", name)
}

// deleteNamed removes the row of a name; an unknown one gives [monolith.ErrNotFound].
func (db *DB) deleteNamed(ctx context.Context, table, name string) error {
	res, err := db.exec(ctx, "DELETE FROM "+table+" WHERE name = ?", name)
	if err != nil {
		return db.failed("delete a row of "+table, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(notFound("%s %q", table, name), err)
	}
	return nil
}
