package monolith

import "strings"

// Metric names one column of history: MySQL's own spelling behind a namespace ("status.Questions",
// "innodb.lock_deadlocks", "host.disk_read_bytes") and, for what exists several times on a server,
// the instance (a replication channel, a block device, a mount, a schema). The default replication
// channel's instance is "".
type Metric struct {
	Name     string
	Instance string
}

// String gives "name" or "name[instance]".
func (m Metric) String() string {
	if m.Instance == "" {
		return m.Name
	}
	return m.Name + "[" + m.Instance + "]"
}

// Namespace gives what stands before the first dot: status, variable, replica, innodb, host, schema,
// server or self.
func (m Metric) Namespace() string {
	ns, _, _ := strings.Cut(m.Name, ".")
	return ns
}

// Namespaces lists the first parts of all metric names, in the order in which pages show them.
var Namespaces = []string{"status", "variable", "replica", "innodb", "host", "schema", "server", "self"}

// Names is an ordered, immutable list of metrics with an index. A server gives the same names in the
// same order at almost every poll, so one *Names is shared by all its snapshots until they differ:
// equal pointers mean equal lists, and consumers cache by pointer what they worked out for it.
type Names struct {
	metrics []Metric
	kinds   []Kind
	index   map[Metric]int
}

// NewNames makes a list. When a metric stands in it twice the first place wins.
func NewNames(metrics []Metric) *Names {
	n := &Names{metrics: metrics, kinds: make([]Kind, len(metrics)), index: make(map[Metric]int, len(metrics))}
	for i, m := range metrics {
		n.kinds[i] = KindOf(m.Name)
		if _, dup := n.index[m]; !dup {
			n.index[m] = i
		}
	}
	return n
}

// Len gives the number of metrics.
func (n *Names) Len() int {
	if n == nil {
		return 0
	}
	return len(n.metrics)
}

// At gives the i-th metric.
func (n *Names) At(i int) Metric { return n.metrics[i] }

// Kind gives the i-th metric's kind.
func (n *Names) Kind(i int) Kind { return n.kinds[i] }

// Index gives the place of a metric, or −1.
func (n *Names) Index(m Metric) int {
	if n == nil {
		return -1
	}
	if i, ok := n.index[m]; ok {
		return i
	}
	return -1
}
