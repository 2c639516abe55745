package store

import (
	"bufio"
	"context"
	"fmt"
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
	envPath   = "MONOLITH_TEST_WRITER_PATH"
	envDSN    = "MONOLITH_TEST_WRITER_DSN"
	envServer = "MONOLITH_TEST_WRITER_SERVER"
)

// TestMain runs the tests, or plays the writer that TestSIGKILLLosesNothingCommitted kills.
func TestMain(m *testing.M) {
	if os.Getenv(envServer) == "" {
		os.Exit(m.Run())
	}
	if err := writeUntilKilled(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// writeUntilKilled appends polls without end and says after each commit how far it got.
func writeUntilKilled() error {
	id, err := strconv.ParseInt(os.Getenv(envServer), 10, 64)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // nobody kills it: end
	defer cancel()
	db, err := Open(ctx, Config{Path: os.Getenv(envPath), DSN: os.Getenv(envDSN)})
	if err != nil {
		return err
	}
	s := newSource(monolith.ServerID(id))
	for ctx.Err() == nil {
		for range 25 {
			db.Append(s.next())
		}
		if err := db.flush(ctx); err != nil {
			return err
		}
		if s.seq%400 == 0 {
			if err := db.pack(ctx); err != nil {
				return err
			}
		}
		fmt.Println(s.seq)
	}
	return ctx.Err()
}

func TestSIGKILLLosesNothingCommitted(t *testing.T) {
	t.Parallel()
	for engine, c := range map[string]func(t *testing.T) Config{
		"sqlite":  func(t *testing.T) Config { return Config{Path: filepath.Join(t.TempDir(), "monolith.db")} },
		"mariadb": func(t *testing.T) Config { return Config{DSN: mysqltest.Shared(t).NewDatabase(t), Migrate: true} },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c(t))
			s := newSource(b.server("a").ID)
			b.kill()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), envPath+"="+b.config.Path, envDSN+"="+b.config.DSN, envServer+"="+fmt.Sprint(int64(s.id)))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var committed uint64
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if committed, err = strconv.ParseUint(strings.TrimSpace(lines.Text()), 10, 64); err != nil {
					t.Fatalf("the writer says %q", lines.Text())
				}
				if committed >= 1000 {
					if err := cmd.Process.Kill(); err != nil {
						t.Fatal(err)
					}
				}
			}
			_ = cmd.Wait() // it was killed
			if committed < 1000 {
				t.Fatalf("the writer ended at %d", committed)
			}
			b.open()
			seq, _, err := b.db.Resume(t.Context(), s.id)
			if err != nil || seq < committed {
				t.Fatalf("%d polls are there, %d were committed; %v", seq, committed, err)
			}
			checkRaw(t, b, s, 1, seq)
		})
	}
}
