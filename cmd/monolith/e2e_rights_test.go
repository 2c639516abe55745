package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
)

// rightsOf are the rights that the account has, by server (the replica follows its source), in the order in which they are taken away. Each is taken away and given
// back while the others are held.
var rightsOf = map[string][]string{
	"db1": {"PROCESS ON *.*", "SHOW VIEW ON *.*", "REFERENCES ON *.*", "BINLOG MONITOR ON *.*", "SLAVE MONITOR ON *.*", "SELECT ON mysql.*"},
	"old": {"PROCESS ON *.*", "SHOW VIEW ON *.*", "REFERENCES ON *.*", "REPLICATION CLIENT ON *.*", "SELECT ON performance_schema.*", "SELECT ON mysql.*"},
}

// toldTwice are rules that read of InnoDB's counters what MariaDB tells in its status too.
var toldTwice = []string{"checkpoint-age-high", "history-list-length"}

// TestRightsTakenAway takes each right from Monolith's account on a real MariaDB and a real MySQL 5.6. Every rule that read something
// which is not read any more says so within two polls and names the right; once it is given back, all is as before. Then people switch the collectors off.
func TestRightsTakenAway(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	t.Parallel()
	servers, endpoints := watchedServers(t)
	out := newOutside(t)
	warm(t)
	dir, now := t.TempDir(), time.Now()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, servers, out, endpoints, dir, now, nil)
		time.Sleep(20 * time.Minute)
		before := map[string]map[monolith.AlertKey]monolith.RuleStatus{}
		for server := range servers {
			before[server] = s.statuses(server)
		}
		of := func(server string) []string { return rightsOf[cmp.Or(map[string]string{"db2": "db1"}[server], server)] }
		for i := range rightsOf["db1"] {
			taken := time.Now()
			for server, list := range rightsOf {
				s.exec(server, "REVOKE "+list[i]+" FROM '"+endpoints[server].User+"'@'%'")
			}
			time.Sleep(2*time.Minute + 2*pollEvery) // the account's rights are compared once a minute, as are most rules
			for server := range servers {
				s.checkLoss(server, of(server)[i], taken, before[server])
			}
			for server, list := range rightsOf {
				s.exec(server, "GRANT "+list[i]+" TO '"+endpoints[server].User+"'@'%'")
			}
			time.Sleep(2*time.Minute + 2*pollEvery)
			for server := range servers {
				for key, st := range s.statuses(server) {
					if st.State == monolith.StateCannotEvaluate && before[server][key].State != st.State {
						t.Errorf("%s was given back on %s: %s %s %s: %s", of(server)[i], server, key.Rule, key.Instance, st.State, st.Why)
					}
				}
			}
		}
		s.switchOff(before)
	})
}

// switchOff switches off all collectors but the status's, as people do: what they read counts no more.
func (s *stage) switchOff(before map[string]map[monolith.AlertKey]monolith.RuleStatus) {
	list, err := s.db.Servers(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	off := slices.DeleteFunc(monolith.CollectorNames(), func(name string) bool { return name == "status" })
	for i := range list {
		list[i].CollectorsOff = off
		if err := s.db.UpdateServer(s.t.Context(), &list[i]); err != nil {
			s.t.Fatal(err)
		}
	}
	s.reload()
	time.Sleep(2 * time.Minute) // all rules are judged once a minute at least
	for _, info := range s.alerts.Rules() {
		if info.ID == "connection-failures" {
			continue // it is judged by the status; the cache of hosts only says whose they are
		}
		reads := slices.ContainsFunc(info.Inputs, func(name string) bool { return slices.Contains(off, monolith.CollectorOf(name)) })
		for server := range before {
			for key, st := range s.statuses(server) {
				if was := before[server][key].State; key.Rule == info.ID && (reads || len(listsOf(info)) > 0) && (was == monolith.StateOK || was == monolith.StateOpen) &&
					!(slices.Contains(toldTwice, info.ID) && server != "old") && (st.State != monolith.StateCannotEvaluate || !strings.Contains(st.Why, "switched off")) {
					s.t.Errorf("with all collectors off on %s, %s %s is %s: %s", server, key.Rule, key.Instance, st.State, st.Why)
				}
			}
		}
	}
}

// listsOf gives the lists that a rule is about or counts.
func listsOf(info monolith.RuleInfo) []string {
	var text strings.Builder
	for _, q := range info.Let {
		text.WriteString(q.Is + "\n")
	}
	for _, c := range info.When {
		text.WriteString(c.If + "\n")
	}
	var all []string
	for _, name := range []string{"replicas", "processes", "accounts", "binary_logs", "transactions", "metadata_locks", "host_cache", "auto_increments", "tables_without_key", "databases", "open_grants", "plugins"} {
		if info.Each+"s" == name || strings.Contains(text.String(), "("+name+",") {
			all = append(all, name)
		}
	}
	return all
}

func (s *stage) statuses(server string) map[monolith.AlertKey]monolith.RuleStatus {
	all := map[monolith.AlertKey]monolith.RuleStatus{}
	for _, st := range s.alerts.Statuses(s.ids[server]) {
		all[st.AlertKey] = st
	}
	return all
}

// checkLoss finds what is not read without a right, and looks at each rule that was judged by it.
func (s *stage) checkLoss(server, right string, taken time.Time, before map[monolith.AlertKey]monolith.RuleStatus) {
	s.t.Helper()
	state := s.poller.State(s.ids[server])
	failing := map[string]bool{} // collectors, and whether they give nothing
	for _, p := range state.Problems {
		if strings.HasPrefix(p.Cure, "GRANT ") {
			failing[p.Collector] = failing[p.Collector] || p.Kind == monolith.ProblemPrivilege
		}
	}
	if len(failing) == 0 {
		return // another right gives the same
	}
	read := map[string]time.Time{}
	for section, at := range state.Sections {
		for i := range section.NumNames.Len() {
			if !section.Nums[i].IsNone() {
				read[section.NumNames.At(i).Name] = at
			}
		}
		for i := range section.TextNames.Len() {
			read[section.TextNames.At(i).Name] = at
		}
	}
	lost := func(name string) bool {
		collector := monolith.CollectorOf(name)
		if list := monolith.CollectorOfRows(name); list != "" {
			_, ok := failing[list]
			return ok
		}
		all, ok := failing[collector]
		return ok && (all || read[name].Before(taken))
	}
	word, _, _ := strings.Cut(right, " ON ")
	now, seen := s.statuses(server), map[string]bool{}
	inputs := map[string][]string{}
	for _, info := range s.alerts.Rules() {
		inputs[info.ID] = slices.DeleteFunc(append(listsOf(info), info.Inputs...), func(name string) bool { return !lost(name) })
	}
	for key, was := range before {
		if server != "old" && slices.Contains(toldTwice, key.Rule) {
			continue
		}
		if len(inputs[key.Rule]) == 0 || was.State != monolith.StateOK && was.State != monolith.StateOpen && was.State != monolith.StatePending {
			continue
		}
		st := now[key]
		if st.State != monolith.StateCannotEvaluate || !strings.Contains(st.Why, word) {
			s.t.Errorf("without %s on %s, %s %s, which reads %v, is %s: %s", right, server, key.Rule, key.Instance, inputs[key.Rule], st.State, st.Why)
		}
		seen[key.Rule] = true
	}
	s.t.Logf("without %s on %s: %v", right, server, slices.Sorted(maps.Keys(seen)))
	if word == "PROCESS" && (!seen["metadata-lock-waits"] || !seen["concurrent-queries-high"]) {
		s.t.Errorf("without PROCESS on %s only these rules were touched: %v", server, slices.Sorted(maps.Keys(seen)))
	}
}
