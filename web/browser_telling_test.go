package web

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/browsertest"
)

// TestBrowserTelling goes the way of somebody who sets up a first channel: add it, try it, be told by it.
func TestBrowserTelling(t *testing.T) {
	tried := make(chan struct{}, 1)
	x, b, url := openFleetWith(t, 20, func(c *Config) { c.Telling = triedTemplates{c.Telling.(*fakeTelling), tried} }, browsertest.Width(1440))
	b.Open(url + "/channels")
	b.Click(`.kind[href$="kind=mail"]`)
	b.Wait("#channel-form")
	b.Type("#name", "ops")
	b.Type(`[name="config.host"]`, "relay.example")
	b.Type(`[name="secrets.password"]`, "canary-Zx9")
	b.Eval("document.querySelector('#channel-form').noValidate = true", nil)
	b.Allow("status of 400") // the form is refused
	b.Click(`button[value="test"]`)
	b.Until(`document.querySelector('.field .error')?.textContent.includes('Recipients is missing')`, browsertest.Patience)
	b.Type(`[name="config.to"]`, "ops@example.com")
	b.Click(`button[value="test"]`)
	b.Until(`document.querySelector('#test-result .dialogue')?.textContent.includes('200 OK')`, browsertest.Patience)
	if len(x.tell.tested) != 1 || x.tell.tested[0].Secrets["password"].Reveal() != "canary-Zx9" {
		t.Errorf("the test went out with %v", x.tell.tested)
	}
	b.Click(`button[value="save"]`) // what was typed is still there
	b.Wait(`[name="secrets.password"][placeholder="kept"]`)
	if got := x.tell.channels[0]; got.Secrets["password"].Reveal() != "canary-Zx9" || got.Config["to"] != "ops@example.com" {
		t.Errorf("kept is %+v", got)
	}

	b.Click(`a[href*="/subscriptions/new?channel="]`)
	b.Wait("#subscription-form")
	b.Type("#name", "all of db1")
	b.Type(`[data-narrow="list-servers"]`, "db20")
	b.Until(`document.querySelectorAll('#list-servers label:not([hidden])').length === 1`, browsertest.Patience)
	b.Click(`#list-servers input[value="db20"]`)
	b.Click(`button[value="preview"]`)
	b.Until(`document.querySelector('#would')?.textContent.includes('Nothing that is open now fits')`, browsertest.Patience)
	b.Click(`button[value="save"]`)
	b.Until(`location.pathname === '/subscriptions' && document.querySelector('.subscriptions').textContent.includes('critical and warn on db20')`, browsertest.Patience)

	b.Open(url + "/exports")
	b.Type("#fields", "server, flav")
	b.Until("document.querySelector('#complete-list')?.textContent.includes('flavour')", browsertest.Patience)
	// In the page itself: the list may be made anew between finding its entry and clicking on it.
	b.Eval("document.querySelector('#complete-list li').dispatchEvent(new MouseEvent('mousedown', {bubbles: true, cancelable: true}))", nil)
	b.Press(", Thr")
	b.Until("document.querySelector('#complete-list')?.textContent.includes('status.Threads_running')", browsertest.Patience)
	var fields string
	b.Eval("document.querySelector('#fields').value", &fields)
	if fields != "server, flavour, Thr" {
		t.Errorf("the fields are %q", fields)
	}

	// The mail's HTML stands in a frame that can't reach the page, and shows what is tried before it is kept.
	b.Open(url + "/templates/html")
	b.Wait(`iframe[name="preview"]`)
	b.Eval("document.querySelector('.template-source').value = '<h1>tried</h1>'", nil)
	var reached bool
	b.Eval("(() => { try { return !!document.querySelector('iframe').contentDocument } catch { return false } })()", &reached)
	if reached {
		t.Error("the frame of the preview belongs to the page")
	}
	b.Click(`button[value="preview"]`)
	select {
	case <-tried:
	case <-time.After(browsertest.Patience):
		t.Error("the frame did not ask for what was written")
	}
	if at := b.Location(); at != url+"/templates/html" {
		t.Errorf("the page went to %s", at)
	}
}

// triedTemplates tells when the text "tried" is previewed.
type triedTemplates struct {
	*fakeTelling
	tried chan struct{}
}

func (f triedTemplates) PreviewTemplate(ctx context.Context, name, source string, kind monolith.NoticeKind) (string, error) {
	if strings.Contains(source, "tried") {
		select {
		case f.tried <- struct{}{}:
		default:
		}
	}
	return f.fakeTelling.PreviewTemplate(ctx, name, source, kind)
}

// TestBrowserTellingPagesOnAPhone holds that everything has a name, can be read and fits a narrow screen.
func TestBrowserTellingPagesOnAPhone(t *testing.T) {
	x, b, url := openFleet(t, 20, browsertest.Width(390))
	id := x.fillAlerts(t, "")
	x.fillTelling(id, "")
	b.Allow("status of 400") // of the field that there is not
	for _, path := range tellingPaths {
		path = strings.NewReplacer("%d", strconv.FormatInt(int64(id), 10), "?profile=all", "").Replace(path)
		b.Open(url + path)
		b.Wait("#help-button")
		accessible(t, b, path)
		var wider float64
		b.Eval("document.documentElement.scrollWidth - innerWidth", &wider)
		if wider > 0 {
			t.Errorf("%s is %.0f px too wide", path, wider)
		}
	}
}
