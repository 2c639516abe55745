package poller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"monolith"
)

// auroraCollector lists the instances of an Aurora cluster.
func auroraCollector() *Collector {
	return &Collector{
		Name:    "aurora",
		Title:   "Aurora cluster",
		Help:    "The instances of the Aurora cluster, which of them writes, and how far the others are behind.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if g.Identity.Flavour != monolith.Aurora {
				return false, "the server is no Aurora instance"
			}
			return true, ""
		},
		Collect: collectAurora,
	}
}

const listAuroraReplicas = "SELECT SERVER_ID AS name, SESSION_ID = 'MASTER_SESSION_ID' AS writer, REPLICA_LAG_IN_MILLISECONDS AS lag, CPU AS cpu," +
	" LAST_UPDATE_TIMESTAMP AS updated, SERVER_ID = @@aurora_server_id AS own FROM information_schema.replica_host_status LIMIT 100"

func collectAurora(ctx context.Context, g *Gather) error {
	list := []monolith.AuroraReplica{}
	err := g.Session.Query(ctx, listAuroraReplicas, func(row Row) error {
		r := monolith.AuroraReplica{
			Name: cut(printable(first(row.Text("name"))), 255), Writer: number(row, "writer") == 1, Own: number(row, "own") == 1,
			Updated: cut(printable(first(row.Text("updated"))), 32),
		}
		if ms := row.Num("lag"); !ms.IsNone() && !r.Writer {
			r.Lag = new(ms.Float64() / 1000)
		}
		if cpu := row.Num("cpu"); !cpu.IsNone() {
			r.CPU = new(cpu.Float64())
		}
		list = append(list, r)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b monolith.AuroraReplica) int { return cmp.Compare(a.Name, b.Name) })
	rec := g.Recorder("server")
	rec.Number("aurora_replicas", "", monolith.Uint(uint64(len(list))))
	rec.Done()
	g.snapshot.AuroraReplicas = list
	return nil
}
