package main

import (
	"database/sql"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"monolith/internal/mysqltest"
	"monolith/store/history"
)

// TestKilledWhilePolling kills the program that polls, again and again and at any moment, on each store. Every poll that
// somebody else could read from the store before a kill is there at the end, once, and every block can be read.
// MONOLITH_TORTURE says how often; "make torture" sets it.
func TestKilledWhilePolling(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Parallel()
	rounds := 10
	if text := os.Getenv("MONOLITH_TORTURE"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("MONOLITH_TORTURE: %v", err)
		}
	}
	path := build(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		data := t.TempDir()
		killWhilePolling(t, path, nil, data, rounds, "sqlite", "file:"+filepath.Join(data, "monolith.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		dsn := mysqltest.Shared(t).NewDatabase(t)
		killWhilePolling(t, path, []string{"MONOLITH_STORE=" + dsn}, t.TempDir(), rounds, "mysql", dsn)
	})
}

func killWhilePolling(t *testing.T, path string, environment []string, data string, rounds int, driver, dsn string) {
	args := []string{"--data", data, "--migrate", "--server", watched(t)}
	p := serve(t, path, environment, args...)
	p.often("db1")
	other, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	seen := map[uint64]bool{}
	look := func() {
		for _, seq := range headSeqs(t, other) {
			seen[seq] = true
		}
	}
	until(t, "a first poll is stored", func() bool { look(); return len(seen) > 0 })
	p.kill()
	for range rounds {
		cmd := exec.CommandContext(t.Context(), path, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
		cmd.Env = append(os.Environ(), environment...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Between the start, the first poll at once, its commit within a second, and the polls after it.
		life := time.NewTimer(time.Duration(rand.IntN(3500)) * time.Millisecond)
		tick := time.NewTicker(40 * time.Millisecond)
		for alive := true; alive; {
			select {
			case <-tick.C:
				look()
			case <-life.C:
				alive = false
			}
		}
		tick.Stop()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatalf("it ended before it was killed: %v", err)
		}
		_ = cmd.Wait() // it was killed
		look()         // what is there now was committed
	}
	ended := time.Now()
	p = serve(t, path, environment, args...)
	if status := p.get("/readyz", nil); status != http.StatusOK {
		t.Errorf("readyz after the kills: %d", status)
	}
	until(t, "it polls again", func() bool { return p.polled("db1").After(ended) })
	p.inTrouble("db1") // the server is shown as up
	_, metrics := p.page("/metrics")
	for _, name := range []string{"damaged_polls_total", "damaged_blocks_total", "pack_errors_total", "commit_errors_total"} {
		if !regexp.MustCompile(`(?m)^monolith_store_` + name + ` 0$`).MatchString(metrics) {
			t.Errorf("%s is not 0 after the kills", name)
		}
	}
	p.stop()

	times := map[uint64]int{}
	packed := packedSeqs(t, other, times)
	for _, seq := range headSeqs(t, other) {
		if seq > packed { // below it are rows that are packed and not deleted yet
			times[seq]++
		}
	}
	for seq := range seen {
		if times[seq] == 0 {
			t.Errorf("poll %d was stored before a kill and is gone", seq)
		}
	}
	for seq, n := range times {
		if n != 1 {
			t.Errorf("poll %d is there %d times", seq, n)
		}
	}
	t.Logf("%d kills: %d polls are there, %d were seen before a kill", rounds, len(times), len(seen))
}

// headSeqs gives the numbers of the polls in the head of the store's only server.
func headSeqs(t *testing.T, db *sql.DB) (seqs []uint64) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT seq FROM head ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var seq uint64
		if err := rows.Scan(&seq); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, seq)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return seqs
}

// packedSeqs counts the polls in raw blocks, reads all that is in any block, and gives the last poll that is packed.
func packedSeqs(t *testing.T, db *sql.DB, times map[uint64]int) (last uint64) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT tier, part, last_seq, payload FROM history_block ORDER BY tier, start_ms, part")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var tier, part int
		var lastSeq uint64
		var payload []byte
		if err := rows.Scan(&tier, &part, &lastSeq, &payload); err != nil {
			t.Fatal(err)
		}
		if part > 0 {
			t.Fatal("a block of one server has a second part")
		}
		last = max(last, lastSeq)
		var problems []string
		if tier == 0 {
			r, err := history.Open(payload)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range r.Rows() {
				times[row.Seq]++
			}
			for _, id := range r.IDs() {
				if _, err := r.Column(id, nil); err != nil {
					problems = append(problems, err.Error())
				}
			}
		} else {
			r, err := history.OpenTier(payload)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range r.IDs() {
				if _, err := r.Cells(id, nil); err != nil {
					problems = append(problems, err.Error())
				}
			}
		}
		if len(problems) > 0 {
			t.Errorf("a block of tier %d up to poll %d: %s", tier, lastSeq, strings.Join(problems, "; "))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return last
}
