package alerts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// longValues is what history says: what the test gives, or else what the values were like for as long as the server is
// up.
func (w *world) longValues() map[LongKey]formula.Scalar {
	out := map[LongKey]formula.Scalar{}
	for _, in := range w.cat.inputs {
		if !in.long() {
			continue
		}
		key := in.String()
		for m, s := range w.signals {
			if m.Name != in.Name {
				continue
			}
			if v, ok := w.history[key]; ok {
				out[LongKey{key, m.Instance}] = v
			} else if v, ok := w.usual[in.Name]; ok && strings.HasPrefix(in.Func, "usual") {
				out[LongKey{key, m.Instance}] = formula.Number(v)
			} else if v, ok := s.over(in, w.now); ok && !s.isText && !s.null {
				out[LongKey{key, m.Instance}] = formula.Number(v)
			}
		}
	}
	return out
}

// over works out what a signal did over a long window, by its value at 200 moments.
func (s *signal) over(in inputSpec, now time.Time) (float64, bool) {
	now = now.Add(-in.Ago)
	switch in.Func {
	case "rate", "usual_rate":
		return s.slope, true
	case "delta":
		return s.slope * in.Window.Seconds(), true
	case "", "usual":
		return s.at(now), true
	}
	const n = 200
	var x, y []float64
	for i := range n {
		back := -in.Window.Seconds() * float64(n-1-i) / (n - 1)
		x = append(x, back)
		y = append(y, s.at(now.Add(time.Duration(back*float64(time.Second)))))
	}
	switch in.Func {
	case "min_over":
		return slices.Min(y), true
	case "max_over":
		return slices.Max(y), true
	case "avg_over":
		sum := 0.0
		for _, v := range y {
			sum += v
		}
		return sum / n, true
	case "changed":
		if slices.Min(y) != slices.Max(y) {
			return 1, true
		}
		return 0, true
	}
	slope, level, ok := formula.Trend(x, y)
	if in.Func == "slope" {
		return slope, ok
	}
	return level + slope*in.Ahead.Seconds(), ok
}

// serverFacts sets what the test says of the server beyond its identity.
func (w *world) serverFacts(e *serverEntry, first bool) {
	if e.Role != "" || e.Environment != "" || e.Group != "" || e.Tags != nil {
		copied := *w.server
		copied.Role, copied.Environment = cmp.Or(e.Role, copied.Role), cmp.Or(e.Environment, copied.Environment)
		copied.Group = cmp.Or(e.Group, copied.Group)
		if e.Tags != nil {
			copied.Tags = e.Tags
		}
		w.server = &copied
	}
	if first || e.InMaintenance || e.InBackupWindow {
		var windows []monolith.MaintenanceWindow
		for title, on := range map[string]bool{"work": e.InMaintenance, "backup": e.InBackupWindow} {
			if on {
				windows = append(windows, monolith.MaintenanceWindow{Title: title, Start: w.start.Add(-time.Hour), Duration: 366 * 24 * time.Hour})
			}
		}
		w.engine.SetMaintenance(windows)
	}
	if e.GroupReplication {
		w.set("variable.group_replication_group_name", "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa")
	}
	if e.ReplicasAttached != nil {
		w.set("replica.connected_replicas", *e.ReplicasAttached)
	}
	for i := range e.WritableInGroup {
		if id := monolith.ServerID(100 + i); i > 0 {
			w.engine.peers[id] = peer{group: w.server.Group, role: "primary", writable: true}
		}
	}
}
