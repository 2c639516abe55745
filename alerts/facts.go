package alerts

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"monolith"
	"monolith/formula"
)

// fact is something known of a server that no collector is asked for each time.
type fact struct {
	name string
	kind formula.Type
	get  func(ev *evaluator) formula.Scalar
}

// facts lists the facts. Nobody changes the list.
var facts = sync.OnceValue(func() []fact {
	truth := func(f func(ev *evaluator) bool) func(*evaluator) formula.Scalar {
		return func(ev *evaluator) formula.Scalar {
			if ev.state.Identity.IsZero() {
				return formula.Nothing(formula.LackLearning, "the server's version is not known yet")
			}
			return formula.Truth(f(ev))
		}
	}
	text := func(f func(ev *evaluator) string) func(*evaluator) formula.Scalar {
		return func(ev *evaluator) formula.Scalar { return formula.Text(f(ev)) }
	}
	return []fact{
		{"server.flavour", formula.TypeText, text(func(ev *evaluator) string { return string(ev.state.Identity.Flavour) })},
		{"server.version", formula.TypeText, text(func(ev *evaluator) string { return ev.state.Identity.Version.String() })},
		{"server.version_number", formula.TypeNumber, func(ev *evaluator) formula.Scalar {
			return formula.VersionNumber(ev.state.Identity.Version)
		}},
		{"server.is_mariadb", formula.TypeBool, truth(func(ev *evaluator) bool { return ev.state.Identity.Flavour.IsMariaDB() })},
		{"server.is_mysql", formula.TypeBool, truth(func(ev *evaluator) bool { return ev.state.Identity.Flavour.IsMySQL() })},
		{"server.aurora", formula.TypeBool, truth(func(ev *evaluator) bool { return ev.state.Identity.Flavour == monolith.Aurora })},
		{"server.rds", formula.TypeBool, truth(func(ev *evaluator) bool { return ev.state.Identity.Cloud == "rds" })},
		{"server.managed", formula.TypeBool, truth(func(ev *evaluator) bool {
			return ev.state.Identity.Cloud != "" || ev.state.Identity.Flavour == monolith.Aurora
		})},
		{"server.galera", formula.TypeBool, truth(func(ev *evaluator) bool { return ev.state.Identity.Galera })},
		{"server.group_replication", formula.TypeBool, groupReplication},
		{"server.writable", formula.TypeBool, writable},
		{"server.is_replica", formula.TypeBool, isReplica},
		{"server.replicas_attached", formula.TypeNumber, replicasAttached},
		{"server.environment", formula.TypeText, text(func(ev *evaluator) string { return ev.environment })},
		{"server.role", formula.TypeText, text(func(ev *evaluator) string { return ev.server.Role })},
		{"server.ram", formula.TypeNumber, func(ev *evaluator) formula.Scalar {
			if ev.server.RAM <= 0 {
				return formula.Nothing(formula.LackAbsent, "the server's memory (server.ram) is not set")
			}
			return formula.Number(float64(ev.server.RAM))
		}},
		{"server.uptime", formula.TypeNumber, uptime},
		{"server.name", formula.TypeText, text(func(ev *evaluator) string { return ev.server.Name })},
		{"server.group", formula.TypeText, text(func(ev *evaluator) string { return ev.server.Group })},
		{"server.now", formula.TypeNumber, func(ev *evaluator) formula.Scalar { return formula.Number(float64(ev.at.Unix())) }},
		{"server.restarts_1h", formula.TypeNumber, func(ev *evaluator) formula.Scalar { return formula.Number(float64(len(ev.srv.restarts))) }},
		{"server.down_for", formula.TypeNumber, func(ev *evaluator) formula.Scalar {
			if ev.srv.restarted.IsZero() {
				return formula.Nothing(formula.LackNull, "no restart was seen")
			}
			return formula.Number(ev.srv.downFor.Seconds())
		}},
		{"server.previous_uptime", formula.TypeNumber, func(ev *evaluator) formula.Scalar {
			if ev.srv.restarted.IsZero() || ev.srv.uptimeBefore == 0 {
				return formula.Nothing(formula.LackNull, "no restart was seen")
			}
			return formula.Number(ev.srv.uptimeBefore.Seconds())
		}},
		{"server.unread_for", formula.TypeNumber, func(ev *evaluator) formula.Scalar {
			if ev.srv.unread.IsZero() {
				return formula.Number(0)
			}
			return formula.Number(ev.at.Sub(ev.srv.unread).Seconds())
		}},
		{"server.problem", formula.TypeText, text(func(ev *evaluator) string { return string(ev.connectionProblem().Kind) })},
		{"server.problem_text", formula.TypeText, text(func(ev *evaluator) string { return ev.connectionProblem().Text })},
		{"server.problem_code", formula.TypeNumber, func(ev *evaluator) formula.Scalar {
			return formula.Number(float64(ev.connectionProblem().Code))
		}},
		{"server.in_maintenance", formula.TypeBool, func(ev *evaluator) formula.Scalar { return formula.Truth(ev.inMaintenance("")) }},
		{"server.in_backup_window", formula.TypeBool, func(ev *evaluator) formula.Scalar {
			if ev.inMaintenance("backup") {
				return formula.Truth(true)
			}
			return ev.backupRuns()
		}},
		{"server.has_host", formula.TypeBool, func(ev *evaluator) formula.Scalar {
			return formula.Truth(slices.ContainsFunc(ev.srv.slots, func(s *sectionSlot) bool { return s.collector == "host" && s.now != nil }))
		}},
		{"server.release", formula.TypeText, text(func(ev *evaluator) string {
			_, release, _ := Support(ev.state.Identity, ev.at)
			return release
		})},
		{"server.support_days", formula.TypeNumber, func(ev *evaluator) formula.Scalar {
			days, release, ok := Support(ev.state.Identity, ev.at)
			if !ok {
				return formula.Nothing(formula.LackNull, "it is not known until when "+cmp.Or(release, "this version")+" gets fixes")
			}
			return formula.Number(math.Trunc(days))
		}},
		{"server.incomplete_for", formula.TypeNumber, func(ev *evaluator) formula.Scalar {
			if ev.srv.incomplete.since.IsZero() {
				return formula.Number(0)
			}
			since := ev.srv.incomplete.since
			if since.Before(ev.srv.watched) {
				since = ev.srv.watched // while nobody looked nothing failed
			}
			return formula.Number(ev.at.Sub(since).Seconds())
		}},
		{"server.incomplete", formula.TypeText, text(func(ev *evaluator) string { return ev.srv.incomplete.text() })},
		{"server.writable_in_group", formula.TypeNumber, func(ev *evaluator) formula.Scalar {
			return formula.Number(float64(ev.engine.writablePrimaries(ev.server.Group)))
		}},
	}
})

func factIndex(name string) int {
	return slices.IndexFunc(facts(), func(f fact) bool { return f.name == name })
}

// tagLocal is how has_tag("x") is written inside: the formula language has no function of that name. Both are equally
// long, so that columns in errors stay right.
const tagLocal = "server.tag_"

// tagName makes a tag comparable: capitals and everything but letters and digits don't count.
func tagName(tag string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, tag)
}

func (ev *evaluator) hasTag(name string) formula.Scalar {
	for _, tag := range ev.server.Tags {
		if tagName(tag) == name {
			return formula.Truth(true)
		}
	}
	return formula.Truth(false)
}

func uptime(ev *evaluator) formula.Scalar {
	return ev.plain("status.Uptime", "")
}

// writable tells whether clients without special rights may write.
func writable(ev *evaluator) formula.Scalar {
	any := false
	for _, name := range []string{"variable.read_only", "variable.super_read_only", "variable.innodb_read_only", "variable.offline_mode"} {
		s := ev.plain(name, "")
		switch s.Lack() {
		case formula.LackNone:
			any = true
			if on(s) {
				return formula.Truth(false)
			}
		case formula.LackAbsent:
		default:
			return s
		}
	}
	if !any {
		return formula.Nothing(formula.LackLearning, "variable.read_only was not read yet")
	}
	return formula.Truth(true)
}

// on reads a switch: everything but OFF, 0 and NO is on (MariaDB ≥ 12.0 has NO_LOCK for read_only).
func on(s formula.Scalar) bool {
	switch strings.ToUpper(s.String()) {
	case "OFF", "0", "NO", "":
		return false
	}
	return true
}

func isReplica(ev *evaluator) formula.Scalar {
	if ev.state.Replicas == nil {
		return ev.noRows("replicas")
	}
	if v := ev.collectorVerdict("replication"); v.state == monolith.StateCannotEvaluate {
		return formula.Nothing(formula.LackFailed, v.why)
	}
	return formula.Truth(slices.ContainsFunc(ev.state.Replicas, func(r monolith.Replica) bool { return !r.ReadsFromGroup() }))
}

func groupReplication(ev *evaluator) formula.Scalar {
	s := ev.plain("variable.group_replication_group_name", "")
	if text, ok := s.Text(); ok {
		return formula.Truth(text != "")
	}
	if s.Lack() == formula.LackAbsent {
		return formula.Truth(false)
	}
	return s
}

func replicasAttached(ev *evaluator) formula.Scalar {
	for _, name := range []string{"replica.connected_replicas", "status.Slaves_connected", "server.processes_dump"} {
		s := ev.plain(name, "")
		if s.Lack() != formula.LackAbsent {
			return s
		}
	}
	return formula.Nothing(formula.LackAbsent, "this server does not tell how many replicas are attached")
}

// connectionProblem is what keeps Monolith from the server; zero when nothing does.
func (ev *evaluator) connectionProblem() monolith.Problem {
	for _, p := range ev.state.Problems {
		if p.Collector == "" {
			return p
		}
	}
	return monolith.Problem{}
}

// backupRuns reports whether a session of one of the server's backup users is there.
func (ev *evaluator) backupRuns() formula.Scalar {
	if ev.state.Processes == nil || len(ev.server.BackupUsers) == 0 {
		return formula.Truth(false)
	}
	runs := slices.ContainsFunc(ev.state.Processes.ByUser, func(c monolith.Count) bool {
		return c.Count > 0 && slices.Contains(ev.server.BackupUsers, c.Name)
	})
	if why := ev.srv.leftOut("processes"); why != "" && !runs {
		return formula.Nothing(formula.LackFailed, "whether a backup runs is not known: "+why)
	}
	return formula.Truth(runs)
}

// inMaintenance reports whether a maintenance window covers the server now; of those whose title holds a word, if one is
// given.
func (ev *evaluator) inMaintenance(word string) bool {
	ev.engine.mu.RLock()
	windows := ev.engine.windows
	ev.engine.mu.RUnlock()
	return slices.ContainsFunc(windows, func(w monolith.MaintenanceWindow) bool {
		return (word == "" || strings.Contains(strings.ToLower(w.Title), word)) && CoversServer(&w, ev.server.ID, ev.server.Group) && Running(&w, ev.at)
	})
}

// finiteOr gives v, or other where v is no number.
func finiteOr(v, other float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return other
	}
	return v
}
