package web

import (
	"math"
	"strings"
	"time"

	"monolith"
)

// hostCPU gives how busy the host's processors are, in per cent; NaN without a host source. Waiting for
// disks is not work.
func hostCPU(st *monolith.State) float64 {
	work := 0.0
	for _, mode := range []string{"user", "nice", "system", "irq", "softirq", "steal"} {
		work += stateRate(st, "host.cpu_"+mode+"_seconds_total")
	}
	return percentOf(work, stateRate(st, "host.cpu_seconds_total"))
}

// hostDisk gives the free bytes and the used share of the file system that holds the data directory;
// NaN without a host source.
func hostDisk(st *monolith.State) (free, used float64) {
	free, used = math.NaN(), math.NaN()
	dataDir := stateText(st, "variable.datadir")
	best := -1
	st.Sections(func(sec *monolith.Section, _ time.Time) bool {
		for i := range sec.NumNames.Len() {
			m := sec.NumNames.At(i)
			if m.Name != "host.mount_available_bytes" || sec.Nums[i].IsNone() || !inside(dataDir, m.Instance) || len(m.Instance) <= best {
				continue
			}
			best = len(m.Instance)
			free = sec.Nums[i].Float64()
			full, _, ok := st.Value(monolith.Metric{Name: "host.mount_used_bytes", Instance: m.Instance})
			if used = math.NaN(); ok {
				used = percentOf(full.Float64(), full.Float64()+free)
			}
		}
		return true
	})
	return free, used
}

// inside reports whether a path lies on a mount point, judging by names alone.
func inside(path, mount string) bool {
	return mount == "/" || path == mount || strings.HasPrefix(path, strings.TrimSuffix(mount, "/")+"/")
}
