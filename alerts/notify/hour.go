package notify

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/graph"
)

// Hour is how the quantities that an alert is about went in the hour before a message. Lines without any value are left out of it.
type Hour struct {
	Lines []Course
	Why   string // why there are no lines, in words
}

// Course is one quantity over the hour.
type Course struct {
	Name   string
	Unit   string
	Values []float64 // from oldest to newest, at the same distance; NaN: none
	// Over says that the hour lies before the end of what is over: nothing is said of now.
	Over bool
}

// String gives "min 3 s, mean 120 s, max 412 s, now 412 s".
func (c Course) String() string {
	least, most, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
	for _, v := range c.Values {
		if !math.IsNaN(v) {
			least, most, sum, n = min(least, v), max(most, v), sum+v, n+1
		}
	}
	if n == 0 {
		return "no values"
	}
	// Two steps without a value are no gap: the newest may not have been written yet.
	now := math.NaN()
	for _, v := range c.Values[max(0, len(c.Values)-3):] {
		if !math.IsNaN(v) {
			now = v
		}
	}
	last := ", no value now"
	switch {
	case c.Over:
		last = ""
	case !math.IsNaN(now):
		last = ", now " + graph.Format(now, c.Unit)
	}
	return "min " + graph.Format(least, c.Unit) + ", mean " + graph.Format(sum/float64(n), c.Unit) + ", max " + graph.Format(most, c.Unit) + last
}

// sparkWidth is how many characters a course is drawn with: two minutes each.
const sparkWidth = 30

// Spark draws the course in block characters, from 0 or from its lowest value where that is below: the highest value of
// each two minutes, and a dot where there is none.
func (c Course) Spark() string {
	if len(c.Values) == 0 {
		return ""
	}
	low, high := 0.0, 0.0
	for _, v := range c.Values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	width := min(sparkWidth, len(c.Values))
	var b strings.Builder
	for i := range width {
		top := math.NaN()
		for _, v := range c.Values[i*len(c.Values)/width : (i+1)*len(c.Values)/width] {
			if !math.IsNaN(v) && !(v < top) {
				top = v
			}
		}
		switch {
		case math.IsNaN(top):
			b.WriteRune('·')
		case high == low:
			b.WriteRune(blocks[0])
		default:
			b.WriteRune(blocks[int(math.Round((top-low)/(high-low)*float64(len(blocks)-1)))])
		}
	}
	return b.String()
}

// mostCourses is how many quantities a message shows.
const mostCourses = 4

// lastHour gives the notice with the hour before it, or before the end of what is over.
func lastHour(ctx context.Context, o *Options, n *Notice) *Notice {
	if o.Hour == nil || n.Alert == nil || n.Alert.Server == 0 || n.Kind == monolith.NoticeAcknowledged {
		return n
	}
	to := o.now()
	if n.Kind == monolith.NoticeRecovery && !n.Alert.Closed.IsZero() {
		to = n.Alert.Closed
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	with := *n
	hour, err := o.Hour(ctx, n.Alert, to)
	switch {
	case err != nil:
		o.Record.say("*", "the last hour can't be told: %v", err)
		with.Hour = &Hour{Why: "the history did not answer"}
	case hour != nil:
		with.Hour = &Hour{Why: hour.Why}
		for _, c := range hour.Lines {
			if c.Over = n.Kind == monolith.NoticeRecovery; !c.Over && o.now().Sub(n.At) < time.Minute {
				c.Values = slices.Concat(c.Values, newest(n.Alert, c.Name))
			}
			if slices.ContainsFunc(c.Values, func(v float64) bool { return !math.IsNaN(v) }) && len(with.Hour.Lines) < mostCourses {
				with.Hour.Lines = append(with.Hour.Lines, c)
			}
		}
	}
	return &with
}

// newest gives the value that an alert was judged by, which history may not hold yet.
func newest(a *monolith.Alert, name string) []float64 {
	for _, v := range a.Values {
		if v.Name == name && v.Num != nil {
			return []float64{*v.Num}
		}
	}
	return nil
}
