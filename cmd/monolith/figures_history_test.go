//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
	"monolith/internal/figures"
	"monolith/store"
	"monolith/store/history"
)

// A day at one poll each ten seconds.
const (
	pollEach = 10 * time.Second
	dayPolls = int(24 * time.Hour / pollEach)
)

// historyRows are what a day takes on disk, and the dashboards of two hours and of a day that are drawn from it.
func historyRows(t *testing.T, b *bench) (rows []figures.Row) {
	end := time.Now().UTC().Truncate(pollEach)
	for i, trace := range b.traces {
		dir := t.TempDir()
		fresh, packed := live(t, dir, trace, end, dayPolls, 10)
		row := func(what string, bytes int64) figures.Row {
			return figures.Row{Name: "disk of a server and day, " + what + ": " + trace.Title, Unit: "MB", Ours: float64(bytes) / megabyte}
		}
		newRow, oldRow := row("at its end", fresh), row("all packed", packed)
		if i == 0 {
			oldRow.Target = 0.8
			newRow.Note = "all pages of the SQLite file that came into use: names, index, roll-ups, the polls of the last hour; peers: all their files"
			oldRow.Note = "75 minutes after the last poll; Prometheus: a snapshot in blocks; VictoriaMetrics: after a forced merge"
		}
		start := end.Add(-time.Duration(dayPolls-1) * pollEach)
		prometheus := figures.Prometheus(t, t.TempDir(), "global: {}\n")
		if prometheus != nil {
			prometheus.Write(trace, start, dayPolls)
			newRow.Peers = append(newRow.Peers, figures.Peer{Name: prometheus.Name, Value: onDisk(t, prometheus.Dir)})
			blocks := prometheus.Snapshot()
			oldRow.Peers = append(oldRow.Peers, figures.Peer{Name: prometheus.Name, Value: onDisk(t, blocks)})
			prometheus.Stop()
			prometheus = figures.Prometheus(t, blocks, "global: {}\n")
		}
		victoria := figures.Victoria(t, t.TempDir(), "")
		if victoria != nil {
			victoria.Write(trace, start, dayPolls)
			victoria.Settle()
			newRow.Peers = append(newRow.Peers, figures.Peer{Name: victoria.Name, Value: onDisk(t, victoria.Dir)})
			victoria.Merge()
			oldRow.Peers = append(oldRow.Peers, figures.Peer{Name: victoria.Name, Value: onDisk(t, victoria.Dir)})
		}
		rows = append(rows, newRow, oldRow)
		if i == 0 {
			p := serveFigures(t, b, dir)
			rows = append(rows,
				dashboardRow(t, p, trace, end, "2h", 2*time.Hour, 5, prometheus, victoria),
				dashboardRow(t, p, trace, end, "24h", 24*time.Hour, 6, prometheus, victoria))
			rows[len(rows)-2].Note = "20 rates in one request over HTTP, as processor time of the program that answers; all three hold the day above"
		}
		for _, p := range []*figures.Program{prometheus, victoria} {
			if p != nil {
				p.Stop()
			}
		}
	}
	return rows
}

// monthRows is the dashboard of a month. The peers are given the 20 series that are asked for alone.
func monthRows(t *testing.T, b *bench) []figures.Row {
	const polls = 30 * dayPolls
	end := time.Now().UTC().Truncate(pollEach)
	trace := b.traces[0]
	dir := t.TempDir()
	live(t, dir, trace, end, polls, 90)
	start := end.Add(-time.Duration(polls-1) * pollEach)
	few := trace.Only(trace.Moving[:20])
	prometheus := figures.Prometheus(t, t.TempDir(), "global: {}\n")
	if prometheus != nil {
		prometheus.Write(few, start, polls)
		blocks := prometheus.Snapshot()
		prometheus.Stop()
		prometheus = figures.Prometheus(t, blocks, "global: {}\n")
	}
	victoria := figures.Victoria(t, t.TempDir(), "")
	if victoria != nil {
		victoria.Write(few, start, polls)
		victoria.Merge()
	}
	row := dashboardRow(t, serveFigures(t, b, dir), few, end, "30d", 30*24*time.Hour, 20, prometheus, victoria)
	row.Note = "peers hold the 20 series alone, ours all of the server's"
	return []figures.Row{row}
}

func onDisk(t *testing.T, dir string) float64 {
	t.Helper()
	bytes, err := figures.DiskUsage(dir)
	if err != nil {
		t.Fatal(err)
	}
	return float64(bytes) / megabyte
}

// live lets a store live through n polls of a server, the last one at end, with its background work at its own pace in a time
// that is made up, and then through 75 minutes without a poll. It says how many bytes of the file that had put into use at
// the end of each. So many polls are committed at once.
func live(t *testing.T, dir string, trace *figures.Trace, end time.Time, n, together int) (fresh, packed int64) {
	t.Helper()
	meetCoders(t)
	synctest.Test(t, func(t *testing.T) {
		var clock atomic.Pointer[time.Time]
		at := end.Add(-time.Duration(n) * pollEach)
		clock.Store(&at)
		db, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "monolith.db"), Now: func() time.Time { return *clock.Load() }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- db.Run(ctx) }()
		empty := int64(0) // before the server was there: the schema
		use := func() int64 {
			u, err := db.Usage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return u.Bytes - u.Free - empty
		}
		empty = use()
		// Paused: what serves the history later shall not look for the server.
		server := monolith.Server{Name: "db1", Endpoint: monolith.Endpoint{Host: "db.example", User: "monolith"}, Paused: true}
		if err := db.AddServer(t.Context(), &server); err != nil {
			t.Fatal(err)
		}
		var metrics []monolith.Metric
		for _, name := range trace.Names {
			metrics = append(metrics, monolith.Metric{Name: name})
		}
		names := monolith.NewNames(metrics)
		for i, nums := range trace.Polls(n) {
			at := at.Add(time.Duration(i+1) * pollEach)
			db.Append(&monolith.Snapshot{Server: server.ID, Seq: uint64(i + 1), At: at, Taken: at, Elapsed: pollEach, Interval: pollEach, Run: 1, Up: true, Polled: true,
				Sections: []monolith.Section{{Collector: "status", NumNames: names, Nums: nums}}})
			clock.Store(&at)
			if (i+1)%together == 0 {
				time.Sleep(time.Second) // of made-up time: what was appended is committed, and packed where it is due
			}
		}
		time.Sleep(time.Minute)
		fresh = use()
		for range 15 {
			later := clock.Load().Add(5 * time.Minute)
			clock.Store(&later)
			time.Sleep(5 * time.Minute)
		}
		packed = use()
		if s := db.Stats(); s.Committed != uint64(n) || s.TailBytes > 0 || s.Dropped > 0 {
			t.Errorf("of %d polls %d are committed, %d dropped, %d bytes not packed", n, s.Committed, s.Dropped, s.TailBytes)
		}
		stop()
		if err := errors.Join(<-done, db.Close()); err != nil {
			t.Error(err)
		}
	})
	return fresh, packed
}

// meetCoders packs a block outside of made-up time: what compresses it is made once, and belongs to the time it was made in.
func meetCoders(t *testing.T) {
	t.Helper()
	tail := history.NewTail()
	poll := history.NewEncoder().Append(nil, history.Row{At: 1, Interval: 1, Seq: 1, Run: 1, Polled: true},
		[]history.Section{{IDs: []history.MetricID{1}, Nums: []monolith.Num{monolith.Uint(1)}}})
	if err := tail.Append(poll); err != nil {
		t.Fatal(err)
	}
	block, err := history.Marshal(tail)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := history.Open(block); err != nil {
		t.Fatal(err)
	}
}

// dashboardRow measures a dashboard of 20 rates of 720 points.
func dashboardRow(t *testing.T, p *running, trace *figures.Trace, end time.Time, name string, span time.Duration, target float64, peers ...*figures.Program) figures.Row {
	t.Helper()
	var names []string
	query := url.Values{"server": {"db1"}, "from": {fmt.Sprint(end.Add(-span).Unix())}, "to": {fmt.Sprint(end.Unix())}}
	for _, i := range trace.Moving[:20] {
		names = append(names, trace.Names[i])
		query.Add("expr", "rate("+trace.Names[i]+")")
	}
	const times = 60
	path := "/api/v1/series?" + query.Encode()
	row := figures.Row{Name: "dashboard of 20 series, " + name, Unit: "ms", Target: target}
	var answer series
	p.get(t, path, &answer)
	points := 0
	for i := range answer.Series {
		one := series{Series: answer.Series[i : i+1]}
		points += one.points()
	}
	if len(answer.Series) != 20 || points < 20*700 {
		t.Errorf("%s: ours gives %d series with %d points", name, len(answer.Series), points)
	}
	row.Ours = milliseconds(measure(t, p.pid, func() {
		for range times {
			p.get(t, path, nil)
		}
	}), times)
	for _, peer := range peers {
		if peer == nil {
			continue
		}
		path := figures.Dashboard(names, end, span)
		if series, points, err := figures.Points(peer.Get(path)); err != nil || series != 20 || points < 20*700 {
			t.Errorf("%s: %s gives %d series with %d points, %v", name, peer.Name, series, points, err)
		}
		before := peer.CPU()
		for range times {
			peer.Get(path)
		}
		row.Peers = append(row.Peers, figures.Peer{Name: peer.Name, Value: milliseconds(peer.CPU()-before, times)})
	}
	return row
}
