//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"monolith"
	"monolith/internal/figures"
	"monolith/internal/mysqltest"
	"monolith/poller"
	"monolith/store"
)

// watching is the poller and the store in this process, at work on many connections to one server.
type watching struct {
	polls  atomic.Int64
	failed atomic.Int64
	stop   func() // may be called again
}

// watch lets so many connections be polled until the test ends. It waits for the second poll of each: with the first one
// everything is read, and what the statements add to the server's counters is measured.
func watch(t *testing.T, db *mysqltest.Server, connections int, fast, slow time.Duration, collectors []*poller.Collector) *watching {
	t.Helper()
	user, password := db.NewUser(t, "PROCESS", "BINLOG MONITOR", "SLAVE MONITOR", "SHOW VIEW", "REFERENCES", "SELECT ON mysql.*")
	endpoint, err := poller.ParseDSN(db.DSN(user, password))
	if err != nil {
		t.Fatal(err)
	}
	history, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "monolith.db")})
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{}
	first := make(chan monolith.ServerID, connections)
	parts, err := poller.New(poller.Config{
		Collectors: collectors, Resume: history.Resume,
		Handle: []func(context.Context, *monolith.Snapshot){func(_ context.Context, snap *monolith.Snapshot) {
			history.Append(snap)
			w.polls.Add(1)
			if !snap.Polled {
				w.failed.Add(1)
			}
			if snap.Seq == 2 {
				first <- snap.Server
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var servers []monolith.Server
	for i := range connections {
		s := monolith.Server{Name: fmt.Sprintf("db%d", i+1), Endpoint: endpoint, Schedules: map[string]string{
			monolith.Fast: "@every " + fast.String(), restless: "@every " + fast.String(), monolith.Slow: "@every " + slow.String(),
		}}
		if err := history.AddServer(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
		servers = append(servers, s)
	}
	parts.Apply(servers, nil)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running errgroup.Group
	running.Go(func() error { return history.Run(ctx) })
	running.Go(func() error { return parts.Run(ctx) })
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(running.Wait(), history.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	late := time.NewTimer(patience)
	defer late.Stop()
	for range connections {
		select {
		case <-first:
		case <-late.C:
			t.Fatal("not every server was polled twice")
		}
	}
	return w
}

// during counts the polls of some time.
func (w *watching) during(t *testing.T, d time.Duration) (polls int) {
	t.Helper()
	before := w.polls.Load()
	wait(t, d)
	polls = int(w.polls.Load() - before)
	if n := int(w.failed.Load()); n > polls/50 {
		t.Errorf("%d of %d polls failed", n, polls)
	}
	return polls
}

// pollRows are what a poll costs us: status, collected and stored, and nothing else, many times a second.
func pollRows(t *testing.T, _ *bench) []figures.Row {
	db := mysqltest.MariaDB(t, mysqltest.Options("max_connections=400"))
	i := slices.IndexFunc(poller.Collectors(), func(c *poller.Collector) bool { return c.Name == "status" })
	w := watch(t, db, 100, time.Second, time.Minute, poller.Collectors()[i:i+1])
	polls := 0
	used := measure(t, os.Getpid(), func() { polls = w.during(t, 12*time.Second) })
	row := figures.Row{Name: "CPU of a poll: status collected and stored", Unit: "ms", Ours: milliseconds(used, polls), Target: 1,
		Note: "100 connections, each polled each second; peers: a scrape of the exporter for the status alone, and what taking its page in costs"}

	if exporter := figures.Exporter(t, exporterDSN(t, db), true); exporter != nil {
		w.stop()
		scrape := scraped(exporter, 200)
		for _, s := range scraping(t, exporter.Get("/metrics"), 20, time.Second, 10*time.Second) {
			row.Peers = append(row.Peers, figures.Peer{Name: "exporter + " + s.Name, Value: scrape + milliseconds(s.used, s.pages)})
		}
	}
	return []figures.Row{row}
}

// watchedRows are what a poll with all collectors costs us, and what it costs the server.
func watchedRows(t *testing.T, _ *bench) []figures.Row {
	db := mysqltest.MariaDB(t, mysqltest.Options("max_connections=400"))
	// Twice as often as by default, so that a minute holds all but what runs once an hour.
	many := watch(t, db, 50, 5*time.Second, 30*time.Second, poller.Collectors())
	polls := 0
	ours := measure(t, os.Getpid(), func() { polls = many.during(t, time.Minute) })
	many.stop()
	rows := []figures.Row{{
		Name: "CPU of a poll with all collectors, on average", Unit: "ms", Ours: milliseconds(ours, polls),
		Note: "50 connections to one MariaDB, ten polls a second, the slow collectors with each sixth; stored; peers: a scrape a second of what the exporter collects by default, without what keeps them",
	}}

	// A server has one connection of ours: with fifty, each would bring memory of its own, that was never used just before, and
	// status values of its own that have to be added up. What a poll costs does not depend on the pace, so long as caches are cold.
	db = mysqltest.MariaDB(t)
	quiet := measure(t, db.PID(), func() { wait(t, aside*time.Second) }) / aside
	floor := each(t, db, func() { pairs(t, db, "SHOW GLOBAL STATUS") })
	one := watch(t, db, 1, time.Second, 6*time.Second, atRhythm(poller.Collectors()))
	its := measure(t, db.PID(), func() { polls = one.during(t, time.Minute) })
	one.stop()
	floor = (floor + each(t, db, func() { pairs(t, db, "SHOW GLOBAL STATUS") })) / 2
	row := figures.Row{
		Name: "CPU that it costs the watched server", Unit: "ms", Ours: milliseconds(its-60*quiet, polls), Target: 1.5,
		Note: "one connection, polled each second for a minute, the slow collectors with each sixth; SHOW GLOBAL STATUS alone, right before and after, as often: " +
			figures.Format(milliseconds(floor-quiet, 1)) + " ms; less what the server takes while nobody asks, " + figures.Format(milliseconds(quiet, 1)) + " ms a second",
	}
	if exporter := figures.Exporter(t, exporterDSN(t, db), false); exporter != nil {
		exporter.Get("/metrics")
		before := exporter.CPU()
		its := each(t, db, func() { exporter.Get("/metrics") }) - quiet
		rows[0].Peers = []figures.Peer{{Name: "exporter", Value: milliseconds(exporter.CPU()-before, 1+aside)}}
		row.Peers = []figures.Peer{{Name: "exporter", Value: milliseconds(its, 1)}}
	}
	return append(rows, row)
}

// restless is the schedule, not used otherwise, of a collector that is to run at each poll although polls are short of ten seconds apart.
const restless = monolith.Sizes

// atRhythm lets collectors that are polled each second run in the rhythm that they have at ten seconds: InnoDB's with each
// poll, and all of a poll in turn, since a second is not too short for them.
func atRhythm(collectors []*poller.Collector) []*poller.Collector {
	for _, c := range collectors {
		switch {
		case c.Name == "innodb":
			c.Schedule = restless
		case c.Schedule == restless:
			c.Schedule = monolith.Daily
		}
		c.Timeout = 0
	}
	return collectors
}

// aside is how often something is done beside the polls, as often as they are: once a second.
const aside = 20

// each gives the processor time of a server for something that is done each second, the rest of the second included. It is
// done once before.
func each(t *testing.T, db *mysqltest.Server, f func()) time.Duration {
	t.Helper()
	f()
	return measure(t, db.PID(), func() {
		for range aside {
			f()
			wait(t, time.Second)
		}
	}) / aside
}

func exporterDSN(t *testing.T, db *mysqltest.Server) string {
	user, password := db.NewUser(t, "PROCESS", "BINLOG MONITOR", "SLAVE MONITOR", "SELECT")
	return user + ":" + password + "@(" + net.JoinHostPort(db.Host, strconv.Itoa(db.Port)) + ")/"
}

// scraped gives the milliseconds of the processor that a page of an exporter costs it.
func scraped(exporter *figures.Program, scrapes int) float64 {
	exporter.Get("/metrics")
	before := exporter.CPU()
	for range scrapes {
		exporter.Get("/metrics")
	}
	return milliseconds(exporter.CPU()-before, scrapes)
}

// scraper is a peer that takes pages in, and what it took to do so.
type scraper struct {
	*figures.Program
	pages  int
	used   time.Duration
	asked  atomic.Int64
	before int64
}

// scraping lets what can take in a page of an exporter do it for some time. The page is served as it is, under the names of
// several servers.
func scraping(t *testing.T, page []byte, servers int, every, during time.Duration) (all []*scraper) {
	t.Helper()
	for _, start := range []func(testing.TB, string, string) *figures.Program{figures.Prometheus, figures.Victoria} {
		s := &scraper{}
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			s.asked.Add(1)
			w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			_, _ = w.Write(page) // who no longer wants it is no matter
		}))
		t.Cleanup(site.Close)
		if s.Program = start(t, t.TempDir(), figures.Scraping(site.URL+"/metrics", servers, every)); s.Program != nil {
			all = append(all, s)
		}
	}
	for _, s := range all {
		// The first page of each server makes its series.
		figures.Until(t, s.Name+" scrapes", func() bool { return s.asked.Load() > int64(servers) })
		s.before, s.used = s.asked.Load(), s.CPU()
	}
	wait(t, during)
	for _, s := range all {
		s.pages, s.used = int(s.asked.Load()-s.before), s.CPU()-s.used
	}
	return all
}
