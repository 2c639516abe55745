package web

import (
	"slices"

	"monolith"
)

// causesOfFirstPage is how many open alerts stand on the first screen: the rest is on the page of alerts.
const causesOfFirstPage = 25

// levelSigns are the shapes of the levels, for places that hold only text.
var levelSigns = map[monolith.Level]string{monolith.LevelCritical: "✖", monolith.LevelWarn: "▲", monolith.LevelInfo: "◆"}

// addAlerts puts the worst open level of each row's server to it, and how many rules can't tell.
func (s *Server) addAlerts(rows []serverRow, servers []monolith.Server) {
	if s.alerts == nil {
		return
	}
	open := s.alerts.Open()
	worst, count := worstLevels(open), map[monolith.ServerID]int{}
	for i := range open {
		count[open[i].Server]++
	}
	unknown := s.cannotEvaluate(servers)
	for i := range rows {
		id := rows[i].Server.ID
		rows[i].Level, rows[i].Alerts, rows[i].Unknown = worst[id], count[id], unknown[id]
	}
}

// unknownLevel is the filter for servers about which some rule can't tell.
const unknownLevel = "unknown"

// hasLevel reports whether a row is one that the filter of levels wants; "" wants all.
func (r *serverRow) hasLevel(level string) bool {
	switch level {
	case "":
		return true
	case unknownLevel:
		return r.Unknown > 0
	}
	return r.Level.String() == level
}

// within gives the servers that a group and an environment choose.
func within(servers []monolith.Server, group, environment string) map[monolith.ServerID]bool {
	in := map[monolith.ServerID]bool{}
	for i := range servers {
		if monolith.InGroup(servers[i].Group, group) && (environment == "" || servers[i].Environment == environment) {
			in[servers[i].ID] = true
		}
	}
	return in
}

// openCauses puts what is open to the first screen: causes of the chosen group and environment.
func (s *Server) openCauses(d *serversPage, servers []monolith.Server) {
	if s.alerts == nil {
		return
	}
	d.Alerts = s.countAlerts(servers, d.Filter.Group, d.Filter.Environment)
	for _, row := range s.causes(servers, d.Filter.Group, d.Filter.Environment) {
		if d.Filter.Level == "" || row.Level.String() == d.Filter.Level {
			d.Open = append(d.Open, row)
		}
	}
	d.Open = foldSame(d.Open)
	if n := len(d.Open); n > causesOfFirstPage {
		d.MoreOpen, d.Open = n-causesOfFirstPage, d.Open[:causesOfFirstPage]
	}
}

// causes gives the open alerts of some servers, one row a cause, worst and newest first. Those of the monitor itself
// concern everybody.
func (s *Server) causes(servers []monolith.Server, group, environment string) []alertRow {
	in := within(servers, group, environment)
	return rollUp(slices.DeleteFunc(slices.Clone(s.alerts.Open()), func(a monolith.Alert) bool { return a.Server != 0 && !in[a.Server] }))
}

// countAlerts counts causes by level, and servers about which some rule can't tell.
func (s *Server) countAlerts(servers []monolith.Server, group, environment string) (c alertCounts) {
	if s.alerts == nil {
		return c
	}
	for _, row := range s.causes(servers, group, environment) {
		c.add(row.Level)
	}
	in := within(servers, group, environment)
	for id := range s.cannotEvaluate(servers) {
		if in[id] {
			c.Unknown++
		}
	}
	return c
}
