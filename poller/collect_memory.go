package poller

import (
	"context"
	"time"

	"monolith"
)

// memoryCollector reads the server's own account of its memory.
func memoryCollector() *Collector {
	return &Collector{
		Name:    "memory",
		Title:   "Memory",
		Help:    "What the server itself says it has allocated, and what of it in-memory temporary tables take.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			switch {
			case g.Identity.Flavour.IsMariaDB():
				return false, "MariaDB says it in its status (Memory_used) and has no TempTable engine"
			case !has(g.Identity, since{mysql: v(8)}):
				return false, "only MySQL from 8.0 on keeps an account of all its memory without being told to"
			case g.variable("performance_schema") == "OFF":
				return false, "performance_schema=OFF: the server keeps no account of its memory"
			}
			return true, ""
		},
		Grant:   grantPerformanceSchema,
		Collect: collectMemory,
	}
}

func grantPerformanceSchema(_ monolith.Identity, account string) string {
	return "GRANT SELECT ON performance_schema.* TO " + quoteAccount(account) + ";"
}

// allocated is one row. The sum over everything is what sys.memory_global_total shows; the view would need rights
// on sys, too. The server adds up some 500 kinds of memory over its threads for it, so it is not asked at each poll.
const allocated = "SELECT SUM(CURRENT_NUMBER_OF_BYTES_USED) AS total," +
	" SUM(IF(EVENT_NAME = 'memory/temptable/physical_ram', CURRENT_NUMBER_OF_BYTES_USED, NULL)) AS ram," +
	" SUM(IF(EVENT_NAME = 'memory/temptable/physical_disk', CURRENT_NUMBER_OF_BYTES_USED, NULL)) AS disk," +
	" (SELECT ENABLED FROM performance_schema.setup_instruments WHERE NAME = 'memory/temptable/physical_ram') AS counted" +
	" FROM performance_schema.memory_summary_global_by_event_name"

func collectMemory(ctx context.Context, g *Gather) error {
	var total, ram, disk monolith.Num
	counted := true
	err := g.Session.Query(ctx, allocated, func(row Row) error {
		total, ram, disk = row.Num("total"), row.Num("ram"), row.Num("disk")
		text, ok := row.Text("counted")
		counted = !ok || text != "NO"
		return nil
	})
	if err != nil {
		return err
	}
	if !counted {
		// What is not counted reads as 0, and what is counted in part as too little.
		total, ram, disk = monolith.Num{}, monolith.Num{}, monolith.Num{}
		g.Note(monolith.ProblemOff, "the server's memory instruments are switched off, so it does not know its own memory",
			"performance_schema_instrument='memory/%=ON' in its option file and a restart")
	}
	rec := g.Recorder("server")
	rec.Number("memory_allocated_bytes", "", notBelowZero(total))
	rec.Number("temptable_ram_bytes", "", notBelowZero(ram))
	rec.Number("temptable_disk_bytes", "", notBelowZero(disk))
	rec.Done()
	return nil
}

// notBelowZero takes what can't be true for no value: the sums fall below zero when instruments are switched on
// while memory is in use, since only its release is counted then.
func notBelowZero(n monolith.Num) monolith.Num {
	if n.Float64() < 0 {
		return monolith.Num{}
	}
	return n
}
