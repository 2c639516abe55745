package alerts

import (
	"errors"
	"strings"
	"testing"
	"time"

	"monolith"
)

func TestTimetable(t *testing.T) {
	const office = "mon-fri 08:00-18:00"
	for _, c := range []struct{ hours, zone, at, want string }{
		{"", "", "2026-03-16T03:00:00Z", "2026-03-16T03:00:00Z"},
		{office, "", "2026-03-16T07:59:59Z", "2026-03-16T08:00:00Z"},
		{office, "", "2026-03-16T08:00:00Z", "2026-03-16T08:00:00Z"},
		{office, "", "2026-03-16T17:59:59Z", "2026-03-16T17:59:59Z"},
		{office, "", "2026-03-16T18:00:00Z", "2026-03-17T08:00:00Z"},
		{office, "", "2026-03-20T18:00:00Z", "2026-03-23T08:00:00Z"}, // Friday evening
		{"sun 10:00-11:00", "", "2026-03-15T11:00:00Z", "2026-03-22T10:00:00Z"},
		{"daily 22:00-06:00", "", "2026-03-16T03:00:00Z", "2026-03-16T03:00:00Z"},
		{"daily 22:00-06:00", "", "2026-03-16T06:00:00Z", "2026-03-16T22:00:00Z"},
		{"fri 22:00-06:00", "", "2026-03-21T05:00:00Z", "2026-03-21T05:00:00Z"}, // began on Friday
		{"sat,sun", "", "2026-03-16T00:00:00Z", "2026-03-21T00:00:00Z"},
		{"fri-mon 00:00-24:00", "", "2026-03-17T00:00:00Z", "2026-03-20T00:00:00Z"},
		{"Mon-Fri 08:00-12:00\nmon-fri 13:00-18:00; sat 9:00-10:00", "", "2026-03-16T12:30:00Z", "2026-03-16T13:00:00Z"},
		// Berlin puts the clock forward on 29 March at 02:00, and back on 25 October at 03:00.
		{office, "Europe/Berlin", "2026-03-27T17:30:00Z", "2026-03-30T06:00:00Z"},
		{office, "Europe/Berlin", "2026-10-23T17:30:00Z", "2026-10-26T07:00:00Z"},
		{"sun 02:30-05:00", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"}, // 02:30 does not come: 03:00
		{"sun 02:00-02:30", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-04-05T00:00:00Z"}, // none of it comes
		{"sun 02:30-04:00", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"}, // comes twice: the first
	} {
		table, err := parseTimetable(c.hours, c.zone)
		if err != nil {
			t.Errorf("%q: %v", c.hours, err)
			continue
		}
		at, _ := time.Parse(time.RFC3339, c.at)
		if got := table.next(at).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("%q %s after %s: %s, expected %s", c.hours, c.zone, c.at, got, c.want)
		}
	}
	for _, bad := range []string{"mon", "mun 08:00-10:00", "mon 8-10", "mon 08:00", "mon 08:00-08:00", "mon 08:00-25:00", "mon 24:00-08:00", "mon 08:60-09:00", "mon-fri-sat 08:00-09:00", "08:00-09:00 mon"} {
		if _, err := parseTimetable(bad, ""); bad != "mon" && !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, zone := range []string{"Mars/Olympus", "Local"} {
		if _, err := parseTimetable(office, zone); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("zone %q: %v", zone, err)
		}
	}
}

// What next gives lies in the hours, is not before the moment, and nothing between the two lies in them.
func FuzzTimetable(f *testing.F) {
	f.Add("mon-fri 08:00-18:00", "Europe/Berlin", int64(1774630000))
	f.Add("daily 22:00-06:00;sun", "America/St_Johns", int64(1793000000))
	f.Add("sun 02:15-02:45", "Australia/Lord_Howe", int64(1775314800))
	f.Fuzz(func(t *testing.T, hours, zone string, unix int64) {
		table, err := parseTimetable(hours, zone)
		if err != nil || unix < 0 || unix > 1<<32 {
			return
		}
		at := time.Unix(unix, 0)
		next := table.next(at)
		if next.Before(at) {
			t.Fatalf("%q %s: %s comes before %s", hours, zone, next, at)
		}
		if again := table.next(next); !again.Equal(next) {
			t.Fatalf("%q %s: %s does not lie in the hours, %s does", hours, zone, next, again)
		}
		if next.Sub(at) > time.Minute {
			between := at.Add(next.Sub(at) / 2)
			if got := table.next(between); !got.Equal(next) {
				t.Fatalf("%q %s: from %s it is %s, from %s %s", hours, zone, at, next, between, got)
			}
		}
	})
}

func TestSubscriptionsAreChecked(t *testing.T) {
	good := monolith.Subscription{Name: "x", Channel: 1, Levels: []monolith.Level{warn}, Hours: "mon 08:00-09:00", Zone: "Europe/Berlin", Repeat: time.Hour, Quiet: "08:00"}
	if err := CheckSubscription(&good); err != nil {
		t.Fatal(err)
	}
	var bad *monolith.InvalidError
	for _, name := range []string{"a\r\nBcc: b", "a\u202eb", "\xff", strings.Repeat("x", 129)} {
		s := good
		s.Name = name
		if err := CheckSubscription(&s); !errors.As(err, &bad) || bad.Field != "name" {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	for field, change := range map[string]func(*monolith.Subscription){
		"name":     func(s *monolith.Subscription) { s.Name = " " },
		"channel":  func(s *monolith.Subscription) { s.Channel = 0 },
		"levels":   func(s *monolith.Subscription) { s.Levels = []monolith.Level{monolith.LevelOK} },
		"hours":    func(s *monolith.Subscription) { s.Hours = "always" },
		"zone":     func(s *monolith.Subscription) { s.Zone = "X" },
		"delay":    func(s *monolith.Subscription) { s.Delay = -time.Second },
		"repeat":   func(s *monolith.Subscription) { s.Repeat = time.Second },
		"digest":   func(s *monolith.Subscription) { s.Digest = 48 * time.Hour },
		"per_hour": func(s *monolith.Subscription) { s.PerHour = -1 },
		"quiet":    func(s *monolith.Subscription) { s.Quiet = "24:00" },
		"rules":    func(s *monolith.Subscription) { s.Rules = make([]string, maxSubscriptionChosen+1) },
	} {
		s := good
		change(&s)
		if err := CheckSubscription(&s); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
