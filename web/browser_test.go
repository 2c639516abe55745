package web

import (
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"monolith"
	"monolith/internal/browsertest"
	"monolith/internal/realpart"
)

// openFleet serves an invented fleet and opens a browser on it. Its clock is the real one, since the
// script has no other.
func openFleet(t *testing.T, n int, opts ...browsertest.Option) (*site, *browsertest.Browser, string) {
	t.Helper()
	return openFleetWith(t, n, func(*Config) {}, opts...)
}

// openFleetWith is openFleet with another configuration.
func openFleetWith(t *testing.T, n int, change func(*Config), opts ...browsertest.Option) (*site, *browsertest.Browser, string) {
	t.Helper()
	x := newFleet(t, n, func(c *Config) { c.Now = time.Now }, change)
	if x.assets.path("app.js") == "" {
		realpart.Missing(t, "the script of the pages", "make build, where Node is")
	}
	server := httptest.NewServer(x.Handler())
	t.Cleanup(func() { x.live.close(); server.Close() })
	return x, browsertest.New(t, opts...), server.URL
}

// pollAll invents a poll of every server now and pushes it to the open pages.
func (x *site) pollAll(t *testing.T, seq uint64, change ...func(*monolith.Snapshot)) {
	t.Helper()
	servers, err := x.store.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range servers {
		snap := fleetPoll(servers[i].ID, i, seq, time.Now().Add(-time.Duration(seq-2)*10*time.Second))
		for _, f := range change {
			f(snap)
		}
		x.poller.take(snap)
		x.Push(t.Context(), snap)
	}
}

func TestBrowserGraphsAreLive(t *testing.T) {
	x, b, url := openFleet(t, 3, browsertest.Dark(), browsertest.Width(1440))
	b.Open(url + "/servers/db1")
	b.Until("document.querySelectorAll('.graph canvas').length > 8", browsertest.Patience)
	b.Until("document.querySelector('#beat').dataset.on === 'on'", browsertest.Patience)
	b.Eval(`void (window.drawn = [], new PerformanceObserver((l) => l.getEntries().forEach((e) => window.drawn.push(e.name))).observe({type: "resource"}))`, nil)
	x.pollAll(t, 3, func(s *monolith.Snapshot) { s.Identity.Comment = "fresh comment" })
	// A poll brings the tail of what is on screen in one request, and the facts go fresh.
	b.Until("document.querySelector('#facts').textContent.includes('fresh comment')", browsertest.Patience)
	b.Until("window.drawn.some((u) => u.includes('/api/v1/drawings') && u.includes('step='))", browsertest.Patience)
	var asked int
	b.Eval("window.drawn.filter((u) => u.includes('/api/v1/drawings')).length", &asked)
	if asked > 2 {
		t.Errorf("%d requests for the tail of one page", asked)
	}
}

func TestBrowserZoomAndBack(t *testing.T) {
	_, b, url := openFleet(t, 3)
	b.Open(url + "/servers/db1/graphs/query-rate")
	b.Wait(".graph canvas")
	// Drag over the middle half of the first plot.
	var plot struct{ X, Y, Width, Height float64 }
	b.Eval(`((r) => ({X: r.x, Y: r.y, Width: r.width, Height: r.height}))(document.querySelector(".u-over").getBoundingClientRect())`, &plot)
	b.Drag(plot.X+plot.Width*0.25, plot.Y+plot.Height/2, plot.X+plot.Width*0.75, plot.Y+plot.Height/2)
	b.Until("/from=\\d+&to=\\d+/.test(location.search)", browsertest.Patience)
	var from, to float64
	b.Eval(`Number(new URLSearchParams(location.search).get("from"))`, &from)
	b.Eval(`Number(new URLSearchParams(location.search).get("to"))`, &to)
	if length := to - from; math.Abs(length-1800) > 60 {
		t.Errorf("the middle half of an hour is %v s long", length)
	}
	b.Until("!document.querySelector('#range-back').disabled", browsertest.Patience)
	b.Click("#range-back")
	b.Until("!location.search.includes('from=')", browsertest.Patience)
	b.Click("[data-range='-24h']")
	b.Until("location.search.includes('from=-24h')", browsertest.Patience)
	// A legend click isolates a line; another shows all again.
	b.Click(".legend tbody tr:nth-child(2) button")
	b.Until("document.querySelectorAll('.panel:first-child .legend tr.out').length === 2", browsertest.Patience)
	b.Click(".legend tbody tr:nth-child(2) button")
	b.Until("document.querySelectorAll('.panel:first-child .legend tr.out').length === 0", browsertest.Patience)
	b.Click("#table-card summary")
	b.Wait("#table-view tbody tr")
}

func TestBrowserFirstScreen(t *testing.T) {
	x, b, url := openFleet(t, 30)
	b.Open(url + "/")
	b.Wait(".spark svg path")
	b.Until("document.querySelector('#beat').dataset.on === 'on'", browsertest.Patience)
	x.pollAll(t, 3, func(s *monolith.Snapshot) {
		if s.Server == 1 {
			s.Polled, s.Up, s.Sections = false, false, nil
			s.Problems = []monolith.Problem{{Kind: monolith.ProblemTimeout, Text: "no answer within 5 s"}}
		}
	})
	b.Until("document.querySelector('#server-1').textContent.includes('no answer within 5 s')", browsertest.Patience)
	// Fresh cells stand in the columns of the old ones.
	b.Until(`((heads) => [...document.querySelectorAll('#servers tr.server')].every((row) =>
		[...row.cells].every((cell, i) => cell.classList.contains(heads[i].classList[0]))))(document.querySelector('#servers thead tr').cells)`, browsertest.Patience)
	choose := func(row, item string) { chooseAction(b, row, item) }
	choose("#server-2", "Poll now")
	eventually(t, "db2 is polled at once", func() bool {
		x.poller.mu.Lock()
		defer x.poller.mu.Unlock()
		return slices.Equal(x.poller.polled, []monolith.ServerID{2})
	})
	choose("#server-2", "Pause polling")
	b.Until("document.querySelector('#server-2 .c-state').textContent.includes('paused')", browsertest.Patience)
	choose("#server-2", "Resume polling")
	b.Until("!document.querySelector('#server-2 .c-state').textContent.includes('paused')", browsertest.Patience)
	choose("#server-2", "Pause polling")
	b.Until("document.querySelector('#server-2 .c-state').textContent.includes('paused')", browsertest.Patience)
	if s, err := x.store.Server(t.Context(), "db2"); err != nil || !s.Paused {
		t.Errorf("db2 is not paused: %v", err)
	}
	b.Press("?")
	b.Wait("#help[open]")
	b.Click("#help .primary")
	b.WaitGone("#help")
	b.Eval("document.querySelector('#jump-button').click()", nil)
	b.Type("#jumper input", "db17")
	b.Until("document.querySelector('#jumper li')?.textContent.includes('db17')", browsertest.Patience)
}

func TestBrowserFirstScreenFits(t *testing.T) {
	for _, width := range []int{1600, 1440, 1280, 1024, 390} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			x, b, url := openFleet(t, 60, browsertest.Width(width))
			x.pollAll(t, 3, func(s *monolith.Snapshot) {
				if s.Server == 1 || s.Server == 4 {
					s.Polled, s.Up, s.Sections = false, false, nil
					s.Problems = []monolith.Problem{{Kind: monolith.ProblemUnreachable, Text: "dial tcp 10.0.0.14:3306: connect: " + strings.Repeat("a reason that goes on and on ", 12)}}
				}
			})
			b.Open(url + "/")
			b.Wait(".spark svg path")
			var seen struct {
				Page, Card, Menu, Why, Line, Head int
			}
			b.Eval(`(() => {
				const card = document.querySelector(".servers-card"), why = document.querySelector("#server-1 .why")
				return {
					Page: document.documentElement.scrollWidth - innerWidth, Card: card.scrollWidth - card.clientWidth,
					Menu: Math.ceil(document.querySelector("#server-1 [data-menu]").getBoundingClientRect().right),
					Why: why.clientHeight, Line: Math.ceil(parseFloat(getComputedStyle(why).lineHeight)), Head: document.querySelector(".head").clientHeight,
				}
			})()`, &seen)
			if seen.Page > 0 || seen.Menu > width {
				t.Errorf("the page is %d px too wide, the menu ends at %d of %d", seen.Page, seen.Menu, width)
			}
			if seen.Why > 2*seen.Line+1 {
				t.Errorf("a reason is %d px high with lines of %d px", seen.Why, seen.Line)
			}
			// On a phone every row is a card with the uptime among the rest.
			var uptime bool
			b.Eval(`!!document.querySelector("#server-7 .c-uptime").offsetHeight`, &uptime)
			if width < 720 && !uptime {
				t.Error("a card lacks the uptime")
			}
			if width > 1000 && seen.Card > 0 {
				t.Errorf("the table is %d px wider than its card", seen.Card)
			}
			if width >= 1280 && seen.Head > 40 {
				t.Errorf("the line above the table is %d px high: it breaks", seen.Head)
			}
			b.Screenshot(fmt.Sprint("first-screen-", width))
		})
	}
}

func TestBrowserPartsKeepTheirDistance(t *testing.T) {
	_, b, url := openFleet(t, 3)
	apart := func(upper, lower string) {
		t.Helper()
		b.Wait(lower)
		var gap float64
		b.Eval(fmt.Sprintf(`((a, b) => b.getBoundingClientRect().top - a.getBoundingClientRect().bottom)([...document.querySelectorAll(%q)].at(-1), document.querySelector(%q))`, upper, lower), &gap)
		if gap < 9 {
			t.Errorf("%s stands %v px below %s", lower, gap, upper)
		}
	}
	b.Open(url + "/servers/db1/graphs/query-rate")
	b.Wait(".graph canvas")
	apart(".graphs.alone", "form.with button")
	b.Press("?")
	apart("#help .keys", "#help .buttons button")
	b.Screenshot("help")
	b.Open(url + "/graphs/new?server=db1")
	apart("#graph-form .grid", "#graph-form .buttons button")
	b.Open(url + "/settings")
	apart("#browser .grid", "#browser .buttons button")
	apart("#retention-form .estimate", "#retention-form .buttons button")
}

func TestBrowserFiltersByTheChoiceAlone(t *testing.T) {
	_, b, url := openFleet(t, 6)
	b.Open(url + "/")
	b.Wait("#jump-button")
	b.Choose("select[name=env]", "dev")
	b.Until("location.search.includes('env=dev') && document.querySelectorAll('tr.server').length === 2", browsertest.Patience)
}

// chooseAction opens the menu of a row of the first screen and takes one of its items.
func chooseAction(b *browsertest.Browser, row, item string) {
	b.Click(row + " [data-menu]")
	b.Wait(".row-menu")
	b.Eval(fmt.Sprintf("[...document.querySelectorAll('.row-menu [role=menuitem]')].find((e) => e.textContent === %q).click()", item), nil)
}

// ordered gives the names of a group's servers in the order that the store keeps.
func (x *site) ordered(t *testing.T, group string) string {
	t.Helper()
	servers, err := x.store.Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range servers {
		if s.Group == group {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, " ")
}

// eventually waits until a condition holds that the page brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(browsertest.Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("it never came about that %s", what)
		case <-tick.C:
		}
	}
}

func TestBrowserSeveralServersOnOneGraph(t *testing.T) {
	_, b, url := openFleet(t, 6)
	b.Open(url + "/servers/db1/graphs/query-rate")
	b.Wait(".graph canvas")
	for _, other := range []string{"db2", "db3"} {
		b.Choose("form.with select", other)
		b.Click("form.with button")
		b.Until(fmt.Sprintf("[...document.querySelectorAll('.legend button')].some((e) => e.textContent.includes(%q))", other), browsertest.Patience)
	}
	// No filled swatch: nothing is stacked. No two lines of a panel look the same.
	b.Until(`[...document.querySelectorAll(".panel")].every((panel) => {
		const swatches = [...panel.querySelectorAll(".legend .swatch")].map((e) => e.innerHTML)
		return swatches.length > 3 && new Set(swatches).size === swatches.length && !swatches.some((s) => s.includes("opacity=\"0.75\""))
	})`, browsertest.Patience)
	b.Screenshot("several-servers")
}

func TestBrowserSaysThatLastWeekIsEmpty(t *testing.T) {
	x, b, url := openFleet(t, 3)
	history, yesterday := x.Server.cfg.Store.(*fleetStore), time.Now().Add(-24*time.Hour)
	history.began.Store(&yesterday)
	b.Open(url + "/servers/db1/graphs/query-rate")
	b.Wait(".graph canvas")
	b.Click("#ago-toggle")
	b.Until("document.querySelector('#ago-note').textContent === 'no values from last week'", browsertest.Patience)
	b.Click("#ago-toggle")
	b.Until("document.querySelector('#ago-note').textContent === ''", browsertest.Patience)
	history.began.Store(nil)
	b.Click("#ago-toggle")
	b.Until("location.search.includes('ago=')", browsertest.Patience)
	b.Reload()
	b.Wait(".graph canvas")
	b.Until("document.querySelector('#ago-note').textContent === ''", browsertest.Patience)
}

func TestBrowserKeys(t *testing.T) {
	_, b, url := openFleet(t, 3)
	b.Open(url + "/servers/db1")
	b.Wait(".graph canvas")
	b.Press("t")
	b.Until("document.activeElement.id === 'range-from'", browsertest.Patience)
	is := func(selector, want string) {
		t.Helper()
		var got string
		b.Eval(fmt.Sprintf("document.querySelector(%q).value", selector), &got)
		if got != want {
			t.Errorf("%s holds %q, want %q", selector, got, want)
		}
	}
	is("#range-from", "-1h")
	b.Press(kb.Escape)
	b.Until("!document.querySelector('#range-menu').open", browsertest.Patience)
	b.Press("-")
	b.Until("location.search.includes('from=-7200s')", browsertest.Patience)
	b.Press("+")
	b.Until("location.search.includes('from=')", browsertest.Patience)
	b.Press(kb.Backspace)
	b.Until("location.search.includes('from=-7200s')", browsertest.Patience)
	b.Press("k")
	b.Until("document.documentElement.dataset.wall !== undefined", browsertest.Patience)
	b.Press(kb.Escape)
	b.Until("document.documentElement.dataset.wall === undefined", browsertest.Patience)
	b.Press("/") // no search here: the jumper
	b.Wait("#jumper input")
	is("#jumper input", "")
	b.Press(kb.Escape)
	b.WaitGone("#jumper")
	b.Press("gg")
	b.Until("location.pathname === '/graphs'", browsertest.Patience)
	b.Wait("#jump-button")
	b.Press("gs")
	b.Until("location.pathname === '/'", browsertest.Patience)
	b.Wait("#jump-button")
	b.Press("/")
	b.Until("document.activeElement.id === 'search'", browsertest.Patience)
	is("#search", "")
	b.Press("t?k")
	is("#search", "t?k")
	b.Press(kb.Escape)
	b.Press("?")
	b.Wait("#help[open]")
	b.Press("?k") // keys of the page are off while a dialog is open
	b.Press(kb.Escape)
	b.WaitGone("#help")
	b.Until("document.documentElement.dataset.wall === undefined", browsertest.Patience)
}

func TestBrowserOrdersServers(t *testing.T) {
	x, b, url := openFleet(t, 6) // db1 and db4 stand in client1/prod, db2 and db5 in client1/stage
	b.Open(url + "/")
	choose := func(row, item string) { chooseAction(b, row, item) }
	is := func(group, want string) {
		t.Helper()
		eventually(t, group+" holds "+want, func() bool { return x.ordered(t, group) == want })
		b.Until(fmt.Sprintf(`[...document.querySelectorAll('tbody[data-group="%s"] tr.server')].map((r) => r.dataset.server).join(" ") === %q`, group, want), browsertest.Patience)
	}
	is("client1/prod", "db1 db4")
	choose("#server-4", "Move up")
	is("client1/prod", "db4 db1")
	choose("#server-4", "Move down")
	is("client1/prod", "db1 db4")

	carry := func(from, to string, lower bool) {
		b.Eval(fmt.Sprintf(`((from, to) => {
			const dataTransfer = new DataTransfer(), box = to.getBoundingClientRect(), clientY = %t ? box.bottom - 2 : box.top + 2;
			const tell = (e, kind) => e.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer, clientY}));
			tell(from, "dragstart");
			if (tell(to, "dragover")) throw new Error("the row takes nothing");
			tell(to, "drop");
			tell(from, "dragend");
		})(document.querySelector(%q), document.querySelector(%q + " td, " + %[3]q + " th"))`, lower, from, to), nil)
	}
	b.Click("#arrange-button")
	b.Until("document.querySelector('#server-4').draggable", browsertest.Patience)
	carry("#server-4", "#server-1", false)
	is("client1/prod", "db4 db1")
	carry("#server-4", "#server-1", true)
	is("client1/prod", "db1 db4")
	// Into another group, by the mouse itself.
	var middles [2]struct{ X, Y float64 }
	b.Eval(`["#server-1 .c-role", "#server-5 .c-role"].map((e) => document.querySelector(e).getBoundingClientRect()).map((r) => ({X: r.x + 9, Y: r.y + 9}))`, &middles)
	b.Drag(middles[0].X, middles[0].Y, middles[1].X, middles[1].Y)
	is("client1/stage", "db2 db1 db5")
	is("client1/prod", "db4")

	choose("#server-5", "Move to a group…")
	b.Wait("#move-dialog[open]")
	b.Until(`[...document.querySelectorAll("#move-groups option")].some((o) => o.value === "client1/prod")`, browsertest.Patience)
	b.Screenshot("move-to-a-group")
	b.Type("#move-group", "/acme/new/\r")
	b.WaitGone("#move-dialog")
	is("acme/new", "db5")

	// What is refused says so where it was asked for.
	b.Allow("400")
	choose("#server-5", "Move to a group…")
	b.Type("#move-group", "a//b\r")
	b.Wait("#move-dialog .error")

	// In another order than people's own there is nothing to move.
	b.Open(url + "/?sort=-qps")
	b.Click("#server-4 [data-menu]")
	if menu := b.Text(".row-menu"); strings.Contains(menu, "Move up") || !strings.Contains(menu, "Move to a group") {
		t.Errorf("the menu of a sorted list: %s", menu)
	}
}

func TestBrowserEditor(t *testing.T) {
	_, b, url := openFleet(t, 3)
	b.Allow("400")
	b.Open(url + "/graphs/new?server=db1")
	b.Type("[name=expr]", "rate(status.Questoins)")
	b.Until("document.querySelector('.line-row .error').textContent.includes('Questions')", browsertest.Patience)
	b.Wait(".caret-line")
	// The fields beside it stay as they are, and the preview says what it waits for.
	b.Until(`((heights) => Math.max(...heights) - Math.min(...heights) <= 3)([...document.querySelectorAll(".line-row:first-child :is(input, select)")].map((e) => e.getBoundingClientRect().height))`, browsertest.Patience)
	b.Until("document.querySelector('#preview .plot-note')?.textContent.includes('once every formula makes sense')", browsertest.Patience)
	b.Screenshot("editor-error")
	b.Eval("document.querySelector('[name=expr]').value = ''", nil)
	b.Type("[name=expr]", "Threads_run")
	b.Wait(".complete li")
	b.Press("\r")
	b.Until("document.querySelector('[name=expr]').value === 'status.Threads_running'", browsertest.Patience)
	b.Wait("#preview canvas")
}

func TestBrowserWithoutScript(t *testing.T) {
	_, b, url := openFleet(t, 3, browsertest.NoScript(), browsertest.Width(1440))
	b.Open(url + "/servers/db1")
	b.Wait(".graph img")
	b.Until("[...document.querySelectorAll('.graph img')].slice(0, 2).every((i) => i.complete && i.naturalWidth > 100)", browsertest.Patience)
	b.Open(url + "/")
	b.Until("[...document.querySelectorAll('.spark img')].every((i) => i.complete && i.naturalWidth > 0)", browsertest.Patience)
}

func TestBrowserConnectionTest(t *testing.T) {
	x, b, url := openFleet(t, 0)
	b.Open(url + "/")
	b.Type("[name='endpoint.host']", "db.example:3310")
	b.Type("[name='endpoint.password']", "canary-Zx9")
	b.Click("#test-button")
	b.Wait("#live-report .steps li")
	if len(x.poller.tested) != 1 || x.poller.tested[0].Endpoint.Port != 3310 || x.poller.tested[0].Endpoint.Password.Reveal() != "canary-Zx9" {
		t.Errorf("tested %+v", x.poller.tested)
	}
	if !strings.Contains(b.Text("#live-report"), "The connection works") {
		t.Error(b.Text("#live-report"))
	}
}

func TestBrowserThemeStays(t *testing.T) {
	_, b, url := openFleet(t, 3, browsertest.Light())
	b.Open(url + "/")
	b.Click("#theme-button")
	b.Until("document.documentElement.dataset.theme === 'dark'", browsertest.Patience)
	b.Reload()
	b.Until("document.documentElement.dataset.theme === 'dark'", browsertest.Patience)
	var colour string
	b.Eval("getComputedStyle(document.body).backgroundColor", &colour)
	if colour != "rgb(14, 17, 22)" {
		t.Errorf("the page is %s", colour)
	}
}
