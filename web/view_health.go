package web

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// health is the one-word judgement of a server for lists: a word, a look (up, warn, bad, off, wait) and
// the reason. It says what is known about reaching the server and whether its replication runs, nothing
// about how well it does.
type health struct {
	Look string
	Word string
	Why  string
	Cure string
	// Filter is the name under which the counts line finds it: "", unreachable, stale, problems, paused.
	Filter string
}

// After so many intervals without an answer a value is late, and then stale.
const (
	lateAfter  = 2
	staleAfter = 5
)

// judge gives the health of a server whose state is st, which may be nil.
func judge(srv *monolith.Server, st *monolith.State, now time.Time) health {
	if srv.Paused {
		return health{Look: "off", Word: "paused", Why: "people have paused polling", Filter: "paused"}
	}
	if st == nil {
		return health{Look: "wait", Word: "waiting", Why: "not polled yet since Monolith started"}
	}
	if p := connectionProblem(st); p != nil || !st.OK {
		h := health{Look: "bad", Word: "unreachable", Why: "the last poll did not read the status", Filter: "unreachable"}
		if p != nil {
			h.Why, h.Cure = p.Text, p.Cure
			switch p.Kind {
			case monolith.ProblemRefused:
				h.Word = "refused"
			case monolith.ProblemTimeout:
				h.Word = "no answer"
			case monolith.ProblemAnswer:
				h.Word = "unreadable"
			case monolith.ProblemMonitor:
				h.Look, h.Word, h.Filter = "warn", "not asked", "problems" // it may be well
			}
		}
		if st.Up && h.Word == "unreachable" {
			h.Word = "not read"
		}
		return h
	}
	switch age := dataAge(st, now); {
	case st.Interval > 0 && age > staleAfter*st.Interval:
		return health{Look: "bad", Word: "stale", Why: "no answer for " + age.Round(time.Second).String(), Filter: "stale"}
	case st.Interval > 0 && age > lateAfter*st.Interval:
		return health{Look: "warn", Word: "late", Why: "no answer for " + age.Round(time.Second).String(), Filter: "stale"}
	}
	if broken := brokenReplication(st); broken != "" {
		return health{Look: "warn", Word: "replication stopped", Why: broken, Filter: "problems"}
	}
	if n := countProblems(st); n > 0 {
		return health{Look: "warn", Word: plural(n, "problem"), Why: problemWords(st), Filter: "problems"}
	}
	return health{Look: "up", Word: "up"}
}

// brokenReplication says which channel does not run and why; "" when all do. Threads are judged, not the
// lag: a server whose source is unreachable may report a lag of 0.
func brokenReplication(st *monolith.State) string {
	var words []string
	for i := range st.Replicas {
		rep := &st.Replicas[i]
		name := ""
		switch {
		case rep.Channel != "":
			name = "channel " + rep.Channel + ": "
		case len(st.Replicas) > 1:
			name = "default channel: "
		}
		for _, thread := range []struct {
			name, errorText string
			state           monolith.ThreadState
		}{{"the receiver (IO thread)", rep.IOError, rep.IO}, {"the applier (SQL thread)", rep.SQLError, rep.SQL}} {
			switch thread.state {
			case monolith.ThreadNo:
				words = append(words, strings.TrimSuffix(name+thread.name+" does not run: "+thread.errorText, ": "))
			case monolith.ThreadConnecting:
				words = append(words, strings.TrimSuffix(name+thread.name+" can not connect: "+thread.errorText, ": "))
			}
		}
	}
	return strings.Join(words, "\n")
}

// replicasAsOf gives when the channels of st were read, where that is not the present state: the last poll
// failed, or replication can't be read any more. It is zero while they are the present state.
func replicasAsOf(st *monolith.State, now time.Time) time.Time {
	if st == nil || st.Replicas == nil {
		return time.Time{}
	}
	at := st.Polled
	if _, read, ok := st.Value(monolith.Metric{Name: "replica.channels"}); ok {
		at = read
	}
	if st.OK && (st.Interval <= 0 || now.Sub(at) <= staleAfter*st.Interval) {
		return time.Time{}
	}
	return at
}

// dataAge is how old the newest status values are.
func dataAge(st *monolith.State, now time.Time) time.Duration {
	if st == nil || st.Polled.IsZero() {
		return 0
	}
	return max(0, now.Sub(st.Polled))
}

func connectionProblem(st *monolith.State) *monolith.Problem {
	for i := range st.Problems {
		if st.Problems[i].Collector == "" {
			return &st.Problems[i]
		}
	}
	return nil
}

// mendable reports whether a problem is one that people would want to do something about: not what the
// server lacks by design and not what was switched off on purpose.
func mendable(p *monolith.Problem) bool {
	return p.Collector != "" && p.Kind != monolith.ProblemUnsupported && p.Kind != monolith.ProblemOff
}

func countProblems(st *monolith.State) int {
	n := 0
	for i := range st.Problems {
		if mendable(&st.Problems[i]) {
			n++
		}
	}
	return n
}

func problemWords(st *monolith.State) string {
	var words []string
	for i := range st.Problems {
		if p := &st.Problems[i]; mendable(p) {
			words = append(words, p.Collector+": "+p.Text)
		}
	}
	return strings.Join(words, "\n")
}

// roles tells who replicates from whom among the watched servers.
type roles struct {
	states  map[monolith.ServerID]*monolith.State
	sources map[monolith.ServerID]bool // servers that others replicate from

	byUUID, byAddress, byHostname map[string]*monolith.Server
}

func newRoles(servers []monolith.Server, state func(monolith.ServerID) *monolith.State) *roles {
	n := len(servers)
	r := &roles{states: make(map[monolith.ServerID]*monolith.State, n), sources: map[monolith.ServerID]bool{},
		byUUID: make(map[string]*monolith.Server, n), byAddress: make(map[string]*monolith.Server, n), byHostname: make(map[string]*monolith.Server, n)}
	for i := range servers {
		srv := &servers[i]
		st := state(srv.ID)
		r.states[srv.ID] = st
		if srv.Endpoint.Host != "" {
			r.name(r.byAddress, hostPort(srv.Endpoint.Host, srv.Endpoint.Port), srv)
		}
		if st == nil {
			continue
		}
		if id := st.Identity.UUID; id != "" {
			r.name(r.byUUID, id, srv)
		}
		if id := st.Identity; id.Hostname != "" {
			r.name(r.byHostname, hostPort(id.Hostname, id.Port), srv)
		}
	}
	for _, st := range r.states {
		if st == nil {
			continue
		}
		for i := range st.Replicas {
			if src := r.source(&st.Replicas[i]); src != nil {
				r.sources[src.ID] = true
			}
		}
	}
	return r
}

// name notes that a server is found under a key. Where several are, as with two entries of one address, the
// first that was ever read stands for all: one whose logins are refused can't be known to be anybody's source.
func (r *roles) name(by map[string]*monolith.Server, key string, srv *monolith.Server) {
	read := func(id monolith.ServerID) bool { return r.states[id] != nil && !r.states[id].Polled.IsZero() }
	if other := by[key]; other == nil || !read(other.ID) && read(srv.ID) {
		by[key] = srv
	}
}

func hostPort(host string, port int) string {
	return strings.ToLower(host) + ":" + strconv.Itoa(cmp.Or(port, 3306))
}

// source finds the watched server that a channel reads from: by its uuid, else by address, else by the
// host name and port that the server gives itself; nil when it is not watched.
func (r *roles) source(rep *monolith.Replica) *monolith.Server {
	if srv := r.byUUID[rep.SourceUUID]; rep.SourceUUID != "" && srv != nil {
		return srv
	}
	key := hostPort(rep.SourceHost, rep.SourcePort)
	return cmp.Or(r.byAddress[key], r.byHostname[key])
}

// role is what a server is to the others.
type role struct {
	Word   string // "primary", "replica of", "standalone"; "" when it is not known
	Source string // name or address of what it replicates from
	Linked bool   // Source is a watched server
	Wrong  string // set when people expected another role
}

func (r *roles) of(srv *monolith.Server) role {
	st := r.states[srv.ID]
	out := role{}
	switch {
	case st == nil || st.Replicas == nil:
		out.Word = srv.Role
		return out
	case len(st.Replicas) > 0:
		out.Word = "replica of"
		first := &st.Replicas[0]
		if src := r.source(first); src != nil {
			out.Source, out.Linked = src.Name, true
		} else {
			out.Source = first.Source()
		}
		if n := len(st.Replicas) - 1; n > 0 {
			out.Source += fmt.Sprintf(" +%d", n)
			out.Linked = false
		}
		if srv.Role == "primary" {
			out.Wrong = "expected to be a primary"
		}
	default:
		out.Word = "standalone"
		if r.sources[srv.ID] || stateValue(st, "status.Slaves_connected") > 0 || stateValue(st, "status.Replicas_connected") > 0 {
			out.Word = "primary"
		}
		if srv.Role == "replica" {
			out.Wrong = "expected to be a replica"
		}
	}
	return out
}

// lag is the replication lag of the worst channel.
type lag struct {
	Seconds int64
	Known   bool
	Stopped bool   // a thread does not run
	Channel string // the worst one
	Any     bool   // it is a replica at all
}

// worstLag takes the channel that is furthest behind; one that does not run, or whose lag the server
// does not know, is worse than any number.
func worstLag(st *monolith.State) lag {
	if st == nil || len(st.Replicas) == 0 {
		return lag{}
	}
	out := lag{Any: true, Known: true, Seconds: -1}
	for i := range st.Replicas {
		rep := &st.Replicas[i]
		switch {
		case stopped(rep.IO) || stopped(rep.SQL):
			return lag{Any: true, Stopped: true, Channel: rep.Channel}
		case rep.Delay == nil:
			out = lag{Any: true, Channel: rep.Channel}
		case out.Known && *rep.Delay > out.Seconds:
			out.Seconds, out.Channel = *rep.Delay, rep.Channel
		}
	}
	return out
}

// stopped reports whether a thread is known not to run.
func stopped(thread monolith.ThreadState) bool { return thread != "" && thread != monolith.ThreadYes }

// Sort gives a number to order by: the worse, the larger.
func (l lag) Sort() float64 {
	switch {
	case !l.Any:
		return math.NaN()
	case l.Stopped:
		return math.MaxFloat64
	case !l.Known:
		return math.MaxFloat64 / 2
	}
	return float64(l.Seconds)
}

// Look gives the colour of a lag in lists.
func (l lag) Look() string {
	switch {
	case !l.Any:
		return ""
	case l.Stopped || !l.Known || l.Seconds >= 300:
		return "failed"
	case l.Seconds >= 30:
		return "warned"
	}
	return ""
}
