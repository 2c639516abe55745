package poller

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/replay"
)

// recordedTexts starts a server of a version for each file that matches, and gives what is known of them by file name.
func recordedTexts(t *testing.T, version string, patterns ...string) map[string]*monolith.State {
	t.Helper()
	var paths []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(recorded(t), pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%d files match %s, %v", len(found), pattern, err)
		}
		paths = append(paths, found...)
	}
	var servers []*replay.Server
	for _, path := range paths {
		rec := replay.LoadFiles(t, path).WithVariables(map[string]string{"version": version}).WithStatus(map[string]string{"Uptime": "99", "Threads_connected": "1"})
		servers = append(servers, replay.Start(t, rec))
	}
	states := map[string]*monolith.State{}
	for i, s := range readAll(t, servers...) {
		states[filepath.Base(paths[i])] = s
	}
	return states
}

func TestRecordedProcessListsAreCounted(t *testing.T) {
	t.Parallel()
	states := recordedTexts(t, "5.1.73", "misc-processlist/*.txt", "percona-8.0.32-24/*enc008/mysql-processlist.txt")
	if locked := states["pmp-locked-processlist-5.1-1.txt"].Processes; !slices.ContainsFunc(locked.ByState, func(c monolith.Count) bool { return c.Name == "Locked" && c.Count == 1 }) {
		t.Errorf("locked: %+v", locked.ByState)
	}
	for name, s := range states {
		if s.Processes == nil || s.Processes.Total == 0 {
			t.Errorf("%s: %+v", name, s.Processes)
		}
	}
}

func TestRecordedInnoDBTextsThroughTheProtocol(t *testing.T) {
	t.Parallel()
	states := recordedTexts(t, "5.1.73", "misc-innodb-status/*.txt")
	verdicts := map[string]string{ // transactions, those that wait, the oldest one's seconds, history, checkpoint age
		"pmp-innodb-status-001.txt":         "absent absent 40 1019 27360", // its middle is left out
		"pt-summary-innodb-002.txt":         "absent absent 4 426 364847981",
		"cacti-innodb-010.txt":              "absent absent absent absent absent",
		"pt-deadlock-logger-bug_903443.txt": "absent absent absent absent absent",
		"cacti-innodb-001.txt":              "0 0 0 9 121403", // positions of two numbers
		"innotop-012-9.2.0.txt":             "0 0 0 297 1203924",
		"pt-summary-innodb-003.txt":         "1 0 35 11 0",
		"ytkit-5.1-plugin.txt":              "8 4 0 122 2988880",
		"ytkit-5.7.txt":                     "10 5 0 12 15435474",
	}
	for name, s := range states {
		for _, p := range s.Problems {
			if p.Collector == "innodb" && p.Code != 0 {
				t.Errorf("%s: %+v", name, p)
			}
		}
		var values []string
		for _, metric := range []string{"transactions", "transactions_waiting", "oldest_transaction_seconds", "trx_rseg_history_len", "log_lsn_checkpoint_age"} {
			values = append(values, known(s, "innodb."+metric))
		}
		if got := strings.Join(values, " "); verdicts[name] != "" && got != verdicts[name] {
			t.Errorf("%s: %s, want %s", name, got, verdicts[name])
		}
		delete(verdicts, name)
	}
	for name := range verdicts {
		t.Errorf("%s is not recorded", name)
	}
}

func TestRecordedAccountsAreJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ version, file, accounts string }{
		{"5.7.44", "auth-socket-root-5.7.tsv", `"debian-sys-maint"@"localhost" 9, "mysql.sys"@"localhost" 41 reserved, "root"@"127.0.0.1" 9, "root"@"::1" 9, "root"@"localhost" empty`},
		{"10.3.39-MariaDB", "mariadb-10.3-password-column.tsv", `"app1"@"localhost" 13, "debian-sys-maint"@"localhost" 13, "mysql.sys"@"localhost" 41 locked reserved, "root"@"localhost" 13`},
		{"10.1.48-MariaDB", "unix-socket-root.tsv", `"root"@"127.0.0.1" empty, "root"@"::1" empty, "root"@"localhost" empty`},
	} {
		for _, s := range recordedTexts(t, c.version, "misc-users/"+c.file) {
			if got := aspect(s, "passwordless"); got != "" {
				t.Errorf("%s: without a password are %s", c.file, got)
			}
			if got := aspect(s, "accounts"); got != c.accounts {
				t.Errorf("%s: the accounts are %s, want %s", c.file, got, c.accounts)
			}
		}
	}
}

// A recorded series in which Uptime falls and Questions with it is two restarts, and no others.
func TestRecordedSeriesWithRestarts(t *testing.T) {
	t.Parallel()
	series := func(version, pattern string) (list []*replay.Recording) {
		paths, err := filepath.Glob(filepath.Join(recorded(t), pattern))
		if err != nil || len(paths) < 4 {
			t.Fatalf("%d files match %s, %v", len(paths), pattern, err)
		}
		for _, path := range paths {
			list = append(list, replay.LoadFiles(t, path).WithVariables(map[string]string{"version": version, "hostname": "db1"}))
		}
		return list
	}
	for _, c := range []struct {
		name     string
		list     []*replay.Recording
		restarts string
	}{
		{"5550, 3, 4, 3 seconds up", series("5.0.77", "mysql-5.0-5.1-series/*/status-*.tsv"), "-r-r"},
		{"a second longer up each time", series("5.7.44", "mysql-5.7-series/*/status-*.tsv"), "------------"},
	} {
		s := replay.Start(t, c.list[0])
		d := drive(t, s, 10*time.Second)
		got := ""
		for _, rec := range c.list {
			s.Replace(rec)
			snap := d.poll(t)
			if !snap.Polled {
				t.Fatalf("%s: %+v", c.name, describe(snap))
			}
			if snap.Restart {
				got += "r"
			} else {
				got += "-"
			}
		}
		if got != c.restarts {
			t.Errorf("%s: %s, want %s", c.name, got, c.restarts)
		}
	}
}
