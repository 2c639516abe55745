package monolith

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// weekdayWords are the words for days of the week, by time.Weekday.
var weekdayWords = [7]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// WeekdayWord gives the word for a day of the week, as in timetables and windows: "mon".
func WeekdayWord(d time.Weekday) string { return weekdayWords[d] }

// ParseWeekday reads the word for a day of the week; false for another word.
func ParseWeekday(word string) (time.Weekday, bool) {
	i := slices.Index(weekdayWords[:], word)
	return time.Weekday(max(0, i)), i >= 0
}

// WeekdayWords lists the words for days of the week, from Sunday on.
func WeekdayWords() []string { return slices.Clone(weekdayWords[:]) }

// ParseZone gives a time zone by its IANA name; "" is UTC. Another name, or that of whatever zone this machine is in, is an
// [InvalidError] of the field.
func ParseZone(field, name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, Invalid(field, "there is no time zone "+strconv.Quote(name), "an IANA name such as Europe/Berlin; nothing is UTC")
	}
	return zone, nil
}

// lastQuietYear bounds when quiet times may be: what programs are told can write no year after 9999, to which they might last.
const lastQuietYear = 9000

// Bounds of quiet times.
const (
	maxSilence     = 366 * 24 * time.Hour
	maxQuietReason = 2000 // characters
	maxQuietTitle  = 200
)

// Validate gives an [InvalidError] naming what makes no sense in a silence that is kept now. Whether what it names is there is
// for others to say. A zero From stands for now.
func (s *Silence) Validate(now time.Time) error {
	from := s.From
	if from.IsZero() {
		from = now
	}
	switch {
	case s.Alert != 0 && (s.Server != 0 || s.Group != "" || s.Rule != ""):
		return Invalid("alert", "an alert is named, and more", "give only the alert, or a server, group or rule")
	case s.Server != 0 && s.Group != "":
		return Invalid("group", "a silence is for a server or for a group, not both")
	case s.To.IsZero() && s.Alert == 0:
		return Invalid("to", "a silence has an end", `give "to" or "for", as "for": "2h"`)
	case s.Alert == 0 && s.Server == 0 && s.Group == "" && s.Rule == "" && strings.TrimSpace(s.Reason) == "":
		return Invalid("reason", "this silences everything", "say why")
	case from.Year() > lastQuietYear || s.To.Year() > lastQuietYear:
		return Invalid("to", fmt.Sprintf("the silence lies behind the year %d", lastQuietYear))
	case !s.To.IsZero() && (!s.To.After(from) || !s.To.After(now)):
		return Invalid("to", "the silence would be over already, or before it begins")
	case !s.To.IsZero() && s.To.Sub(from) > maxSilence:
		return Invalid("to", "a silence lasts a year at most")
	case utf8.RuneCountInString(s.Reason) > maxQuietReason:
		return Invalid("reason", fmt.Sprintf("the reason is longer than %d characters", maxQuietReason))
	}
	return nil
}

// Validate gives an [InvalidError] naming what makes no sense in a window. Whether what it names is there is for others to say.
func (w *MaintenanceWindow) Validate() error {
	switch {
	case w.Start.IsZero():
		return Invalid("start", "a window has a begin", `such as "2026-03-29T22:00"`)
	case w.Start.Year() > lastQuietYear || w.Until.Year() > lastQuietYear:
		return Invalid("start", fmt.Sprintf("the window lies behind the year %d", lastQuietYear))
	case w.Duration < time.Minute || w.Duration > MaxMaintenance:
		return Invalid("duration", "a window lasts from a minute to 31 days", `such as "2h"`)
	case w.Server != 0 && w.Group != "":
		return Invalid("group", "a window is for a server or for a group, not both")
	case !slices.Contains([]string{"", "day", "week", "month"}, w.Every):
		return Invalid("every", strconv.Quote(w.Every)+" is not known here", "day, week, month, or nothing for once")
	case w.Every == "day" && w.Duration >= 24*time.Hour, w.Every == "week" && w.Duration >= 7*24*time.Hour:
		return Invalid("duration", "the window would never end: it lasts longer than until it comes again")
	case len(w.Weekdays) > 0 && w.Every != "week":
		return Invalid("weekdays", "only a weekly window has days of the week", `give "every": "week"`)
	case !w.Until.IsZero() && w.Every == "":
		return Invalid("until", "only a window that comes again has a last time", `give "every"`)
	case !w.Until.IsZero() && w.Until.Before(w.Start):
		return Invalid("until", "the window ends before it begins")
	case strings.TrimSpace(w.Title) == "" || utf8.RuneCountInString(w.Title) > maxQuietTitle:
		return Invalid("title", fmt.Sprintf("a window has a title of at most %d characters", maxQuietTitle), `such as "backup" or "patch day"`)
	}
	for _, d := range w.Weekdays {
		if d < time.Sunday || d > time.Saturday {
			return Invalid("weekdays", "a weekday is a number from 0, Sunday, to 6")
		}
	}
	_, err := ParseZone("zone", w.Zone)
	return err
}
