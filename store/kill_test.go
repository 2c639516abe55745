package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// The environment by which TestMain plays the process that is killed.
const (
	envPath    = "MONOLITH_TEST_WRITER_PATH"
	envDSN     = "MONOLITH_TEST_WRITER_DSN"
	envServers = "MONOLITH_TEST_WRITER_SERVERS"
)

// envTorture says how often the writer is killed; "make torture" sets it.
const envTorture = "MONOLITH_TORTURE"

// torture gives how many times something is killed that "make test" kills n times.
func torture(tb testing.TB, n int) int {
	tb.Helper()
	if text := os.Getenv(envTorture); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			tb.Fatalf("%s: %v", envTorture, err)
		}
	}
	return n
}

// resume makes the source of a server whose polls go on after seq.
func resume(id monolith.ServerID, seq uint64) *source {
	s := newSource(id)
	s.seq, s.at = seq, origin.Add(time.Duration(seq)*pollEvery)
	return s
}

// writeUntilKilled appends polls of some servers without end, commits, packs and purges at the same time as Run does, and says
// after each commit how far it got.
func writeUntilKilled() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // nobody kills it: end
	defer cancel()
	now := &clock{now: origin}
	db, err := Open(ctx, Config{Path: os.Getenv(envPath), DSN: os.Getenv(envDSN), Now: now.Now})
	if err != nil {
		return err
	}
	if st := db.Stats(); st.DamagedPolls+st.DamagedBlocks > 0 {
		return fmt.Errorf("after the kill before, %d polls and %d blocks are damaged", st.DamagedPolls, st.DamagedBlocks)
	}
	var sources []*source
	for text := range strings.SplitSeq(os.Getenv(envServers), ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		seq, _, err := db.Resume(ctx, monolith.ServerID(id))
		if err != nil {
			return err
		}
		sources = append(sources, resume(monolith.ServerID(id), seq))
	}
	behind := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := errors.Join(db.pack(ctx), db.purge(ctx)); err != nil {
				behind <- err
				return
			}
		}
	}()
	for {
		for range 1 + rand.IntN(60) {
			for _, s := range sources {
				db.Append(s.next())
			}
		}
		now.set(sources[0].at)
		if err := db.flush(ctx); err != nil {
			return err
		}
		line := "committed"
		for _, s := range sources {
			line += fmt.Sprintf(" %d", s.seq)
		}
		fmt.Println(line)
		select {
		case err := <-behind:
			return err
		default:
		}
	}
}

// killedWriter runs the writer and kills it at a moment between its start and some commits later. It gives how far
// each server's polls were said to be committed.
func killedWriter(t *testing.T, b *bench, sources []*source) (committed []uint64) {
	t.Helper()
	ids := make([]string, len(sources))
	for i, s := range sources {
		ids[i] = strconv.FormatInt(int64(s.id), 10)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envPath+"="+b.config.Path, envDSN+"="+b.config.DSN, envServers+"="+strings.Join(ids, ","))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
	}
	// Most die a moment after one of their commits, in the middle of the next or of a packing; some while they open the store.
	after, then := rand.IntN(12), time.Duration(rand.IntN(15_000))*time.Microsecond
	if after == 0 {
		defer time.AfterFunc(4*then, kill).Stop()
	}
	committed = make([]uint64, len(sources))
	for lines := bufio.NewScanner(out); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) != 1+len(sources) || words[0] != "committed" {
			t.Errorf("the writer says %q", lines.Text())
			kill()
			continue
		}
		for i := range committed {
			if committed[i], err = strconv.ParseUint(words[1+i], 10, 64); err != nil {
				t.Errorf("the writer says %q", lines.Text())
			}
		}
		if after--; after == 0 {
			defer time.AfterFunc(then, kill).Stop()
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the writer was not killed: %v", err)
	}
	return committed
}

// TestKilledAgainAndAgain kills a process that appends, commits and packs, many times on the same store: what it said
// to be committed is there, each poll once and with its own values, and every block can be read.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	for engine, c := range map[string]func(t *testing.T) Config{
		"sqlite":  func(t *testing.T) Config { return Config{Path: filepath.Join(t.TempDir(), "monolith.db")} },
		"mariadb": func(t *testing.T) Config { return Config{DSN: mysqltest.Shared(t).NewDatabase(t), Migrate: true} },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c(t))
			sources := []*source{newSource(b.server("a").ID), newSource(b.server("b").ID)}
			b.kill()
			rounds := torture(t, 10)
			committed := make([]uint64, len(sources))
			for round := range rounds {
				for i, n := range killedWriter(t, b, sources) {
					committed[i] = max(committed[i], n)
				}
				if t.Failed() {
					t.Fatalf("in round %d", round+1)
				}
			}
			b.open()
			for i, s := range sources {
				seq, _, err := b.db.Resume(t.Context(), s.id)
				if err != nil || seq < committed[i] || seq == 0 {
					t.Fatalf("server %d: %d polls are there, %d were committed; %v", i, seq, committed[i], err)
				}
				for first := uint64(1); first <= seq; first += 40_000 { // a range has at most 50,000 steps
					checkRaw(t, b, s, first, min(seq, first+40_000-1))
				}
				checkOnce(t, b, s.id, seq)
				t.Logf("%d rounds: %d polls are there, %d were said to be committed", rounds, seq, committed[i])
			}
			checkBlocks(t, b)
			if st := b.db.Stats(); st.DamagedPolls+st.DamagedBlocks != 0 {
				t.Errorf("%d polls and %d blocks are damaged", st.DamagedPolls, st.DamagedBlocks)
			}
		})
	}
}
