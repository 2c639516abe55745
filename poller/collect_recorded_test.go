package poller

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"monolith"
)

// recorded gives the folder of answers that were recorded from real servers, or skips the test.
func recorded(t *testing.T) string {
	t.Helper()
	root := os.Getenv("MONOLITH_RECORDED")
	if root == "" {
		t.Skip("MONOLITH_RECORDED is not set: answers recorded from other versions are NOT tested")
	}
	return root
}

// recordedFiles calls f for each file whose name matches.
func recordedFiles(t *testing.T, name string, f func(t *testing.T, path, content string)) {
	t.Helper()
	pattern, n := regexp.MustCompile(name), 0
	root := recorded(t)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if err != nil || d.IsDir() || !pattern.MatchString(rel) {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		t.Run(rel, func(t *testing.T) { f(t, rel, string(b)) })
		return nil
	})
	if err != nil || n == 0 {
		t.Fatalf("%d files match %s: %v", n, name, err)
	}
}

// blocks turns a file of "name<tab>value" lines, with an empty line between channels, into an answer.
func blocks(content string) answer {
	var all []string
	for block := range strings.SplitSeq(strings.TrimSpace(content), "\n\n") {
		var lines []string
		for line := range strings.Lines(block) {
			name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
			if name != "" && !strings.HasPrefix(name, "#") && !strings.HasPrefix(name, "*") {
				lines = append(lines, name+": "+value)
			}
		}
		if len(lines) > 0 {
			all = append(all, strings.Join(lines, "\n"))
		}
	}
	return vertical(all...)
}

func TestRecordedReplicaStatus(t *testing.T) {
	t.Parallel()
	// What a right monitor says of some of them; the others must just be read.
	verdict := map[string]func(*monolith.Snapshot) bool{
		"mysql-8.0.46/shellpilot/replica_status-source-unreachable.tsv": func(s *monolith.Snapshot) bool {
			r := s.Replicas[0]
			return r.IO == monolith.ThreadNo && r.IOErrno == 2005 && r.Delay == nil && find(s, "replica.lag", "") == "none"
		},
		"mysql-8.0.30/netdata/replica_status.tsv": func(s *monolith.Snapshot) bool {
			return len(s.Replicas) == 2 && s.Replicas[1].Channel == "master2" && s.Replicas[0].SourceUUID != "" && *s.Replicas[0].Delay == 0
		},
		"mariadb-10.8.4/netdata/all_slaves_status_multi.tsv": func(s *monolith.Snapshot) bool {
			return len(s.Replicas) == 2 && s.Replicas[0].Channel == "Master1" && s.Replicas[1].IO == monolith.ThreadYes
		},
		"mariadb-10.11-slave/all_slaves_status-stopped.tsv": func(s *monolith.Snapshot) bool {
			return len(s.Replicas) == 2 && s.Replicas[0].SQL == monolith.ThreadYes && s.Replicas[1].SQL == monolith.ThreadNo && s.Replicas[1].Lag == nil
		},
		"mariadb-10.11-slave/slave_status-lag6.tsv": func(s *monolith.Snapshot) bool { return *s.Replicas[0].Delay == 6 },
		"mysql-5.1-5.5-slave/pmp/replication-running-empty.tsv": func(s *monolith.Snapshot) bool {
			return s.Replicas != nil && len(s.Replicas) == 0
		},
		"mysql-5.1-5.5-slave/pmp/replication-delay-show-slave-status-002.tsv": func(s *monolith.Snapshot) bool {
			return s.Replicas[0].Lag == nil && find(s, "replica.lag", "") == "none"
		},
		"mysql-5.6-5.7-slave/ytkit/slave_status-sql-error-1007.tsv": func(s *monolith.Snapshot) bool {
			return s.Replicas[0].SQL == monolith.ThreadNo && s.Replicas[0].SQLErrno == 1007 && s.Replicas[0].SQLError != ""
		},
		"mysql-5.6-5.7-slave/ytkit/slave_status-multi-channel.tsv": func(s *monolith.Snapshot) bool { return len(s.Replicas) == 2 },
		"mysql-8.x-slave/replica_status-ok-gtid.tsv": func(s *monolith.Snapshot) bool {
			return strings.Contains(s.Replicas[0].ExecutedGTID, ",") && !strings.ContainsAny(s.Replicas[0].ExecutedGTID, "\n ")
		},
		"rds-mysql-8.0-slave/replica_status-1236-partial.tsv": func(s *monolith.Snapshot) bool {
			return s.Replicas[0].IOErrno == 1236 && s.Replicas[0].RelaySpace > 1<<32 && len(s.Replicas[0].Missing) > 0
		},
	}
	recordedFiles(t, `(slave|slaves|replica)_status[^/]*\.tsv$|slave/pmp/.*\.tsv$`, func(t *testing.T, path, content string) {
		version := "5.7.44"
		switch {
		case strings.Contains(path, "mariadb"):
			version = "10.11.6-MariaDB"
		case strings.Contains(path, "replica_status"):
			version = "8.4.0"
		case strings.Contains(path, "5.1-5.5"):
			version = "5.0.96" // the oldest of them lacks Last_IO_Errno
		}
		a := blocks(content)
		snap, err := collect(t, replicationCollector(), server(version, ""), &fakeSession{answers: map[string]answer{"SHOW ": a}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range snap.Replicas {
			if !strings.Contains(path, "partial") && len(withoutPositions(path, r.Missing)) > 0 {
				t.Errorf("%s misses %v", path, r.Missing)
			}
			if strings.Contains(path, "ok") && (r.IO != monolith.ThreadYes || r.SQL != monolith.ThreadYes || r.Delay == nil) {
				t.Errorf("a healthy channel is %+v", r)
			}
		}
		if v := verdict[path]; v != nil && !v(snap) {
			t.Errorf("wrong: %+v", snap.Replicas)
		}
		delete(verdict, path)
	})
	for path := range verdict {
		t.Errorf("%s was not found", path)
	}
}

func TestRecordedStatusAndVariables(t *testing.T) {
	t.Parallel()
	recordedFiles(t, `/(status|variables|vars)[^/]*\.tsv$`, func(t *testing.T, path, content string) {
		a := answer{columns: []string{"Variable_name", "Value"}}
		for lines := bufio.NewScanner(strings.NewReader(content)); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), "\t")
			a.rows = append(a.rows, []string{name, strings.ReplaceAll(value, `\n`, "\n")})
		}
		f := &fakeSession{answers: map[string]answer{"SHOW GLOBAL ": a}}
		c := statusCollector()
		if !strings.Contains(path, "status") {
			c = variablesCollector()
		}
		snap, err := collect(t, c, server("5.7.44", ""), f)
		if err != nil || len(snap.Sections) != 1 {
			t.Fatal(err)
		}
		s := snap.Sections[0]
		if got := len(s.Nums) + len(s.Texts); got < len(a.rows)*9/10 {
			t.Errorf("%d of %d rows are there", got, len(a.rows))
		}
	})
}

func TestRecordedInnoDBTexts(t *testing.T) {
	t.Parallel()
	recordedFiles(t, `misc-innodb-status/.*\.txt$`, func(t *testing.T, path, content string) {
		got := parseInnoDBText(strings.ReplaceAll(content, `\n`, "\n"))
		if strings.Contains(content, "History list length ") && got.History.IsNone() {
			t.Errorf("no history list length: %+v", got)
		}
		if strings.Contains(content, "Last checkpoint at ") && (got.LSN.IsNone() || got.Checkpoint.IsNone() || got.CheckpointAge().IsNone()) {
			t.Errorf("no log positions: %+v", got)
		}
		if age, _, _, ok := got.CheckpointAge().Bits(); ok && age > 1<<42 {
			t.Errorf("a checkpoint age of %d bytes", age)
		}
	})
}

func TestRecordedProcessListsHaveNoLiterals(t *testing.T) {
	t.Parallel()
	info := regexp.MustCompile(`(?s)Info: (.*?)(?:\*\*\*|$)`)
	quoted := regexp.MustCompile(`'([^'\\]{3,})'`)
	recordedFiles(t, `misc-processlist/.*\.txt$`, func(t *testing.T, path, content string) {
		for _, m := range info.FindAllStringSubmatch(content, -1) {
			masked := statementText([]byte(m[1]), false)
			for _, literal := range quoted.FindAllStringSubmatch(m[1], -1) {
				if strings.Contains(masked, "'"+literal[1]) {
					t.Errorf("%q is shown in %q", literal[1], masked)
				}
			}
		}
	})
}

// withoutPositions leaves out positions, which in some recordings are blank: an empty text is no position 0.
func withoutPositions(path string, missing []string) []string {
	if !strings.Contains(path, "mariadb-10.11-slave") {
		return missing
	}
	return slices.DeleteFunc(slices.Clone(missing), func(field string) bool { return strings.HasSuffix(field, "_log_pos") })
}
