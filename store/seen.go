package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"monolith"
)

// SeenMetric is a metric that a server has had, and when it first and last came, in whole seconds. Last
// is exact to a day.
type SeenMetric struct {
	Metric      monolith.Metric
	Kind        monolith.Kind
	First, Last time.Time
}

// sortMetrics sorts by name, then instance.
func sortMetrics[T any](list []T, metric func(T) monolith.Metric) {
	slices.SortFunc(list, func(a, b T) int {
		return cmp.Or(strings.Compare(metric(a).Name, metric(b).Name), strings.Compare(metric(a).Instance, metric(b).Instance))
	})
}

// HasMetric reports whether any server ever had a metric of this name.
func (db *DB) HasMetric(name string) bool { return len(db.names.named(name)) > 0 }
