package poller

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"monolith"
)

// ParseSchedule reads a schedule: "@every 10s", "@hourly", or a cron expression of five fields or, with
// seconds first, six. It is read in the zone, an IANA name; "" is UTC. A zone written into the
// expression (CRON_TZ=…) wins. A schedule that would fire more often than once a second, at fractions
// of one, or never is refused with a [monolith.InvalidError].
//
// "@every" fires at multiples of its length since the epoch and not since the start of the process, so
// that polls keep their places over restarts and changes of the clock.
func ParseSchedule(expr, zone string) (cron.Schedule, error) {
	expr = strings.TrimSpace(expr)
	if expr == "" {
		return nil, monolith.Invalid("schedule", "the schedule is empty", `such as "@every 10s" or "0 3 * * *"`)
	}
	if len(expr) > 200 {
		return nil, monolith.Invalid("schedule", "the schedule is longer than 200 characters")
	}
	if zone == "" {
		zone = "UTC"
	}
	if zone == "Local" {
		return nil, monolith.Invalid("time_zone", "a zone must be named", "an IANA name such as Europe/Berlin")
	}
	if _, err := time.LoadLocation(zone); err != nil {
		return nil, monolith.Invalid("time_zone", fmt.Sprintf("unknown time zone %q", zone), "an IANA name such as Europe/Berlin")
	}
	if text, ok := strings.CutPrefix(expr, "@every"); ok {
		return parseEvery(expr, strings.TrimSpace(text))
	}
	if strings.HasPrefix(expr, "TZ=") || strings.HasPrefix(expr, "CRON_TZ=") {
		// The library slices at the first space without looking whether there is one.
		name, rest, ok := strings.Cut(expr[strings.Index(expr, "=")+1:], " ")
		if !ok || name == "" || name == "Local" {
			return nil, monolith.Invalid("schedule", "after the time zone there is no schedule", `such as "CRON_TZ=Europe/Berlin 0 3 * * *"`)
		}
		if _, err := time.LoadLocation(name); err != nil {
			return nil, monolith.Invalid("schedule", fmt.Sprintf("unknown time zone %q", name), "an IANA name such as Europe/Berlin")
		}
		zone, expr = name, strings.TrimSpace(rest)
		if strings.Contains(expr, "=") || strings.HasPrefix(expr, "@every") {
			return nil, monolith.Invalid("schedule", "a time zone goes with a cron expression, once")
		}
	}
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	s, err := parser.Parse("CRON_TZ=" + zone + " " + expr)
	if err != nil {
		return nil, monolith.Invalid("schedule", fmt.Sprintf("%q is not a schedule: %v", expr, err),
			`such as "@every 10s", "*/5 * * * *" or, with seconds, "*/10 * * * * *"`)
	}
	if s.Next(time.Unix(0, 0)).IsZero() {
		return nil, monolith.Invalid("schedule", fmt.Sprintf("%q never comes", expr))
	}
	return s, nil
}

func parseEvery(expr, text string) (cron.Schedule, error) {
	d, err := monolith.ParseDuration("schedule", text)
	switch {
	case err != nil:
		return nil, err
	case d < time.Second:
		return nil, monolith.Invalid("schedule", fmt.Sprintf("%q is shorter than a second", expr), "1s or longer")
	case d%time.Second != 0:
		return nil, monolith.Invalid("schedule", fmt.Sprintf("%q is not a whole number of seconds", expr), "such as @every 2s")
	}
	return every(d), nil
}

// every fires at multiples of itself since the epoch.
type every time.Duration

// Next gives the first multiple after t.
func (e every) Next(t time.Time) time.Time {
	step := int64(e) / int64(time.Second)
	sec := t.Unix()
	return time.Unix(sec-mod(sec, step)+step, 0).In(t.Location())
}

func mod(a, b int64) int64 { return ((a % b) + b) % b }

// intervalAt gives the distance between the fire times on both sides of the one at or after t.
func intervalAt(s cron.Schedule, t time.Time) time.Duration {
	if e, ok := s.(every); ok {
		return time.Duration(e)
	}
	first := s.Next(t)
	second := s.Next(first)
	if first.IsZero() || second.IsZero() {
		return 0
	}
	return second.Sub(first)
}

// shortestInterval gives the smallest distance among the next fire times: what a schedule such as
// "0,1 * * * *" must be judged by.
func shortestInterval(s cron.Schedule, t time.Time) time.Duration {
	if e, ok := s.(every); ok {
		return time.Duration(e)
	}
	shortest := time.Duration(0)
	at := s.Next(t)
	for range 60 {
		next := s.Next(at)
		if next.IsZero() {
			break
		}
		if d := next.Sub(at); shortest == 0 || d < shortest {
			shortest = d
		}
		at = next
	}
	return shortest
}

// maxSpread is the farthest that a server's moment is moved from what a cron expression says: who
// writes "at 3:00" wants it soon after three.
const maxSpread = time.Minute

// spread gives the range over which servers on one schedule are spread from its tick.
func spread(s cron.Schedule, interval time.Duration) time.Duration {
	if _, ok := s.(every); ok {
		return interval
	}
	return min(interval, maxSpread)
}

// offsetOf gives a server's fixed place within a range: a hash of its id, so that servers added one
// after the other do not stand beside each other.
func offsetOf(id monolith.ServerID, within time.Duration) time.Duration {
	if within <= 0 {
		return 0
	}
	// splitmix64's finalizer: ids are small and consecutive, and a weaker hash would leave them so.
	h := uint64(id) + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	// Whole milliseconds: history keeps those.
	return time.Duration(h%uint64(within/time.Millisecond)) * time.Millisecond
}

// spec is a schedule as people gave it, and the key by which servers share one cron entry.
type spec struct{ expr, zone string }

// words says a schedule to people.
func (s spec) words() string {
	if text, ok := strings.CutPrefix(s.expr, "@every"); ok {
		return "every " + strings.TrimSpace(text)
	}
	zone := s.zone
	if zone == "" {
		zone = "UTC"
	}
	return s.expr + " (" + zone + ")"
}

// plan is a server's schedules with the defaults of its groups filled in.
type plan struct {
	specs     map[string]spec // by schedule name
	schedules map[string]cron.Schedule
	problems  []monolith.Problem // schedules that could not be read; the default is in force
}

// planFor takes each schedule from the nearest of server, its groups from the inside out, default.
func planFor(server *monolith.Server, groups []monolith.Group) plan {
	p := plan{specs: map[string]spec{}, schedules: map[string]cron.Schedule{}}
	around := groupsAround(server.Group, groups)
	zone := server.TimeZone
	for _, g := range around {
		if zone == "" {
			zone = g.TimeZone
		}
	}
	for _, name := range monolith.ScheduleNames {
		expr := server.Schedules[name]
		for _, g := range around {
			if expr == "" {
				expr = g.Schedules[name]
			}
		}
		if expr == "" {
			expr = monolith.DefaultSchedules[name]
		}
		s, err := ParseSchedule(expr, zone)
		if err != nil {
			p.problems = append(p.problems, monolith.Problem{
				Kind: monolith.ProblemOff, Text: fmt.Sprintf("the %s schedule can't be used: %v", name, err),
				Cure: "mend it in the server's or its group's settings; until then " + monolith.DefaultSchedules[name] + " is in force",
			})
			expr = monolith.DefaultSchedules[name]
			s, _ = ParseSchedule(expr, "") // the defaults are good, see the test
		}
		p.specs[name] = spec{expr, zone}
		p.schedules[name] = s
	}
	return p
}

// groupsAround lists the groups that a path lies in, the innermost first.
func groupsAround(path string, groups []monolith.Group) []monolith.Group {
	var around []monolith.Group
	for path != "" {
		for _, g := range groups {
			if g.Path == path {
				around = append(around, g)
			}
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			break
		}
		path = path[:i]
	}
	return around
}

func (p plan) equal(o plan) bool {
	for name, s := range p.specs {
		if o.specs[name] != s {
			return false
		}
	}
	return true
}
