package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"

	"monolith"
)

type channelRow struct {
	ID           int64  `db:"id"`
	Name         string `db:"name"`
	Kind         string `db:"kind"`
	Enabled      bool   `db:"enabled"`
	Config       []byte `db:"config"`
	Secrets      []byte `db:"secrets"`
	Failing      string `db:"failing"`
	FailingSince int64  `db:"failing_ms"`
	Sent         int64  `db:"sent_ms"`
	Created      int64  `db:"created_ms"`
	Updated      int64  `db:"updated_ms"`
}

const channelSelect = "SELECT id, name, kind, enabled, config, secrets, failing, failing_ms, sent_ms, created_ms, updated_ms FROM notify_channel"

// secretsPlace binds sealed secrets to their channel: moved to another row they do not open.
func secretsPlace(id int64) string { return "secrets of channel " + strconv.FormatInt(id, 10) }

func (db *DB) channel(row channelRow) (monolith.Channel, error) {
	c := monolith.Channel{ID: row.ID, Name: row.Name, Kind: row.Kind, Enabled: row.Enabled, Failing: row.Failing, FailingSince: timeOf(row.FailingSince),
		LastSent: timeOf(row.Sent), Created: timeOf(row.Created), Updated: timeOf(row.Updated)}
	if err := json.Unmarshal(row.Config, &c.Config); err != nil {
		return c, fmt.Errorf("store: settings of channel %q: %w", row.Name, err)
	}
	var err error
	if c.Secrets, err = db.openSecrets(row); err != nil {
		return c, fmt.Errorf("store: channel %q: %w", row.Name, err)
	}
	return c, nil
}

func (db *DB) openSecrets(row channelRow) (map[string]monolith.Secret, error) {
	if len(row.Secrets) == 0 {
		return nil, nil
	}
	text, err := db.seals.open(row.Secrets, secretsPlace(row.ID))
	if err != nil {
		return nil, err
	}
	var plain map[string]string
	if err := json.Unmarshal([]byte(text.Reveal()), &plain); err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	secrets := make(map[string]monolith.Secret, len(plain))
	for name, s := range plain {
		secrets[name] = monolith.Secret(s)
	}
	return secrets, nil
}

// sealSecrets gives nil for none.
func (db *DB) sealSecrets(id int64, secrets map[string]monolith.Secret) ([]byte, error) {
	plain := map[string]string{}
	for name, s := range secrets {
		if s != "" {
			plain[name] = s.Reveal()
		}
	}
	if len(plain) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return nil, fmt.Errorf("store: secrets of a channel: %w", err)
	}
	return db.seals.seal(monolith.Secret(text), secretsPlace(id))
}

// Channels gives all channels by name, with their secrets.
func (db *DB) Channels(ctx context.Context) ([]monolith.Channel, error) {
	return db.channels(ctx, " ORDER BY name")
}

// Channel gives one channel with its secrets, or [monolith.ErrNotFound].
func (db *DB) Channel(ctx context.Context, id int64) (monolith.Channel, error) {
	channels, err := db.channels(ctx, " WHERE id = ?", id)
	if err == nil && len(channels) == 0 {
		err = notFound("channel %d", id)
	}
	if err != nil {
		return monolith.Channel{}, err
	}
	return channels[0], nil
}

func (db *DB) channels(ctx context.Context, rest string, args ...any) ([]monolith.Channel, error) {
	var rows []channelRow
	if err := db.r.SelectContext(ctx, &rows, channelSelect+rest, args...); err != nil {
		return nil, db.failed("list channels", err)
	}
	channels := make([]monolith.Channel, len(rows))
	for i, row := range rows {
		var err error
		if channels[i], err = db.channel(row); err != nil {
			return nil, err
		}
	}
	return channels, nil
}

// PutChannel adds a channel (ID 0, set by the call) or changes one, and sets Created and Updated. A secret that is left
// out stays as it was, an empty one is removed; a caller that changes the place that a secret is sent to
// gives it anew or empty. How the channel fares is not changed. A name that is taken gives [monolith.ErrConflict], an
// unknown ID [monolith.ErrNotFound].
func (db *DB) PutChannel(ctx context.Context, c *monolith.Channel) error {
	if err := checkTitle("name", c.Name); err != nil {
		return err
	}
	if c.Kind == "" || len(c.Kind) > 64 {
		return monolith.Invalid("kind", "a channel has a kind")
	}
	n := *c
	n.Config, n.Secrets = maps.Clone(c.Config), maps.Clone(c.Secrets)
	if n.Config == nil {
		n.Config = map[string]string{}
	}
	config, err := json.Marshal(n.Config)
	if err != nil {
		return fmt.Errorf("store: settings of a channel: %w", err)
	}
	n.Updated = keptTime(db.now())
	err = db.inTx(ctx, func(tx *sqlx.Tx) error {
		columns, args := []string{"name", "kind", "enabled", "config", "updated_ms"}, []any{n.Name, n.Kind, n.Enabled, string(config), n.Updated.UnixMilli()}
		if n.ID == 0 {
			n.Created = n.Updated
			columns, args = append(columns, "failing", "failing_ms", "sent_ms", "created_ms"), append(args, "", 0, 0, n.Created.UnixMilli())
		} else {
			var rows []channelRow
			if err := tx.SelectContext(ctx, &rows, channelSelect+" WHERE id = ?", n.ID); err != nil {
				return db.failed("keep a channel", err)
			}
			if len(rows) == 0 {
				return notFound("channel %d", n.ID)
			}
			kept, err := db.openSecrets(rows[0])
			if err != nil && len(n.Secrets) == 0 {
				return err // those that can't be opened any more give way to new ones only
			}
			n.Created = timeOf(rows[0].Created)
			n.Secrets = merged(kept, n.Secrets)
		}
		id, err := db.put(ctx, tx, "notify_channel", n.ID, columns, args...)
		if err != nil {
			return err
		}
		n.ID = id
		sealed, err := db.sealSecrets(n.ID, n.Secrets)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE notify_channel SET secrets = ? WHERE id = ?", sealed, n.ID)
		return db.failed("keep a channel", err)
	})
	if err == nil {
		*c = n
	}
	return err
}

// merged puts given secrets over kept ones; empty ones are taken away.
func merged(kept, given map[string]monolith.Secret) map[string]monolith.Secret {
	all := maps.Clone(kept)
	if all == nil {
		all = map[string]monolith.Secret{}
	}
	for name, s := range given {
		if all[name] = s; s == "" {
			delete(all, name)
		}
	}
	return all
}

// checkTitle refuses a name that people could not tell apart or that no engine takes.
func checkTitle(field, name string) error {
	switch {
	case strings.TrimSpace(name) == "" || len([]rune(name)) > maxWord:
		return monolith.Invalid(field, "the name has 1 to 128 characters")
	case cutText(name, maxWord) != name:
		return monolith.Invalid(field, "the name is not UTF-8")
	}
	return nil
}

// DeleteChannel removes a channel; what still waits for it is dropped. One that subscriptions use gives
// [monolith.ErrConflict], an unknown one [monolith.ErrNotFound].
func (db *DB) DeleteChannel(ctx context.Context, id int64) error {
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		var used int
		if err := tx.GetContext(ctx, &used, "SELECT COUNT(*) FROM subscription WHERE channel_id = ?", id); err != nil {
			return db.failed("delete a channel", err)
		}
		if used > 0 {
			return conflict("channel %d is used by %d subscriptions", id, used)
		}
		res, err := tx.ExecContext(ctx, "DELETE FROM notify_channel WHERE id = ?", id)
		if err != nil {
			return db.failed("delete a channel", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(notFound("channel %d", id), err)
		}
		_, err = tx.ExecContext(ctx, "UPDATE delivery SET state = ?, finished = 1, due_ms = ?, answer = ? WHERE channel_id = ? AND finished = 0",
			string(monolith.DeliveryDropped), db.now().UnixMilli(), "the channel was removed", id)
		return db.failed("delete a channel", err)
	})
}
