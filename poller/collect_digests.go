package poller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"monolith"
)

const (
	digestsEach   = 5 // of each kind of cost
	maxDigestText = 1024
)

// digestsCollector reads which kinds of statement cost most.
func digestsCollector() *Collector {
	return &Collector{
		Name:    "digests",
		Title:   "Statement digests",
		Help:    "The kinds of statement that cost most since the server's start: time, rows without an index, joins without one, temporary tables on disk, sorts.",
		Timeout: 10 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if !has(g.Identity, since{mysql: v(5, 6, 5), mariadb: v(10)}) {
				return false, "only MySQL from 5.6 and MariaDB from 10.0 on sum statements up by kind"
			}
			return performanceSchemaOn(g)
		},
		Grant:   grantPerformanceSchema,
		Collect: collectDigests,
	}
}

// digestCosts are the orders in which the heaviest are picked.
var digestCosts = []string{"SUM_TIMER_WAIT", "SUM_NO_INDEX_USED * (SUM_ROWS_EXAMINED / COUNT_STAR)", "SUM_SELECT_FULL_JOIN", "SUM_CREATED_TMP_DISK_TABLES", "SUM_SORT_MERGE_PASSES"}

// monitorsDigests are patterns of what monitors send, ours included: a digest has lost the comment by which our statements are
// known. People's work is not among them, unless they look at the server's own tables. The last two are ours whose end, with the name of
// the table, may be cut off, and the one that reads a heartbeat table.
var monitorsDigests = []string{
	"SHOW %", "SET %", "KILL %", "SELECT @@%", "SELECT CURRENT\\_USER ( )%", "SELECT CURRENT\\_ROLE ( )%", "%\\_schema`%", "%`mysql` . `%",
	"SELECT %JSON\\_VALUE%`Priv`%", "SELECT %TIMESTAMPDIFF%MAX ( `ts` )%UTC\\_TIMESTAMP%",
}

// ofPeople is the condition that a digest is none of those.
func ofPeople() string {
	return "DIGEST_TEXT NOT LIKE '" + strings.Join(monitorsDigests, "' AND DIGEST_TEXT NOT LIKE '") + "'"
}

// digestStatement picks the first few of each kind of cost, among statements of people: those of monitors, ours too, read the server's own
// tables. The table has performance_schema_digests_size rows at most, by default up to 10,000.
func digestStatement(id monolith.Identity) string {
	columns := "SELECT SCHEMA_NAME AS schema_name, DIGEST AS digest, LEFT(DIGEST_TEXT, " + itoa(maxDigestText) + ") AS text, COUNT_STAR AS count," +
		" SUM_TIMER_WAIT AS wait, SUM_ROWS_EXAMINED AS examined, SUM_ROWS_SENT AS sent, SUM_NO_INDEX_USED AS no_index, SUM_SELECT_FULL_JOIN AS full_joins," +
		" SUM_CREATED_TMP_TABLES AS tmp_tables, SUM_CREATED_TMP_DISK_TABLES AS tmp_disk_tables, SUM_SORT_MERGE_PASSES AS merge_passes," +
		" UNIX_TIMESTAMP(LAST_SEEN) AS last_seen"
	if has(id, since{mysql: v(8, 0, 28)}) {
		columns += ", SUM_CPU_TIME AS cpu"
	}
	parts := make([]string, 0, len(digestCosts))
	for _, cost := range digestCosts {
		parts = append(parts, "("+columns+" FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IS NOT NULL AND COUNT_STAR > 0 AND "+
			ofPeople()+" AND "+cost+" > 0 ORDER BY "+cost+" DESC LIMIT "+itoa(digestsEach)+")")
	}
	return strings.Join(parts, " UNION ALL ")
}

func collectDigests(ctx context.Context, g *Gather) error {
	list := []monolith.Digest{}
	seen := map[[2]string]bool{}
	unreadable := 0
	const picoseconds = 1e12
	err := g.Session.Query(ctx, digestStatement(g.Identity), func(row Row) error {
		lacks := false
		value := func(name string) float64 {
			n := row.Num(name)
			if n.IsNone() {
				lacks = true
				return 0
			}
			return n.Float64()
		}
		d := monolith.Digest{
			Schema: cut(printable(first(row.Text("schema_name"))), 128), Digest: cut(printable(first(row.Text("digest"))), 64),
			Text: cut(printable(first(row.Text("text"))), maxDigestText), Count: value("count"), Seconds: value("wait") / picoseconds,
			RowsExamined: value("examined"), RowsSent: value("sent"), NoIndex: value("no_index"), FullJoins: value("full_joins"),
			TmpTables: value("tmp_tables"), TmpDiskTables: value("tmp_disk_tables"), SortMergePasses: value("merge_passes"),
		}
		if cpu := row.Num("cpu"); !cpu.IsNone() {
			d.CPUSeconds = new(cpu.Float64() / picoseconds)
		}
		if lacks {
			unreadable++
			return nil
		}
		if at := row.Num("last_seen"); !at.IsNone() && at.Float64() > 0 {
			d.LastSeen = time.Unix(int64(at.Float64()), 0).UTC()
		}
		if key := [2]string{d.Schema, d.Digest}; !seen[key] {
			seen[key] = true
			list = append(list, d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if unreadable > 0 {
		g.Note(monolith.ProblemPartial, fmt.Sprintf("%d of the statement digests hold a number that could not be read: they are left out", unreadable), "")
	}
	slices.SortFunc(list, func(a, b monolith.Digest) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), strings.Compare(a.Digest, b.Digest), strings.Compare(a.Schema, b.Schema))
	})
	g.snapshot.Digests = list
	return nil
}
