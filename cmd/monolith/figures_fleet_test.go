//go:build linux

package main

import (
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"monolith/internal/figures"
	"monolith/internal/mysqltest"
	"monolith/internal/replay"
)

// fleetRows are 200 servers each ten seconds, for as long as each needs for its slower collectors too. Ours are played from
// what a MariaDB says here; they run in this process, so that the program's own figures are its alone.
func fleetRows(t *testing.T, b *bench) []figures.Row {
	const servers = 200
	db := mysqltest.MariaDB(t)
	recording := replay.Record(pairs(t, db, "SHOW GLOBAL VARIABLES"), pairs(t, db, "SHOW GLOBAL STATUS"))
	var lines []string
	for i := range servers {
		s := replay.Start(t, recording, replay.Counters(moves), replay.Refusing())
		lines = append(lines, fmt.Sprintf("db%d=%s", i+1, s.DSN()))
	}
	p := serveFigures(t, b, t.TempDir(), lines...)
	cores := figures.Row{Name: "200 servers each 10 s: processor", Unit: "cores", Target: 0.03, Note: "over a minute, all collectors, once every server was polled"}
	memory := figures.Row{Name: "200 servers each 10 s: memory", Unit: "MB", Target: 150, Note: "the most that was resident, from the start on"}

	// The first polls read everything; they are no part of a day's minute.
	wait(t, 30*time.Second)
	const during = time.Minute
	exporter := figures.Exporter(t, exporterDSN(t, db), true)
	used := measure(t, p.pid, func() {
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
	cores.Ours = used.Seconds() / during.Seconds()
	_, memory.Ours = p.memory(t)
	return []figures.Row{cores, memory}
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
