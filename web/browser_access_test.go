package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"monolith/internal/browsertest"
)

// faint lists the texts on the page, and the hints in empty fields, that stand out too little from their ground:
// less than 4.5 to 1, or 3 to 1 where they are large. Disabled controls do not count.
const faint = `(() => {
	const numbers = (c) => { const m = c.match(/[\d.]+/g).map(Number); return c.startsWith("color(") ? [m[0] * 255, m[1] * 255, m[2] * 255, m[3] ?? 1] : [m[0], m[1], m[2], m[3] ?? 1] };
	const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b) };
	const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
	const ground = (e) => { const layers = []; for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c[3] > 0) layers.push(c); if (c[3] === 1) break; } return layers.reduceRight((below, c) => over(c, below), [255, 255, 255]) };
	const found = new Set();
	const check = (e, colour, text) => {
		const style = getComputedStyle(e), below = ground(e), above = over(numbers(colour), below);
		const [a, b] = [light(above), light(below)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
		const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
		if (ratio < (large ? 3 : 4.5)) found.add(e.tagName.toLowerCase() + "." + e.className + " “" + text.slice(0, 30) + "” " + ratio.toFixed(2));
	};
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
		if (!text || !e.checkVisibility({ visibilityProperty: true }) || e.closest("[aria-hidden=true], :disabled, .hide, noscript, svg, option, tr.out")) continue;
		check(e, getComputedStyle(e).color, text);
	}
	for (const e of document.querySelectorAll("input[placeholder], textarea[placeholder]")) if (e.checkVisibility()) check(e, getComputedStyle(e, "::placeholder").color, e.placeholder);
	return [...found];
})()`

// accessible fails the test for what has no name or too little contrast on the page that is open.
func accessible(t *testing.T, b *browsertest.Browser, what string) {
	t.Helper()
	for _, e := range b.Unnamed() {
		t.Errorf("%s: there is no name for a %s", what, e)
	}
	for _, look := range []string{"light", "dark"} {
		var low []string
		b.Eval(fmt.Sprintf(`(document.documentElement.dataset.theme = %q, %s)`, look, faint), &low)
		for _, e := range low {
			t.Errorf("%s, %s: too little contrast: %s", what, look, e)
		}
	}
}

// TestBrowserPagesAreAccessible holds that a screen reader can name what is on every page and that every text can
// be read, in both looks.
func TestBrowserPagesAreAccessible(t *testing.T) {
	_, b, url := openFleet(t, 60)
	check := func(what string) { t.Helper(); accessible(t, b, what) }
	for _, path := range allPages {
		server := "db14" // it is off
		if strings.Contains(path, "own-77") || strings.Contains(path, "ago=1") {
			server = "db1"
		}
		b.Open(url + strings.Replace(path, "%s", server, 1))
		b.Until("document.querySelector('#help-button') && !document.querySelector('#help-button').hidden", browsertest.Patience)
		check(path)
	}
	// What opens on a page.
	b.Open(url + "/servers/db1")
	b.Wait(".legend button")
	check("plots")
	for _, open := range []struct{ keys, what string }{{"?", "#help[open]"}, {"/", "#jumper li"}, {"t", "#range-menu[open] input"}} {
		b.Press(open.keys)
		b.Wait(open.what)
		check("key " + open.keys)
		b.Press(kb.Escape)
	}
	b.Open(url + "/")
	b.Click("#server-2 [data-menu]")
	b.Wait(".row-menu")
	check("the menu of a row")
}
