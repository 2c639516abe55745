package web

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"monolith"
	"monolith/internal/browsertest"
)

func TestBrowserPreviewNamesWhatItDraws(t *testing.T) {
	_, b, url := openFleet(t, 6)
	b.Open(url + "/graphs/new?server=db2&server=db3&expr=status.Threads_running")
	b.Wait("#preview canvas")
	b.Until("document.querySelector('#preview-on').textContent === 'on db2 and db3'", browsertest.Patience)
	b.Click("#server-checks [value=db2]")
	b.Until("document.querySelector('#preview-on').textContent === 'on db3'", browsertest.Patience)
	b.Click("#server-checks [value=db3]")
	b.Until("document.querySelector('#preview-on').textContent === 'on db1'", browsertest.Patience)
}

func TestBrowserJumperFindsValuesOrSaysSo(t *testing.T) {
	_, b, url := openFleet(t, 3)
	b.Open(url + "/servers/db1")
	b.Wait(".graph canvas")
	open := func(text string) {
		t.Helper()
		b.Click("#jump-button")
		b.Type("#jumper input", text)
	}
	open("no such thing")
	b.Until("document.querySelector('#jumper .none').textContent === 'Nothing found for “no such thing”.' && !document.querySelector('#jumper li')", browsertest.Patience)
	b.Press(kb.Escape) // closes at once, though something was typed
	b.WaitGone("#jumper")
	open("max_conn")
	b.Until("document.querySelector('#jumper li')?.textContent.includes('max_connections') && document.querySelector('#jumper .none').textContent === ''", browsertest.Patience)
	b.Press("\r")
	b.Until("location.pathname === '/servers/db1/variables/max_connections'", browsertest.Patience)
	b.Wait("#jump-button:not([hidden])")
	open("threads_runn")
	b.Until("[...document.querySelectorAll('#jumper li')].some((e) => e.textContent.includes('status.Threads_running'))", browsertest.Patience)
	b.Press(kb.ArrowDown + kb.ArrowUp + "\r")
	b.Until("location.pathname === '/servers/db1/graphs/explore' && location.search.includes('Threads_running')", browsertest.Patience)
}

// Names stand in legends whole, whatever room there is, and the tooltip says name and formula.
func TestBrowserLegendsNameLinesWhole(t *testing.T) {
	for _, width := range []int{1440, 390} {
		_, b, url := openFleet(t, 3, browsertest.Width(width))
		b.Open(url + "/servers/db1")
		b.Wait("#g-memory")
		b.Eval("document.querySelector('#g-memory').scrollIntoView()", nil)
		b.Until("document.querySelectorAll('#g-memory .legend tbody tr').length > 3", browsertest.Patience)
		b.Until(`[...document.querySelectorAll(".legend button > span")].every((e) => e.scrollWidth <= e.clientWidth + 1 && getComputedStyle(e).textOverflow !== "ellipsis")`, browsertest.Patience)
		b.Until(`[...document.querySelectorAll(".legend button")].every((e) => e.title.startsWith(e.textContent + "\n") && e.title.split("\n").length === 3)`, browsertest.Patience)
		b.Until(`[...document.querySelectorAll(".legend-box")].every((e) => e.scrollWidth <= e.clientWidth)`, browsertest.Patience)
		// A word is not broken where it would fit.
		b.Open(url + "/servers/db2/graphs/replication-flow")
		b.Wait(".graph canvas")
		b.Until(`[...document.querySelectorAll(".legend button > span")].filter((e) => /^received$/.test(e.textContent.split(" · ").at(-1))).every((e) => e.getClientRects().length && e.offsetHeight < 30)`, browsertest.Patience)
	}
}

// Threads are called as everywhere else, and their legend says states.
func TestBrowserThreadsAreStates(t *testing.T) {
	x, b, url := openFleet(t, 3)
	now := time.Now()
	x.store.marks = append(x.store.marks, monolith.Mark{ID: 1, Server: 2, At: now.Add(-20 * time.Minute), Kind: monolith.MarkRestart, Text: "restarted"})
	b.Open(url + "/servers/db2/graphs/replica-delay")
	b.Until(`[...document.querySelectorAll(".legend.states, .states .legend")].length === 1`, browsertest.Patience)
	b.Until(`((rows) => rows.length === 2 && rows.every((r) => /^(receiver|applier)$/.test(r.querySelector("th").textContent.split(" · ").at(-1)) && !/\d\.\d|^[01]$/.test(r.cells[1].textContent) && /^(yes|connecting|no)$/.test(r.cells[1].textContent) && /^[\d.]+ % yes$/.test(r.cells[3].textContent)))([...document.querySelectorAll(".states .legend tbody tr")])`, browsertest.Patience)
}

// The words of the axes have a row above that of the marks' signs, and there is none where the labels carry the unit.
func TestBrowserPlotsLeaveRoomForWords(t *testing.T) {
	_, b, url := openFleet(t, 3)
	for graph, room := range map[string]string{"query-rate": "27", "buffer-pool-pages": "14"} {
		b.Open(url + "/servers/db1/graphs/" + graph)
		b.Until("document.querySelector('.u-over')?.offsetTop === "+room, browsertest.Patience)
	}
}
