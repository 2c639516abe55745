package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"monolith"
)

func isInvalid(err error) bool { return errors.Is(err, monolith.ErrInvalid) }

func TestServersAreKeptWhole(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		s := monolith.Server{Name: "shop „eins“ 🛒", Group: "acme/prod", Environment: "prod", Role: "primary", Tags: []string{"a", "b"}, RAM: 1 << 35,
			ProbeAddresses: []string{"10.0.0.1"}, BackupUsers: []string{"backup"}, HeartbeatTable: "ops.heartbeat", TimeZone: "Europe/Berlin",
			Paused: true, Host: "local", KeepTexts: true, ScanSizes: true, Schedules: map[string]string{"fast": "@every 1s"}, CollectorsOff: []string{"sizes"},
			Endpoint: monolith.Endpoint{Host: "::1", Port: 3307, User: "m", Password: `p"'\#@:%/ ß`, TLS: "required", CA: "/ca.pem", ServerName: "db"}}
		if err := b.db.AddServer(ctx, &s); err != nil {
			t.Fatal(err)
		}
		if s.ID == 0 || s.Created.IsZero() || s.Position == 0 {
			t.Errorf("id %d, created %v, position %d", s.ID, s.Created, s.Position)
		}
		got, err := b.db.Server(ctx, s.Name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Error(diff)
		}
		if got.Endpoint.Password.Reveal() != s.Endpoint.Password.Reveal() {
			t.Error("the password came back as another one")
		}
		dup := s
		if err := b.db.AddServer(ctx, &dup); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("a second server of the name: %v, want a conflict", err)
		}
		if _, err := b.db.Server(ctx, "nobody"); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown name: %v, want not found", err)
		}
		long := monolith.Server{Name: "long", Endpoint: monolith.Endpoint{Socket: "/" + strings.Repeat("ä", 2000)}}
		if err := b.db.AddServer(ctx, &long); err != nil {
			t.Error(err)
		}
		bad := monolith.Server{Name: "x"}
		if err := b.db.AddServer(ctx, &bad); !isInvalid(err) {
			t.Errorf("a server without an address: %v, want invalid", err)
		}
	})
}

func TestUpdateServerKeepsHistoryAndNotesTheMove(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		s := b.server("a")
		other := b.server("b")
		src := newSource(s.ID)
		b.play(src, 30)
		s.Name, s.Endpoint.Host, s.Group, s.Endpoint.Password = "renamed", "db2.example", "acme", "secret"
		if err := b.db.UpdateServer(ctx, &s); err != nil {
			t.Fatal(err)
		}
		got, err := b.db.Server(ctx, "renamed")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Error(diff)
		}
		checkRaw(t, b, src, 1, 30)
		marks, err := b.db.Marks(ctx, monolith.MarkQuery{Servers: []monolith.ServerID{s.ID},
			Kinds: []monolith.MarkKind{monolith.MarkNote, monolith.MarkRename, monolith.MarkFailover}})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range marks {
			texts = append(texts, string(m.Kind)+" "+m.Text)
		}
		want := []string{"rename renamed: a → renamed", "failover address changed: db.example:3306 → db2.example:3306"}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Error(diff)
		}
		s.Name = other.Name
		if err := b.db.UpdateServer(ctx, &s); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("the name of another server: %v, want a conflict", err)
		}
		s.ID, s.Name = 999, "z"
		if err := b.db.UpdateServer(ctx, &s); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown id: %v, want not found", err)
		}
	})
}

func TestServersAndGroupsKeepTheOrderOfPeople(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		for _, n := range []string{"a", "b", "c"} {
			s := monolith.Server{Name: n, Group: "acme/prod", Endpoint: monolith.Endpoint{Host: n}}
			if err := b.db.AddServer(ctx, &s); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.db.OrderServers(ctx, "acme/prod", []string{"c", "a"}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"c", "a", "b"}, names(t, b)); diff != "" {
			t.Error(diff)
		}
		if err := b.db.OrderServers(ctx, "acme/prod", []string{"nobody"}); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown server in the order: %v", err)
		}
		for _, g := range []monolith.Group{{Path: "acme/dev", Environment: "dev", TimeZone: "UTC"}, {Path: "beta"}} {
			if err := b.db.PutGroup(ctx, g); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"acme", "acme/prod", "acme/dev", "beta"}, paths(t, b)); diff != "" {
			t.Error(diff)
		}
		if err := b.db.OrderGroups(ctx, []string{"beta", "acme/dev", "acme/prod"}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"beta", "acme", "acme/dev", "acme/prod"}, paths(t, b)); diff != "" {
			t.Error(diff)
		}
		if err := b.db.MoveGroup(ctx, "acme", "clients/acme"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"beta", "clients", "clients/acme", "clients/acme/dev", "clients/acme/prod"}, paths(t, b), cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Error(diff)
		}
		s, err := b.db.Server(ctx, "a")
		if err != nil || s.Group != "clients/acme/prod" {
			t.Errorf("the server stands in %q, %v", s.Group, err)
		}
		groups, err := b.db.Groups(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			if g.Path == "clients/acme/dev" && g.Environment != "dev" {
				t.Errorf("the defaults of a moved group are %+v", g)
			}
		}
		var invalid *monolith.InvalidError
		if err := b.db.PutGroup(ctx, monolith.Group{Path: "a//b"}); !errors.As(err, &invalid) || invalid.Field != "path" {
			t.Errorf("a path with an empty part: %v", err)
		}
		if err := b.db.PutGroup(ctx, monolith.Group{Path: "a", TimeZone: "Mars/Base"}); !errors.As(err, &invalid) || invalid.Field != "time_zone" {
			t.Errorf("an unknown time zone: %v", err)
		}
		if err := b.db.MoveGroup(ctx, "clients", "clients/below"); !isInvalid(err) {
			t.Errorf("moving into itself: %v", err)
		}
		if err := b.db.MoveGroup(ctx, "clients/acme", "beta"); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("moving onto a group: %v", err)
		}
		if err := b.db.DeleteGroup(ctx, "clients"); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("deleting a group with servers: %v", err)
		}
		if err := b.db.DeleteGroup(ctx, "beta"); err != nil {
			t.Error(err)
		}
		if err := b.db.DeleteGroup(ctx, "beta"); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("deleting it again: %v", err)
		}
	})
}

func names(t *testing.T, b *bench) (names []string) {
	t.Helper()
	servers, err := b.db.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		names = append(names, s.Name)
	}
	return names
}

func paths(t *testing.T, b *bench) (paths []string) {
	t.Helper()
	groups, err := b.db.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		paths = append(paths, g.Path)
	}
	return paths
}

func TestPasswordsAreSealed(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		const canary = "canary-Tr0ub4dor&3"
		s := monolith.Server{Name: "a", Endpoint: monolith.Endpoint{Host: "h", Password: canary}}
		if err := b.db.AddServer(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
		var row struct {
			Attributes string `db:"attributes"`
			Password   []byte `db:"password"`
		}
		if err := b.db.r.Get(&row, "SELECT attributes, password FROM server"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(row.Attributes+string(row.Password), canary) || len(row.Password) == 0 {
			t.Error("the password stands in the table")
		}
		if b.config.Path != "" {
			files, err := filepath.Glob(filepath.Dir(b.config.Path) + "/*")
			if err != nil || len(files) < 2 {
				t.Fatalf("%d files, %v", len(files), err)
			}
			for _, f := range files {
				content, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(content), canary) {
					t.Errorf("the password stands in %s", f)
				}
				if st, err := os.Stat(f); err != nil || st.Mode().Perm()&0o077 != 0 {
					t.Errorf("others may read %s: %v, %v", f, st.Mode(), err)
				}
			}
		}
		// Sealed for one server, it does not open for another.
		other := b.server("b")
		if _, err := b.db.w.Exec("UPDATE server SET password = ? WHERE id = ?", row.Password, int64(other.ID)); err != nil {
			t.Fatal(err)
		}
		var key *KeyError
		if _, err := b.db.Server(t.Context(), "b"); !errors.As(err, &key) {
			t.Errorf("a password moved to another row: %v, want a key error", err)
		}
	})
}

func TestWrongKeyIsToldAtTheStart(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		b.kill()
		path := b.config.KeyFile
		if path == "" {
			path = filepath.Join(filepath.Dir(b.config.Path), "monolith.key")
		}
		fails := func(what, word string) {
			t.Helper()
			db, err := Open(t.Context(), b.config)
			if err == nil {
				db.Close()
			}
			var key *KeyError
			if !errors.As(err, &key) || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		fails("a key that others may read", "chmod 600")
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		fails("a missing key", "missing")
		if _, err := makeKey(path); err != nil {
			t.Fatal(err)
		}
		fails("another store's key", "does not belong")
		if err := os.WriteFile(path, []byte("nonsense\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		fails("nonsense", "does not hold a key")
	})
}
