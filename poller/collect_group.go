package poller

import (
	"context"
	"slices"
	"strings"
	"time"

	"monolith"
)

// groupCollector reads the replication group that a server belongs to.
func groupCollector() *Collector {
	return &Collector{
		Name:    "group",
		Title:   "Group Replication",
		Help:    "The members of the server's replication group by state, its own queues, and conflicts between transactions.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if !has(g.Identity, since{mysql: v(5, 7, 17)}) {
				return false, "only MySQL from 5.7.17 on has Group Replication"
			}
			name, known := g.lookUp("group_replication_group_name")
			switch {
			case !known:
				return false, "the plug-in group_replication is not loaded, as far as the server's variables tell"
			case name == "":
				return false, "the server belongs to no replication group (group_replication_group_name is empty)"
			case g.variable("performance_schema") == "OFF":
				return false, "performance_schema=OFF: the server does not show its replication group"
			}
			return true, ""
		},
		Grant:   grantPerformanceSchema,
		Collect: collectGroup,
	}
}

// groupStates are those of MEMBER_STATE, the best first. Others are recorded as they come.
var groupStates = []string{"ONLINE", "RECOVERING", "UNREACHABLE", "ERROR", "OFFLINE"}

// groupMembers has a row a member. A server that has not joined lists only itself, OFFLINE and without an id.
const groupMembers = "SELECT MEMBER_STATE AS state, (MEMBER_ID = @@server_uuid OR MEMBER_ID = '') AS own" +
	" FROM performance_schema.replication_group_members"

// groupStats is of this member alone; of the others it would be some seconds old. MySQL 5.7 has one queue of the two.
const (
	groupStats57 = "SELECT COUNT_TRANSACTIONS_IN_QUEUE AS waiting, COUNT_TRANSACTIONS_CHECKED AS checked, COUNT_CONFLICTS_DETECTED AS conflicts" +
		" FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID = @@server_uuid"
	groupStats = "SELECT COUNT_TRANSACTIONS_IN_QUEUE AS waiting, COUNT_TRANSACTIONS_CHECKED AS checked, COUNT_CONFLICTS_DETECTED AS conflicts," +
		" COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE AS applying" +
		" FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID = @@server_uuid"
)

func collectGroup(ctx context.Context, g *Gather) error {
	count := map[string]uint64{}
	own := ""
	err := g.Session.Query(ctx, groupMembers, func(row Row) error {
		state := strings.ToUpper(cut(printable(first(row.Text("state"))), 32))
		if mine, _ := row.Int("own"); mine == 1 {
			own = state
		}
		if count[state] == 0 && len(count) >= 2*len(groupStates) {
			return nil // no server has so many states
		}
		count[state]++
		return nil
	})
	if err != nil {
		return err
	}
	newer := has(g.Identity, since{mysql: v(8, 0, 2)})
	statement := groupStats57
	if newer {
		statement = groupStats
	}
	var waiting, applying, checked, conflicts monolith.Num // none while the server is not in the group
	err = g.Session.Query(ctx, statement, func(row Row) error {
		waiting, checked, conflicts = row.Num("waiting"), row.Num("checked"), row.Num("conflicts")
		applying = row.Num("applying")
		return nil
	})
	if err != nil {
		return err
	}
	rec := g.Recorder("server")
	for _, state := range groupStates {
		rec.Number("group_members", state, monolith.Uint(count[state]))
	}
	for _, state := range sortedKeys(count) {
		if state != "" && !slices.Contains(groupStates, state) {
			rec.Number("group_members", state, monolith.Uint(count[state]))
		}
	}
	rec.Number("group_member_online", "", groupStateValue(own))
	rec.Number("group_waiting_transactions", "", waiting)
	if newer {
		rec.Number("group_applying_transactions", "", applying)
	}
	rec.Number("group_checked_total", "", checked)
	rec.Number("group_conflicts_total", "", conflicts)
	rec.Done()
	return nil
}

func groupStateValue(state string) monolith.Num {
	switch state {
	case "":
		return monolith.Num{}
	case "ONLINE":
		return monolith.Uint(1)
	case "RECOVERING":
		return monolith.Float(0.5)
	}
	return monolith.Uint(0)
}
