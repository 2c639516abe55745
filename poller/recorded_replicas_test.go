package poller

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"monolith"
	"monolith/internal/replay"
)

// channels writes what is known of a server's channels, one a line: its name, the threads, the lag as the server gives
// it and as it counts, and the errors.
func channels(s *monolith.State) string {
	if s.Replicas == nil {
		return "unknown"
	}
	var lines []string
	seconds := func(n *int64) string {
		if n == nil {
			return "none"
		}
		return fmt.Sprint(*n)
	}
	for _, r := range s.Replicas {
		lines = append(lines, fmt.Sprintf("%q %s/%s lag %s counts %s errors %d/%d", r.Channel, r.IO, r.SQL, seconds(r.Lag), seconds(r.Delay), r.IOErrno, r.SQLErrno))
	}
	return strings.Join(lines, "; ")
}

// TestEveryRecordedReplicaIsRead polls servers of which the replication status is recorded.
func TestEveryRecordedReplicaIsRead(t *testing.T) {
	t.Parallel()
	root := recorded(t)
	names := slices.Sorted(maps.Keys(recordedReplicas))
	var servers []*replay.Server
	for _, name := range names {
		version := "5.7.44"
		switch {
		case strings.HasPrefix(name, "mariadb"):
			version = "10.11.6-MariaDB"
		case strings.Contains(name, "replica_status"):
			version = "8.4.0"
		case strings.HasPrefix(name, "mysql-5.1"):
			version = "5.0.96" // the oldest of them lacks Last_IO_Errno
		}
		rec := replay.LoadFiles(t, filepath.Join(root, name)).WithVariables(map[string]string{"version": version}).WithStatus(map[string]string{"Uptime": "99"})
		servers = append(servers, replay.Start(t, rec))
	}
	for i, s := range readAll(t, servers...) {
		name := names[i]
		if got := channels(s); got != recordedReplicas[name] {
			t.Errorf("%s:\n%s, want\n%s", name, got, recordedReplicas[name])
		}
		for _, r := range s.Replicas {
			if len(withoutPositions(name, r.Missing)) > 0 && !strings.Contains(name, "partial") {
				t.Errorf("%s: columns are missing: %v", name, r.Missing)
			}
			if strings.Contains(name, "005") && (strings.Count(r.SQLError, "\n") != 3 || !strings.HasSuffix(r.SQLError, "aggregate.threadid'")) {
				t.Errorf("%s: the error's text is %q", name, r.SQLError)
			}
		}
	}
}

// recordedReplicas are the readings that are right, by file.
var recordedReplicas = map[string]string{
	"mariadb-10.11-slave/all_slaves_status-stopped.tsv":                       `"" Yes/Yes lag 6 counts 6 errors 0/0; "dr" No/No lag none counts none errors 0/0`,
	"mariadb-10.11-slave/slave_status-lag6.tsv":                               `"" Yes/Yes lag 6 counts 6 errors 0/0`,
	"mysql-8.x-slave/replica_status-ok-filters.tsv":                           `"" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mysql-8.x-slave/replica_status-ok-gtid.tsv":                              `"" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mysql-8.x-slave/slave_status-ok-filters.tsv":                             `"" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mariadb-10.8.4/netdata/all_slaves_status_multi.tsv":                      `"Master1" Yes/Yes lag 0 counts 0 errors 0/0; "Master2" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mariadb-10.8.4/netdata/all_slaves_status_single.tsv":                     `"" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mysql-5.6-5.7-slave/ytkit/slave_status-multi-channel.tsv":                `"" Yes/Yes lag 0 counts 0 errors 0/0; "five" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mysql-5.6-5.7-slave/ytkit/slave_status-sql-error-1007.tsv":               `"" Yes/No lag none counts none errors 0/1007`,
	"mysql-8.0.30/netdata/replica_status.tsv":                                 `"master1" Yes/Yes lag 0 counts 0 errors 0/0; "master2" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mysql-8.0.46/shellpilot/replica_status-io-stopped.tsv":                   `"" No/Yes lag none counts none errors 0/0`,
	"mysql-8.0.46/shellpilot/replica_status-source-unreachable.tsv":           `"" No/Yes lag 0 counts none errors 2005/0`,
	"mysql-8.0.46/shellpilot/slave_status-io-stopped.tsv":                     `"" No/Yes lag none counts none errors 0/0`,
	"mysql-8.0.46/shellpilot/slave_status-source-unreachable.tsv":             `"" No/Yes lag 0 counts none errors 2005/0`,
	"mysql-9.5/manual/replica_status-ok.tsv":                                  `"" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-delay-show-slave-status-001.G.txt":   `"" Yes/Yes lag 10 counts 10 errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-delay-show-slave-status-001.tsv":     `"" Yes/Yes lag 10 counts 10 errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-delay-show-slave-status-002.G.txt":   `"" Yes/Yes lag none counts none errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-delay-show-slave-status-002.tsv":     `"" Yes/Yes lag none counts none errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-running-empty.tsv":                   ``,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-001.G.txt": `"" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-001.tsv":   `"" Yes/Yes lag 0 counts 0 errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-002.G.txt": `"" Connecting/Yes lag 0 counts none errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-002.tsv":   `"" Connecting/Yes lag 0 counts none errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-003.G.txt": `"" Yes/No lag 0 counts none errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-003.tsv":   `"" Yes/No lag 0 counts none errors 0/0`,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-004.G.txt": `"" No/No lag none counts none errors 1236/0`,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-004.tsv":   `"" No/No lag none counts none errors 1236/0`,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-005.G.txt": `"" Yes/No lag none counts none errors 0/1146`,
	"mysql-5.1-5.5-slave/pmp/replication-running-show-slave-status-005.tsv":   `"" Yes/No lag none counts none errors 0/1146`,
	"mysql-8.x-slave/replica_status-worker-error-1064-partial.tsv":            `"" /No lag none counts none errors 0/1064`,
	"mysql-8.x-slave/replica_status-worker-error-1396-partial.tsv":            `"" /No lag none counts none errors 0/1396`,
	"rds-mysql-8.0-slave/replica_status-1236-partial.tsv":                     `"" No/Yes lag none counts none errors 1236/0`,
}
