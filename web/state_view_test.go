package web

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"monolith"
)

// failed is a poll that did not read the status.
func failed(server monolith.ServerID, seq uint64, kind monolith.ProblemKind) *monolith.Snapshot {
	snap := poll(server, seq, 0, nil)
	snap.Up, snap.Polled, snap.Identity, snap.Sections, snap.Rows = kind == monolith.ProblemRefused, false, monolith.Identity{}, nil, monolith.Rows{}
	snap.Problems = []monolith.Problem{{Kind: kind, Text: "the login was turned away"}}
	return snap
}

// replicaPoll is a poll of a replica that runs and is not behind.
func replicaPoll(server monolith.ServerID, seq, questions uint64, source string) *monolith.Snapshot {
	none := int64(0)
	snap := poll(server, seq, questions, &none)
	snap.Replicas = []monolith.Replica{{SourceHost: source, SourcePort: 3306, IO: monolith.ThreadYes, SQL: monolith.ThreadYes, Lag: &none, Delay: &none}}
	return snap
}

// stateJSON reads a server's state as a program does.
func (x *site) stateJSON(t *testing.T, name string) map[string]any {
	t.Helper()
	var v struct{ State map[string]any }
	if err := json.Unmarshal([]byte(x.get(t, "/api/v1/servers/"+name).body), &v); err != nil {
		t.Fatal(err)
	}
	return v.State
}

var tags = regexp.MustCompile(`<[^>]*>`)

func TestQueriesAreThoseOfOthers(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	shown := func() string {
		row := cutBetween(t, x.html(t, "/").body, `<td class="c-qps num"`, "</td>")
		return tags.ReplaceAllString(cutBetween(t, row, `<span class="n">`, "</span>"), "")
	}
	x.poller.take(poll(s.ID, 1, 100, nil))
	if got := x.stateJSON(t, "db1")["queries"]; got != nil {
		t.Errorf("after one poll: %v queries", got)
	}
	x.poller.take(poll(s.ID, 2, 105, nil)) // nobody but Monolith
	if got := x.stateJSON(t, "db1")["queries"]; got != 0.0 || shown() != "0/s" {
		t.Errorf("an idle server: %v queries, shown as %q", got, shown())
	}
	x.poller.take(poll(s.ID, 3, 106, nil)) // ours are counted a little apart
	if got := x.stateJSON(t, "db1")["queries"]; got != 0.0 {
		t.Errorf("fewer than our own: %v queries", got)
	}
	x.poller.take(poll(s.ID, 4, 211, nil))
	if got := x.stateJSON(t, "db1")["queries"]; got != 10.0 || shown() != "10/s" {
		t.Errorf("10 a second beside our own: %v queries, shown as %q", got, shown())
	}
	// What is ours is not known: nothing is said rather than too much.
	snap := poll(s.ID, 5, 316, nil)
	snap.Sections = snap.Sections[:2]
	y := newSite(t)
	y.add(t, "db1", "")
	first := poll(s.ID, 4, 211, nil)
	first.Sections = first.Sections[:2]
	y.poller.take(first)
	y.poller.take(snap)
	if got := y.stateJSON(t, "db1")["queries"]; got != nil {
		t.Errorf("without knowing our own: %v queries", got)
	}
}

// What was last read of a server that does not answer is not said to be so now.
func TestLastKnownValuesAreShownAsSuch(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db2", "")
	x.poller.take(replicaPoll(s.ID, 1, 100, "10.0.0.9"))
	x.poller.take(replicaPoll(s.ID, 2, 205, "10.0.0.9"))
	x.clock = noon.Add(25 * time.Second)
	before := x.stateJSON(t, "db2")
	if before["lag"] != 0.0 || before["threads_running"] != 7.0 || before["channels"] != 1.0 {
		t.Errorf("while it answers: %v", before)
	}
	for _, page := range []string{"/servers/db2", "/servers/db2/replication"} {
		body := x.html(t, page).body
		if strings.Contains(body, "as of") || !strings.Contains(body, `<span class="state up">Yes</span>`) {
			t.Errorf("%s: while it answers, what was read is so now", page)
		}
	}

	x.poller.take(failed(s.ID, 3, monolith.ProblemUnreachable))
	x.clock = noon.Add(35 * time.Second)
	after := x.stateJSON(t, "db2")
	for _, figure := range []string{"queries", "lag", "threads_running", "threads_connected", "uptime"} {
		if v, there := after[figure]; v != nil || !there {
			t.Errorf("%s of a server that does not answer is %v", figure, v)
		}
	}
	if after["max_connections"] != 151.0 || after["channels"] != 1.0 || after["lag_unknown"] != nil || after["polled"] != "2026-03-14T12:00:20Z" {
		t.Errorf("what it is goes on to be known: %v", after)
	}
	for _, page := range []string{"/servers/db2", "/servers/db2/replication"} {
		body := x.html(t, page).body
		if !strings.Contains(body, `as of <time`) || !strings.Contains(body, "how they are now is not known") ||
			strings.Contains(body, `<span class="state up">`) || !strings.Contains(body, `<span class="state wait">Yes</span>`) {
			t.Errorf("%s: the last known channels are shown as if they were so now", page)
		}
	}
	var v struct {
		At    time.Time
		AsOf  time.Time `json:"as_of"`
		Note  string
		Lines []monolith.Replica `json:"channels"`
	}
	if err := json.Unmarshal([]byte(x.get(t, "/api/v1/servers/db2/replication").body), &v); err != nil {
		t.Fatal(err)
	}
	if r := v.Lines[0]; !v.AsOf.Equal(noon.Add(20*time.Second)) || !v.At.Equal(noon.Add(30*time.Second)) || !strings.Contains(v.Note, "last read") ||
		r.Lag != nil || r.Delay != nil || r.IO != "" || r.SQL != "" || r.SourceHost != "10.0.0.9" {
		t.Errorf("the answer about replication is %+v", v)
	}
	if st := x.poller.State(s.ID); st.Replicas[0].Lag == nil || st.Replicas[0].IO != monolith.ThreadYes {
		t.Error("the answer changed what is known")
	}
}

// What tells a delay stands beside it, and the 0 of a server whose receiver does not run is no lag.
func TestDelayNamesItsMeasure(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db2", "")
	snap := replicaPoll(s.ID, 1, 100, "10.0.0.9")
	for by, words := range map[monolith.DelayBy]string{monolith.ByHeartbeat: "the heartbeat table", monolith.ByCommit: "commit times", monolith.ByServer: "what the server says"} {
		snap.Replicas[0].DelayBy = by
		x.poller.take(snap)
		if body := x.html(t, "/servers/db2/replication").body; !strings.Contains(body, "by "+words+"<") {
			t.Errorf("the page does not say that a delay is told by %s", words)
		}
		if body := x.get(t, "/api/v1/servers/db2/replication").body; !strings.Contains(body, `"delay_by":"`+string(by)+`"`) {
			t.Errorf("the API does not say that a delay is told by %s: %s", words, body)
		}
	}
	snap = replicaPoll(s.ID, 2, 105, "10.0.0.9")
	r := &snap.Replicas[0]
	r.IO, r.Delay, r.IOErrno, r.IOError = monolith.ThreadNo, nil, 2005, "Unknown MySQL server host"
	x.poller.take(snap)
	if st := x.stateJSON(t, "db2"); st["lag"] != nil || st["lag_unknown"] != true {
		t.Errorf("the lag without a receiver is %v, unknown %v", st["lag"], st["lag_unknown"])
	}
	if body := x.html(t, "/servers/db2/replication").body; !strings.Contains(body, "delay unknown") || !strings.Contains(body, "the server says 0, which means nothing") {
		t.Error("the page shows the 0 of a server whose receiver does not run")
	}
}

// Replication that can't be read any more, while the status can, is not known now either.
func TestReplicationThatIsNoLongerRead(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db2", "")
	channels := monolith.NewNames([]monolith.Metric{{Name: "replica.channels"}})
	snap := replicaPoll(s.ID, 1, 100, "10.0.0.9")
	snap.Sections = append(snap.Sections, monolith.Section{Collector: "replication", NumNames: channels, Nums: []monolith.Num{monolith.Uint(1)}, TextNames: monolith.NewNames(nil)})
	x.poller.take(snap)
	for seq := uint64(2); seq <= 12; seq++ {
		snap := poll(s.ID, seq, 100*seq, nil)
		snap.Replicas = nil
		x.poller.take(snap)
	}
	x.clock = noon.Add(121 * time.Second)
	if st := x.stateJSON(t, "db2"); st["ok"] != true || st["lag"] != nil || st["lag_unknown"] != true {
		t.Errorf("the state is %v", st)
	}
	if body := x.html(t, "/servers/db2").body; !strings.Contains(body, `as of <time`) || strings.Contains(body, `<span class="state up">Yes`) {
		t.Error("channels of two minutes ago are shown as if they were so now")
	}
	if cell := cutBetween(t, x.html(t, "/").body, `<td class="c-lag num`, "</td>"); !strings.Contains(cell, "unknown") {
		t.Errorf("the first screen says %s", cell)
	}
}

func TestServerThatWasNeverRead(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db3", "")
	x.poller.take(failed(s.ID, 1, monolith.ProblemRefused))
	st := x.stateJSON(t, "db3")
	for _, member := range []string{"channels", "product", "age", "lag"} {
		if v, there := st[member]; v != nil || !there {
			t.Errorf("%s is %v", member, v)
		}
	}
	if st["up"] != true || st["ok"] != false {
		t.Errorf("it answers, with a refusal: %v", st)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(x.get(t, "/api/v1/servers/db3/replication").body), &v); err != nil {
		t.Fatal(err)
	}
	if note, _ := v["note"].(string); v["channels"] != nil || v["as_of"] != nil || !strings.Contains(note, "nothing was read before; the login was turned away") {
		t.Errorf("the answer about replication is %v", v)
	}
	if body := x.html(t, "/servers/db3").body; !strings.Contains(body, "no polls yet") || strings.Contains(body, "unknown server") || strings.Contains(body, "100 %") {
		t.Error("the overview does not say that there were no polls")
	}
	x.clock = noon.Add(31 * 24 * time.Hour) // it was added at noon
	if body := x.html(t, "/servers/db3").body; !strings.Contains(body, "no polls in 30 days") {
		t.Error("a server that was polled long ago may have been available then")
	}
}

func TestTwoEntriesOfOneAddress(t *testing.T) {
	x := newSite(t)
	primary, replica := x.add(t, "db1", ""), x.add(t, "db2", "")
	x.store.servers[1].Endpoint.Host = "db2.example"
	x.poller.take(poll(primary.ID, 1, 100, nil))
	x.poller.take(replicaPoll(replica.ID, 1, 100, "DB.example"))
	const body = `{"name":"twin","endpoint":{"host":"Db.Example","user":"nobody","password":"pw"}}`
	made := x.do(t, http.MethodPost, "/api/v1/servers", body)
	if made.Code != http.StatusCreated || !strings.Contains(made.body, "this address is already watched under db1") {
		t.Errorf("%d %s", made.Code, made.body)
	}
	if got := x.get(t, "/api/v1/servers/twin"); strings.Contains(got.body, "already watched") {
		t.Errorf("it goes on warning: %s", got.body)
	}
	if got := x.html(t, "/servers/twin?done=added").body; !strings.Contains(got, `already watched under <a href="/servers/db1">db1</a>`) {
		t.Error("the page of the server just added does not say that its address is watched already")
	}
	if got := x.html(t, "/servers/db2?done=added").body; strings.Contains(got, "already watched") {
		t.Error("an address of its own is said to be watched already")
	}
	if got := x.do(t, http.MethodPost, "/api/v1/servers/test", body); !strings.Contains(got.body, "already watched under db1") {
		t.Errorf("the test says %s", got.body)
	}
	if got := x.do(t, http.MethodPatch, "/api/v1/servers/db2", `{"tags":["x"]}`); strings.Contains(got.body, "warnings") {
		t.Errorf("a tag: %s", got.body)
	}
	if got := x.do(t, http.MethodPatch, "/api/v1/servers/db2", `{"endpoint":{"host":"db.example","password":"pw"}}`); !strings.Contains(got.body, "already watched under db1") {
		t.Errorf("an address taken over: %s", got.body)
	}
	x.store.servers[1].Endpoint.Host = "db2.example"
	twin, err := x.store.Server(t.Context(), "twin")
	if err != nil {
		t.Fatal(err)
	}
	x.poller.take(failed(twin.ID, 1, monolith.ProblemRefused))
	if got := x.html(t, "/servers/db2").body; !strings.Contains(got, `replica of <a href="/servers/db1">db1</a>`) {
		t.Error("a replica is said to follow an entry that was never read")
	}
	// The other way round: the entry that is read stands behind the one that is not.
	y := newSite(t)
	refused, _, follower := y.add(t, "refused", ""), y.add(t, "read", ""), y.add(t, "db2", "")
	y.poller.take(failed(refused.ID, 1, monolith.ProblemRefused))
	y.poller.take(poll(refused.ID+1, 1, 100, nil))
	y.store.servers[2].Endpoint.Host = "db2.example"
	y.poller.take(replicaPoll(follower.ID, 1, 100, "db.example"))
	if got := y.html(t, "/servers/db2").body; !strings.Contains(got, `replica of <a href="/servers/read">read</a>`) {
		t.Error("a replica is said to follow an entry that was never read")
	}
}

// How old the values are is no size.
func TestAgeIsCalledAge(t *testing.T) {
	x := newFleet(t, 3)
	body := x.html(t, "/").body
	if head := cutBetween(t, body, `<th scope="col" class="c-age num"`, "</th>"); !strings.HasSuffix(head, ">Age</a>") {
		t.Errorf("the column is headed %s", head)
	}
	if strings.Contains(body, `data-label="data"`) {
		t.Error("narrow screens still call it data")
	}
}

// The numbers that the catalogue's documents give to graphs mean nothing on a page.
func TestPagesOfGraphsNameNoPlan(t *testing.T) {
	x := newFleet(t, 1)
	head := cutBetween(t, x.html(t, "/servers/db1/graphs/query-rate").body, `<h2 class="graph-title">`, "</h2>")
	if head != "Query rate" {
		t.Errorf("the graph is headed %s", head)
	}
}

// finder is a poller whose connection tests find a certain server.
type finder struct {
	*fakePoller
	identity monolith.Identity
}

func (f *finder) Test(ctx context.Context, s monolith.Server) monolith.TestReport {
	report := f.fakePoller.Test(ctx, s)
	report.Identity = f.identity
	return report
}

// A server that was moved and added anew, or was copied with its uuid, is found by it.
func TestSameServerUnderTwoEntries(t *testing.T) {
	find := &finder{}
	x := newSite(t, func(c *Config) {
		find.fakePoller = c.Poller.(*fakePoller)
		c.Poller = find
	})
	old, moved, other := x.add(t, "db1", ""), x.add(t, "db2", ""), x.add(t, "maria", "")
	for i := range x.store.servers {
		x.store.servers[i].Endpoint.Host = x.store.servers[i].Name + ".example"
	}
	read := func(id monolith.ServerID, uuid string) {
		snap := poll(id, 1, 100, nil)
		snap.Identity.UUID = uuid
		x.poller.take(snap)
	}
	const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	read(old.ID, uuid)
	read(other.ID, "")
	read(moved.ID, "4b4a959d-c319-11e9-9367-0242ac110004")
	const says = "has the same server_uuid"
	for _, name := range []string{"db1", "db2", "maria"} {
		if strings.Contains(x.html(t, "/servers/"+name).body, says) {
			t.Errorf("%s is taken for another one", name)
		}
	}
	read(moved.ID, uuid)
	for name, same := range map[string]string{"db1": "db2", "db2": "db1"} {
		if !strings.Contains(x.html(t, "/servers/"+name).body, `<a href="/servers/`+same+`">`+same+`</a> `+says) {
			t.Errorf("the page of %s does not say that it is %s", name, same)
		}
	}
	find.identity.UUID = uuid
	if got := x.do(t, http.MethodPost, "/api/v1/servers/test", `{"name":"new","endpoint":{"host":"new.example"}}`); !strings.Contains(got.body, "it has the server_uuid of db1") {
		t.Errorf("the test of a new entry says %s", got.body)
	}
	find.identity.UUID = ""
	if got := x.do(t, http.MethodPost, "/api/v1/servers/test", `{"name":"new","endpoint":{"host":"new.example"}}`); strings.Contains(got.body, "server_uuid of") {
		t.Errorf("a server without a uuid: %s", got.body)
	}
}

// Addresses of IPv6 have brackets wherever a port follows, in links as in words.
func TestPagesWithAddressesOfIPv6(t *testing.T) {
	x := newSite(t)
	source, replica := x.add(t, "fe80::1%eth0", ""), x.add(t, "db2", "")
	x.store.servers[0].Endpoint.Host, x.store.servers[1].Endpoint.Host = "fe80::1%eth0", "fd00:aaaa:bbbb::2"
	x.poller.take(poll(source.ID, 1, 100, nil))
	x.poller.take(replicaPoll(replica.ID, 1, 100, "fd00:aaaa:bbbb::1"))
	for _, page := range []string{"/servers/db2", "/servers/db2/replication", "/"} {
		if body := x.html(t, page).body; !strings.Contains(body, "[fd00:aaaa:bbbb::1]:3306") || strings.Contains(body, "bbbb::1:3306") {
			t.Errorf("%s does not name the source [fd00:aaaa:bbbb::1]:3306", page)
		}
	}
	body := x.html(t, "/").body
	if !strings.Contains(body, `href="/servers/fe80::1%25eth0"`) {
		t.Error("a name with a percent sign has no link that works")
	}
	if got := x.html(t, "/servers/fe80::1%25eth0"); got.Code != http.StatusOK || !strings.Contains(got.body, "[fe80::1%eth0]:3306") {
		t.Errorf("its page: %d", got.Code)
	}
	x.poller.take(replicaPoll(replica.ID, 2, 100, "fe80::1%eth0"))
	if body := x.html(t, "/servers/db2").body; !strings.Contains(body, `replica of <a href="/servers/fe80::1%25eth0">`) {
		t.Error("a source with an address of IPv6 is not found")
	}
}

// What a server refuses its clients is said, also where Monolith's account gets in.
func TestRestrictionsAreSaid(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	show := func(values map[string]string) string {
		snap := poll(s.ID, 1, 100, nil)
		var names []monolith.Metric
		var texts []string
		for name, value := range values {
			names, texts = append(names, monolith.Metric{Name: "variable." + name}), append(texts, value)
		}
		snap.Sections[1].TextNames, snap.Sections[1].Texts = monolith.NewNames(names), texts
		x.poller.take(snap)
		body := x.html(t, "/servers/db1").body
		return tags.ReplaceAllString(cutBetween(t, body, `<div id="overview-problems"`, `<div id="overview-replication"`), " ")
	}
	if got := show(map[string]string{"offline_mode": "OFF", "read_only": "OFF", "super_read_only": "OFF"}); strings.Contains(got, "offline") || !strings.Contains(got, "Read only  OFF") {
		t.Errorf("a server without restrictions: %s", got)
	}
	got := show(map[string]string{"offline_mode": "ON", "read_only": "ON", "super_read_only": "ON", "innodb_read_only": "ON"})
	for _, want := range []string{"is in offline mode", "Read only  ON super_read_only=ON, innodb_read_only=ON"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q: %s", want, got)
		}
	}
}
