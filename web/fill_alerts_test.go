package web

import (
	"fmt"
	"testing"
	"time"

	"monolith"
)

// fillAlerts invents what a rule engine says about a fleet: open and closed alerts with everything that one can have,
// states, settings, quiet times and a rule of somebody's own. evil goes into every text that comes from servers.
func (x *site) fillAlerts(tb testing.TB, evil string) monolith.AlertID {
	tb.Helper()
	servers, err := x.store.Servers(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	now := x.now()
	lag := x.alerts.open(&servers[0], "lag", monolith.LevelWarn, now.Add(-3*time.Hour))
	limit, value := 60.0, 412.0
	x.alerts.edit(lag, func(a *monolith.Alert) {
		a.Title, a.Instance, a.Level, a.Peak = "Replication lag", "eu2"+evil, monolith.LevelCritical, monolith.LevelCritical
		a.Summary, a.Formula = "412 s behind (limit 300 s)"+evil, "412 > 300"+evil
		a.Text = "The replica is 412 s behind its source on channel eu2 and falls back further: it applies 3 MiB/s of 5 MiB/s." + evil
		a.Values = []monolith.AlertValue{{Name: "lag", Num: &value, Text: "412 s" + evil, Unit: "s", Limit: &limit, From: "group client1/prod" + evil, Is: "max(replica.lag) = 412" + evil}, {Name: "gone" + evil, Text: "?"}}
		a.Remedy = &monolith.Remedy{Text: "Look for a long statement." + evil, SQL: []string{"STOP SLAVE;" + evil}, Checks: []string{"SHOW PROCESSLIST;" + evil, "SHOW SLAVE STATUS\\G"}, Risk: "None." + evil, Rollback: "START SLAVE;" + evil, Restart: true,
			Settings: []monolith.Setting{{Variable: "slave_parallel_threads" + evil, From: "0" + evil, To: "4", Dynamic: true, Why: "one thread is not enough" + evil}}}
		a.Changed, a.Unknown = now.Add(-time.Hour), "no privilege"+evil
		a.AckedBy, a.AckedAt, a.AckNote, a.Owner, a.TakenAt = "eve"+evil, now.Add(-time.Hour), "I look at it"+evil, "bob"+evil, now.Add(-time.Minute)
		a.Flapping, a.Maintenance, a.Silenced = true, true, now.Add(time.Hour)
	})
	x.alerts.event(lag, monolith.EventRaised, monolith.LevelCritical, now.Add(-time.Hour), "412 s"+evil, "eve"+evil, "maintenance"+evil)
	x.alerts.event(lag, monolith.EventNote, monolith.LevelCritical, now.Add(-time.Minute), "a note"+evil, "bob", "")
	for i := 1; i < min(len(servers), 6); i++ {
		under := x.alerts.open(&servers[i], "lag", monolith.LevelInfo, now.Add(-time.Duration(i)*time.Minute))
		x.alerts.edit(under, func(a *monolith.Alert) {
			a.Title, a.Summary = "Many threads run", "57 threads run (limit 50)"+evil
			if a.Instance = ""; i%2 == 0 {
				a.Parent = lag
			}
			if i == 5 {
				a.Level = monolith.LevelWarn
			}
		})
	}
	for i := range 4 {
		old := x.alerts.open(&servers[0], "lag", monolith.LevelWarn, now.Add(-time.Duration(i+1)*30*time.Hour))
		x.alerts.edit(old, func(a *monolith.Alert) {
			a.Instance, a.Closed, a.Reason = "eu2"+evil, a.Opened.Add(time.Duration(i+1)*20*time.Minute), monolith.ClosedCleared
			a.Summary = "90 s behind" + evil
		})
	}
	x.alerts.lock()()
	x.alerts.own = []monolith.OwnRule{{ID: "mine", Source: "id: mine\n# " + evil, Version: 3, By: "eve" + evil, At: now.Add(-time.Hour)}}
	off := false
	x.alerts.settings = []monolith.RuleSetting{{Rule: "lag", Limits: map[string]map[string]float64{"warn": {"lag": 90}}, By: "eve" + evil, At: now.Add(-time.Hour), Runbook: "javascript:alert(1)" + evil},
		{Rule: "lag", RuleScope: monolith.RuleScope{Server: servers[0].ID}, Limits: map[string]map[string]float64{"critical": {"lag": 300}}, At: now}, {Rule: "scans", Enabled: &off, At: now}}
	for i := range servers {
		key := monolith.AlertKey{Server: servers[i].ID, Rule: "lag", Instance: "eu2" + evil}
		list := []monolith.RuleStatus{{AlertKey: key, State: monolith.StateOK, Since: now.Add(-time.Hour), Text: fmt.Sprintf("%d s behind", i) + evil, Values: []monolith.AlertValue{{Name: "lag", Num: &value, Text: "3 s", Limit: &limit}}},
			{AlertKey: monolith.AlertKey{Server: servers[i].ID, Rule: "scans"}, State: monolith.StateNotApplicable, Why: "no replica" + evil, Since: now.Add(-time.Hour)}}
		if i == 0 {
			list[0].State, list[0].Level, list[0].Alert = monolith.StateOpen, monolith.LevelCritical, lag
			list[1].State, list[1].Why, list[1].Input = monolith.StateCannotEvaluate, "the privilege PROCESS is missing"+evil, "innodb.transactions"
		}
		x.alerts.statuses[servers[i].ID] = list
	}
	x.alerts.silences = []monolith.Silence{{ID: 7, Alert: lag, From: now.Add(-time.Minute), By: "eve" + evil, Reason: "known" + evil}, {ID: 8, Server: servers[0].ID, Rule: "lag", From: now, To: now.Add(time.Hour), Reason: "test" + evil}}
	x.alerts.windows = []monolith.MaintenanceWindow{{ID: 9, Title: "backup" + evil, Group: servers[0].Group, Start: now.Add(time.Hour), Duration: 2 * time.Hour, Zone: "Europe/Berlin", Every: "week", Weekdays: []time.Weekday{time.Sunday, time.Monday}, By: "eve" + evil},
		{ID: 10, Title: "running", Start: now.Add(-time.Hour), Duration: 2 * time.Hour}, {ID: 11, Title: "over", Server: servers[0].ID, Start: now.Add(-24 * time.Hour), Duration: time.Hour}}
	return lag
}

// edit changes an alert behind the back of the site.
func (f *fakeAlerts) edit(id monolith.AlertID, do func(*monolith.Alert)) {
	defer f.lock()()
	if a, err := f.find(id); err == nil {
		do(a)
	}
}

// event adds to an alert's history.
func (f *fakeAlerts) event(id monolith.AlertID, kind monolith.AlertEventKind, level monolith.Level, at time.Time, text, by, quiet string) {
	defer f.lock()()
	f.events = append(f.events, monolith.AlertEvent{ID: f.id(), Alert: id, At: at, Kind: kind, Level: level, By: by, Text: text, Quiet: quiet})
}
