package monolith

import (
	"strings"
	"testing"
)

func TestExplainReplicationError(t *testing.T) {
	t.Parallel()
	const truncated = "Got fatal error 1236 from master when reading data from binary log: 'binlog truncated in the middle of event; consider out of disk space on master; " +
		"the first event 'mysql-bin.006259' at 2607000, the last event read from './mysql-bin.006259' at 2608901, the last byte read from './mysql-bin.006259' at 2609152.'"
	for _, c := range []struct {
		name     string
		replica  Replica
		newWords bool
		want     ReplicationError // Means and Cure are looked into below
		cure     string
	}{
		{"none", Replica{}, true, ReplicationError{}, ""},
		{"truncated", Replica{IOErrno: 1236, IOError: truncated}, false,
			ReplicationError{Kind: "binlog-truncated", Errno: 1236, File: "mysql-bin.006259", Position: 2608901, End: 2609152, Next: "mysql-bin.006260"},
			"CHANGE MASTER TO MASTER_LOG_FILE='mysql-bin.006260', MASTER_LOG_POS=4"},
		{"truncated, new number and words", Replica{IOErrno: 13114, IOError: truncated}, true,
			ReplicationError{Kind: "binlog-truncated", Errno: 13114, File: "mysql-bin.006259", Position: 2608901, End: 2609152, Next: "mysql-bin.006260"},
			"CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='mysql-bin.006260', SOURCE_LOG_POS=4"},
		{"truncated, by GTID", Replica{IOErrno: 1236, IOError: truncated, AutoPosition: true}, true,
			ReplicationError{Kind: "binlog-truncated", Errno: 1236, File: "mysql-bin.006259", Position: 2608901, End: 2609152, Next: "mysql-bin.006260"},
			"STOP REPLICA; START REPLICA; usually goes on by GTID"},
		{"purged", Replica{IOErrno: 13114, IOError: "… because the source has purged required binary logs. Replicate the missing transactions from elsewhere …"}, true,
			ReplicationError{Kind: "purged", Errno: 13114}, "Rebuild the replica"},
		{"purged, old words", Replica{IOErrno: 1236, IOError: "Could not find first log file name in binary log index file"}, false, ReplicationError{Kind: "purged", Errno: 1236}, ""},
		{"diverged", Replica{IOErrno: 1236, IOError: "Slave has more GTIDs than the master has"}, false, ReplicationError{Kind: "diverged", Errno: 1236}, ""},
		{"the applier's counts first", Replica{IOErrno: 2003, SQLErrno: 1062}, true, ReplicationError{Kind: "duplicate-key", Errno: 1062}, ""},
		{"relay log, old words", Replica{SQLErrno: 1594}, false, ReplicationError{Kind: "relay-log", Errno: 1594}, "RESET SLAVE"},
		{"disk by text", Replica{SQLErrno: 1026, SQLError: "Error writing file (errno: 28 - No space left on device)"}, true, ReplicationError{Kind: "disk-full", Errno: 1026}, ""},
		{"unknown", Replica{SQLErrno: 4711}, true, ReplicationError{Kind: "other", Errno: 4711}, "START REPLICA"},
		{"impossible position", Replica{IOErrno: 1236, IOError: "Client requested source to start replication from impossible position", SourceLogFile: "b.009999", ReadLogPos: 120}, true,
			ReplicationError{Kind: "impossible-position", Errno: 1236, File: "b.009999", Position: 120, Next: "b.010000"}, "b.010000"},
	} {
		got := ExplainReplicationError(&c.replica, c.newWords)
		if (got.Means == "" || got.Cure == "") != (c.want.Kind == "") {
			t.Errorf("%s: meaning %q, cure %q", c.name, got.Means, got.Cure)
		}
		if !strings.Contains(got.Cure, c.cure) {
			t.Errorf("%s: the cure %q lacks %q", c.name, got.Cure, c.cure)
		}
		if !c.newWords && (strings.Contains(got.Cure, "REPLICA") || strings.Contains(got.Cure, "SOURCE")) {
			t.Errorf("%s: the cure has words that this server does not know: %q", c.name, got.Cure)
		}
		if got.Means, got.Cure = "", ""; got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func FuzzExplainReplicationError(f *testing.F) {
	f.Add(1236, "binlog truncated in the middle of event; the last event read from './b.000001' at 4, the last byte read from './b.000001' at 99999999999999999999", "b.999999")
	f.Fuzz(func(t *testing.T, errno int, text, file string) {
		e := ExplainReplicationError(&Replica{IOErrno: errno, IOError: text, SourceLogFile: file}, true)
		if (e.Kind == "") != (errno == 0) || errno != 0 && (e.Means == "" || e.Cure == "") {
			t.Fatalf("%+v", e)
		}
	})
}
