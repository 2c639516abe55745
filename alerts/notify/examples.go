package notify

import (
	"time"

	"monolith"
)

// Examples gives a notice of each kind, for previews and for trying templates.
func Examples() []*Notice {
	opened := time.Date(2026, 3, 14, 11, 20, 0, 0, time.UTC)
	lag, limit := 412.0, 300.0
	alert := func() *monolith.Alert {
		return &monolith.Alert{ID: 42, AlertKey: monolith.AlertKey{Server: 3, Rule: "replica-lag", Instance: "eu2"}, ServerName: "db3", Group: "acme/prod",
			Title: "Replication lag", Category: "replication", Level: monolith.LevelCritical, Peak: monolith.LevelCritical, Summary: "412 s > 300 s",
			Text:    "The replica is 412 s behind its source and has been for 5 minutes.",
			Formula: "it.delay=412 >= limit.delay=300", Opened: opened, Changed: opened,
			Values: []monolith.AlertValue{{Name: "delay", Num: &lag, Text: "412 s", Unit: "s", Limit: &limit, From: "group acme/prod"}},
			Remedy: &monolith.Remedy{Text: "Look for a long transaction on the source, then for a table without primary key.",
				Settings: []monolith.Setting{{Variable: "replica_parallel_workers", From: "0", To: "4"}},
				Checks:   []string{"SHOW REPLICA STATUS\\G", "SELECT * FROM information_schema.innodb_trx ORDER BY trx_started LIMIT 5;", "SHOW FULL PROCESSLIST;"}}}
	}
	server := &Subject{Name: "db3", Group: "acme/prod", Environment: "prod", Role: "replica of db1", Version: "MySQL 8.0.36", Address: "db3.example:3306"}
	changes := []Change{{At: opened.Add(-9 * time.Minute), Text: "variable.replica_parallel_workers: 4 → 0"}}
	const about = "What is read here is old: reports are wrong, and after a failover the missing transactions are lost."
	note := func(kind monolith.NoticeKind, at time.Time) *Notice {
		return &Notice{Kind: kind, Key: "monolith-example-42", At: at, Alert: alert(), Server: server, About: about, Changes: changes}
	}
	problem := note(monolith.NoticeProblem, opened)
	course := Course{Name: "delay", Unit: "s"}
	for minute := range 60 {
		course.Values = append(course.Values, max(3, float64(minute-42)*24.2))
	}
	problem.Hour = &Hour{Lines: []Course{course}}
	reminder := note(monolith.NoticeReminder, opened.Add(time.Hour))
	lowered := note(monolith.NoticeLowered, opened.Add(20*time.Minute))
	lowered.Alert.Level = monolith.LevelWarn
	recovery := note(monolith.NoticeRecovery, opened.Add(40*time.Minute))
	recovery.Alert.Closed, recovery.Alert.Reason, recovery.Lasted = opened.Add(40*time.Minute), monolith.ClosedCleared, 40*time.Minute
	acknowledged := note(monolith.NoticeAcknowledged, opened.Add(5*time.Minute))
	acknowledged.By, acknowledged.Note = "eve", "ticket 4711"
	other := alert()
	other.ServerName, other.Rule, other.Title, other.Summary, other.Instance, other.Level = "db4", "disk-full-forecast", "Disk will be full", "/data 91 % used", "/data", monolith.LevelWarn
	digest := &Notice{Kind: monolith.NoticeDigest, Key: "monolith-example-digest", At: opened, Others: []monolith.Alert{*alert(), *other}, More: 3}
	return []*Notice{problem, reminder, lowered, recovery, acknowledged, digest,
		{Kind: monolith.NoticeQuiet, Key: "monolith-example-quiet", At: opened},
		{Kind: monolith.NoticeTest, Key: "monolith-example-test", At: opened}}
}
