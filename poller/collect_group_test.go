package poller

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

func TestGroupMembersAndQueues(t *testing.T) {
	t.Parallel()
	members := func(rows ...[]string) answer { return answer{columns: []string{"state", "own"}, rows: rows} }
	const (
		asks  = "SELECT MEMBER_STATE AS state"
		stats = "SELECT COUNT_TRANSACTIONS_IN_QUEUE AS waiting, COUNT_TRANSACTIONS_CHECKED AS checked, COUNT_CONFLICTS_DETECTED AS conflicts"
	)
	f := &fakeSession{answers: map[string]answer{
		asks: members([]string{"ONLINE", "1"}, []string{"ONLINE", "0"}, []string{"RECOVERING", "0"}, []string{"Elsewhere", "0"}),
		stats + ", COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE": {columns: []string{"waiting", "checked", "conflicts", "applying"},
			rows: [][]string{{"3", "900", "7", "12"}}},
	}}
	snap, err := collect(t, groupCollector(), server("8.0.36", ""), f)
	if err != nil || len(f.sent) != 2 {
		t.Fatalf("%v, sent %q", err, f.sent)
	}
	wants(t, snap, map[string]string{
		"server.group_members[ONLINE]": "2", "server.group_members[RECOVERING]": "1", "server.group_members[UNREACHABLE]": "0",
		"server.group_members[ERROR]": "0", "server.group_members[OFFLINE]": "0", "server.group_members[ELSEWHERE]": "1",
		"server.group_member_online": "1", "server.group_waiting_transactions": "3", "server.group_applying_transactions": "12",
		"server.group_checked_total": "900", "server.group_conflicts_total": "7",
	})

	// MySQL 5.7 has no second queue: it must not be asked for it, and there is no 0 in its place.
	old := &fakeSession{answers: map[string]answer{
		asks:            members([]string{"ONLINE", "0"}, []string{"RECOVERING", "1"}),
		stats + " FROM": {columns: []string{"waiting", "checked", "conflicts"}, rows: [][]string{{"0", "5", "0"}}},
	}}
	snap, err = collect(t, groupCollector(), server("5.7.44", ""), old)
	if err != nil || len(old.refused) > 0 {
		t.Fatalf("%v, refused %q", err, old.refused)
	}
	wants(t, snap, map[string]string{"server.group_members[ONLINE]": "1", "server.group_member_online": "0.5", "server.group_waiting_transactions": "0",
		"server.group_applying_transactions": "absent", "server.group_conflicts_total": "0"})

	// A server that has not joined lists itself and has no queues; what is not known is not 0.
	alone := &fakeSession{answers: map[string]answer{
		asks: members([]string{"OFFLINE", "1"}), stats: {columns: []string{"waiting", "checked", "conflicts", "applying"}},
	}}
	snap, err = collect(t, groupCollector(), server("8.4.0", ""), alone)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"server.group_members[OFFLINE]": "1", "server.group_members[ONLINE]": "0", "server.group_member_online": "0",
		"server.group_waiting_transactions": "none", "server.group_conflicts_total": "none"})

	denied := &fakeSession{answers: map[string]answer{asks: refuse(1142, "SELECT command denied")}}
	snap, err = collect(t, groupCollector(), server("8.4.0", ""), denied)
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || len(snap.Sections) > 0 {
		t.Errorf("refused: %v, %v", snap.Sections, err)
	}
}

func TestGroupApplies(t *testing.T) {
	t.Parallel()
	member := map[string]string{"group_replication_group_name": "aaaa", "performance_schema": "ON"}
	for _, c := range []struct {
		version   string
		variables map[string]string
		says      string
	}{
		{"8.0.36", member, ""}, {"5.7.17", member, ""}, {"9.5.0", member, ""},
		{"8.0.36", map[string]string{"group_replication_group_name": ""}, "belongs to no replication group"},
		{"8.0.36", map[string]string{"port": "3306"}, "not loaded"}, {"8.0.36", nil, "not loaded"},
		{"8.0.36", map[string]string{"group_replication_group_name": "aaaa", "performance_schema": "OFF"}, "performance_schema=OFF"},
		{"5.7.16", member, "5.7.17"}, {"5.6.51", nil, "5.7.17"}, {"10.11.6-MariaDB", nil, "only MySQL"},
	} {
		ok, why := groupCollector().Applies(&Gather{Identity: server(c.version, ""), Variables: variablesOf(c.variables)})
		if ok != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%s %v: %v, %q", c.version, c.variables, ok, why)
		}
	}
	// Without a reading of its own it goes by what was known before.
	st := (*monolith.State)(nil).With(&monolith.Snapshot{Sections: []monolith.Section{{Collector: "variables",
		TextNames: monolith.NewNames([]monolith.Metric{{Name: "variable.group_replication_group_name"}}), Texts: []string{"aaaa"}}}})
	if ok, why := groupCollector().Applies(&Gather{Identity: server("8.0.36", ""), State: st}); !ok {
		t.Error(why)
	}
}
