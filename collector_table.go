package monolith

import (
	"slices"
	"strings"
	"sync"
)

// source is what is known of a collector everywhere: when it runs by default, and what comes from it. That decides how long
// a value stays good, and whom to ask why one is missing.
type source struct {
	collector string
	schedule  string   // "": not on its own, or not yet
	metrics   []string // the beginnings of their names; the longest one that fits counts
	rows      []string // the lists, by their JSON names in [Rows], or made of those
}

// sources is the only place that says which collector gives what, and when. It is never changed.
var sources = []source{
	{"status", Fast, []string{"status."}, nil},
	{"variables", Slow, []string{"variable."}, []string{"variable_changes"}},
	{"replication", Fast, []string{"replica."}, []string{"replicas"}},
	{"group", Fast, []string{"server.group_"}, nil},
	{"innodb", Fast, []string{"innodb."}, nil},
	{"host", Fast, []string{"host."}, []string{"mounts", "devices"}},
	{"processes", Slow, []string{"server.processes_", "server.metadata_lock_"},
		[]string{"processes", "processes_by_user", "processes_by_host", "processes_by_state", "metadata_locks"}},
	{"memory", Slow, []string{"server.memory_", "server.temptable_"}, nil},
	{"position", Slow, []string{"server.binlog_"}, nil},
	{"transactions", Slow, []string{"server.transactions_", "server.lock_waits_"}, []string{"transactions"}},
	{"deadlock", Slow, nil, []string{"deadlock"}},
	{"hostcache", Slow, []string{"server.host_cache_", "server.probe_"}, []string{"host_cache"}},
	{"members", Slow, []string{"server.group_primaries", "server.group_versions"}, []string{"members"}},
	{"aurora", Slow, []string{"server.aurora_"}, []string{"aurora_replicas"}},
	{"gtids", Slow, []string{"server.gtid_"}, []string{"gtids"}},
	{"accounts", Hourly, []string{"server.account", "server.open_"}, []string{"accounts", "open_grants"}},
	{"databases", Hourly, []string{"server.databases", "server.test_database"}, []string{"databases"}},
	{"binlogs", Hourly, []string{"server.binary_log"}, []string{"binary_logs"}},
	{"certificate", Hourly, []string{"server.certificate_"}, nil},
	{"plugins", Hourly, []string{"server.plugins", "server.password_validators"}, []string{"plugins"}},
	{"persisted", Hourly, []string{"server.persisted_"}, []string{"persisted"}},
	{"pfs", Hourly, []string{"server.performance_schema_"}, nil},
	{"digests", Hourly, []string{"server.digests"}, []string{"digests"}},
	{"sizes", Sizes, []string{"schema."}, []string{"schemas", "tables"}},
	{"keys", Daily, []string{"schema.auto_increment", "schema.tables_without_key", "schema.large_tables_without_key"},
		[]string{"auto_increments", "tables_without_key"}},
	{"origins", Daily, nil, []string{"variables"}},
	// The poller itself: at each poll, whatever else runs in it.
	{"server", "", []string{"server."}, nil},
	{"self", "", []string{"self."}, nil},
	// Option files, which nothing reads yet.
	{"cnf", "", nil, []string{"cnf_differences"}},
}

// sourceIndex finds an entry by what comes from it.
type sourceIndex struct {
	spaces map[string][]beginning // by namespace, the longest first
	rows   map[string]*source
	named  map[string]*source
}

type beginning struct {
	text string
	of   *source
}

var sourceTable = sync.OnceValue(func() *sourceIndex {
	x := &sourceIndex{map[string][]beginning{}, map[string]*source{}, map[string]*source{}}
	for i := range sources {
		s := &sources[i]
		x.named[s.collector] = s
		for _, text := range s.metrics {
			space, _, _ := strings.Cut(text, ".")
			x.spaces[space] = append(x.spaces[space], beginning{text, s})
		}
		for _, list := range s.rows {
			x.rows[list] = s
		}
	}
	for _, list := range x.spaces {
		slices.SortStableFunc(list, func(a, b beginning) int { return len(b.text) - len(a.text) })
	}
	return x
})

func sourceOf(metric string) *source {
	space, _, _ := strings.Cut(metric, ".")
	for _, b := range sourceTable().spaces[space] {
		if strings.HasPrefix(metric, b.text) {
			return b.of
		}
	}
	return nil
}

// CollectorOf names the collector that reads a metric: "server" or "self" for what the poller itself measures, "server" for a
// name of no namespace that there is.
func CollectorOf(metric string) string {
	if s := sourceOf(metric); s != nil {
		return s.collector
	}
	return "server"
}

// CollectorOfRows names the collector behind a list of [Rows], or behind one that is made of it; "" for no such list.
func CollectorOfRows(list string) string {
	if s := sourceTable().rows[list]; s != nil {
		return s.collector
	}
	return ""
}

// CollectorSchedule gives the schedule on which a collector runs by default; "" for none of that name.
func CollectorSchedule(collector string) string {
	if s := sourceTable().named[collector]; s != nil {
		return s.schedule
	}
	return ""
}

// ScheduleOf gives the schedule on which a metric is collected by default. Readers of history use it
// to know how long a value stays good.
func ScheduleOf(metric string) string {
	if s := sourceOf(metric); s != nil && s.schedule != "" {
		return s.schedule
	}
	return Fast
}

// CollectorNames lists the collectors that run on a schedule, in the order in which pages show them.
func CollectorNames() []string {
	var names []string
	for i := range sources {
		if sources[i].schedule != "" {
			names = append(names, sources[i].collector)
		}
	}
	return names
}
