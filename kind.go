package monolith

import "strings"

// Kind says what a metric's numbers mean, and so what may be done with them.
type Kind uint8

const (
	// Untyped is a number that the table does not know: kept as a gauge and with its increase; rate()
	// works on it, pages say so, no built-in rule uses it. Positions in the redo log are untyped on purpose:
	// of them both the distance and the growth are wanted.
	Untyped Kind = iota
	// Counter only grows while the server runs: it is shown as a rate or an increase.
	Counter
	// Gauge goes up and down: it is shown as it is.
	Gauge
	// HighWater is the highest value since the start (Max_used_connections): a gauge that only
	// FLUSH STATUS or a restart brings down.
	HighWater
	// Text is never a number, whatever it looks like.
	Text
)

// String gives the word used in the API and on pages.
func (k Kind) String() string {
	return [...]string{"untyped", "counter", "gauge", "high-water", "text"}[k]
}

// Accumulates reports whether differences of the metric are meaningful: history keeps its increase.
func (k Kind) Accumulates() bool { return k == Counter || k == Untyped }

// KindOf looks a metric name up in the table of kinds: exact names first, then prefixes and suffixes
// of MySQL's naming. The namespaces variable and schema hold gauges, replica and server gauges and, by their names,
// counters.
func KindOf(name string) Kind {
	ns, rest, ok := strings.Cut(name, ".")
	if !ok {
		return Untyped
	}
	switch ns {
	case "status":
		return statusKind(rest)
	case "innodb":
		// INNODB_METRICS says itself what each row is; the collector names gauges with a declared
		// kind, see innodbGauges. Everything else there counts.
		return innodbKind(rest)
	case "host", "self":
		if kind, ok := hostKinds[rest]; ok {
			return kind
		}
		if strings.HasSuffix(rest, "_total") {
			return Counter
		}
		if ns == "self" && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
			return statusKind(rest) // what our statements add to the status counter of that name
		}
		return Gauge
	case "replica":
		// A position within a log file only grows; at the next file it falls, which makes a gap.
		if strings.HasSuffix(rest, "_total") || strings.HasSuffix(rest, "_log_pos") {
			return Counter
		}
		return Gauge
	case "server":
		// processes_total, a number of threads, is older than this rule.
		if strings.HasSuffix(rest, "_total") && rest != "processes_total" {
			return Counter
		}
		return Gauge
	}
	return Gauge
}
