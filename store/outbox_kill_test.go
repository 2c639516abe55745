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
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// envPostman tells TestMain to play the process that keeps alerts and sends messages until it is killed, and for which time.
const envPostman = "MONOLITH_TEST_POSTMAN"

// postUntilKilled commits alerts with their event and their message, claims and sends, and says what it does.
func postUntilKilled() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // nobody kills it: end
	defer cancel()
	round, err := strconv.Atoi(os.Getenv(envPostman))
	if err != nil {
		return err
	}
	now := &clock{now: origin.Add(time.Duration(round) * 1000 * time.Hour)}
	db, err := Open(ctx, Config{Path: os.Getenv(envPath), DSN: os.Getenv(envDSN), Now: now.Now})
	if err != nil {
		return err
	}
	for {
		now.set(now.Now().Add(DeliveryLease)) // what the one before had claimed is due again
		a, e := newAlert(0, "r", monolith.LevelWarn, now.Now())
		d := &monolith.AlertBatchDelivery{Delivery: monolith.Delivery{Channel: 1, Kind: monolith.NoticeProblem}, Of: []*monolith.Alert{a}, About: e}
		if err := db.Commit(ctx, &monolith.AlertBatch{At: now.Now(), Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e},
			Deliveries: []*monolith.AlertBatchDelivery{d}, States: map[monolith.ServerID][]byte{0: []byte(now.Now().Format(time.RFC3339))}}); err != nil {
			return err
		}
		if err := db.flushAlerts(ctx); err != nil {
			return err
		}
		fmt.Println("committed", a.ID)
		claimed, err := db.ClaimDeliveries(ctx, now.Now(), strconv.Itoa(round), 1+rand.IntN(5))
		if err != nil {
			return err
		}
		for _, d := range claimed {
			fmt.Println("sent", d.ID)
			d.State, d.Done = monolith.DeliverySent, now.Now()
			if err := db.FinishDelivery(ctx, strconv.Itoa(round), d); err != nil {
				return err
			}
			fmt.Println("acknowledged", d.ID)
		}
	}
}

// TestPostmanKilledAgainAndAgain kills it in the middle of everything: an alert is there with its event, its message and the
// engine's memory or not at all, no message is lost, and none is sent again after it was acknowledged.
func TestPostmanKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	for engine, c := range map[string]func(t *testing.T) Config{
		"sqlite":  func(t *testing.T) Config { return Config{Path: filepath.Join(t.TempDir(), "monolith.db")} },
		"mariadb": func(t *testing.T) Config { return Config{DSN: mysqltest.Shared(t).NewDatabase(t), Migrate: true} },
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c(t))
			b.kill()
			committed, sent, acknowledged := map[int64]bool{}, map[int64]bool{}, map[int64]bool{}
			for round := range torture(t, 6) {
				killedPostman(t, b, round, func(what string, id int64) {
					switch what {
					case "committed":
						committed[id] = true
					case "sent":
						if sent[id] = true; acknowledged[id] {
							t.Errorf("round %d: message %d was sent again after it was acknowledged", round, id)
						}
					case "acknowledged":
						acknowledged[id] = true
					}
				})
			}
			b.open()
			ctx := t.Context()
			alerts, err := b.db.Alerts(ctx, monolith.AlertQuery{Limit: maxAnswer})
			if err != nil || len(alerts) == 0 || len(alerts) == maxAnswer {
				t.Fatalf("%d alerts, %v", len(alerts), err)
			}
			for _, a := range alerts {
				delete(committed, int64(a.ID))
			}
			if len(committed) > 0 {
				t.Errorf("%d alerts that were committed are gone", len(committed))
			}
			for _, table := range []string{"alert_event", "delivery", "delivery_alert"} {
				if n := count(t, b.db, "SELECT COUNT(*) FROM "+table); n != len(alerts) {
					t.Errorf("%d alerts, %d rows in %s", len(alerts), n, table)
				}
			}
			states, err := b.db.EngineStates(ctx)
			if newest := alerts[0].Opened.Format(time.RFC3339); err != nil || string(states[0]) != newest {
				t.Errorf("the newest alert is of %s, the memory of %q, %v", newest, states[0], err)
			}
			rest, err := b.db.ClaimDeliveries(ctx, origin.AddDate(100, 0, 0), "last", maxAnswer)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range rest {
				if acknowledged[d.ID] {
					t.Errorf("message %d would be sent again after it was acknowledged", d.ID)
				}
				sent[d.ID] = true
			}
			if len(sent) != len(alerts) {
				t.Errorf("%d of %d messages were or will be sent", len(sent), len(alerts))
			}
			t.Logf("%d alerts, %d messages acknowledged, %d left", len(alerts), len(acknowledged), len(rest))
		})
	}
}

// killedPostman runs the process and kills it at a moment; hear is told what it said.
func killedPostman(t *testing.T, b *bench, round int, hear func(what string, id int64)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envPath+"="+b.config.Path, envDSN+"="+b.config.DSN, envPostman+"="+strconv.Itoa(round))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	after, then := 1+rand.IntN(60), time.Duration(rand.IntN(3000))*time.Microsecond
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var what string
		var id int64
		if _, err := fmt.Sscan(lines.Text(), &what, &id); err != nil {
			t.Errorf("the postman says %q", lines.Text())
			break
		}
		hear(what, id)
		if after--; after == 0 {
			defer time.AfterFunc(then, func() {
				if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Error(err)
				}
			}).Stop()
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the postman was not killed: %v", err)
	}
}
