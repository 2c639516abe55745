package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
	"monolith/internal/mysqltest"
)

// content reads what a second writer could spoil.
func content(t *testing.T, db *DB) (rows []string) {
	t.Helper()
	for _, query := range []string{
		"SELECT CONCAT('setting ', name, ' ', body) FROM setting WHERE name <> 'writer' ORDER BY name",
		"SELECT CONCAT('server ', id, ' ', name) FROM server ORDER BY id",
		"SELECT CONCAT('head ', id, ' ', server_id, ' ', seq) FROM head ORDER BY id",
		"SELECT CONCAT('version ', COUNT(*)) FROM schema_version",
	} {
		var some []string
		if err := db.r.SelectContext(t.Context(), &some, query); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, some...)
	}
	return rows
}

func TestSecondMonolithIsRefusedAndWritesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 5)
		before := content(t, b.db)
		refused := func(what string, err error) {
			t.Helper()
			var open *OpenError
			if !errors.As(err, &open) || !strings.Contains(err.Error(), "another monolith") || !strings.Contains(open.Cure, "stop the other one") {
				t.Errorf("%s gives %v, want that another one works with the store", what, err)
			}
		}
		second, err := Open(t.Context(), b.config)
		if refused("open", err); err == nil {
			second.Close()
		}
		refused("migrate", Migrate(t.Context(), b.config))
		if diff := cmp.Diff(before, content(t, b.db)); diff != "" {
			t.Errorf("the refused ones wrote: %s", diff)
		}
		b.play(s, 5)
		first := b.db
		b.reopen()
		checkRaw(t, b, s, 1, 10)
		if _, err := first.exec(t.Context(), "DELETE FROM head"); err == nil {
			t.Error("a closed store still writes")
		}
	})
}

func TestLockIsTakenAgainWhenItsConnectionBreaks(t *testing.T) {
	t.Parallel()
	server := mysqltest.MariaDB(t, mysqltest.Options("innodb_flush_log_at_trx_commit=1"))
	b := newBench(t, Config{DSN: server.NewDatabase(t), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
	s := newSource(b.server("a").ID)
	b.play(s, 5)
	for _, breaks := range []func(){
		func() { endLock(t, b) },
		func() { server.Kill(t); server.Start(t) },
	} {
		breaks()
		b.play(s, 5)
		if _, err := Open(t.Context(), b.config); err == nil || !strings.Contains(err.Error(), "another monolith") {
			t.Fatalf("after the lock's connection broke a second one gets %v", err)
		}
	}
	b.reopen()
	checkRaw(t, b, s, 1, 15)
}

// endLock breaks the connection that holds the lock, as an administrator's KILL does.
func endLock(t *testing.T, b *bench) {
	t.Helper()
	id := count(t, b.db, "SELECT IS_USED_LOCK("+lockName+")")
	if _, err := b.db.w.ExecContext(t.Context(), "KILL ?", id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lock is free", func() bool {
		return count(t, b.db, "SELECT COALESCE(IS_USED_LOCK("+lockName+"), 0)") == 0
	})
}

func TestNothingIsWrittenOnceAnotherHadTheLock(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{DSN: mysqltest.Shared(t).NewDatabase(t), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
	s := newSource(b.server("a").ID)
	b.play(s, 5)
	endLock(t, b)
	other, err := Open(t.Context(), b.config)
	if err != nil {
		t.Fatal(err)
	}
	before := content(t, b.db)
	stopped := func(when, word string) {
		t.Helper()
		b.db.Append(s.next())
		for what, err := range map[string]error{
			"commit":  b.db.flush(t.Context()),
			"setting": b.db.SetSetting(t.Context(), "color", "blue"),
			"server":  b.db.AddServer(t.Context(), &monolith.Server{Name: "b", Endpoint: monolith.Endpoint{Host: "x"}}),
		} {
			if !errors.Is(err, monolith.ErrUnavailable) || !strings.Contains(err.Error(), word) {
				t.Errorf("%s, %s gives %v, want %q", when, what, err, word)
			}
		}
	}
	stopped("while the other one has the lock", "another monolith works with")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	stopped("after the other one ended", "another monolith wrote")
	stopped("asked again", "another monolith wrote")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.db.Run(ctx); err == nil {
		t.Error("run ends as if all were committed")
	}
	if err := b.db.Close(); err == nil {
		t.Error("close gives no error though polls are lost")
	}
	b.open()
	if diff := cmp.Diff(before, content(t, b.db)); diff != "" {
		t.Errorf("the one that had lost the lock wrote: %s", diff)
	}
}

func TestStoreThatMayForgetCommitsIsWarnedAbout(t *testing.T) {
	t.Parallel()
	server := mysqltest.MariaDB(t, mysqltest.Options("innodb_flush_log_at_trx_commit=1"))
	b := newBench(t, Config{DSN: server.NewDatabase(t), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
	if b.said("innodb_flush_log_at_trx_commit") != 0 {
		t.Errorf("a durable store is warned about: %s", b.log)
	}
	server.Exec(t, "SET GLOBAL innodb_flush_log_at_trx_commit = 2")
	b.reopen()
	if b.said("innodb_flush_log_at_trx_commit=2") != 1 {
		t.Errorf("the log says %q", b.log)
	}
}

func TestWriteDoesNotWaitForAServerThatHangs(t *testing.T) {
	t.Parallel()
	server := mysqltest.MariaDB(t)
	b := newBench(t, Config{DSN: server.NewDatabase(t), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
	server.Signal(t, syscall.SIGSTOP)
	eventually(t, "a write gives up waiting for the server", func() bool { // it stops a moment after the signal
		gone, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return b.db.mayWrite(gone) != nil
	})
	if len(b.db.lock.(*mysqlLock).turn) != 1 {
		t.Error("the caller that gave up ended the question, and so the connection with the lock")
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := b.db.SetSetting(short, "color", "blue"); !errors.Is(err, monolith.ErrUnavailable) {
		t.Errorf("a write gives %v, want unavailable", err)
	}
	server.Signal(t, syscall.SIGCONT)
	before := count(t, b.db, "SELECT IS_USED_LOCK("+lockName+")")
	for range 50 { // people leave pages while they are written
		gone, cancel := context.WithTimeout(t.Context(), 50*time.Microsecond)
		_ = b.db.mayWrite(gone)
		cancel()
	}
	if err := b.db.SetSetting(t.Context(), "color", "blue"); err != nil {
		t.Error(err)
	}
	if after := count(t, b.db, "SELECT IS_USED_LOCK("+lockName+")"); after != before {
		t.Error("callers that gave up took the lock with them")
	}
}
