package poller

import "testing"

func TestReplicaFilters(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SHOW REPLICA STATUS": vertical(`
		Replica_IO_Running: Yes
		Replica_SQL_Running: Yes
		Replicate_Do_DB: shop,crm
		Replicate_Ignore_Table:
		Replicate_Wild_Ignore_Table: shop.tmp%
		Replicate_Rewrite_DB:
	`)}}
	snap, err := collect(t, replicationCollector(), server("8.4.0", ""), f)
	if err != nil || len(snap.Replicas) != 1 {
		t.Fatal(snap.Replicas, err)
	}
	if got := snap.Replicas[0].Filters; got != "Replicate_Do_DB: shop,crm; Replicate_Wild_Ignore_Table: shop.tmp%" {
		t.Errorf("filters %q", got)
	}
	f.answers["SHOW REPLICA STATUS"] = vertical("Replica_IO_Running: Yes\nReplicate_Do_DB:\n")
	if snap, err = collect(t, replicationCollector(), server("8.4.0", ""), f); err != nil || snap.Replicas[0].Filters != "" {
		t.Errorf("without filters: %+v, %v", snap.Replicas, err)
	}
}
