package alerts

import (
	"testing"
	"time"

	"monolith"
)

func TestSupport(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		flavour monolith.Flavour
		version string
		days    float64
		ok      bool
	}{
		{monolith.MySQL, "8.0.46", -214, true},
		{monolith.Percona, "5.7.44", -1126, true},
		{monolith.MySQL, "8.4.13", 1978, true},
		{monolith.MariaDB, "10.11.19", 443, true},
		{monolith.MariaDB, "8.0.1", 0, false},
		{monolith.MySQL, "10.11.1", 0, false},
		{monolith.MySQL, "26.10.0", 0, false},
		{monolith.MySQL, "26.7.1", -30, true},
		{monolith.MySQL, "31.1.0", 0, false},
		{monolith.Aurora, "5.7.12", 0, false},
		{monolith.MySQL, "", 0, false},
	} {
		days, series, ok := Support(monolith.Identity{Flavour: c.flavour, Version: monolith.ParseVersion(c.version)}, at)
		if days != c.days || ok != c.ok {
			t.Errorf("%s %s (%s): %v days, %v; want %v, %v", c.flavour, c.version, series, days, ok, c.days, c.ok)
		}
	}
}

func TestReleaseTable(t *testing.T) {
	t.Parallel()
	table := releaseTable()
	for _, all := range []map[string]support{table.MySQL, table.MariaDB, {"asof": {End: table.AsOf}}} {
		for series, s := range all {
			n := 0
			for _, set := range []bool{s.End != "", s.Over, s.Current} {
				if set {
					n++
				}
			}
			if _, err := time.Parse(time.DateOnly, s.End); n != 1 || s.End != "" && err != nil {
				t.Errorf("%s: %+v", series, s)
			}
		}
	}
}
