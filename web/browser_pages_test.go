package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"monolith"
	"monolith/internal/browsertest"
)

func TestBrowserFoldedGroupsAreLive(t *testing.T) {
	x, b, url := openFleet(t, 240)
	b.Open(url + "/")
	b.Until("document.querySelector('#beat').dataset.on === 'on'", browsertest.Patience)
	b.Until("document.querySelector('tbody[data-group=\"client1/prod\"] .tally').textContent.includes('8 up')", browsertest.Patience)
	var arrange bool
	b.Eval("!document.querySelector('#arrange-button').hidden", &arrange)
	if arrange {
		t.Error("there are no rows to arrange, and a button for it")
	}
	x.pollAll(t, 3, func(s *monolith.Snapshot) {
		if s.Server == 1 {
			s.Polled, s.Up, s.Sections = false, false, nil
			s.Problems = []monolith.Problem{{Kind: monolith.ProblemTimeout, Text: "no answer within 5 s"}}
		}
	})
	b.Until("document.querySelector('tbody[data-group=\"client1/prod\"] .tally').textContent.includes('1 unreachable')", browsertest.Patience)
	b.Click(`tbody[data-group="client1/prod"] .c-name a`)
	b.Until("document.querySelectorAll('tr.server').length === 8 && !document.querySelector('#arrange-button').hidden", browsertest.Patience)
}

// TestBrowserOnAPhone holds that what pages are for is in sight on a narrow screen.
func TestBrowserOnAPhone(t *testing.T) {
	_, b, url := openFleet(t, 240, browsertest.Width(390))
	for path, inSight := range map[string]string{
		"/servers/db1/status":     "#values tbody tr:first-child .value",
		"/servers/db1/variables":  "#variables tbody tr:first-child .value",
		"/servers/db1/monitoring": ".tabs [aria-current]", // the last of the tabs
		"/?group=client1%2Fprod":  "[data-menu]",
		"/":                       "tr.fold > .c-disk",
		"/servers/db1/edit":       "#test-button",
	} {
		b.Open(url + path)
		b.Wait("#help-button")
		var seen struct{ Left, Right, Page float64 }
		b.Eval(`((r) => ({Left: r.left, Right: r.right, Page: document.documentElement.scrollWidth - innerWidth}))(document.querySelector("`+inSight+`").getBoundingClientRect())`, &seen)
		if seen.Left < 0 || seen.Right > 390 || seen.Page > 0 {
			t.Errorf("%s: %s stands from %.0f to %.0f of 390, the page is %.0f px too wide", path, inSight, seen.Left, seen.Right, seen.Page)
		}
	}
}

func TestBrowserPrintsEveryGraph(t *testing.T) {
	_, b, url := openFleet(t, 3, browsertest.Dark())
	b.Open(url + "/servers/db1")
	b.Wait(".graph canvas")
	const undrawn = "[...document.querySelectorAll('.graph')].filter((f) => !f.querySelector('canvas, .plot-note')).length"
	var before, after int
	b.Eval(undrawn, &before)
	b.Eval(`dispatchEvent(new Event("beforeprint"))`, nil)
	b.Eval(undrawn, &after)
	if before == 0 || after != 0 {
		t.Errorf("%d graphs were not drawn before, %d are not printed", before, after)
	}
	b.Until("getComputedStyle(document.body).backgroundColor === 'rgb(244, 245, 247)'", browsertest.Patience) // paper is white
	b.Eval(`dispatchEvent(new Event("afterprint"))`, nil)
	b.Until("getComputedStyle(document.body).backgroundColor === 'rgb(14, 17, 22)'", browsertest.Patience)
}

func TestBrowserEscapeGoesBack(t *testing.T) {
	_, b, url := openFleet(t, 3)
	b.Open(url + "/servers/db1/graphs/query-rate")
	b.Wait(".graph canvas")
	b.Click("#range-in")
	b.Until("location.search.includes('from=')", browsertest.Patience)
	b.Press(kb.Escape) // the range before
	b.Until("!location.search.includes('from=')", browsertest.Patience)
	// The exact number behind a short one can be copied. Headless browsers have no clipboard to look into.
	b.Eval(`void (navigator.clipboard.writeText = async (text) => { window.copied = text })`, nil)
	b.Click(".legend tbody tr:first-child td:nth-child(5)")
	b.Until("/^[\\d.]+$/.test(window.copied) && document.querySelector('#say').textContent === 'Copied.'", browsertest.Patience)
	b.Press("k")
	b.Click("#wall-off")
	b.Until("document.documentElement.dataset.wall === undefined && !document.querySelector('#wall-off')", browsertest.Patience)
	b.Press(kb.Escape) // to the tab …
	b.Until("location.pathname === '/servers/db1/graphs'", browsertest.Patience)
	b.Wait(".graph canvas")
	b.Press(kb.Escape) // … and to the first screen
	b.Until("location.pathname === '/'", browsertest.Patience)
	// A page that holds what was typed is not left, nor is a form.
	b.Open(url + "/servers/db1/changes")
	b.Type("#note-text", "deploy 4.2")
	b.Press(kb.Escape + kb.Escape)
	if at := b.Location(); !strings.HasSuffix(at, "/changes") {
		t.Errorf("Escape left a note for %s", at)
	}
	b.Open(url + "/servers/db1/edit")
	b.Type("#tags", "shop")
	b.Press(kb.Escape + kb.Escape)
	if at := b.Location(); !strings.HasSuffix(at, "/edit") {
		t.Errorf("Escape left the form for %s", at)
	}
}
