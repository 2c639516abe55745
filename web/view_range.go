package web

import (
	"net/url"
	"strings"
	"time"

	"monolith"
)

// timeRange is the range of time that a page shows, as the address says it.
type timeRange struct {
	From, To   string // as the API takes them: "-1h", "now", RFC 3339
	Start, End time.Time
	Ago        bool   // last week's same hours are laid behind
	Refresh    string // "", "off" or a length of time; "" follows the polls
	Error      string // what was wrong with the address; the usual range is shown then

	usual string
}

// ranges are the relative ranges that one click chooses.
var ranges = []struct{ From, Title string }{
	{"-15m", "15 minutes"}, {"-1h", "1 hour"}, {"-3h", "3 hours"}, {"-12h", "12 hours"}, {"-24h", "24 hours"}, {"-2d", "2 days"},
	{"-7d", "7 days"}, {"-30d", "30 days"}, {"-90d", "90 days"}, {"-365d", "1 year"},
}

// Usual is the range of an address that names none.
func (r timeRange) Usual() string { return r.usual }

// Ranges lists the relative ranges.
func (timeRange) Ranges() []struct{ From, Title string } { return ranges }

// readRange reads from, to, ago and refresh of the address. A range may be half open: without to it ends now.
func (b *pageBase) readRange(usual time.Duration) timeRange {
	q := b.URL.Query()
	usualFrom := "-" + strings.TrimSuffix(strings.TrimSuffix(usual.String(), "0s"), "0m")
	r := timeRange{From: usualFrom, To: "now", Ago: q.Get("ago") != "" && q.Get("ago") != "0", Refresh: q.Get("refresh"), usual: usualFrom}
	r.Start, r.End = b.Now.Add(-usual), b.Now
	from, err := b.readMoment("from", q.Get("from"), r.From)
	if err == nil {
		var to moment
		if to, err = b.readMoment("to", q.Get("to"), "now"); err == nil && !from.at.Before(to.at) {
			err = monolith.Invalid("from", "the range ends before it begins", "from must be earlier than to")
		} else if err == nil {
			r.From, r.To, r.Start, r.End = from.text, to.text, from.at, to.at
		}
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

type moment struct {
	text string
	at   time.Time
}

// readMoment reads a moment in the API's forms or as a wall clock of the page's zone, which is what a
// browser's date field sends.
func (b *pageBase) readMoment(field, s, missing string) (moment, error) {
	if s == "" {
		s = missing
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, b.location); err == nil {
			return moment{t.Format(time.RFC3339), t}, nil
		}
	}
	t, err := monolith.ParseTime(field, s, b.Now)
	return moment{s, t}, err
}

// Query gives the range as the end of an address: "" for the usual one.
func (r timeRange) Query() string {
	q := url.Values{}
	if r.From != r.usual || r.To != "now" {
		q.Set("from", r.From)
		if r.To != "now" {
			q.Set("to", r.To)
		}
	}
	if r.Ago {
		q.Set("ago", "1")
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// Relative reports whether the range moves on with the clock.
func (r timeRange) Relative() bool { return r.To == "now" }

// Title names the range for people.
func (r timeRange) Title(b pageBase) string {
	for _, known := range ranges {
		if r.To == "now" && r.From == known.From {
			return "Last " + known.Title
		}
	}
	const layout = "2006-01-02 15:04"
	if r.To == "now" {
		return "Since " + r.Start.In(b.location).Format(layout)
	}
	return r.Start.In(b.location).Format(layout) + " – " + r.End.In(b.location).Format(layout)
}
