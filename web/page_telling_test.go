package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"monolith"
)

// tellingPaths lists an address of every page about telling people.
var tellingPaths = []string{"/", "/settings", "/channels", "/channels/new", "/channels/new?kind=mail", "/channels/1", "/channels/2", "/channels/4", "/subscriptions", "/subscriptions/new", "/subscriptions/8", "/subscriptions/10",
	"/deliveries", "/deliveries?state=failed", "/deliveries?channel=1", "/deliveries/53", "/deliveries/52", "/deliveries/51", "/templates", "/templates/html?kind=digest", "/templates/pager", "/heartbeat",
	"/exports", "/exports?profile=all", "/exports?fields=server,status.Questions&from=-1h&step=10m", "/exports?fields=server,nope", "/alerts", "/alerts/%d"}

// tellingFleet is a site with a fleet whose alerts people are told of.
func tellingFleet(t *testing.T, n int, evil string) *site {
	t.Helper()
	x := newFleet(t, n)
	id := x.fillAlerts(t, evil)
	x.fillTelling(id, evil)
	if err := x.cfg.Exports.PutExportProfile(t.Context(), &monolith.ExportProfile{Name: "all", Fields: []string{"server", "version", "host.mount_used_bytes"}}); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestEveryTellingPageRenders(t *testing.T) {
	for i, evil := range append([]string{""}, hostileTexts...) {
		x := tellingFleet(t, 6, evil)
		for _, path := range tellingPaths {
			path = strings.ReplaceAll(path, "%d", fmt.Sprint(x.alerts.alerts[0].ID))
			a := x.html(t, path)
			if want := http.StatusOK; a.Code != want && !strings.Contains(path, "nope") {
				t.Errorf("%d: %s: %d", i, path, a.Code)
			}
			if strings.Contains(a.body, "canary-Zx9") {
				t.Errorf("%s shows a secret", path)
			}
			checkMarkup(t, path, a.body)
		}
	}
	for _, n := range []int{0, 1000} {
		x := newFleet(t, n)
		for _, path := range []string{"/channels", "/subscriptions", "/subscriptions/new", "/deliveries", "/heartbeat", "/exports"} {
			a := x.html(t, path)
			if a.Code != http.StatusOK {
				t.Errorf("%d servers: %s: %d", n, path, a.Code)
			}
			checkMarkup(t, path, a.body)
		}
	}
}

func TestTellingPagesWithoutStoreAndWithoutTelling(t *testing.T) {
	x := tellingFleet(t, 3, "")
	x.html(t, "/") // what pages remember
	x.tell.broken = fmt.Errorf("gone: %w", monolith.ErrUnavailable)
	for _, path := range []string{"/channels", "/subscriptions", "/deliveries", "/heartbeat", fmt.Sprint("/alerts/", x.alerts.alerts[0].ID)} {
		if a := x.html(t, path); a.Code != http.StatusOK || !strings.Contains(a.body, "The store could not tell") {
			t.Errorf("%s: %d: %.300s", path, a.Code, a.body)
		}
	}
	x = newFleet(t, 3, func(c *Config) { c.Telling = nil })
	for path, code := range map[string]int{"/channels": 404, "/subscriptions": 404, "/deliveries": 404, "/templates": 404, "/heartbeat": 404, "/exports": 200, "/settings": 200, "/": 200} {
		if a := x.html(t, path); a.Code != code || code == 200 && strings.Contains(a.body, `href="/channels"`) {
			t.Errorf("%s: %d", path, a.Code)
		}
	}
}

// sendForm sends a form as browsers do.
func (x *site) sendForm(t *testing.T, path string, form url.Values) answer {
	t.Helper()
	return x.do(t, http.MethodPost, path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
}

func expect(t *testing.T, what string, a answer, code int, want ...string) {
	t.Helper()
	if a.Code != code {
		t.Errorf("%s: %d instead of %d", what, a.Code, code)
	}
	if a.body != "" && strings.HasPrefix(a.body, "<!doctype") {
		checkMarkup(t, what, a.body)
	}
	for _, text := range want {
		if where := a.body + a.Header().Get("Location"); !strings.Contains(where, text) {
			t.Errorf("%s: %q is not there: %.200s", what, text, where)
		}
	}
}

func TestChannelForm(t *testing.T) {
	x := newFleet(t, 3)
	form := url.Values{"kind": {"mail"}, "name": {"ops"}, "enabled": {"on"}, "config.host": {"relay.example"}, "config.to": {"a@b.example\r\nc@d.example"}, "config.tls": {"tls"}, "secrets.password": {"canary-Zx9"}}
	form.Set("action", "test")
	a := x.sendForm(t, "/channels/new", form)
	expect(t, "a test before it is kept", a, 200, "the receiver took it", "200 OK", "type them again", "c@d.example</textarea>")
	if strings.Contains(a.body, "canary") || len(x.tell.tested) != 1 || x.tell.tested[0].Secrets["password"].Reveal() != "canary-Zx9" || len(x.tell.channels) != 0 {
		t.Errorf("the test used %v", x.tell.tested)
	}
	form.Set("action", "save")
	form.Del("config.to")
	expect(t, "without recipients", x.sendForm(t, "/channels/new", form), 400, "Recipients is missing", `value="relay.example"`, `aria-invalid="true"`)
	form.Set("config.to", "a@b.example")
	expect(t, "a new one", x.sendForm(t, "/channels/new", form), 303, "/channels/21?done=channel-saved")
	expect(t, "the name twice", x.sendForm(t, "/channels/new", form), 409, "Another channel has this name")
	expect(t, "its page", x.html(t, "/channels/21?done=channel-saved"), 200, "The channel is kept", `placeholder="kept"`, "No subscription uses it")

	form.Set("secrets.password", "") // stays
	form.Del("enabled")
	expect(t, "a change", x.sendForm(t, "/channels/21", form), 303)
	if c := x.tell.channels[0]; c.Enabled || c.Secrets["password"].Reveal() != "canary-Zx9" || c.Config["tls"] != "tls" {
		t.Errorf("kept is %+v", c)
	}
	form.Set("forget.password", "on")
	expect(t, "without the secret", x.sendForm(t, "/channels/21", form), 303)
	if c := x.tell.channels[0]; c.Secrets["password"] != "" {
		t.Error("a secret that was removed is still there")
	}
	x.tell.subs = []monolith.Subscription{{ID: 31, Name: "by <day>", Channel: 21}}
	expect(t, "removing a used one", x.sendForm(t, "/channels/21/delete", nil), 409, "The channel is used by by &lt;day&gt;")
	x.tell.subs = nil
	expect(t, "removing", x.sendForm(t, "/channels/21/delete", nil), 303, "done=deleted")
	for path, code := range map[string]int{"/channels/21": 404, "/channels/x": 404, "/channels/new?kind=fax": 404} {
		expect(t, path, x.html(t, path), code)
	}
}

func TestSubscriptionForm(t *testing.T) {
	x := tellingFleet(t, 12, "")
	form := url.Values{"name": {"night"}, "channel": {"1"}, "enabled": {"on"}, "levels": {"critical", "warn"}, "groups": {"client1/prod"}, "servers": {"db1", "db4"}, "rules": {"lag"},
		"hours": {"mon-fri 08:00-18:00\r\nsat 10:00-12:00"}, "zone": {"Europe/Berlin"}, "delay": {"5m"}, "repeat": {"1d"}, "digest": {"0"}, "per_hour": {"30"}, "recovery": {"on"}, "quiet": {"08:00"}}
	for field, bad := range map[string]string{"delay": "soon", "per_hour": "many", "servers": "db99", "hours": "never", "name": "", "channel": "77"} {
		wrong := url.Values{}
		for k, v := range form {
			wrong[k] = v
		}
		wrong.Set(field, bad)
		a := x.sendForm(t, "/subscriptions/new", wrong)
		expect(t, field, a, 400, `class="error"`, wrong.Get("hours")[strings.LastIndexByte(wrong.Get("hours"), '\n')+1:], `value="1d"`)
	}
	expect(t, "a new one", x.sendForm(t, "/subscriptions/new", form), 303, "/subscriptions?done=subscribed")
	kept := x.tell.subs[len(x.tell.subs)-1]
	if kept.Delay != 5*time.Minute || kept.Repeat != 24*time.Hour || kept.PerHour != 30 || !kept.Recovery || len(kept.Servers) != 2 || len(kept.Levels) != 2 || kept.Hours != "mon-fri 08:00-18:00\nsat 10:00-12:00" {
		t.Errorf("kept is %+v", kept)
	}
	expect(t, "in words", x.html(t, "/subscriptions"), 200, "critical and warn of client1/prod on db1 and db4 by the rule lag", "mon–fri 08:00–18:00; sat 10:00–12:00 Europe/Berlin, once open for 5m, again each 24h", "not when it is over")
	expect(t, "the same name", x.sendForm(t, "/subscriptions/new", form), 409, "Another subscription has this name")

	open := x.alerts.Open()
	x.tell.foretold = []monolith.Foretold{{Alert: open[0], At: x.clock, Why: "it is open already"}, {Alert: open[0], Why: "it was acknowledged"}}
	a := x.sendForm(t, "/subscriptions/9", url.Values{"name": {"all"}, "channel": {"1"}, "enabled": {"on"}, "action": {"preview"}})
	expect(t, "what it tells of now", a, 200, "What it tells of now", "told now", "it is open already", "not told", "it was acknowledged")
	if len(x.tell.subs) != 4 || x.tell.subs[1].Channel != 2 {
		t.Error("a preview was kept")
	}
	// A server that is gone does not make a subscription one to everything.
	expect(t, "a gone server", x.html(t, "/subscriptions/8"), 200, `value="#999" checked`)
	old := x.tell.subs[0]
	expect(t, "with a gone server", x.sendForm(t, "/subscriptions/8", url.Values{"name": {old.Name}, "channel": {"1"}, "servers": {"#999"}}), 303)
	if got := x.tell.subs[0].Servers; len(got) != 1 || got[0] != 999 {
		t.Errorf("the servers are %v", got)
	}
	expect(t, "removing", x.sendForm(t, "/subscriptions/8/delete", nil), 303, "done=deleted")
	expect(t, "a removed one", x.html(t, "/subscriptions/8"), 404)
}

func TestDeliveriesPage(t *testing.T) {
	x := tellingFleet(t, 12, "")
	expect(t, "the log", x.html(t, "/deliveries"), 200, "is tried again", "given up", "250 queued as 7F", "2 messages wait")
	if a := x.html(t, "/deliveries?state=failed"); strings.Contains(a.body, "queued") || !strings.Contains(a.body, "550 no such user") {
		t.Error("the filter of states does not hold")
	}
	expect(t, "a wrong state", x.html(t, "/deliveries?state=lost"), 404)
	expect(t, "one", x.html(t, "/deliveries/52"), 200, "m-1-", "&lt;script&gt;")
	expect(t, "retry of a sent one", x.sendForm(t, "/deliveries/52/retry", nil), 409, "no longer given up")
	expect(t, "retry", x.sendForm(t, "/deliveries/51/retry", nil), 303, "/deliveries/51?done=retried")
	expect(t, "none", x.html(t, "/deliveries/4711"), 404)
	x.tell.deliveries = nil
	for id := int64(250); id > 0; id-- {
		x.tell.deliveries = append(x.tell.deliveries, monolith.Delivery{ID: id, Channel: 1, State: monolith.DeliverySent, Created: noon})
	}
	expect(t, "the first of many", x.html(t, "/deliveries?channel=1"), 200, "before=151&amp;channel=1", `href="/deliveries/250"`)
	if a := x.html(t, "/deliveries?channel=1&before=51"); strings.Contains(a.body, "Older ›") || !strings.Contains(a.body, `href="/deliveries/1"`) {
		t.Error("the last page is not the last")
	}
}

func TestTemplatesPage(t *testing.T) {
	x := newFleet(t, 3)
	expect(t, "all kinds at once", x.html(t, "/templates/pager"), 200, "preview of pager for recovery", "preview of pager for digest")
	expect(t, "a wrong one", x.sendForm(t, "/templates/text", url.Values{"source": {"{{ <b>\r\nmore"}, "action": {"save"}}), 400, "Line 1: unclosed action", "1: {{ &lt;b&gt;")
	expect(t, "an empty one", x.sendForm(t, "/templates/text", url.Values{"source": {" "}}), 400, "The text is empty")
	expect(t, "a try", x.sendForm(t, "/templates/subject", url.Values{"source": {"Hey <i>"}, "action": {"preview"}}), 200, "preview of subject for problem: Hey &lt;i&gt;")
	if len(x.tell.templates) != 0 {
		t.Error("a try was kept")
	}
	expect(t, "keeping", x.sendForm(t, "/templates/subject", url.Values{"source": {"Hey"}, "action": {"save"}, "by": {"ann"}}), 303, "/templates/subject?done=text-saved")
	expect(t, "the built-in one again", x.sendForm(t, "/templates/subject", url.Values{"action": {"reset"}}), 303, "done=text-reset")
	if len(x.tell.templates) != 0 {
		t.Error("it is still there")
	}
	// What a template writes is a document of its own that may do nothing.
	a := x.sendForm(t, "/templates/html/preview", url.Values{"source": {"<script>alert(1)</script>"}, "kind": {"digest"}})
	policy := a.Header().Get("Content-Security-Policy")
	if a.Code != 200 || !strings.Contains(a.body, "<script>alert(1)") || !strings.HasPrefix(policy, "sandbox; default-src 'none';") || strings.Contains(policy, "script") || a.Header().Get("X-Frame-Options") != "SAMEORIGIN" {
		t.Errorf("the preview: %d %q %s", a.Code, policy, a.body)
	}
	expect(t, "a kind that is none", x.html(t, "/templates/html/preview?kind=shout"), 404)
	expect(t, "a text is no document", x.html(t, "/templates/text/preview"), 404)
}

func TestHeartbeatPage(t *testing.T) {
	x := tellingFleet(t, 3, "")
	expect(t, "it fails", x.html(t, "/heartbeat"), 200, "fails", "503", "https://hc.example/uuid", `value="1m"`)
	expect(t, "a wrong address", x.sendForm(t, "/heartbeat", url.Values{"url": {"ftp://x"}, "every": {"5m"}}), 400, "This is not the address", `value="ftp://x"`, `value="5m"`)
	expect(t, "a wrong time", x.sendForm(t, "/heartbeat", url.Values{"url": {"https://x"}, "every": {"often"}}), 400, `value="often"`)
	expect(t, "keeping", x.sendForm(t, "/heartbeat", url.Values{"url": {"https://x.example/1"}, "every": {"30s"}}), 303)
	if h := x.tell.heartbeat; h.URL != "https://x.example/1" || h.Every != 30*time.Second {
		t.Errorf("kept is %+v", h)
	}
}

func TestFirstScreenSaysThatNobodyIsTold(t *testing.T) {
	x := newFleet(t, 3)
	if strings.Contains(x.html(t, "/").body, "Nobody is told") {
		t.Error("a banner without reason")
	}
	x.tell.status = monolith.TellingStatus{Level: monolith.LevelCritical, Text: "nobody is told: there is no channel", Cure: "add one"}
	if a := x.html(t, "/rows?server=db1"); !strings.Contains(a.body, "Nobody is told: there is no channel.") {
		t.Error("the banner does not come live")
	}
	for _, path := range []string{"/", "/alerts"} {
		expect(t, path, x.html(t, path), 200, "Nobody is told: there is no channel.", `class="note bad"`)
	}
}

func TestAlertPageSaysWhoIsTold(t *testing.T) {
	x := tellingFleet(t, 12, "")
	expect(t, "its page", x.html(t, fmt.Sprint("/alerts/", x.alerts.alerts[0].ID)), 200, "Who is told", "operators by day", "it waits for its digest", "will be told", "not told", "the channel is gone", "is tried again")
}

func TestPagesNameTheirFeeds(t *testing.T) {
	x := tellingFleet(t, 3, "")
	expect(t, "the first screen", x.html(t, "/?group=acme%2Fprod"), 200, `<link rel="alternate" type="application/atom+xml" title="Alerts, critical of acme/prod" href="/feeds/critical.atom?group=acme%2Fprod">`)
	expect(t, "a server's alerts", x.html(t, "/servers/db1/alerts"), 200, `href="/feeds/warn.atom?server=db1"`, "Feeds:")
	expect(t, "alerts", x.html(t, "/alerts"), 200, `href="/feeds/info.atom"`, "Feeds:")
	expect(t, "quiet times", x.html(t, "/quiet"), 200, `href="/feeds/maintenance.ics"`)
	b := pageBase{link: x.link, feeds: url.Values{"server": {"db1"}}}
	for _, feed := range b.FeedLinks("atom") {
		if a := x.get(t, feed.Link); a.Code != http.StatusOK {
			t.Errorf("%s: %d", feed.Link, a.Code)
		}
	}
	if strings.Contains(x.html(t, "/settings").body, `rel="alternate"`) {
		t.Error("settings have a feed")
	}
}

func TestExportsPage(t *testing.T) {
	x := tellingFleet(t, 12, "")
	expect(t, "first rows", x.html(t, "/exports?fields=server,+version,+rate(status.Questions)&groups=client1%2Fprod"), 200, "First rows", "of 4 servers", "10.11.6-MariaDB-log",
		"/api/v1/export.csv?fields=server%2Cversion%2Crate%28status.Questions%29&amp;group=client1%2Fprod")
	expect(t, "a range", x.html(t, "/exports?fields=server,status.Questions&from=-1h&step=10m&servers=db1"), 200, "First rows", "status.Questions")
	expect(t, "a wrong field", x.html(t, "/exports?fields=server,verion"), 400, "Field 2, verion:", "Did you mean version?")
	expect(t, "a wrong range", x.html(t, "/exports?fields=server&from=yesterday"), 400, `class="error"`)
	expect(t, "without a name", x.sendForm(t, "/exports", url.Values{"fields": {"server"}}), 400, "Under which name?")
	expect(t, "keeping", x.sendForm(t, "/exports", url.Values{"fields": {"server, greatest(1, 2)"}, "name": {"a/b &"}, "servers": {"db1"}}), 303, "/exports?profile=a%2Fb+%26&done=export-saved")
	a := x.html(t, "/exports?profile=a%2Fb+%26")
	expect(t, "a kept one", a, 200, "greatest(1, 2)", `value="db1" checked`, "/api/v1/export.xml?profile=a%2Fb&#43;%26")
	expect(t, "removing", x.sendForm(t, "/exports", url.Values{"remove": {"a/b &"}}), 303)
	expect(t, "a removed one", x.html(t, "/exports?profile=a%2Fb+%26"), 404)
}
