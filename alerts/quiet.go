package alerts

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"monolith"
)

// CoversServer reports whether a maintenance window is about a server.
func CoversServer(w *monolith.MaintenanceWindow, server monolith.ServerID, group string) bool {
	if w.Server != 0 {
		return w.Server == server
	}
	return monolith.InGroup(group, w.Group)
}

// Running reports whether a moment lies in a maintenance window.
func Running(w *monolith.MaintenanceWindow, at time.Time) bool {
	from, _, ok := NextMaintenance(w, at)
	return ok && !at.Before(from)
}

// InMaintenance gives the window that covers a server at a moment, or nil.
func InMaintenance(windows []monolith.MaintenanceWindow, server monolith.ServerID, group string, at time.Time) *monolith.MaintenanceWindow {
	for i := range windows {
		if CoversServer(&windows[i], server, group) && Running(&windows[i], at) {
			return &windows[i]
		}
	}
	return nil
}

// NextMaintenance gives the occurrence of a window that is running at a moment, or else the next one; false when none
// comes any more. Each occurrence begins at the window's wall-clock time in its zone. Where the clock leaves that time
// out, it begins when the clock goes on; where the time comes twice, at the first of them, and never twice in one day.
// It lasts as long as it is set to, whatever the clock does meanwhile.
func NextMaintenance(w *monolith.MaintenanceWindow, at time.Time) (from, to time.Time, ok bool) {
	zone, err := zoneOf(w.Zone)
	if err != nil || w.Duration <= 0 {
		return time.Time{}, time.Time{}, false
	}
	start := w.Start.In(zone)
	if w.Every == "" {
		from = wallClock(start.Year(), start.Month(), start.Day(), start, zone)
		to = from.Add(w.Duration)
		return from, to, at.Before(to)
	}
	// An occurrence that runs now began no longer ago than it lasts.
	day := at.Add(-w.Duration).In(zone)
	y, m, d := day.Date()
	if sy, sm, sd := start.Date(); time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(time.Date(sy, sm, sd, 0, 0, 0, 0, time.UTC)) {
		y, m, d = sy, sm, sd
	}
	// A month's day that is missing in some months comes at most 8 years apart (29 February over 2100).
	for i := range 366*8 + 62 {
		date := time.Date(y, m, d+i-1, 12, 0, 0, 0, time.UTC)
		if !falls(w, date, start) {
			continue
		}
		from = wallClock(date.Year(), date.Month(), date.Day(), start, zone)
		to = from.Add(w.Duration)
		switch {
		case from.Before(w.Start):
			continue
		case !w.Until.IsZero() && from.After(w.Until):
			return time.Time{}, time.Time{}, false
		case at.Before(to):
			return from, to, true
		}
	}
	return time.Time{}, time.Time{}, false
}

func zoneOf(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, fmt.Errorf("alerts: a zone must be named")
	}
	return time.LoadLocation(name) // "" is UTC
}

// wallClock gives the moment at which clocks of a zone show the time of day of start on a day. Of a time that comes
// twice it is the first, in place of one that does not come the end of the gap.
func wallClock(y int, m time.Month, d int, start time.Time, zone *time.Location) time.Time {
	h, min, sec := start.Clock()
	t := time.Date(y, m, d, h, min, sec, 0, zone)
	if th, tm, _ := t.Clock(); th != h || tm != min {
		// The clock jumps over it: Date gives a time before or behind the gap. Its end is where the offset changes.
		_, end := t.ZoneBounds()
		if begin, _ := t.ZoneBounds(); !begin.IsZero() && t.Sub(begin) < 24*time.Hour {
			return begin
		}
		return end
	}
	// Does the clock show the same time earlier too, before it was put back?
	if begin, _ := t.ZoneBounds(); !begin.IsZero() {
		_, now := t.Zone()
		_, before := begin.Add(-time.Second).Zone()
		if earlier := t.Add(time.Duration(now-before) * time.Second); now < before && earlier.Before(begin) {
			return earlier
		}
	}
	return t
}

// falls reports whether the window comes on a day.
func falls(w *monolith.MaintenanceWindow, date, start time.Time) bool {
	switch w.Every {
	case "day":
		return true
	case "week":
		if len(w.Weekdays) == 0 {
			return date.Weekday() == start.Weekday()
		}
		return slices.Contains(w.Weekdays, date.Weekday())
	case "month":
		return date.Day() == start.Day()
	}
	return false
}

// lastYear bounds when quiet times may be: what programs are told can write no year after 9999, to which they might last.
const lastYear = 9000

// CheckMaintenance refuses a window that makes no sense.
func CheckMaintenance(w *monolith.MaintenanceWindow) error {
	switch {
	case strings.TrimSpace(w.Title) == "" || utf8.RuneCountInString(w.Title) > 200:
		return monolith.Invalid("title", "a window has a title of at most 200 characters")
	case w.Start.IsZero():
		return monolith.Invalid("start", "the window has no beginning")
	case w.Start.Year() > lastYear || w.Until.Year() > lastYear:
		return monolith.Invalid("start", fmt.Sprintf("the window lies behind the year %d", lastYear))
	case w.Duration < time.Minute || w.Duration > monolith.MaxMaintenance:
		return monolith.Invalid("duration", "a window lasts a minute at least and 31 days at most")
	case w.Server != 0 && w.Group != "":
		return monolith.Invalid("group", "a window is for a server or for a group, not both")
	case !slices.Contains([]string{"", "day", "week", "month"}, w.Every):
		return monolith.Invalid("every", quoted(w.Every)+" is not known", "day, week, month, or nothing for once")
	case w.Every == "day" && w.Duration >= 24*time.Hour, w.Every == "week" && w.Duration >= 7*24*time.Hour:
		return monolith.Invalid("duration", "the window would never end: it lasts longer than until it comes again")
	case len(w.Weekdays) > 0 && w.Every != "week":
		return monolith.Invalid("weekdays", "weekdays go with a weekly window")
	case !w.Until.IsZero() && w.Until.Before(w.Start):
		return monolith.Invalid("until", "the window ends before it begins")
	}
	for _, d := range w.Weekdays {
		if d < time.Sunday || d > time.Saturday {
			return monolith.Invalid("weekdays", "a weekday is a number from 0, Sunday, to 6")
		}
	}
	if _, err := zoneOf(w.Zone); err != nil {
		return monolith.Invalid("zone", "unknown time zone "+quoted(w.Zone), "an IANA name such as Europe/Berlin")
	}
	return nil
}

// CheckSilence refuses a silence that makes no sense.
func CheckSilence(s *monolith.Silence) error {
	switch {
	case s.To.IsZero() && s.Alert == 0:
		return monolith.Invalid("to", "a silence that is not for one alert needs an end")
	case s.From.Year() > lastYear || s.To.Year() > lastYear:
		return monolith.Invalid("to", fmt.Sprintf("the silence lies behind the year %d", lastYear))
	case !s.To.IsZero() && !s.To.After(s.From):
		return monolith.Invalid("to", "the silence ends before it begins")
	case !s.To.IsZero() && s.To.Sub(s.From) > 366*24*time.Hour:
		return monolith.Invalid("to", "a silence lasts a year at most")
	case s.Alert != 0 && (s.Server != 0 || s.Group != "" || s.Rule != ""):
		return monolith.Invalid("alert", "a silence is for one alert, or for what fits server, group and rule")
	case utf8.RuneCountInString(s.Reason) > 2000:
		return monolith.Invalid("reason", "the reason is longer than 2,000 characters")
	}
	return nil
}

// SilenceOf gives the silence that covers an alert at a moment and lasts longest, or nil.
func SilenceOf(silences []monolith.Silence, a *monolith.Alert, at time.Time) *monolith.Silence {
	var best *monolith.Silence
	for i := range silences {
		s := &silences[i]
		if !s.Covers(a, at) {
			continue
		}
		if best == nil || s.To.IsZero() || !best.To.IsZero() && s.To.After(best.To) {
			best = s
		}
	}
	return best
}
