package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
	"monolith/internal/mysqltest"
)

// twoServers gives a store's primary, its replica, and a bench on the address before both.
func twoServers(t *testing.T) (primary, replica *mysqltest.Server, relay *mysqltest.Relay, b *bench) {
	t.Helper()
	primary = mysqltest.MariaDB(t, mysqltest.Options("innodb_flush_log_at_trx_commit=1"))
	cfg, err := mysql.ParseDSN(primary.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Passwd = primary.NewUser(t, "ALL ON "+cfg.DBName+".*") // what read_only binds, unlike root
	dsn := cfg.FormatDSN()
	replica = mysqltest.Replica(t, primary, mysqltest.Options("innodb_flush_log_at_trx_commit=1"))
	relay = listen(t, primary)
	return primary, replica, relay, newBench(t, Config{DSN: relay.DSN(t, dsn), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
}

// promote lets a replica be the primary.
func promote(t *testing.T, replica *mysqltest.Server) {
	t.Helper()
	replica.Exec(t, "STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
}

// TestStoreFailsOver moves the store's address to the replica: while that is read-only, polls wait; then all are there.
func TestStoreFailsOver(t *testing.T) {
	t.Parallel()
	primary, replica, relay, b := twoServers(t)
	s := newSource(b.server("a").ID)
	b.play(s, 400)
	b.pack()
	replica.CatchUp(t, primary)
	relay.To(replica)
	// A replica that is still read-only takes no writes of an account without READ ONLY ADMIN.
	for range 30 {
		b.db.Append(s.next())
	}
	err := b.db.flush(t.Context())
	if !errors.Is(err, monolith.ErrUnavailable) {
		t.Errorf("a commit on a replica gives %v, want unavailable", err)
	}
	if st := b.db.Stats(); st.Failing != "the server is read-only (SET GLOBAL read_only = OFF, or name the primary as the store)" {
		t.Errorf("it fails for %q", st.Failing)
	}
	checkRaw(t, b, s, 1, 430) // and can be read all the same
	promote(t, replica)
	b.flush()
	b.play(s, 400)
	b.pack()
	checkRaw(t, b, s, 1, 830)
	b.reopen()
	checkRaw(t, b, s, 1, 830)
	checkOnce(t, b, s.id, 830)
}

// TestStoreFailsOverToAServerThatLacksTheNewest: what the primary had and the replica did not is a gap of these polls; nothing
// else is lost, and nothing is there twice or under another poll's number.
func TestStoreFailsOverToAServerThatLacksTheNewest(t *testing.T) {
	t.Parallel()
	primary, replica, relay, b := twoServers(t)
	s := newSource(b.server("a").ID)
	b.play(s, 100)
	replica.CatchUp(t, primary)
	replica.Exec(t, "STOP SLAVE")
	s.variables["max_connections"] = "500" // the change, too, is on the primary only
	b.play(s, 50)
	promote(t, replica)
	relay.To(replica)
	b.play(s, 1) // encoded before anybody knew: it needs those that are lost
	b.play(s, 30)
	b.flush() // what the new primary lacked was found missing, and waited for this one
	b.kill()
	b.open()
	b.wantGap(s, 101, 151, 181)
	texts, err := b.db.TextsAt(t.Context(), s.id, "variable", s.at)
	if err != nil || texts["max_connections"] != "500" {
		t.Errorf("max_connections is %q, want 500, as it became on the lost primary; %v", texts["max_connections"], err)
	}
	if n := count(t, b.db, "SELECT COUNT(*) FROM text_change WHERE to_text = '500'"); n != 1 {
		t.Errorf("the change is there %d times", n)
	}
	if n := count(t, b.db, "SELECT COUNT(*) FROM (SELECT seq FROM head WHERE server_id = ? GROUP BY seq HAVING COUNT(*) > 1) x", int64(s.id)); n != 0 {
		t.Errorf("%d polls are there twice", n)
	}
	b.play(s, 800)
	b.pack()
	b.wantGap(s, 101, 151, 981)
	checkBlocks(t, b)
}

// TestTenMinutesWithoutTheStore fills the spool for ten minutes of polls of fifty servers, and catches up.
func TestTenMinutesWithoutTheStore(t *testing.T) {
	t.Parallel()
	server := mysqltest.Shared(t)
	relay := listen(t, server)
	b := newBench(t, Config{DSN: relay.DSN(t, server.NewDatabase(t)), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
	var sources []*source
	for i := range 50 {
		sources = append(sources, newSource(b.server("s"+string(rune('A'+i))).ID))
	}
	round := func(n int) {
		for range n {
			for _, s := range sources {
				b.db.Append(s.next())
			}
			b.clock.set(sources[0].at)
		}
	}
	round(20)
	b.flush()
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	db := b.db
	go func() { ran <- db.Run(ctx) }()
	relay.To(nil)
	gone := sources[0].at
	round(60)
	eventually(t, "the failure is known", func() bool { return b.db.Stats().Failing != "" })
	st := b.db.Stats()
	if st.SpoolPolls != 60*len(sources) || st.Dropped != 0 || st.FailingSince.Before(gone) {
		t.Errorf("%d polls wait, %d are dropped, failing since %v", st.SpoolPolls, st.Dropped, st.FailingSince)
	}
	if !strings.Contains(st.Failing, "does not answer") {
		t.Errorf("it fails for %q", st.Failing)
	}
	if u, err := b.db.Usage(t.Context()); err == nil {
		t.Errorf("the store's size is known without it: %+v", u)
	}
	relay.To(server)
	eventually(t, "everything is committed", func() bool { st := b.db.Stats(); return st.SpoolPolls == 0 && st.FailingSince.IsZero() })
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if b.said("store fails") == 0 || b.said("store works again") == 0 {
		t.Errorf("the log says %s", b.log)
	}
	b.reopen()
	for _, s := range sources {
		checkRaw(t, b, s, 1, 80)
		checkOnce(t, b, s.id, 80)
	}
}

// TestClockSetBackAnHour: the axis is the wall clock's, so an hour is there twice; the polls are not, and none is lost.
func TestClockSetBackAnHour(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		back := func() {
			s.at = s.at.Add(-time.Hour)
			b.clock.set(s.at)
		}
		b.play(s, 500)
		back()
		b.play(s, 100) // in the tail, behind polls that are later by the clock
		b.pack()
		b.play(s, 700)
		b.pack()
		back() // in front of blocks
		b.play(s, 500)
		b.pack()
		for _, again := range []bool{false, true} {
			if again {
				b.reopen()
			}
			checkOnce(t, b, s.id, 1800)
			if seq, _, err := b.db.Resume(t.Context(), s.id); seq != 1800 || err != nil {
				t.Errorf("resume gives %d, %v", seq, err)
			}
			// What was polled last has the last word, at its own hour by the clock.
			newest := monolith.Query{Server: s.id, Metrics: []string{"status.Threads_connected"}, From: s.at.Add(-10 * pollEvery), To: s.at, Step: pollEvery}
			line := series(t, b.read(newest), "status.Threads_connected", "")
			for i := range line.Avg {
				if seq := 1791 + uint64(i); line.Avg[i] != threads(seq) {
					t.Errorf("at poll %d the gauge is %v, want %v", seq, line.Avg[i], threads(seq))
				}
			}
			// No rate of any step is made of two polls on either side of the jump.
			for _, step := range []time.Duration{pollEvery, 10 * time.Minute, time.Hour} {
				r := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Questions"}, From: origin, To: s.at.Add(3 * time.Hour), Step: step})
				q := series(t, r, "status.Questions", "")
				for i, n := range q.Increase {
					if n < 0 || n > 0 && q.Seconds[i] <= 0 || n > 0 && n/q.Seconds[i] != 5 {
						t.Fatalf("step %v: %v in %v s at %d; 50 come in 10 s", step, n, q.Seconds[i], i)
					}
				}
			}
		}
		checkBlocks(t, b)
		if st := b.db.Stats(); st.CommitErrors+st.PackErrors+st.DamagedPolls+st.DamagedBlocks+st.Dropped != 0 {
			t.Errorf("%+v", st)
		}
	})
}
