//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/figures"
	"monolith/store"
)

// exportRows are 20 fields of 200 servers as XML, and a feed out of 20,000 events, each as a program gets them over HTTP: the
// shortest of several times, since other programs run too. The servers are not reachable, so that every value is looked up in history.
func exportRows(t *testing.T, b *bench) []figures.Row {
	const servers, alerts = 200, 5_000
	dir := t.TempDir()
	history, err := store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "monolith.db")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- history.Run(ctx) }()
	var ids []monolith.ServerID
	for i := range servers {
		server := monolith.Server{Name: fmt.Sprintf("db%d", i+1), Group: fmt.Sprintf("g%d", i%10), Paused: true,
			Endpoint: monolith.Endpoint{Host: "127.0.0.1", Port: 1, User: "nobody"}}
		if err := history.AddServer(t.Context(), &server); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, server.ID)
		anHour(history, server.ID, b.traces[0])
	}
	figures.Until(t, "all is committed", func() bool { return history.Stats().SpoolPolls == 0 })
	now := time.Now()
	for n := 0; n < alerts; n += 500 {
		batch := &monolith.AlertBatch{At: now}
		for i := n; i < n+500; i++ {
			at := now.Add(-time.Duration(alerts-i) * time.Minute)
			a := &monolith.Alert{AlertKey: monolith.AlertKey{Server: ids[i%servers], Rule: fmt.Sprintf("rule-%d", i%100), Instance: fmt.Sprint(i)}, Title: "Replication lag", Level: monolith.Levels[i%3],
				Summary: "412 s > 300 s", Text: strings.Repeat("The replica is behind its source. ", 5), Opened: at, Changed: at, Closed: at.Add(time.Minute), Reason: monolith.ClosedCleared}
			batch.Alerts = append(batch.Alerts, a)
			for _, kind := range []monolith.AlertEventKind{monolith.EventOpened, monolith.EventRaised, monolith.EventLowered, monolith.EventClosed} {
				batch.Events = append(batch.Events, &monolith.AlertBatchEvent{AlertEvent: monolith.AlertEvent{At: at, Kind: kind, Level: a.Level}, Of: a})
			}
		}
		if err := history.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := errors.Join(<-done, history.Close()); err != nil {
		t.Fatal(err)
	}

	fields := []string{"server", "group"}
	for _, i := range b.traces[0].Moving {
		if len(fields) < 20 {
			fields = append(fields, "rate("+b.traces[0].Names[i]+")")
		}
	}
	p := serveFigures(t, b, dir)
	_, before := p.memory(t)
	path := "/api/v1/export.xml?fields=" + url.QueryEscape(strings.Join(fields, ","))
	first, all, size := shortest(t, p.address+path, 15)
	_, after := p.memory(t)
	_, feed, _ := shortest(t, p.address+"/feeds/critical.rss", 30)
	_, narrow, _ := shortest(t, p.address+"/feeds/warn.atom?group=g7", 30)
	note := fmt.Sprintf("%d kB; wall clock, the shortest of 15; the program took %s MB more at its most", size>>10, figures.Format(max(0, after-before)))
	return []figures.Row{
		{Name: "export of 200 servers × 20 fields: first byte", Unit: "ms", Ours: first, Target: 20},
		{Name: "export of 200 servers × 20 fields: all", Unit: "ms", Ours: all, Target: 100, Note: note},
		{Name: "feed of a level out of 20,000 events", Unit: "ms", Ours: feed, Target: 5, Note: "100 entries; wall clock, the shortest of 30"},
		{Name: "the same of one group", Unit: "ms", Ours: narrow, Target: 5},
	}
}

// shortest asks for an address several times and gives the shortest times to the first byte and to the last, in ms.
func shortest(t *testing.T, address string, times int) (first, all float64, size int64) {
	t.Helper()
	for i := range times {
		began := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		one := make([]byte, 1)
		if _, err := io.ReadFull(resp.Body, one); err != nil {
			t.Fatal(err)
		}
		toFirst := float64(time.Since(began)) / 1e6
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", address, resp.Status, err)
		}
		toLast := float64(time.Since(began)) / 1e6
		if i == 0 || toFirst < first {
			first = toFirst
		}
		if i == 0 || toLast < all {
			all = toLast
		}
		size = n + 1
	}
	return first, all, size
}
