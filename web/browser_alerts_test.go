package web

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"monolith"
	"monolith/internal/browsertest"
)

// waveBack is a rule engine whose back-tests find a wave of three hours between 10 and 90.
type waveBack struct{ *fakeAlerts }

func (w waveBack) BackTest(ctx context.Context, t monolith.BackTest) (*monolith.BackTestResult, error) {
	r, err := w.fakeAlerts.BackTest(ctx, t)
	if err != nil {
		return nil, err
	}
	limit := 60.0
	if v, tried := t.Limits["warn"]["lag"]; tried {
		limit = v
	}
	for i := range r.Servers {
		s := &r.Servers[i]
		line := monolith.BackTestLine{Name: "lag", Unit: "s"}
		s.Episodes, s.Open = nil, 0
		above := false
		for at := t.From; at.Before(t.To); at = at.Add(5 * time.Minute) {
			v := 50 + 40*math.Sin(2*math.Pi*at.Sub(t.From).Hours()/3)
			s.Times, line.Value = append(s.Times, at.Unix()), append(line.Value, v)
			if v > limit && !above {
				s.Episodes = append(s.Episodes, monolith.BackTestEpisode{Level: monolith.LevelWarn, From: at, Summary: "lag"})
			} else if n := len(s.Episodes); v <= limit && above {
				s.Episodes[n-1].To = at
				s.Open += at.Sub(s.Episodes[n-1].From)
			}
			above = v > limit
		}
		s.Lines = []monolith.BackTestLine{line}
	}
	r.Step = 5 * time.Minute
	return r, nil
}

func TestBrowserAlerts(t *testing.T) {
	var fake *fakeAlerts
	x, b, url := openFleetWith(t, 12, func(c *Config) {
		fake = c.Alerts.(*fakeAlerts)
		c.Alerts = waveBack{fake}
	}, browsertest.Width(1440))
	id := x.fillAlerts(t, "<i>")
	first := func() (a monolith.Alert) { // db6's
		defer fake.lock()()
		return fake.alerts[slices.IndexFunc(fake.alerts, func(a monolith.Alert) bool { return a.ServerName == "db6" })]
	}
	b.Open(url + "/")
	b.Wait("#open-causes tr.warn")
	b.Click("#open-causes tr.warn form button")
	b.Until("document.querySelector('#open-causes tr.warn.acked')", browsertest.Patience)
	if first().AckedAt.IsZero() {
		t.Error("the button acknowledges nothing")
	}
	// What opens comes into sight with the next poll, and what was unfolded stays so.
	b.Click("#open-causes details summary")
	b.Until("document.querySelector('#beat').dataset.on === 'on'", browsertest.Patience)
	x.alerts.open(&x.store.servers[6], "scans", monolith.LevelCritical, time.Now())
	x.pollAll(t, 3)
	b.Until("document.querySelector('#open-causes').textContent.includes('Title of scans') && document.querySelector('#nav-alarm').textContent.includes('5')", browsertest.Patience)
	b.Until("document.querySelector('#open-causes details').open", browsertest.Patience)

	b.Press("g")
	b.Press("a")
	b.Until("location.pathname === '/alerts' && document.querySelector('#jump-button')?.hidden === false", browsertest.Patience)
	b.Eval("document.querySelector('#jump-button').click()", nil)
	b.Type("#jumper input", "rule scans")
	b.Until("document.querySelector('#jumper li')?.textContent.includes('rule scans')", browsertest.Patience)
	b.Press(kb.Escape)

	b.Open(fmt.Sprintf("%s/alerts/%d", url, id))
	b.Wait(".graph canvas")
	b.Type("#note", "it is the backup")
	b.Type("#by", "eve")
	b.Click("#act .buttons button:last-child")
	b.Until("document.querySelector('#alert-events').textContent.includes('it is the backup')", browsertest.Patience)
	b.Click("button[value=tomorrow]")
	b.Until("document.querySelector('.note.good')?.textContent.includes('until the silence ends')", browsertest.Patience)
	b.Screenshot("alert")

	// A limit that is moved is tried again by itself.
	b.Open(url + "/rules/lag?server=db1")
	b.Click("button[value=test]")
	b.Until("document.querySelector('.tested')?.textContent.includes('would have opened')", browsertest.Patience)
	b.Type("[id='limit.warn.lag']", "95")
	b.Until("document.querySelector('.tested').textContent.includes('not have opened')", browsertest.Patience)
	b.Screenshot("rule")
	// Over several servers it goes on one by one.
	b.Open(url + "/rules/new")
	b.Eval("document.querySelector('#source').value = 'id: mine2\\n'", nil)
	b.Click("button[value=test]")
	b.Until("document.querySelectorAll('.tested').length === 12 && document.querySelector('#test-status').textContent.includes('12 servers')", browsertest.Patience)
	b.Screenshot("own-rule")
	b.Allow("400 (Bad Request)")
	b.Eval("document.querySelector('#source').value = 'rubbish'", nil)
	b.Click("button[value=test]")
	b.Until("document.querySelector('#test-status').textContent.includes('this is no rule')", browsertest.Patience)
}

// TestBrowserAlertPagesFit holds that the pages fit a phone, and can be read and named there.
func TestBrowserAlertPagesFit(t *testing.T) {
	x, b, url := openFleet(t, 6, browsertest.Width(390))
	id := x.fillAlerts(t, strings.Repeat("-a-long-name", 8))
	for _, path := range alertPaths {
		if strings.Contains(path, "group=") {
			continue
		}
		b.Open(url + alertPath(path, "db1", id))
		accessible(t, b, path)
		var over int
		b.Eval("document.documentElement.scrollWidth - innerWidth", &over)
		if over > 0 {
			var what string
			b.Eval("[...document.querySelectorAll('main *')].filter((e) => !e.closest('.scroll') && e.getBoundingClientRect().right > innerWidth).map((e) => e.tagName + '.' + e.className).slice(0, 8).join(' ')", &what)
			t.Errorf("%s is %d px too wide on a phone: %s", path, over, what)
		}
	}
}

// TestBrowserLongServerName holds that a long name leaves room for what is wrong, and that a short one stays on one line.
func TestBrowserLongServerName(t *testing.T) {
	x, b, url := openFleet(t, 2, browsertest.Width(1440))
	long := x.add(t, strings.Repeat("long-name-", 8), "acme/prod")
	x.alerts.open(long, "scans", monolith.LevelCritical, time.Now())
	x.alerts.open(&x.store.servers[0], "scans", monolith.LevelWarn, time.Now())
	b.Open(url + "/")
	b.Wait("#open-causes tr.critical .a-what")
	var share, lines float64
	b.Eval("document.querySelector('#open-causes tr.critical .a-what').offsetWidth / document.querySelector('#open-causes table').offsetWidth", &share)
	b.Eval("document.querySelector('#open-causes tr.warn .a-server a').offsetHeight / parseFloat(getComputedStyle(document.querySelector('#open-causes tr.warn .a-server')).lineHeight)", &lines)
	if share < .4 || lines > 1.5 {
		t.Errorf("what is wrong has %.2f of the width, a short name stands on %.1f lines", share, lines)
	}
}
