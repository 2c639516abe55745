package poller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

// stateWith makes a state in which the status has the given texts.
func stateWith(texts map[string]string) *monolith.State {
	var names []monolith.Metric
	var values []string
	for _, name := range sortedKeys(texts) {
		names, values = append(names, monolith.Metric{Name: name}), append(values, texts[name])
	}
	var s *monolith.State
	return s.With(&monolith.Snapshot{At: time.Unix(1, 0), Sections: []monolith.Section{{Collector: "status", TextNames: monolith.NewNames(names), Texts: values}}})
}

func TestGroupMembers(t *testing.T) {
	t.Parallel()
	members := answer{columns: []string{"id", "host", "port", "state", "own", "role", "version"}, rows: [][]string{
		{"b", "db2", "3306", "RECOVERING", "0", "SECONDARY", "8.0.36"}, {"a", "db1", "3306", "ONLINE", "1", "PRIMARY", "8.0.35"}}}
	f := &fakeSession{answers: map[string]answer{
		listMembers:  members,
		memberQueues: {columns: []string{"id", "queue", "apply_queue"}, rows: [][]string{{"a", "3", "7"}, {"gone", "1", "1"}}},
	}}
	snap, err := collect(t, membersCollector(), server("8.0.36", ""), f)
	if err != nil || len(f.refused) > 0 {
		t.Fatal(err, f.refused)
	}
	want := []monolith.Member{
		{Kind: "group", ID: "a", Host: "db1", Port: 3306, State: "ONLINE", Role: "PRIMARY", Version: "8.0.35", Own: true, Queue: new(int64(3)), ApplyQueue: new(int64(7))},
		{Kind: "group", ID: "b", Host: "db2", Port: 3306, State: "RECOVERING", Role: "SECONDARY", Version: "8.0.36"},
	}
	if diff := cmp.Diff(want, snap.Members); diff != "" {
		t.Error(diff)
	}
	wants(t, snap, map[string]string{"server.group_primaries": "1", "server.group_versions": "2"})

	// MySQL 5.7 tells neither role nor version; the primary's id stands in its status, and nowhere in a group of several.
	f = &fakeSession{answers: map[string]answer{
		listMembers57:  {columns: members.columns[:5], rows: [][]string{{"b", "db2", "3306", "ONLINE", "0"}, {"a", "db1", "3306", "ONLINE", "1"}}},
		memberQueues57: {columns: []string{"id", "queue"}, rows: [][]string{{"a", "3"}}},
	}}
	snap, err = collect(t, membersCollector(), server("5.7.44", ""), f, func(g *Gather) {
		g.State = stateWith(map[string]string{"status.group_replication_primary_member": "b"})
	})
	if err != nil || len(f.refused) > 0 || snap.Members[1].Role != "PRIMARY" || snap.Members[0].Role != "SECONDARY" || snap.Members[0].ApplyQueue != nil {
		t.Errorf("%+v, %v, %v", snap.Members, err, f.refused)
	}
	wants(t, snap, map[string]string{"server.group_primaries": "1", "server.group_versions": "absent"})
	if snap, err = collect(t, membersCollector(), server("5.7.44", ""), f); err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"server.group_primaries": "none"})
	if ok, why := membersCollector().Applies(&Gather{Identity: server("8.0.36", ""), Server: &monolith.Server{}}); ok || !strings.Contains(why, "wsrep_on") {
		t.Error("a server on its own has members:", why)
	}
}

func TestGaleraNodes(t *testing.T) {
	t.Parallel()
	const table = "SELECT node_uuid AS id"
	status := map[string]string{"status.wsrep_gcomm_uuid": "B-2", "status.wsrep_local_state_comment": "Synced", "status.wsrep_incoming_addresses": "10.0.0.1:3306,AUTO,[::1]:3307,",
		"status.wsrep_local_index": "0"}
	on := func(texts map[string]string) func(g *Gather) { return func(g *Gather) { g.State = stateWith(texts) } }
	id := server("10.11.6-MariaDB", "")
	id.Galera = true
	f := &fakeSession{answers: map[string]answer{table: {columns: []string{"id", "name", "address"}, rows: [][]string{{"b-2", "two", "10.0.0.2:3306"}, {"a-1", "one", "AUTO"}}}}}
	snap, err := collect(t, membersCollector(), id, f, on(status))
	want := []monolith.Member{
		{Kind: "galera", ID: "b-2", Name: "two", Host: "10.0.0.2", Port: 3306, State: "Synced", Version: "10.11.6-MariaDB", Own: true},
		{Kind: "galera", ID: "a-1", Name: "one", Host: "AUTO"},
	}
	if diff := cmp.Diff(want, snap.Members); diff != "" || err != nil {
		t.Error(diff, err)
	}
	// Without the right, and on a version without the table, the status has the addresses.
	f.answers[table] = refuse(1142, "SELECT command denied")
	old := server("10.3.39-MariaDB", "")
	old.Galera = true
	delete(status, "status.wsrep_gcomm_uuid")
	for _, c := range []struct {
		id       monolith.Identity
		problems string
	}{{id, "[privilege]"}, {old, "[]"}} {
		snap, err = collect(t, membersCollector(), c.id, f, on(status))
		if err != nil || len(snap.Members) != 3 || problemKinds(snap) != c.problems || !snap.Members[0].Own || snap.Members[1].Host != "::1" || snap.Members[1].Port != 3307 {
			t.Errorf("%v: %+v, %v, %v", c.id, snap.Members, snap.Problems, err)
		}
	}
	if ok, _ := membersCollector().Applies(&Gather{Identity: id}); !ok {
		t.Error("a Galera node has no members")
	}
}

func TestAuroraReplicas(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{listAuroraReplicas: {columns: []string{"name", "writer", "lag", "cpu", "updated", "own"}, rows: [][]string{
		{"reader-1", "0", "21.5", "4.5", "2026-11-30 21:00:00.5", "1"}, {"main", "1", "0", null, "2026-11-30 21:00:01", "0"}}}}}
	id := monolith.Identity{Flavour: monolith.Aurora, Version: v(8, 0, 28)}
	snap, err := collect(t, auroraCollector(), id, f)
	want := []monolith.AuroraReplica{{Name: "main", Writer: true, Updated: "2026-11-30 21:00:01"},
		{Name: "reader-1", Lag: new(0.0215), CPU: new(4.5), Updated: "2026-11-30 21:00:00.5", Own: true}}
	if diff := cmp.Diff(want, snap.AuroraReplicas); diff != "" || err != nil {
		t.Error(diff, err)
	}
	wants(t, snap, map[string]string{"server.aurora_replicas": "2"})
	if ok, _ := auroraCollector().Applies(&Gather{Identity: server("8.0.36", "")}); ok {
		t.Error("every MySQL is Aurora")
	}
}

func TestGTIDSets(t *testing.T) {
	t.Parallel()
	const a, b = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
	f := &fakeSession{answers: map[string]answer{"SELECT @@GLOBAL.gtid_executed": {columns: []string{"executed", "purged"},
		rows: [][]string{{a + ":1-50:52-90,\n" + b + ":tag1:1-5:9", a + ":1-20"}}}}}
	snap, err := collect(t, gtidsCollector(), server("8.4.0", ""), f)
	if err != nil || snap.GTIDs.Executed != a+":1-50:52-90,"+b+":tag1:1-5:9" || snap.GTIDs.MissingCount != 4 || snap.GTIDs.Missing != a+":51,"+b+":tag1:6-8" {
		t.Errorf("%+v, %v", snap.GTIDs, err)
	}
	wants(t, snap, map[string]string{"server.gtid_missing_transactions": "4"})
	f.answers["SELECT @@GLOBAL.gtid_executed"] = answer{columns: []string{"executed", "purged"}, rows: [][]string{{a + ":1-", ""}}}
	if snap, err = collect(t, gtidsCollector(), server("8.4.0", ""), f); err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"server.gtid_missing_transactions": "none"})
	f = &fakeSession{answers: map[string]answer{"SELECT @@GLOBAL.gtid_current_pos": {columns: []string{"executed", "binlog_pos", "binlog_state"}, rows: [][]string{{"0-1-9", "0-1-9", "0-1-9,0-2-7"}}}}}
	snap, err = collect(t, gtidsCollector(), server("10.11.6-MariaDB", ""), f)
	if err != nil || snap.GTIDs.Executed != "0-1-9" || snap.GTIDs.BinlogState != "0-1-9,0-2-7" || find(snap, "server.gtid_missing_transactions", "") != "absent" {
		t.Errorf("%+v, %v", snap.GTIDs, err)
	}
	for mode, want := range map[string]bool{"OFF": false, "": false, "ON": true, "ON_PERMISSIVE": true} {
		if ok, _ := gtidsCollector().Applies(&Gather{Identity: server("8.4.0", ""), Variables: variablesOf(map[string]string{"gtid_mode": mode})}); ok != want {
			t.Errorf("gtid_mode=%s: %v", mode, ok)
		}
	}
}

func FuzzGaleraNode(f *testing.F) {
	for _, s := range []string{"10.0.0.1:3306", "AUTO", "[::1]:3307", "::1", "h:99999999999999999999", ":", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if m := galeraNode(address); m.Kind != "galera" || m.Host == "" && m.Port == 0 && address != "" && address[0] != ':' && address[0] != '[' || len(m.Host) > 260 {
			t.Errorf("%q: %+v", address, m)
		}
	})
}
