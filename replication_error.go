package monolith

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ReplicationError is what a replication error means, and what can be done about it. Nothing of it is ever
// done by itself.
type ReplicationError struct {
	// Kind is binlog-truncated, impossible-position, purged, packet-too-large, diverged, duplicate-key, row-missing, table-missing,
	// lock, foreign-key, relay-log, identity, type-mismatch, connection, disk-full, or other. "" is no error.
	Kind  string `json:"kind"`
	Errno int    `json:"errno"`
	Means string `json:"means"`
	Cure  string `json:"cure"`
	// File, Position and End are what the error of a truncated binary log names: the source's file, where the
	// last event begins, and the last byte. Next is the file after it.
	File     string `json:"file,omitempty"`
	Position int64  `json:"position,omitempty"`
	End      int64  `json:"end,omitempty"`
	Next     string `json:"next,omitempty"`
}

// ExplainReplicationError decodes the channel's error, the applier's first, since it is the one that
// stays. newWords chooses REPLICA and SOURCE in statements (MySQL ≥ 8.0.23) instead of SLAVE and MASTER.
//
// MySQL ≥ 8.0 reports a fatal 1236 as 13114 with the 1236 in the text, so both are told apart by text.
func ExplainReplicationError(r *Replica, newWords bool) ReplicationError {
	errno, text := r.SQLErrno, r.SQLError
	if errno == 0 {
		errno, text = r.IOErrno, r.IOError
	}
	if errno == 0 {
		return ReplicationError{}
	}
	e := ReplicationError{Errno: errno}
	if errno == 1236 || errno == 13114 {
		e.decodeBinlog(r, text, newWords)
		return e
	}
	for _, known := range replicationErrors {
		for _, n := range known.numbers {
			if n == errno {
				e.Kind, e.Means, e.Cure = known.kind, known.means, statement(known.cure, newWords)
				return e
			}
		}
	}
	if strings.Contains(text, "errno: 28") || strings.Contains(text, "No space left") {
		e.Kind, e.Means, e.Cure = "disk-full", "The replica's disk is full.", "Make room on the replica, then START REPLICA."
		e.Cure = statement(e.Cure, newWords)
		return e
	}
	e.Kind, e.Means = "other", "The replica stopped with an error that has no entry here; its own text says what happened."
	e.Cure = statement("Read the error, mend its cause, then START REPLICA.", newWords)
	return e
}

// replicationErrors are the errors that one number tells apart.
var replicationErrors = []struct {
	numbers           []int
	kind, means, cure string
}{
	{[]int{1062}, "duplicate-key", "A row that the source inserted is already on the replica: somebody wrote here, or the copy was not the same from the beginning.",
		"Find who wrote on the replica and set it read-only; make the row equal to the source's or rebuild the replica. Skipping the event hides the difference."},
	{[]int{1032}, "row-missing", "A row that the source changed is not on the replica: the two have drifted apart.",
		"Compare the table with the source (pt-table-checksum) and bring it in line (pt-table-sync), or rebuild the replica."},
	{[]int{1146, 1051, 1049}, "table-missing", "A table or schema that the source uses is not on the replica.",
		"Look at the replication filters; create what is missing from the source's definition, then START REPLICA."},
	{[]int{1205, 1213}, "lock", "The applier gave up after too many lock waits or deadlocks.",
		"START REPLICA is usually enough; find the session on the replica that held the lock."},
	{[]int{1451, 1452}, "foreign-key", "A foreign key does not hold on the replica: its data differs from the source's.",
		"Compare the parent and child tables with the source and bring them in line, or rebuild the replica."},
	{[]int{1594, 1595}, "relay-log", "The relay log can't be read or written: a damaged file or a full or failing disk.",
		"Check the disk. With GTID: STOP REPLICA; RESET REPLICA; START REPLICA. Without: point the replica again to Relay_Source_Log_File and Exec_Source_Log_Pos."},
	{[]int{1593}, "identity", "A fatal set-up error, most often a replica with the same server_id or server_uuid as its source.",
		"Give each server its own server_id; on a clone remove auto.cnf and restart."},
	{[]int{1677, 13146}, "type-mismatch", "A column has another type on the replica than on the source, and it may not be converted.",
		"Make the definitions equal, or allow the conversion with replica_type_conversions."},
	{[]int{2002, 2003, 2005, 2006, 2013, 2026, 1044, 1045, 1129, 1130, 1040, 2061}, "connection", "The replica can't connect to its source or was turned away.",
		"Check that the source runs, its address and port, the firewall, and the replication account's password."},
	{[]int{3, 28, 1021}, "disk-full", "The replica's disk is full.", "Make room on the replica, then START REPLICA."},
}

// The texts of error 1236. Its numbers stand behind words that have stayed the same since MySQL 5.0.
var (
	lastEvent = regexp.MustCompile(`(?:the )?last event (?:was )?read from '([^']*)' at (\d+)`)
	lastByte  = regexp.MustCompile(`last byte (?:was )?read from '([^']*)' at (\d+)`)
	logNumber = regexp.MustCompile(`^(.*\.)(\d{1,10})$`)
)

func (e *ReplicationError) decodeBinlog(r *Replica, text string, newWords bool) {
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "truncated in the middle of event"):
		e.Kind = "binlog-truncated"
		if m := lastEvent.FindStringSubmatch(text); m != nil {
			e.File = fileName(m[1])
			e.Position, _ = strconv.ParseInt(m[2], 10, 64)
		}
		if m := lastByte.FindStringSubmatch(text); m != nil {
			e.File = cmp.Or(e.File, fileName(m[1]))
			e.End, _ = strconv.ParseInt(m[2], 10, 64)
		}
		e.File = cmp.Or(e.File, r.SourceLogFile)
		e.Next = nextLog(e.File)
		e.Means = "The source's binary log " + e.File + " ends in the middle of an event. That comes from an unclean stop of the source with sync_binlog other than 1, " +
			"a full disk or a disk fault; that the disk is full now, as the server guesses, is often not so."
		e.Cure = "Look at the end of the file on the source with mysqlbinlog. If the replica has read to that end: "
		if r.AutoPosition {
			e.Cure += "STOP REPLICA; START REPLICA; usually goes on by GTID. "
		} else if e.Next != "" {
			e.Cure += fmt.Sprintf("STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='%s', SOURCE_LOG_POS=4; START REPLICA; (the first event of a file is at 4). ", e.Next)
		}
		e.Cure += "Then compare the data with the source, and set sync_binlog = 1 there."
	case strings.Contains(lower, "impossible position"):
		e.Kind = "impossible-position"
		e.File, e.Position = r.SourceLogFile, r.ReadLogPos
		e.Next = nextLog(e.File)
		e.Means = "The replica asked for a position behind the end of the source's binary log: the source lost the end of the file in a crash, or it is another server now."
		e.Cure = "Compare the position with SHOW BINARY LOGS on the source. If the file there is shorter, what was lost is on the replica only: compare the data. "
		if e.Next != "" && !r.AutoPosition {
			e.Cure += fmt.Sprintf("To go on with the next file: STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='%s', SOURCE_LOG_POS=4; START REPLICA; ", e.Next)
		}
		e.Cure += "Set sync_binlog = 1 on the source."
	case strings.Contains(lower, "could not find first log file name"), strings.Contains(lower, "purged required binary logs"), strings.Contains(lower, "purged binary logs"):
		e.Kind = "purged"
		e.Means = "The source no longer has the binary log that the replica needs next: it was purged before the replica had read it."
		e.Cure = "Rebuild the replica from a backup or by CLONE. Keep binary logs longer on the source (binlog_expire_logs_seconds)."
	case strings.Contains(lower, "max_allowed_packet"):
		e.Kind = "packet-too-large"
		e.Means = "An event is larger than max_allowed_packet, or the position lies inside an event."
		e.Cure = "Set max_allowed_packet on the source and replica_max_allowed_packet on the replica to 1G. If it stays, the position is wrong: look at the file with mysqlbinlog."
	case strings.Contains(lower, "more gtids than the"), strings.Contains(lower, "not in the master's binlog"), strings.Contains(lower, "not in the primary's binlog"):
		e.Kind = "diverged"
		e.Means = "The replica has transactions that its source never had."
		e.Cure = "Find them with GTID_SUBTRACT and see whether they matter. Either bring the source in line with empty transactions of these GTIDs, or rebuild the replica."
	default:
		e.Kind = "other"
		e.Means = "The source could not send its binary log from the position that the replica asked for."
		e.Cure = "Compare the position with SHOW BINARY LOGS on the source."
	}
	e.Cure = statement(e.Cure, newWords)
}

// fileName drops the folder that some versions put before the name.
func fileName(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		path = path[i+1:]
	}
	return path
}

// nextLog gives the name of the binary log after this one, or "".
func nextLog(file string) string {
	m := logNumber.FindStringSubmatch(file)
	if m == nil {
		return ""
	}
	n, err := strconv.ParseUint(m[2], 10, 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s%0*d", m[1], len(m[2]), n+1)
}

// oldWords puts the statements' names back to what servers before MySQL 8.0.23, and MariaDB, understand.
var oldWords = strings.NewReplacer("CHANGE REPLICATION SOURCE TO", "CHANGE MASTER TO", "SOURCE_LOG_FILE", "MASTER_LOG_FILE", "SOURCE_LOG_POS", "MASTER_LOG_POS",
	"STOP REPLICA", "STOP SLAVE", "START REPLICA", "START SLAVE", "RESET REPLICA", "RESET SLAVE", "Relay_Source_Log_File", "Relay_Master_Log_File",
	"Exec_Source_Log_Pos", "Exec_Master_Log_Pos", "replica_type_conversions", "slave_type_conversions", "replica_max_allowed_packet", "slave_max_allowed_packet")

func statement(text string, newWords bool) string {
	if newWords {
		return text
	}
	return oldWords.Replace(text)
}
