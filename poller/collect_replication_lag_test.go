package poller

import (
	"testing"

	"monolith"
)

// TestDelayTakesTheBestMeasure: of a replica that is meant to be an hour behind, and is 13 s more, whatever tells it.
func TestDelayTakesTheBestMeasure(t *testing.T) {
	t.Parallel()
	workers := func(delay, untold string) answer {
		return answer{columns: []string{"channel_name", "delay", "untold", "busy"}, rows: [][]string{{"", delay, untold, "1"}}}
	}
	beat := answer{columns: []string{"utc", "local"}, rows: [][]string{{"3613", "10813"}}} // UTC on a host in CEST
	for name, c := range map[string]struct {
		lag, io   string
		workers   answer
		heartbeat bool
		delay     string
		by        monolith.DelayBy
	}{
		"the server":                          {"3613", "Yes", workers("0", "0"), false, "13", monolith.ByServer},
		"the transaction at hand":             {"9000", "Yes", workers("3613.7", "0"), false, "13", monolith.ByCommit},
		"a source that tells no commit times": {"3613", "Yes", workers("0", "1"), false, "13", monolith.ByServer},
		"the heartbeat":                       {"0", "Yes", workers("9000", "0"), true, "13", monolith.ByHeartbeat},
		"the heartbeat alone":                 {"NULL", "Yes", workers("0", "0"), true, "13", monolith.ByHeartbeat},
		"nothing":                             {"NULL", "Yes", workers("0", "0"), false, "none", ""},
		"nothing, for the receiver is down":   {"0", "No", workers("3613", "0"), true, "none", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeSession{answers: map[string]answer{
				"SHOW REPLICA STATUS": vertical(with(renamed(oldRow), "Seconds_Behind_Source", c.lag, "SQL_Delay", "3600", "Replica_IO_Running", c.io)),
				commitDelay:           c.workers, retries: applierRetries(), "SELECT TIMESTAMPDIFF(SECOND": beat,
			}}
			snap, err := collect(t, replicationCollector(), server("8.4.0", ""), f, func(g *Gather) {
				if c.heartbeat {
					g.Server.HeartbeatTable = "percona.heartbeat"
				}
			})
			if err != nil || len(snap.Replicas) != 1 || len(snap.Problems) > 0 {
				t.Fatal(snap.Replicas, snap.Problems, err)
			}
			if by := snap.Replicas[0].DelayBy; by != c.by {
				t.Errorf("told by %q, want %q", by, c.by)
			}
			wants(t, snap, map[string]string{"replica.delay": c.delay})
		})
	}
}
