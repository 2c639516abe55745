//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"testing"
	"time"

	"monolith"
	"monolith/internal/figures"
	"monolith/internal/mysqltest"
	"monolith/internal/replay"
	"monolith/poller"
	"monolith/store"
)

// fleetRows are 200 servers each ten seconds, for as long as each needs for its slower collectors too. Ours are played from
// what a MariaDB says here; they run in this process, so that the program's own figures are its alone.
func fleetRows(t *testing.T, b *bench) []figures.Row {
	const servers = 200
	db := mysqltest.MariaDB(t)
	recording := replay.Record(pairs(t, db, "SHOW GLOBAL VARIABLES"), pairs(t, db, "SHOW GLOBAL STATUS"))
	dir := t.TempDir()
	history, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "monolith.db")})
	if err != nil {
		t.Fatal(err)
	}
	for i := range servers {
		played := replay.Start(t, recording, replay.Counters(moves), replay.Refusing())
		endpoint, err := poller.ParseDSN(played.DSN())
		if err != nil {
			t.Fatal(err)
		}
		// Without a source of host values: a fleet is elsewhere.
		server := monolith.Server{Name: fmt.Sprintf("db%d", i+1), Endpoint: endpoint}
		if err := history.AddServer(t.Context(), &server); err != nil {
			t.Fatal(err)
		}
		anHour(history, server.ID, b.traces[0])
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- history.Run(ctx) }()
	figures.Until(t, "all is committed", func() bool { return history.Stats().SpoolPolls == 0 })
	stop()
	if err := errors.Join(<-done, history.Close()); err != nil {
		t.Fatal(err)
	}
	p := serveFigures(t, b, dir)

	cores := figures.Row{Name: "200 servers each 10 s: processor", Unit: "cores", Target: 0.03, Note: "over a minute, all collectors, once every server was polled"}
	memory := figures.Row{Name: "200 servers each 10 s: memory", Unit: "MB", Target: 150, Note: "the most that was resident in that minute, each server with the hour of polls that is in memory at most"}

	// The first polls read everything; what that took is given back when the program finds itself idle.
	wait(t, 65*time.Second)
	_, peak := p.memory(t)
	memory.Note += fmt.Sprintf("; at the start, with all settings of 200 servers new, it was %s MB", figures.Format(peak))
	const during = time.Minute
	exporter := figures.Exporter(t, exporterDSN(t, db), true)
	began := time.Now()
	used := measure(t, p.pid, func() {
		stop := p.highest(t, &memory.Ours)
		defer stop()
		if exporter == nil {
			wait(t, during)
			return
		}
		each := scraped(exporter, 100)
		now, _ := exporter.Resident()
		for _, s := range scraping(t, exporter.Get("/metrics"), servers, pollEach, during) {
			_, peak := s.Resident()
			name := "exporters + " + s.Name
			cores.Peers = append(cores.Peers, figures.Peer{Name: name, Value: s.used.Seconds()/during.Seconds() + each/1000*servers/pollEach.Seconds()})
			memory.Peers = append(memory.Peers, figures.Peer{Name: name, Value: float64(peak)/megabyte + servers*float64(now)/megabyte})
		}
		cores.Note += "; peers: measured with one exporter's page under 200 names, and 200 times what an exporter takes for the status alone"
	})
	cores.Ours = used.Seconds() / time.Since(began).Seconds()
	return []figures.Row{cores, memory}
}

// anHour gives a server the hour of polls before now, but for some minutes: what is in memory of each server is at its most.
func anHour(history *store.DB, server monolith.ServerID, trace *figures.Trace) {
	const polls = 340
	var metrics []monolith.Metric
	for _, name := range trace.Names {
		metrics = append(metrics, monolith.Metric{Name: name})
	}
	names := monolith.NewNames(metrics)
	now := time.Now().Truncate(time.Second)
	for i, nums := range trace.Polls(polls) {
		at := now.Add(-time.Duration(polls-i) * pollEach)
		history.Append(&monolith.Snapshot{Server: server, Seq: uint64(i + 1), At: at, Taken: at, Elapsed: pollEach, Interval: pollEach, Run: 1, Up: true, Polled: true,
			Sections: []monolith.Section{{Collector: "status", NumNames: names, Nums: nums}}})
	}
}

// pairs reads what a statement gives in two columns.
func pairs(t *testing.T, db *mysqltest.Server, statement string) map[string]string {
	t.Helper()
	rows, err := db.DB(t).QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		all[name] = value
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// moves lets a fifth of all counters grow, each at its own rate.
func moves(name string, recorded uint64, up time.Duration) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	if rate := h.Sum64(); rate%5 == 0 {
		return recorded + uint64(up.Seconds()*float64(rate/5%1000))
	}
	return recorded
}
