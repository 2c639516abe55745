package alerts

import (
	"testing"
	"time"

	"monolith"
)

func TestNextMaintenance(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) time.Time {
		t.Helper()
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	local := func(y int, m time.Month, d, h, min int) time.Time { return time.Date(y, m, d, h, min, 0, 0, berlin) }
	for _, c := range []struct {
		name     string
		w        monolith.MaintenanceWindow
		at       string
		from, to string // "" none
	}{
		{"once, before", monolith.MaintenanceWindow{Start: local(2026, 1, 10, 2, 0), Duration: time.Hour, Zone: "Europe/Berlin"}, "2026-01-09T00:00:00Z", "2026-01-10T01:00:00Z", "2026-01-10T02:00:00Z"},
		{"once, over", monolith.MaintenanceWindow{Start: local(2026, 1, 10, 2, 0), Duration: time.Hour, Zone: "Europe/Berlin"}, "2026-01-10T02:00:00Z", "", ""},
		{"daily keeps the wall clock over daylight saving", monolith.MaintenanceWindow{Start: local(2026, 3, 1, 4, 0), Duration: time.Hour, Zone: "Europe/Berlin", Every: "day"}, "2026-03-29T00:30:00Z", "2026-03-29T02:00:00Z", "2026-03-29T03:00:00Z"},
		{"daily, the day before", monolith.MaintenanceWindow{Start: local(2026, 3, 1, 4, 0), Duration: time.Hour, Zone: "Europe/Berlin", Every: "day"}, "2026-03-28T00:30:00Z", "2026-03-28T03:00:00Z", "2026-03-28T04:00:00Z"},
		{"the hour that is missing: when the clock goes on", monolith.MaintenanceWindow{Start: local(2026, 3, 1, 2, 30), Duration: time.Hour, Zone: "Europe/Berlin", Every: "day"}, "2026-03-28T23:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		{"the hour that comes twice: at the first", monolith.MaintenanceWindow{Start: local(2026, 10, 1, 2, 30), Duration: 30 * time.Minute, Zone: "Europe/Berlin", Every: "day"}, "2026-10-24T22:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"},
		{"and not at the second", monolith.MaintenanceWindow{Start: local(2026, 10, 1, 2, 30), Duration: 30 * time.Minute, Zone: "Europe/Berlin", Every: "day"}, "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z", "2026-10-26T02:00:00Z"},
		{"over midnight, running", monolith.MaintenanceWindow{Start: at("2026-01-05T23:00:00Z"), Duration: 3 * time.Hour, Every: "day"}, "2026-01-07T01:00:00Z", "2026-01-06T23:00:00Z", "2026-01-07T02:00:00Z"},
		{"weekly on two days", monolith.MaintenanceWindow{Start: at("2026-01-05T03:00:00Z"), Duration: time.Hour, Every: "week", Weekdays: []time.Weekday{time.Monday, time.Thursday}}, "2026-01-06T00:00:00Z", "2026-01-08T03:00:00Z", "2026-01-08T04:00:00Z"},
		{"weekly on its own day", monolith.MaintenanceWindow{Start: at("2026-01-05T03:00:00Z"), Duration: time.Hour, Every: "week"}, "2026-01-06T00:00:00Z", "2026-01-12T03:00:00Z", "2026-01-12T04:00:00Z"},
		{"monthly on the 31st leaves short months out", monolith.MaintenanceWindow{Start: at("2026-01-31T03:00:00Z"), Duration: time.Hour, Every: "month"}, "2026-02-01T00:00:00Z", "2026-03-31T03:00:00Z", "2026-03-31T04:00:00Z"},
		{"monthly on 29 February", monolith.MaintenanceWindow{Start: at("2028-02-29T03:00:00Z"), Duration: time.Hour, Every: "month"}, "2029-02-01T00:00:00Z", "2029-03-29T03:00:00Z", "2029-03-29T04:00:00Z"},
		{"not before its start", monolith.MaintenanceWindow{Start: at("2026-06-01T03:00:00Z"), Duration: time.Hour, Every: "day"}, "2026-01-01T00:00:00Z", "2026-06-01T03:00:00Z", "2026-06-01T04:00:00Z"},
		{"not after its end", monolith.MaintenanceWindow{Start: at("2026-01-01T03:00:00Z"), Duration: time.Hour, Every: "day", Until: at("2026-01-10T00:00:00Z")}, "2026-01-09T12:00:00Z", "", ""},
		{"unknown zone", monolith.MaintenanceWindow{Start: at("2026-01-01T03:00:00Z"), Duration: time.Hour, Every: "day", Zone: "Mars/North"}, "2026-01-09T12:00:00Z", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to, ok := NextMaintenance(&c.w, at(c.at))
			if ok != (c.from != "") {
				t.Fatalf("got %v %v %v", from.UTC(), to.UTC(), ok)
			}
			if ok && (!from.Equal(at(c.from)) || !to.Equal(at(c.to))) {
				t.Errorf("got %s to %s, expected %s to %s", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), c.from, c.to)
			}
		})
	}
}

// TestMaintenanceComesOnceADay walks through a year in which daylight saving begins and ends.
func TestMaintenanceComesOnceADay(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for hour := range 24 {
			w := monolith.MaintenanceWindow{Start: time.Date(2026, 1, 1, hour, 30, 0, 0, loc), Duration: time.Hour, Zone: zone, Every: "day"}
			at := w.Start
			for day := range 364 {
				from, to, ok := NextMaintenance(&w, at)
				if !ok || to.Sub(from) != time.Hour {
					t.Fatalf("%s %d:30, day %d: %v %v %v", zone, hour, day, from, to, ok)
				}
				next, _, _ := NextMaintenance(&w, to)
				if gap := next.Sub(from); gap < 22*time.Hour || gap > 26*time.Hour {
					t.Fatalf("%s %d:30: from %v the next comes at %v", zone, hour, from, next)
				}
				at = to
			}
		}
	}
}
