package web

import (
	"strings"
	"testing"
	"time"

	"monolith"
)

// TestSchemasSayWhatIsNotSeen: no 0 stands for what the account can't see, and views are not counted as tables.
func TestSchemasSayWhatIsNotSeen(t *testing.T) {
	x := newSite(t)
	srv := x.add(t, "db1", "")
	snap := poll(srv.ID, 1, 10, nil)
	snap.Schemas = nil
	snap.Problems = []monolith.Problem{{Collector: "sizes", Kind: monolith.ProblemPartial, Text: "sees a table in no schema", Cure: "GRANT SHOW VIEW ON *.* TO 'm'@'%';"}}
	snap.Costs = []monolith.Cost{{Collector: "sizes"}}
	x.poller.take(snap)
	page := x.html(t, "/servers/db1/schemas").body
	if !strings.Contains(page, "sees a table in no schema") || !strings.Contains(page, "GRANT SHOW VIEW ON *.* TO") || !strings.Contains(page, "No sizes are known") ||
		strings.Contains(page, "0 B") || strings.Contains(page, "No user schema") {
		t.Errorf("the schemas of a blind account: %s", page)
	}
	if page := x.html(t, "/servers/db1").body; strings.Contains(page, "<dt>Data</dt>") {
		t.Error("the overview tells how much data there is")
	}

	snap = poll(srv.ID, 2, 20, nil)
	snap.Costs = []monolith.Cost{{Collector: "sizes"}}
	snap.Schemas = &monolith.SchemaSizes{Taken: time.Now(), Tables: 15, Views: 17, Listed: 32, Hidden: true,
		Schemas: []monolith.SchemaSize{{Schema: "shop", Engine: "InnoDB", Tables: 15, Data: 1 << 20}}}
	x.poller.take(snap)
	page = x.html(t, "/servers/db1/schemas").body
	for _, want := range []string{"15 tables, and 17 views or sequences without a size", "Together, as far as seen", "does not see all tables"} {
		if !strings.Contains(page, want) {
			t.Errorf("it is not said: %s\n%s", want, page)
		}
	}
	if !strings.Contains(x.html(t, "/servers/db1").body, "1 schema, as far as seen") {
		t.Error("the overview takes a part for the whole")
	}

	// Of very many tables a part is read, three hours ago.
	snap = poll(srv.ID, 3, 30, nil)
	snap.Costs = []monolith.Cost{{Collector: "sizes"}}
	snap.Schemas = &monolith.SchemaSizes{Taken: noon.Add(-3 * time.Hour), Tables: 20_000, Listed: 300_000, Sampled: true,
		Schemas: []monolith.SchemaSize{{Schema: "Shop", Engine: "InnoDB", Tables: 10_000, Data: 1 << 20}, {Schema: "shop", Engine: "InnoDB", Tables: 10_000, Data: 1 << 20}}}
	x.poller.take(snap)
	page = x.html(t, "/servers/db1/schemas").body
	for _, want := range []string{"more tables than the scan may read", "Together, as far as seen", "3 h ago", ">Shop<", ">shop<"} {
		if !strings.Contains(page, want) {
			t.Errorf("it is not said: %s\n%s", want, page)
		}
	}
	if !strings.Contains(x.html(t, "/servers/db1").body, "2 schemas, as far as seen") {
		t.Error("the overview takes a part for the whole")
	}
	if strings.Contains(page, "32") && strings.Contains(page, "32 tables") {
		t.Error("views are counted as tables")
	}
}

// lacking is a poller whose collectors lack rights.
type lacking struct {
	Poller
	collectors []monolith.CollectorStatus
}

func (l lacking) Collectors(monolith.ServerID) []monolith.CollectorStatus { return l.collectors }

// TestRightsStandOnceAndOneALine: several collectors may want the same right, and one may want two.
func TestRightsStandOnceAndOneALine(t *testing.T) {
	const process, view = "GRANT PROCESS ON *.* TO 'm'@'%';", "GRANT SHOW VIEW ON *.* TO 'm'@'%';"
	x := newSite(t, func(c *Config) {
		c.Poller = lacking{c.Poller, []monolith.CollectorStatus{{Name: "innodb", Grant: process}, {Name: "sizes", Grant: view + "\n" + process}, {Name: "processes", Grant: process}}}
	})
	x.add(t, "db1", "")
	box := cutBetween(t, x.html(t, "/servers/db1/monitoring").body, "Rights that would make", "</pre>")
	box = strings.NewReplacer("&#39;", "'").Replace(box)
	if !strings.HasSuffix(box, "<code>"+process+"\n"+view+"</code>") {
		t.Errorf("the box holds %s", box)
	}
}

// TestOriginsAreNamedRightly: what the server does not tell is not called the default.
func TestOriginsAreNamedRightly(t *testing.T) {
	x := newSite(t)
	srv := x.add(t, "db1", "")
	snap := withVariables(srv.ID, 1, map[string]string{"basedir": "/usr/", "tx_isolation": "READ-COMMITTED", "port": "3306"})
	snap.Variables = []monolith.VariableInfo{{Name: "basedir", Origin: monolith.OriginEnvironment, Changed: new(true)},
		{Name: "tx_isolation", Changed: new(true), Default: new("REPEATABLE-READ")}, {Name: "port", Origin: monolith.OriginCompiled, Changed: new(false)}}
	x.poller.take(snap)
	body := cutBetween(t, x.html(t, "/servers/db1/variables?only=set").body, "<tbody>", "</tbody>")
	for _, want := range []string{">environment<", "not the default; the server does not tell where it was set", "REPEATABLE-READ"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing in %s", want, body)
		}
	}
	if strings.Contains(body, "command line") || strings.Contains(body, "variables/port") {
		t.Errorf("among what is not at its default: %s", body)
	}
}

// restingPoller has a collector that rests after it was too late.
type restingPoller struct{ *fakePoller }

func (restingPoller) Collectors(monolith.ServerID) []monolith.CollectorStatus {
	return []monolith.CollectorStatus{{Name: "replication", Title: "Replication", Works: monolith.CollectorWaiting, Why: "no answer within 3s", Runs: 9, Timeouts: 4,
		Until: noon.Add(4 * time.Minute), LastRun: noon.Add(-time.Minute), Interval: 10 * time.Second}}
}

func TestMonitoringSaysWhatRests(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Poller = restingPoller{c.Poller.(*fakePoller)} })
	srv := x.add(t, "db1", "")
	x.poller.take(poll(srv.ID, 1, 10, nil))
	body := x.html(t, "/servers/db1/monitoring").body
	row := tags.ReplaceAllString(cutBetween(t, body, `<table class="collectors">`, "</table>"), " ")
	for _, want := range []string{"no answer within 3s", "backs off, next try", "in 4 min", "▲ 4"} {
		if !strings.Contains(row, want) {
			t.Errorf("the page does not say %q: %s", want, row)
		}
	}
	if got := x.get(t, "/api/v1/servers/db1/collectors").body; !strings.Contains(got, `"until":"2026-03-14T12:04:00Z"`) || !strings.Contains(got, `"timeouts":4`) {
		t.Errorf("the answer is %s", got)
	}
}
