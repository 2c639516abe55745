package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"monolith/internal/mysqltest"
)

// A second program on the store of a running one ends at once, changes nothing and says what to do.
func TestSecondProgramOnAStoreIsRefused(t *testing.T) {
	t.Parallel()
	path := build(t)
	for engine, environment := range map[string][]string{
		"sqlite":  nil,
		"mariadb": {"MONOLITH_STORE=" + mysqltest.Shared(t).NewDatabase(t)},
	} {
		t.Run(engine, func(t *testing.T) {
			data := t.TempDir()
			p := serve(t, path, environment, "--data", data, "--migrate", "--server", "db1=monolith@tcp(127.0.0.1:1)/")
			type endpoint struct {
				Host, User string
				Port       int
			}
			where := func(name string) endpoint {
				var all struct {
					Servers []struct {
						Name     string
						Endpoint endpoint
					}
				}
				p.get("/api/v1/servers", &all)
				for _, s := range all.Servers {
					if s.Name == name {
						return s.Endpoint
					}
				}
				return endpoint{}
			}
			before := where("db1")
			for _, args := range [][]string{
				{"serve", "--listen", "127.0.0.1:0", "--data", data, "--server", "db1=other@tcp(127.0.0.1:2)/", "--server", "db2=other@tcp(127.0.0.1:2)/"},
				{"migrate", "--data", data},
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				second := exec.CommandContext(ctx, path, args...)
				second.Env = append(second.Environ(), environment...)
				out, err := second.CombinedOutput()
				if text := string(out); err == nil || ctx.Err() != nil || !strings.Contains(text, "another monolith works with this store") ||
					!strings.Contains(text, "stop the other one") || strings.Contains(text, "serves on") {
					t.Errorf("%s: %v: %s", args[0], err, text)
				}
			}
			if after := where("db1"); after != before || before.Port != 1 {
				t.Errorf("db1 is at %+v, was at %+v", after, before)
			}
			if added := where("db2"); added.Host != "" {
				t.Error("the refused program added its db2")
			}
			p.stop()
			// The first one's end frees the store.
			p = serve(t, path, environment, "--data", data)
			p.stop()
		})
	}
}
