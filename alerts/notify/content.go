package notify

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// short are the words for levels where there is little room.
var short = map[monolith.Level]string{monolith.LevelCritical: "CRIT", monolith.LevelWarn: "WARN", monolith.LevelInfo: "INFO", monolith.LevelOK: "OK"}

// title is one line that says all: [CRIT] prod/eu/db3 replication lag 412 s > 300 s (channel eu2).
func title(n *Notice) string {
	switch n.Kind {
	case monolith.NoticeTest:
		return "[TEST] Monolith can reach you"
	case monolith.NoticeQuiet:
		if n.Open.Critical+n.Open.Warn+n.Open.Info == 0 {
			return "[OK] all quiet"
		}
		return fmt.Sprintf("[%s] %s open", short[n.Level()], n.Open)
	case monolith.NoticeDigest:
		return fmt.Sprintf("[%s] %s", short[n.Level()], howMany(n))
	}
	if n.Alert == nil {
		return "[" + short[n.Level()] + "] " + n.Where()
	}
	head := short[n.Alert.Level]
	switch n.Kind {
	case monolith.NoticeRecovery:
		head = "OK"
	case monolith.NoticeAcknowledged:
		head = "ACK"
	case monolith.NoticeReminder:
		head = "STILL " + head
	}
	return oneLine(fmt.Sprintf("[%s] %s %s", head, n.Where(), what(n.Alert)), 250)
}

// what says in words what an alert is about, with its instance.
func what(a *monolith.Alert) string {
	text := a.Title
	if a.Summary != "" {
		text += ": " + a.Summary
	}
	if a.Instance != "" && !strings.Contains(text, a.Instance) {
		text += " (" + a.Instance + ")"
	}
	return text
}

// howMany counts the alerts of a digest: "5 alerts, 2 over".
func howMany(n *Notice) string {
	over := 0
	for i := range n.Others {
		if n.Others[i].Level == monolith.LevelOK {
			over++
		}
	}
	all := len(n.Others) + n.More
	text := strconv.Itoa(all) + " alerts"
	if all == 1 {
		text = "1 alert"
	}
	switch over {
	case 0:
		return text
	case all:
		return text + " over"
	}
	return fmt.Sprintf("%s, %d over", text, over)
}

// where gives the server of an alert with its group.
func where(a *monolith.Alert) string {
	if a.Group != "" {
		return a.Group + "/" + a.ServerName
	}
	return a.ServerName
}

// worst gives the first of the worst alerts of a digest; nil for other notices.
func worst(n *Notice) *monolith.Alert {
	if n.Kind != monolith.NoticeDigest || len(n.Others) == 0 {
		return nil
	}
	a := slices.MaxFunc(n.Others, func(a, b monolith.Alert) int { return cmp.Compare(a.Level, b.Level) })
	return &a
}

// String gives "2 critical, 1 warn".
func (c Counts) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		name string
	}{{c.Critical, "critical"}, {c.Warn, "warn"}, {c.Info, "info"}} {
		if p.n > 0 {
			parts = append(parts, strconv.Itoa(p.n)+" "+p.name)
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// alertLink gives the address of the alert's page; "" without a base or an alert.
func alertLink(o *Options, n *Notice) string {
	if n.Alert == nil || n.Alert.ID == 0 {
		return o.link("/")
	}
	return o.link("/alerts/" + strconv.FormatInt(int64(n.Alert.ID), 10))
}

// graphLink gives the server's graphs around the moment at which the alert opened.
func graphLink(o *Options, n *Notice) string {
	if n.Alert == nil || n.Server == nil {
		return ""
	}
	q := url.Values{"from": {n.Alert.Opened.Add(-time.Hour).UTC().Format(time.RFC3339)}, "to": {n.Alert.Opened.Add(time.Hour).UTC().Format(time.RFC3339)}}
	return o.link("/servers/" + url.PathEscape(n.Server.Name) + "/graphs?" + q.Encode())
}

// ruleLink gives the page of the rule, where its limits are changed.
func ruleLink(o *Options, n *Notice) string {
	if n.Alert == nil {
		return ""
	}
	return o.link("/rules/" + url.PathEscape(n.Alert.Rule))
}

// lasted writes a length of time for people: 3 d 4 h, 12 min, 40 s.
func lasted(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// moment writes a moment for people far away: always UTC, always with its date.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
