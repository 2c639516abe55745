package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
	"monolith/internal/mysqltest"
)

func TestLockedFileSpoolsAndCatchesUpInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Path: filepath.Join(t.TempDir(), "monolith.db")})
	s := newSource(b.server("a").ID)
	b.play(s, 30)
	// Another program holds the write lock, as a backup would.
	other, _, _, err := openSQLite(t.Context(), b.config)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.Beginx() // _txlock=immediate takes it at once
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		b.db.Append(s.next())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := b.db.flush(ctx); !errors.Is(err, monolith.ErrUnavailable) {
		t.Errorf("a commit while the file is locked: %v, want unavailable", err)
	}
	u, err := b.db.Usage(t.Context())
	if err != nil || u.Spool.Polls != 50 || u.Spool.Dropped != 0 || u.Spool.Oldest.IsZero() {
		t.Errorf("the spool shows %+v, %v", u.Spool, err)
	}
	checkRaw(t, b, s, 1, 80) // what is not committed is read from memory
	for range 10 {
		b.db.Append(s.next())
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	b.flush()
	b.kill()
	b.open()
	checkRaw(t, b, s, 1, 90)
	if n := count(t, b.db, "SELECT COUNT(*) FROM head"); n != 90 {
		t.Errorf("%d head rows, want 90", n)
	}
}

func TestMissingDatabaseIsNamedWhole(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"127.0.0.1:3306/history", "/run/mysqld/mysqld.sock/history"} {
		err := mysqlProblem(place, &mysql.MySQLError{Number: 1049, Message: "Unknown database 'history'"})
		if !strings.Contains(err.Error(), "CREATE DATABASE `history` ") {
			t.Errorf("%s: %v", place, err)
		}
	}
}

func TestFullDiskIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Path: filepath.Join(t.TempDir(), "monolith.db")})
	s := newSource(b.server("a").ID)
	b.play(s, 30)
	b.sql("PRAGMA max_page_count = 1") // no page more than there are
	for range 400 {
		b.db.Append(s.next())
	}
	if err := b.db.flush(t.Context()); err == nil {
		t.Fatal("everything fits")
	}
	if st := b.db.Stats(); st.FailingSince.IsZero() || st.Failing != "the disk is full (free some space)" {
		t.Errorf("failing since %v: %q", st.FailingSince, st.Failing)
	}
	b.sql("PRAGMA max_page_count = 1000000")
	b.flush()
	if st := b.db.Stats(); !st.FailingSince.IsZero() || st.Failing != "" {
		t.Errorf("failing since %v: %q", st.FailingSince, st.Failing)
	}
	checkRaw(t, b, s, 1, 430)
}

func TestServerOfTheStoreGoneForAWhile(t *testing.T) {
	t.Parallel()
	// The data of a real store survives the death of its server.
	server := mysqltest.MariaDB(t, mysqltest.Options("innodb_flush_log_at_trx_commit=1"))
	b := newBench(t, Config{DSN: server.NewDatabase(t), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
	s := newSource(b.server("a").ID)
	b.play(s, 30)
	server.Kill(t)
	for range 40 {
		b.db.Append(s.next())
	}
	if err := b.db.flush(t.Context()); !errors.Is(err, monolith.ErrUnavailable) {
		t.Errorf("a commit while the server is gone: %v, want unavailable", err)
	}
	if err := b.db.Ping(t.Context()); !errors.Is(err, monolith.ErrUnavailable) {
		t.Errorf("ping: %v, want unavailable", err)
	}
	server.Start(t)
	b.flush()
	b.play(s, 5)
	checkRaw(t, b, s, 1, 75)
	b.kill()
	b.open()
	checkRaw(t, b, s, 1, 75)
}

func TestUnknownOutcomeOfACommitStoresNothingTwice(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		for range 10 {
			b.db.Append(s.next())
		}
		// The connection breaks after the server committed: the program sees an error.
		batch, carried, _ := b.db.spool.take()
		first, metrics := b.db.names.fresh()
		if err := b.db.write(t.Context(), batch, carried, first, metrics); err != nil {
			t.Fatal(err)
		}
		b.db.unsure = attempt{last: batch[len(batch)-1].poll.id, names: first + len(metrics)}
		b.db.spool.failed()
		for range 5 {
			b.db.Append(s.next())
		}
		b.flush()
		if n := count(t, b.db, "SELECT COUNT(*) FROM head"); n != 15 {
			t.Errorf("%d head rows, want 15", n)
		}
		if n := count(t, b.db, "SELECT COUNT(*) FROM text_change"); n != 3 {
			t.Errorf("%d texts, want 3", n)
		}
		b.reopen()
		checkRaw(t, b, s, 1, 15)
	})
}

func TestFullSpoolDropsTheOldestAndSaysSo(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		b.db.spool.limit = 100 * 300
		s := newSource(b.server("a").ID)
		b.play(s, 10)
		b.db.failing.Store(true)
		for range 1000 {
			b.db.Append(s.next())
		}
		stats := b.db.Stats()
		if stats.SpoolBytes > b.db.spool.limit || stats.Dropped == 0 || stats.SpoolPolls+int(stats.Dropped) != 1000 {
			t.Fatalf("%d bytes in the spool, %d polls, %d dropped", stats.SpoolBytes, stats.SpoolPolls, stats.Dropped)
		}
		if stats.TailBytes > 2*b.db.spool.limit {
			t.Errorf("the tail holds %d bytes", stats.TailBytes)
		}
		b.flush()
		for _, again := range []bool{false, true} {
			if again {
				b.reopen()
			}
			checkRaw(t, b, s, 1, 10)
			// After the gap everything is there again, and right.
			from := origin.Add(990 * pollEvery)
			r := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Threads_connected"}, From: from, To: s.at, Step: pollEvery})
			line := series(t, r, "status.Threads_connected", "")
			for i := range r.N {
				if line.Avg[i] != threads(991+uint64(i)) {
					t.Fatalf("poll %d is %v, want %v", 991+i, line.Avg[i], threads(991+uint64(i)))
				}
			}
		}
	})
}

func TestRunCommitsAndPacks(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		db := b.db
		go func() { ran <- db.Run(ctx) }()
		s := newSource(b.server("a").ID)
		for range 5 {
			b.db.Append(s.next())
		}
		eventually(t, "the polls are committed", func() bool { return b.db.Stats().Committed == 5 })

		b.db.Append(s.next())
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		if n := b.db.Stats().Committed; n != 6 {
			t.Errorf("%d polls committed at the end, want 6", n)
		}
		b.reopen()
		checkRaw(t, b, s, 1, 6)
	})
}

// eventually waits for a condition, at most a minute: where it holds this is no matter of time, also on a machine that
// does much else.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("did not happen: ", what)
		}
	}
}

func TestNewerSchemaIsRefusedAndLeftAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		b.server("a")
		if _, err := b.db.w.Exec("INSERT INTO schema_version (version_id, is_applied) VALUES (9999, ?)", true); err != nil {
			t.Fatal(err)
		}
		b.kill()
		var newer *NewerError
		if _, err := Open(t.Context(), b.config); !errors.As(err, &newer) || newer.Have != 9999 {
			t.Errorf("open: %v, want a newer schema", err)
		}
		if err := Migrate(t.Context(), b.config); !errors.As(err, &newer) {
			t.Errorf("migrate: %v, want a newer schema", err)
		}
	})
}

func TestMySQLStoreBehindIsRefusedUntilMigrated(t *testing.T) {
	t.Parallel()
	dsn := mysqltest.Shared(t).NewDatabase(t)
	c := Config{DSN: dsn, KeyFile: filepath.Join(t.TempDir(), "key")}
	var behind *BehindError
	if _, err := Open(t.Context(), c); !errors.As(err, &behind) || !strings.Contains(err.Error(), "monolith migrate") {
		t.Fatalf("open: %v, want a schema that is behind", err)
	}
	for range 2 { // the second time changes nothing
		if err := Migrate(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	db, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestPlacesThatCantBeUsedAreExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nonsense := filepath.Join(dir, "nonsense.db")
	if err := os.WriteFile(nonsense, []byte(strings.Repeat("not a database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config Config
		words  []string
	}{
		"no folder":      {Config{Path: filepath.Join(dir, "none", "m.db")}, []string{"none", "no folder", "--data"}},
		"not a database": {Config{Path: nonsense}, []string{nonsense, "not an SQLite database", "move it away"}},
		"a folder":       {Config{Path: dir}, []string{dir, "can't be opened"}},
		"nothing there":  {Config{DSN: "m:secret@tcp(127.0.0.1:1)/monolith"}, []string{"127.0.0.1:1/monolith", "does not answer"}},
		"no DSN":         {Config{DSN: "m:secret@nonsense"}, []string{"DSN"}},
		"no database":    {Config{DSN: "m:secret@tcp(127.0.0.1:1)/"}, []string{"names no database"}},
		"both":           {Config{Path: "a", DSN: "b"}, []string{"both"}},
		"neither":        {Config{}, []string{"neither"}},
	} {
		_, err := Open(t.Context(), c.config)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, w := range append(c.words, "") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", name, err, w)
			}
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password stands in %q", name, err)
		}
	}
	if content, err := os.ReadFile(nonsense); err != nil || !strings.HasPrefix(string(content), "not a database") {
		t.Error("the foreign file was changed")
	}
	odd := filepath.Join(dir, "ä ?x#%41&.db")
	db, err := Open(t.Context(), Config{Path: odd})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(odd); err != nil {
		t.Error(err)
	}
}

func TestServersThatAreTooOldForAStoreAreRefused(t *testing.T) {
	t.Parallel()
	old := mysqltest.MySQL56(t)
	_, err := Open(t.Context(), Config{DSN: old.NewDatabase(t), Migrate: true})
	var open *OpenError
	if !errors.As(err, &open) || !strings.Contains(err.Error(), "MySQL 8.0 or MariaDB 10.5") || !strings.Contains(err.Error(), "MySQL 5.6") {
		t.Errorf("open: %v", err)
	}
}

func TestEndsWellAfterTheServerOfTheStoreCameBack(t *testing.T) {
	t.Parallel()
	server := mysqltest.MariaDB(t, mysqltest.Options("innodb_flush_log_at_trx_commit=1"))
	b := newBench(t, Config{DSN: server.NewDatabase(t), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
	s := newSource(b.server("a").ID)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- b.db.Run(ctx) }()
	b.db.Append(s.next())
	eventually(t, "a poll is committed", func() bool { return b.db.Stats().Committed == 1 })
	server.Kill(t)
	b.db.Append(s.next())
	eventually(t, "the failure is known", func() bool { return !b.db.Stats().FailingSince.IsZero() })
	server.Start(t)
	eventually(t, "the poll that waited is committed", func() bool { st := b.db.Stats(); return st.Committed == 2 && st.FailingSince.IsZero() })
	// Connections that are idle in the pool die once more; the lock's one died before.
	server.Kill(t)
	server.Start(t)
	b.db.Append(s.next())
	stop()
	if err := <-ran; err != nil {
		t.Errorf("run ended with %v", err)
	}
	if err := b.db.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	b.clock.set(s.at)
	b.open()
	checkRaw(t, b, s, 1, 3)
}

func TestEndWithoutTheStoreSaysWhatIsLost(t *testing.T) {
	t.Parallel()
	server := mysqltest.MariaDB(t)
	b := newBench(t, Config{DSN: server.NewDatabase(t), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
	s := newSource(b.server("a").ID)
	b.play(s, 3)
	server.Kill(t)
	b.db.Append(s.next())
	if err := b.db.Close(); !errors.Is(err, monolith.ErrUnavailable) || !strings.Contains(err.Error(), "1 poll is lost") {
		t.Errorf("close: %v, want that a poll is lost", err)
	}
}
