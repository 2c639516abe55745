package alerts

import (
	"slices"
	"time"

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
	zone, err := monolith.ParseZone("zone", w.Zone)
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
