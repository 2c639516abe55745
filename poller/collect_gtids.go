package poller

import (
	"context"
	"time"

	"monolith"
)

// gtidsCollector reads which transactions a server has executed.
func gtidsCollector() *Collector {
	return &Collector{
		Name:    "gtids",
		Title:   "GTID sets",
		Help:    "Which transactions the server has executed and written to its binary log, and which are missing in between.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if !has(g.Identity, since{mysql: v(5, 6, 9), mariadb: v(10, 0, 2)}) {
				return false, "only MySQL from 5.6 and MariaDB from 10.0 on have GTIDs"
			}
			if mode := g.variable("gtid_mode"); g.Identity.Flavour.IsMySQL() && (mode == "OFF" || mode == "") {
				return false, "gtid_mode=OFF: transactions have no GTIDs"
			}
			return true, ""
		},
		Collect: collectGTIDs,
	}
}

func collectGTIDs(ctx context.Context, g *Gather) error {
	statement := "SELECT @@GLOBAL.gtid_executed AS executed, @@GLOBAL.gtid_purged AS purged"
	if g.Identity.Flavour.IsMariaDB() {
		statement = "SELECT @@GLOBAL.gtid_current_pos AS executed, @@GLOBAL.gtid_binlog_pos AS binlog_pos, @@GLOBAL.gtid_binlog_state AS binlog_state"
	}
	sets := &monolith.GTIDs{Taken: g.Now}
	err := g.Session.Query(ctx, statement, func(row Row) error {
		text := func(name string) string { return gtidSet(first(row.Text(name))) }
		sets.Executed, sets.Purged, sets.BinlogPos, sets.BinlogState = text("executed"), text("purged"), text("binlog_pos"), text("binlog_state")
		return nil
	})
	if err != nil {
		return err
	}
	if g.Identity.Flavour.IsMySQL() {
		missing := monolith.Num{}
		executed, ok1 := monolith.ParseGTIDSet(sets.Executed)
		purged, ok2 := monolith.ParseGTIDSet(sets.Purged)
		if ok1 && ok2 {
			gaps := executed.Gaps().Minus(purged)
			sets.Missing, sets.MissingCount = cut(gaps.String(), 1024), gaps.Count()
			missing = monolith.Uint(sets.MissingCount)
		}
		rec := g.Recorder("server")
		rec.Number("gtid_missing_transactions", "", missing)
		rec.Done()
	}
	g.snapshot.GTIDs = sets
	return nil
}
