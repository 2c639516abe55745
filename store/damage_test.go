package store

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// sql executes a statement behind the store's back.
func (b *bench) sql(statement string, args ...any) {
	b.t.Helper()
	if _, err := b.db.w.ExecContext(b.t.Context(), statement, args...); err != nil {
		b.t.Fatal(err)
	}
}

// there gives the polls whose gauge can be read, all of them right.
func (b *bench) there(s *source, last uint64) (seqs []uint64, r *monolith.Range) {
	b.t.Helper()
	r = b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Threads_connected"}, From: origin, To: origin.Add(time.Duration(last) * pollEvery), Step: pollEvery})
	if len(r.Series) == 0 {
		return nil, r
	}
	for i, v := range r.Series[0].Avg {
		seq := uint64(i) + 1
		if math.IsNaN(v) {
			continue
		}
		if v != threads(seq) {
			b.t.Fatalf("poll %d is %v, want %v", seq, v, threads(seq))
		}
		seqs = append(seqs, seq)
	}
	return seqs, r
}

// wantGap checks that all polls from 1 to last are there except those from first to end.
func (b *bench) wantGap(s *source, first, end, last uint64) *monolith.Range {
	b.t.Helper()
	seqs, r := b.there(s, last)
	have := map[uint64]bool{}
	for _, seq := range seqs {
		have[seq] = true
	}
	for seq := uint64(1); seq <= last; seq++ {
		if gap := seq >= first && seq <= end; have[seq] == gap {
			b.t.Fatalf("poll %d is there: %v; want all up to %d but %d to %d", seq, have[seq], last, first, end)
		}
	}
	return r
}

func (b *bench) said(words string) int { return strings.Count(b.log.String(), words) }

func TestMissingOrDamagedPollIsAGap(t *testing.T) {
	for name, spoil := range map[string]func(b *bench){
		"missing":   func(b *bench) { b.sql("DELETE FROM head WHERE seq = 6") },
		"cut short": func(b *bench) { b.sql("UPDATE head SET payload = SUBSTR(payload, 1, 3) WHERE seq = 6") },
		"empty":     func(b *bench) { b.sql("UPDATE head SET payload = '' WHERE seq = 6") },
		// It can be decoded: another bit of a value is another value.
		"with a flipped bit": func(b *bench) {
			var p []byte
			if err := b.db.r.Get(&p, "SELECT payload FROM head WHERE seq = 6 AND server_id = 1"); err != nil {
				b.t.Fatal(err)
			}
			p[len(p)-1] ^= 1
			b.sql("UPDATE head SET payload = ? WHERE seq = 6", p)
		},
		// It can be decoded and gives itself away by its number and time.
		"of another poll": func(b *bench) {
			var key []byte
			if err := b.db.r.Get(&key, "SELECT payload FROM head WHERE seq = 1"); err != nil {
				b.t.Fatal(err)
			}
			b.sql("UPDATE head SET payload = ? WHERE seq = 6", key)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, b *bench) {
				s, other := newSource(b.server("a").ID), newSource(b.server("b").ID)
				b.play(s, 300)
				b.play(other, 300)
				spoil(b)
				b.sql("DELETE FROM head WHERE seq > 280 AND server_id = ?", int64(other.id)) // and an end that is missing
				b.reopen()
				b.wantGap(s, 6, keyPolls, 300)
				if n := b.said("polls can't be read"); n < 1 || !strings.Contains(b.log.String(), "first_seq=6 last_seq=120") {
					t.Errorf("the log says %q", b.log)
				}
				if n := b.db.Stats().DamagedPolls; n == 0 {
					t.Error("it is not counted")
				}
				if name == "with a flipped bit" && b.said("the checksum does not match") == 0 {
					t.Errorf("it does not say why: %s", b.log)
				}
				if seq, run, err := b.db.Resume(t.Context(), s.id); seq != 300 || run != 1 || err != nil {
					t.Errorf("resume gives %d, %d, %v", seq, run, err)
				}
				// What comes then is kept, packed and still there after the next start.
				b.play(s, 500)
				b.pack()
				b.wantGap(s, 6, keyPolls, 800)
				if n := count(t, b.db, "SELECT COUNT(*) FROM history_block WHERE tier = 0 AND server_id = ?", int64(s.id)); n == 0 {
					t.Fatal("nothing was packed")
				}
				b.log.Reset()
				b.reopen()
				b.wantGap(s, 6, keyPolls, 800)
				if b.said("server_id=1 table=head") != 0 {
					t.Errorf("after packing it is said again: %s", b.log)
				}
				if n := count(t, b.db, "SELECT COUNT(*) FROM (SELECT seq FROM head WHERE server_id = ? GROUP BY seq HAVING COUNT(*) > 1) x", int64(s.id)); n != 0 {
					t.Errorf("%d polls are there twice", n)
				}
				b.play(s, 400)
				b.pack()
				b.wantGap(s, 6, keyPolls, 1200)
			})
		})
	}
}

func TestUnreadablePollsAtTheEndHoldNothingBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 50)
		b.sql("UPDATE head SET payload = '' WHERE seq >= 1")
		b.reopen()
		if seq, _, err := b.db.Resume(t.Context(), s.id); seq != 50 || err != nil {
			t.Errorf("resume gives %d, %v", seq, err)
		}
		b.play(s, 800)
		b.pack()
		b.wantGap(s, 1, 50, 850)
		b.reopen()
		b.wantGap(s, 1, 50, 850)
		if n := count(t, b.db, "SELECT COUNT(*) FROM head WHERE seq <= 50"); n != 0 {
			t.Errorf("%d unreadable rows are kept for ever", n)
		}
	})
}

// A packing that meets what it can't read passes over it.
func TestPackingMakesProgressOverDamage(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 400)
		tail := b.db.tail(s.id)
		for i := range tail.polls {
			if i < keyPolls {
				tail.polls[i].payload = nil
			}
		}
		b.pack()
		b.wantGap(s, 1, keyPolls, 400)
		b.play(s, 400)
		for i := range tail.polls {
			tail.polls[i].payload = nil
		}
		b.pack() // not one of the polls can be read
		if n := len(tail.polls); n > 2*keyPolls {
			t.Errorf("%d polls are still in the tail", n)
		}
		b.play(s, 100)
		if n := b.db.Stats().PackErrors; n != 0 {
			t.Errorf("%d errors of packing", n)
		}
		b.reopen()
		if seq, _, _ := b.db.Resume(t.Context(), s.id); seq != 900 {
			t.Errorf("resume gives %d, want 900", seq)
		}
	})
}

func TestKeyPayloadsComeOftenAndAfterAFailure(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		keys := func() (seqs []uint64) {
			for _, p := range b.db.tail(s.id).polls {
				if p.key {
					seqs = append(seqs, p.seq)
				}
			}
			return seqs
		}
		b.play(s, 250)
		if got := keys(); len(got) != 3 || got[1] != keyPolls+1 {
			t.Errorf("key payloads at %v", got)
		}
		b.db.Append(s.next())
		broken, stop := context.WithTimeout(t.Context(), 0)
		defer stop()
		for range 3 {
			if err := b.db.flush(broken); err == nil {
				t.Fatal("a commit works without time")
			}
		}
		b.db.Append(s.next())
		b.db.Append(s.next())
		if got := keys(); len(got) != 4 || got[3] != 252 {
			t.Errorf("key payloads at %v, want one at 252, after the failure", got)
		}
		// The engine came back without its last second: the head and the dictionary lack what was committed.
		last := count(t, b.db, "SELECT MAX(id) FROM metric")
		b.sql("DELETE FROM metric WHERE id = ?", last)
		b.sql("DELETE FROM head WHERE seq >= 249")
		b.flush()
		if n := count(t, b.db, "SELECT MAX(id) FROM metric"); n != last {
			t.Errorf("the dictionary ends at %d, want %d", n, last)
		}
		b.kill()
		b.open()
		b.wantGap(s, 249, 251, 253)
	})
}

func TestDamagedBlockIsAGapWithAReason(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		for range 4 {
			b.play(s, 361)
			b.pack()
		}
		b.play(s, 361)
		var rows []struct {
			ID      int64  `db:"id"`
			Tier    int    `db:"tier"`
			First   uint64 `db:"first_seq"`
			Last    uint64 `db:"last_seq"`
			Payload []byte `db:"payload"`
		}
		if err := sqlx.Select(b.db.r, &rows, "SELECT id, tier, first_seq, last_seq, payload FROM history_block ORDER BY tier, start_ms"); err != nil {
			t.Fatal(err)
		}
		flip := func(i int) {
			t.Helper()
			p := bytes.Clone(rows[i].Payload)
			p[len(p)/2] ^= 0x55
			b.sql("UPDATE history_block SET payload = ? WHERE id = ?", p, rows[i].ID)
		}
		if rows[1].Tier != 0 || rows[2].Tier != 0 {
			t.Fatalf("there are too few blocks: %+v", rows)
		}
		flip(1)
		b.reopen()
		for range 3 {
			if r := b.wantGap(s, rows[1].First, rows[1].Last, s.seq); r.Damaged != 1 {
				t.Errorf("the range counts %d damaged parts, want 1", r.Damaged)
			}
		}
		if n := b.said("a block of history can't be read"); n != 1 || b.said("tier=raw") != 1 {
			t.Errorf("it is said %d times: %s", n, b.log)
		}
		if n := b.db.Stats().DamagedBlocks; n != 1 {
			t.Errorf("%d damaged blocks are counted, want 1", n)
		}
		// Roll-ups and the newest raw block: packing goes on, and reads give what there is.
		for i, row := range rows {
			if row.Tier != 0 || i+1 < len(rows) && rows[i+1].Tier != 0 {
				flip(i)
			}
		}
		for _, step := range []time.Duration{10 * time.Minute, time.Hour} {
			r := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Questions"}, From: origin, To: s.at, Step: step})
			if r.Damaged == 0 {
				t.Errorf("step %v: the damage is not told", step)
			}
		}
		b.pack()
		if n := b.db.Stats().PackErrors; n != 0 {
			t.Errorf("%d errors of packing", n)
		}
		b.play(s, 361)
		b.pack()
		b.reopen()
		for _, step := range []time.Duration{10 * time.Minute, time.Hour} {
			r := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Questions"}, From: origin.Add(5 * time.Hour), To: s.at, Step: step})
			if r.Damaged != 0 || len(r.Series) != 1 {
				t.Errorf("step %v, after packing: %d damaged, %d series", step, r.Damaged, len(r.Series))
			}
		}
	})
}

func TestDamagedRowsAreNamedAtTheStart(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 3)
		place := b.db.place
		if b.config.Path != "" {
			b.sql("UPDATE server_metric SET first_ms = 'nonsense' WHERE metric_id = 1")
		} else {
			b.sql("ALTER TABLE server_metric MODIFY first_ms BIGINT NULL")
			b.sql("UPDATE server_metric SET first_ms = NULL WHERE metric_id = 1")
		}
		b.kill()
		db, err := Open(t.Context(), b.config)
		if err == nil {
			db.Close()
		}
		var open *OpenError
		if !errors.As(err, &open) {
			t.Fatalf("open: %v, want an error of the place", err)
		}
		for _, word := range []string{place, "damaged", "server_metric", "copy of the last backup"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q lacks %q", err, word)
			}
		}
	})
}

func TestFileWithBrokenPagesNamesACureThatExists(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Path: filepath.Join(t.TempDir(), "monolith.db")})
	b.play(newSource(b.server("a").ID), 200)
	b.kill()
	content, err := os.ReadFile(b.config.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(content); i += 4096 { // the head of each page but the first
		copy(content[i:], "nonsense")
	}
	if err := os.WriteFile(b.config.Path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), b.config)
	if err == nil || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), "copy of the last backup") || strings.Contains(err.Error(), "monolith restore") {
		t.Errorf("open: %v", err)
	}
}

func TestFilesOfOtherProgramsAreRefused(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"tables":           {"CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)"},
		"application id":   {"PRAGMA application_id = 252006674"},
		"their own schema": {"CREATE TABLE schema_version (version INTEGER)", "CREATE TABLE server (id INTEGER PRIMARY KEY)"},
	} {
		path := filepath.Join(t.TempDir(), "foreign.db")
		foreign, err := sqlx.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			if _, err := foreign.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		if err := foreign.Close(); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(t.Context(), Config{Path: path})
		var open *OpenError
		if !errors.As(err, &open) || !strings.Contains(err.Error(), "another program") || !strings.Contains(err.Error(), "--data") {
			t.Errorf("%s: open: %v", name, err)
		}
		if err := Migrate(t.Context(), Config{Path: path}); !errors.As(err, &open) {
			t.Errorf("%s: migrate: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed; %v", name, err)
		}
	}
	// Our own: without the mark, as older programs left it, and with it.
	b := newBench(t, Config{Path: filepath.Join(t.TempDir(), "monolith.db")})
	if n := count(t, b.db, "PRAGMA application_id"); n != applicationID {
		t.Errorf("the file's application id is %d", n)
	}
	b.sql("PRAGMA application_id = 0")
	b.reopen()
	if n := count(t, b.db, "PRAGMA application_id"); n != applicationID {
		t.Errorf("after a start the file's application id is %d", n)
	}
}
