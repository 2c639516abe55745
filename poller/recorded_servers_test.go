package poller

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"monolith"
	"monolith/internal/replay"
)

// recordedServer is a recorded server as it is polled in tests, often.
func recordedServer(tb testing.TB, s *replay.Server) monolith.Server {
	tb.Helper()
	e, err := ParseDSN(s.DSN())
	if err != nil {
		tb.Fatal(err)
	}
	return monolith.Server{ID: 1, Name: "recorded", Host: "none", Endpoint: e, Schedules: map[string]string{monolith.Fast: "@every 1s"}}
}

// readAll lets one poller watch recorded servers until each collector has run on each, or said why it does not, and
// gives what is then known of each, in their order.
func readAll(t *testing.T, servers ...*replay.Server) []*monolith.State {
	t.Helper()
	p, err := New(Config{Collectors: Collectors(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	var list []monolith.Server
	for i, s := range servers {
		server := recordedServer(t, s)
		server.ID = monolith.ServerID(i + 1)
		server.Schedules[monolith.Fast] = "@every 30s"
		list = append(list, server)
	}
	p.Apply(list, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	asked := map[monolith.ServerID]uint64{}
	eventually(t, "every collector on every server", func() bool {
		done := true
		for _, s := range list {
			state := p.State(s.ID)
			if state != nil && !slices.ContainsFunc(p.Collectors(s.ID), func(c monolith.CollectorStatus) bool {
				return c.Works == monolith.CollectorWaiting && c.Runs == 0
			}) {
				continue
			}
			done = false
			if state != nil && asked[s.ID] <= state.Seq { // what one poll has no time for, or learns too late, is for the next
				asked[s.ID] = state.Seq + 1
				if err := p.PollNow(s.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		return done
	})
	var states []*monolith.State
	for _, s := range list { // what a collector read outside of a poll is known from the next poll on
		seq := p.State(s.ID).Seq
		if err := p.PollNow(s.ID); err != nil {
			t.Fatal(err)
		}
		eventually(t, "one more poll", func() bool { return p.State(s.ID).Seq > seq })
		states = append(states, p.State(s.ID))
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return states
}

// known gives a value of a state as text: a number as it is written, "none" for one without value, "absent" where
// there is no such metric.
func known(s *monolith.State, name string) string {
	m := monolith.Metric{Name: name}
	if instance, rest, ok := strings.Cut(name, "["); ok {
		m = monolith.Metric{Name: instance, Instance: strings.TrimSuffix(rest, "]")}
	}
	if n, _, ok := s.Value(m); ok {
		if n.IsNone() {
			return "none"
		}
		return n.String()
	}
	if v, _, ok := s.Text(m); ok {
		return v
	}
	return "absent"
}

// versionOf tells from a folder's name what the variables don't.
var versionOf = regexp.MustCompile(`\d+\.\d+(\.\d+)?(-\d+)?`)

// recordedVersions are the folders with the status or the variables of a server; several files of a kind are
// several servers.
func recordedVersions(t *testing.T) map[string]*replay.Recording {
	root := recorded(t)
	all := map[string]*replay.Recording{}
	isVariables, isStatus := regexp.MustCompile(`/var(iable)?s[^/]*\.tsv$`), regexp.MustCompile(`/status[^/]*\.tsv$`)
	dirs, err := filepath.Glob(root + "/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(dir + "/*.*")
		if err != nil {
			t.Fatal(err)
		}
		var rest, variables, status []string
		for _, f := range files {
			switch {
			case strings.Contains(f, "two-samples"), strings.HasSuffix(f, ".G.txt"):
			case isVariables.MatchString(f):
				variables = append(variables, f)
			case isStatus.MatchString(f):
				status = append(status, f)
			default:
				rest = append(rest, f)
			}
		}
		for i := range max(len(variables), len(status)) {
			name, err := filepath.Rel(root, dir)
			if err != nil {
				t.Fatal(err)
			}
			list := slices.Clone(rest)
			for _, kind := range [][]string{variables, status} {
				if len(kind) > 0 {
					f := kind[min(i, len(kind)-1)]
					list = append(list, f)
					name += "+" + strings.TrimSuffix(filepath.Base(f), ".tsv")
				}
			}
			rec := replay.LoadFiles(t, list...)
			first, _, _ := strings.Cut(name, "/")
			given := map[string]string{}
			if rec.Version == "" {
				given["version"] = versionOf.FindString(first)
				switch {
				case strings.HasPrefix(first, "mariadb"):
					given["version"] += "-MariaDB"
				case strings.HasPrefix(first, "aurora"):
					given["version"] = "8.0.mysql_aurora." + given["version"]
				case strings.HasPrefix(first, "mysql-5.0-5.1"):
					given["version"] = "5.0.77"
				}
			}
			if strings.HasPrefix(first, "percona-8.0.29") {
				given["version_comment"] = "Percona Server (GPL)"
			}
			rec = rec.WithVariables(given)
			if len(status) == 0 {
				rec = rec.WithStatus(map[string]string{"Uptime": "1000", "Questions": "5", "Threads_connected": "1"})
			}
			all[name] = rec
		}
	}
	return all
}

// flavourOf gives the words with which the identity of a recorded server begins.
func flavourOf(folder string) string {
	for prefix, words := range map[string]string{"mysql": "MySQL ", "mariadb": "MariaDB ", "percona": "Percona Server ", "aurora": "Aurora MySQL "} {
		if rest, ok := strings.CutPrefix(folder, prefix+"-"); ok {
			if number := regexp.MustCompile(`^\d+\.\d+\.\d+`).FindString(rest); number != "" && prefix != "aurora" {
				return words + number
			}
			return words
		}
	}
	return "?"
}

// TestEveryRecordedServerIsRead polls servers of versions that can't be installed. Each statement is one that the
// version has (the recorded server fails the test otherwise), each collector works or says why there is nothing, and
// each row of the status and of the variables is there.
func TestEveryRecordedServerIsRead(t *testing.T) {
	t.Parallel()
	all := recordedVersions(t)
	names := slices.Sorted(maps.Keys(all))
	var servers []*replay.Server
	for _, name := range names {
		servers = append(servers, replay.Start(t, all[name]))
	}
	states := readAll(t, servers...)
	verdicts := maps.Clone(recordedVerdicts)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			s, rec := states[i], all[name]
			folder, _, _ := strings.Cut(name, "/")
			if got := s.Identity.String(); !strings.HasPrefix(got, flavourOf(folder)) {
				t.Errorf("it is taken for %s", got)
			}
			for _, p := range s.Problems {
				if p.Kind != monolith.ProblemOff && p.Kind != monolith.ProblemUnsupported || p.Code != 0 {
					t.Errorf("problem %+v", p)
				}
			}
			for n := range rec.StatusNames() {
				if got := known(s, "status."+string(asWritten([]byte(n)))); got == "absent" {
					t.Errorf("status %s is absent", n)
				}
			}
			for n := range rec.VariableNames() {
				if got := known(s, "variable."+strings.ToLower(n)); got == "absent" && !volatileVariables[strings.ToLower(n)] {
					t.Errorf("variable %s is absent", n)
				}
			}
			for metric, want := range verdicts[name] {
				if got := known(s, metric); got != want {
					t.Errorf("%s is %q, want %q", metric, got, want)
				}
			}
		})
		delete(verdicts, name)
	}
	for name := range verdicts {
		t.Errorf("%s is not recorded", name)
	}
	if len(all) < 40 {
		t.Errorf("only %d recorded servers", len(all))
	}
}

// recordedVerdicts are values that a monitor must give of recorded servers.
var recordedVerdicts = map[string]map[string]string{
	"aurora-mysql-3.01.0/report+variables+status": {
		"status.Innodb_buffer_pool_pages_misc": "18446744073709551576", "status.Threads_connected": "8", "replica.channels": "0",
		"variable.innodb_read_only": "ON", "variable.optimizer_trace_offset": "-1", "status.Ssl_ctx_verify_depth": "18446744073709551615",
		"status.Qcache_hits": "absent", "variable.event_scheduler": "DISABLED",
	},
	"mariadb-10.3-prod/bitnami+status-session-partial": {"status.Innodb_buffer_pool_reads": "12654", "status.Bytes_received": "296"},
	"mariadb-10.4.34/shellpilot+status-partial":        {"status.Threads_running": "6"},
	"mariadb-10.8.4/netdata+variables-partial+status":  {"replica.channels": "1", "replica.lag": "0"},
	"mariadb-11.8.5/report+variables-partial": {
		"variable.innodb_buffer_pool_chunk_size": "0", "variable.innodb_log_files_in_group": "absent", "variable.query_cache_type": "OFF",
	},
	"mysql-5.0.51a-debian/pt+variables-001+status-001": {"variable.slow_query_log": "absent", "innodb.trx_rseg_history_len": "0"},
	"mysql-5.1.49/pt-summary-temp003+variables+status": {"server.processes_total": "1", "server.binary_logs": "1", "server.binary_log_bytes": "106"},
	"mysql-5.6.17-win64/notes+variables-partial":       {"variable.datadir": `d:\wamp\bin\mysql\mysql5.6.17\data\`, "variable.innodb_flush_method": ""},
	"mysql-5.7.20/ottertune+variables+status-after":    {"status.Threads_connected": "1", "status.threads_connected": "absent"},
	"mysql-8.0.30/netdata+variables-partial+status": {
		"status.Ssl_ctx_verify_depth": "18446744073709551615", "status.Qcache_hits": "absent", "replica.channels": "2",
	},
	"mysql-8.4/derived+status-84-shaped":                 {"status.Com_show_slave_status": "absent", "status.Tls_sni_server_name": ""},
	"percona-5.5.20/pt-summary-temp002+variables+status": {"innodb.trx_rseg_history_len": "30", "server.processes_total": "1", "variable.log_bin": "OFF"},
	"percona-8.0.29-21/netdata+variables-partial+status": {"status.Binlog_snapshot_file": "", "status.Qcache_hits": "absent"},
	"percona-8.0.32-24/pt-summary-temp_enc008+variables+status": {
		"server.binary_logs": "2", "server.binary_log_bytes": "3445416", "server.processes_total": "5", "variable.general_log": "ON",
	},
}
