package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"

	"monolith/migrations"
)

// Migrate brings the store's schema up to date, of either engine. A store that is up to date is not
// changed; one that is newer gives a [NewerError], and one that another process works with an [OpenError].
func Migrate(ctx context.Context, c Config) error {
	d, err := c.dialect()
	if err != nil {
		return err
	}
	lock, err := d.lock(ctx, c)
	if err != nil {
		return err
	}
	w, r, place, err := d.open(ctx, c)
	if err != nil {
		return errors.Join(err, lock.release())
	}
	db := &DB{dialect: d, w: w, r: r, place: place, lock: lock, log: slog.New(slog.DiscardHandler)}
	return errors.Join(db.migrate(ctx, true), db.closePools())
}

// migrate compares the schema with the files and, when up is true, applies what is missing.
func (db *DB) migrate(ctx context.Context, up bool) error {
	files, err := fs.Sub(migrations.FS, db.dialect.name)
	if err != nil {
		return fmt.Errorf("store: migrations: %w", err)
	}
	p, err := goose.NewProvider(db.dialect.goose, db.w.DB, files, goose.WithTableName("schema_version"), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("store: migrations: %w", err)
	}
	sources := p.ListSources()
	want := sources[len(sources)-1].Version
	have, err := db.schemaVersion(ctx)
	if err != nil {
		return err
	}
	switch {
	case have > want:
		return &NewerError{Have: have, Want: want}
	case have == want:
		return nil
	case !up:
		return &BehindError{Have: have, Want: want}
	}
	if err := db.mayWrite(ctx); err != nil {
		return err
	}
	wait, err := db.hurry(ctx)
	if err == nil {
		_, err = p.Up(ctx)
		err = errors.Join(err, wait())
	}
	if err != nil {
		return fmt.Errorf("store: migrate from version %d to %d: %w", have, want, err)
	}
	return nil
}

// hurry lets SQLite not wait for the disk after each of the migrations, some fifty on a new store. Should the power fail, then
// the last of them were not made and are made again: the log holds them in order. wait ends it; the next commit waits for
// all of them.
func (db *DB) hurry(ctx context.Context) (wait func() error, err error) {
	if db.dialect.name != "sqlite" {
		return func() error { return nil }, nil
	}
	if _, err := db.w.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return nil, fmt.Errorf("how to wait for the disk: %w", err)
	}
	return func() error {
		if _, err := db.w.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = FULL"); err != nil {
			return fmt.Errorf("how to wait for the disk: %w", err)
		}
		return nil
	}, nil
}

// schemaVersion reads the version without changing anything, as the migration tool's own look would:
// it makes its table. A store without the table is at 0.
func (db *DB) schemaVersion(ctx context.Context) (int64, error) {
	var there int
	query := "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'schema_version'"
	if db.dialect.name == "sqlite" {
		query = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
	}
	if err := db.w.GetContext(ctx, &there, query); err != nil {
		return 0, fmt.Errorf("store: look for the schema: %w", err)
	}
	if there == 0 {
		return 0, nil
	}
	var v int64
	if err := db.w.GetContext(ctx, &v, "SELECT COALESCE(MAX(version_id), 0) FROM schema_version WHERE is_applied"); err != nil {
		return 0, fmt.Errorf("store: read the schema's version: %w", err)
	}
	return v, nil
}
