package alerts

import (
	"fmt"
	"strings"
	"time"

	"monolith"
)

// timetable is a weekly timetable in a zone: the hours in which people want to be told. The zero value is always.
type timetable struct {
	zone  *time.Location
	spans []openHours // empty: always
}

// openHours is one line of a timetable.
type openHours struct {
	days     [7]bool // by time.Weekday: those on which it begins
	from, to int     // minutes after midnight; to ≤ from ends on the next day
}

// maxHours bounds a timetable in bytes.
const maxHours = 2000

const hoursForm = `such as "mon-fri 08:00-18:00", a line for each; 22:00-06:00 ends on the next day; "daily" is every day`

// parseTimetable reads [monolith.Subscription.Hours] in a zone.
func parseTimetable(hours, zone string) (timetable, error) {
	loc, err := monolith.ParseZone("zone", zone)
	if err != nil {
		return timetable{}, err
	}
	t := timetable{zone: loc}
	if len(hours) > maxHours {
		return t, monolith.Invalid("hours", fmt.Sprintf("the timetable is longer than %d characters", maxHours))
	}
	for line := range strings.FieldsFuncSeq(strings.ToLower(hours), func(r rune) bool { return r == '\n' || r == '\r' || r == ';' }) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var s openHours
		times := words[len(words)-1]
		days := strings.Join(words[:len(words)-1], "")
		if strings.Contains(times, ":") {
			from, to, ok := strings.Cut(times, "-")
			if s.from, err = minuteOf(from); err != nil || !ok || s.from == 24*60 {
				return t, monolith.Invalid("hours", quoted(strings.TrimSpace(line))+" has no times that can be read", hoursForm)
			}
			if s.to, err = minuteOf(to); err != nil || s.to == s.from {
				return t, monolith.Invalid("hours", quoted(strings.TrimSpace(line))+" has no times that can be read", hoursForm)
			}
		} else {
			days, s.to = strings.Join(words, ""), 24*60
		}
		if s.days, err = daysOf(days); err != nil {
			return t, err
		}
		t.spans = append(t.spans, s)
	}
	return t, nil
}

// minuteOf reads a time of day, 00:00 to 24:00.
func minuteOf(text string) (int, error) {
	var h, m int
	if len(text) != 5 && len(text) != 4 {
		return 0, fmt.Errorf("alerts: %q is no time of day", text)
	}
	hour, minute, ok := strings.Cut(text, ":")
	if !ok || len(minute) != 2 || strings.Trim(hour+minute, "0123456789") != "" {
		return 0, fmt.Errorf("alerts: %q is no time of day", text)
	}
	for _, c := range hour {
		h = h*10 + int(c-'0')
	}
	for _, c := range minute {
		m = m*10 + int(c-'0')
	}
	if h > 24 || m > 59 || h == 24 && m > 0 {
		return 0, fmt.Errorf("alerts: %q is no time of day", text)
	}
	return h*60 + m, nil
}

// daysOf reads "mon-fri", "sat,sun", "fri-mon"; "" and "daily" are all.
func daysOf(text string) (days [7]bool, err error) {
	if text == "" || text == "daily" {
		return [7]bool{true, true, true, true, true, true, true}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, known := monolith.ParseWeekday(from)
		b, knownToo := monolith.ParseWeekday(to)
		if !known || !knownToo {
			return days, monolith.Invalid("hours", quoted(part)+" is no day of the week, and no range of them", hoursForm)
		}
		for d := a; ; d = (d + 1) % 7 {
			if days[d] = true; d == b {
				break
			}
		}
	}
	return days, nil
}

// next gives the first moment at or after a moment that lies within the hours. Times are those of the zone's wall clock:
// where the clock leaves one out, the end of the gap stands for it, and one that comes twice counts from its first to its
// last.
func (t timetable) next(at time.Time) time.Time {
	if len(t.spans) == 0 {
		return at
	}
	y, m, d := at.In(t.zone).Date()
	best := time.Time{}
	// A span that began yesterday may still last; every day of the week comes within the next seven.
	for i := -1; i <= 8; i++ {
		date := time.Date(y, m, d+i, 12, 0, 0, 0, time.UTC)
		for _, s := range t.spans {
			if !s.days[date.Weekday()] {
				continue
			}
			from, to := t.moment(date, s.from), t.moment(date, s.to)
			if s.to <= s.from {
				to = t.moment(date.AddDate(0, 0, 1), s.to)
			}
			if !at.Before(to) || !from.Before(to) {
				continue
			}
			if !at.Before(from) {
				return at
			}
			if best.IsZero() || from.Before(best) {
				best = from
			}
		}
		if !best.IsZero() && i >= 0 {
			return best
		}
	}
	if best.IsZero() {
		return at // no span is ever long enough to hold a moment: that must not keep anybody from being told
	}
	return best
}

// moment gives when the clocks of the zone show a time of day on a date.
func (t timetable) moment(date time.Time, minutes int) time.Time {
	date = date.AddDate(0, 0, minutes/(24*60))
	clock := time.Date(2000, 1, 1, minutes/60%24, minutes%60, 0, 0, time.UTC)
	return wallClock(date.Year(), date.Month(), date.Day(), clock, t.zone)
}

// inWords says a moment in the zone of the timetable.
func (t timetable) inWords(at time.Time) string {
	return at.In(t.zone).Format("Mon 2006-01-02 15:04 MST")
}
