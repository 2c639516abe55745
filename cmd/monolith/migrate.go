package main

import (
	"context"
	"fmt"
	"log/slog"

	"monolith/store"
)

// migrateCommand brings the store's schema up to date without serving.
type migrateCommand struct {
	Data  string `placeholder:"DIR" help:"Folder of the embedded store (default: ${data})."`
	Store string `placeholder:"DSN" help:"MySQL or MariaDB store. Better given as MONOLITH_STORE."`
}

// Run migrates and says so.
func (c *migrateCommand) Run(ctx context.Context, con console) error {
	log := slog.New(slog.NewTextHandler(con.err, nil))
	cfg, err := storeConfig(storeFlags{data: c.Data, dsn: c.Store, migrate: true}, log)
	if err != nil {
		return err
	}
	if err := store.Migrate(ctx, cfg); err != nil {
		return err
	}
	_, err = fmt.Fprintln(con.out, "The store's schema is up to date.")
	return err
}
