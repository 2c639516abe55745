// Package browsertest opens pages in a real, headless Chromium.
//
//	b := browsertest.New(t, browsertest.Dark(), browsertest.Width(390))
//	b.Open(server.URL)
//	b.Click("a.graphs")
//	b.Wait("canvas")
//	b.Screenshot("graphs-dark-narrow")
//
// A selector is CSS. Every step waits for its element and fails the test when that does not come. An error on the
// page's console, an exception that nothing caught, a resource that could not be loaded and a violation of the
// content security policy fail the test too, unless [Browser.Allow] names it. Chromium reaches only this machine.
//
// Without Chromium a test is skipped with the way to get it; with MONOLITH_REQUIRE_REAL=1 it fails.
package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"monolith/internal/realpart"
)

// Patience is how long a step waits for what it needs, at least: a machine that tests other packages too may need
// seconds where an idle one needs none.
const Patience = time.Minute

// Browser is one tab of a Chromium of its own, with an empty profile. Its methods are called from the test's
// goroutine.
type Browser struct {
	tb   testing.TB
	ctx  context.Context
	opts options

	mu      sync.Mutex
	errors  []string // unexpected messages of the console since the last TakeErrors
	allowed []string
}

type options struct {
	width, height int64
	scheme        string // of prefers-color-scheme
	noScript      bool
}

// An Option changes how the browser shows pages.
type Option func(*options)

// Dark makes pages see prefers-color-scheme: dark. Light is the default.
func Dark() Option { return func(o *options) { o.scheme = "dark" } }

// Light makes pages see prefers-color-scheme: light.
func Light() Option { return func(o *options) { o.scheme = "light" } }

// Width sets the window's width in CSS pixels; 1280 without it. 390 is a phone.
func Width(pixels int) Option { return func(o *options) { o.width = int64(pixels) } }

// NoScript switches the page's scripts off. [Browser.Eval] still works.
func NoScript() Option { return func(o *options) { o.noScript = true } }

// New starts a browser, closed when the test ends.
func New(tb testing.TB, opts ...Option) *Browser {
	tb.Helper()
	path := find()
	if path == "" {
		realpart.Missing(tb, "Chromium", "make deps, or apt-get install chromium, or name it in MONOLITH_CHROMIUM")
	}
	b := &Browser{tb: tb, opts: options{width: 1280, height: 900, scheme: "light"}}
	for _, opt := range opts {
		opt(&b.opts)
	}
	allocated, cancelAllocated := chromedp.NewExecAllocator(context.Background(), flags(path)...)
	ctx, cancel := chromedp.NewContext(allocated)
	b.ctx = ctx
	done := make(chan struct{})
	tb.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			tb.Logf("browsertest: close: %v", err)
		}
		cancel()
		cancelAllocated()
		<-done
		for _, message := range b.TakeErrors() {
			tb.Errorf("browsertest: the page's console says: %s", message)
		}
	})
	// The context of the first action is the browser's life, so it has no deadline.
	if err := chromedp.Do(ctx, b.setUp()...); err != nil {
		close(done)
		tb.Fatalf("browsertest: start %s: %v", path, err)
	}
	messages := chromedp.Console(ctx)
	go func() {
		defer close(done)
		for message, err := range messages {
			if err != nil {
				return // the browser closes
			}
			b.note(message)
		}
	}()
	return b
}

// flags are chromedp's defaults and what keeps Chromium quiet: it must neither call home nor wait for it.
func flags(path string) []chromedp.ExecAllocatorOption {
	return append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // Chromium has no sandbox for root, as whom tests run in containers
		chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(60*time.Second),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("no-pings", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE [::1]"),
	)
}

func find() string {
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	if named := os.Getenv("MONOLITH_CHROMIUM"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func (b *Browser) setUp() []chromedp.Action[chromedp.Void] {
	return []chromedp.Action[chromedp.Void]{
		chromedp.EmulateViewport(b.opts.width, b.opts.height),
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: b.opts.scheme}},
			})
			return err
		}),
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled,
				emulation.SetScriptExecutionDisabledParams{Value: b.opts.noScript})
			return err
		}),
	}
}

// note keeps a console message that says something is wrong.
func (b *Browser) note(m chromedp.ConsoleMessage) {
	text := m.Text
	if m.URL != "" {
		text += fmt.Sprintf(" (%s:%d)", m.URL, m.Line+1)
	}
	wrong := m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || m.Type == "assert" ||
		strings.Contains(text, "Content Security Policy")
	if !wrong {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, allowed := range b.allowed {
		if strings.Contains(text, allowed) {
			return
		}
	}
	b.errors = append(b.errors, text)
}

// Allow lets console messages that contain the text pass from now on, such as "404" where a page that is not there
// is the test.
func (b *Browser) Allow(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.allowed = append(b.allowed, text)
}

// TakeErrors gives the console's errors since the last call; they no longer fail the test.
func (b *Browser) TakeErrors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.errors
	b.errors = nil
	return taken
}

// run runs one step and fails the test when it does not end in time.
func run[T any](b *Browser, what string, action chromedp.Action[T]) T {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.fail(what, err)
	}
	return value
}

// fail ends the test with where the browser was and what it showed.
func (b *Browser) fail(what string, err error) {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	where, _ := chromedp.Run(ctx, chromedp.Location())
	picture, shotErr := b.shoot(ctx, "failed-"+strings.NewReplacer("/", "-", " ", "-").Replace(b.tb.Name()))
	if shotErr != nil {
		picture = shotErr.Error()
	}
	b.tb.Fatalf("browsertest: %s: %v\nat %s, picture: %s", what, err, where, picture)
}

// Open goes to a page and waits until it is loaded.
func (b *Browser) Open(url string) {
	b.tb.Helper()
	run(b, "open "+url, chromedp.Navigate(url))
}

// Reload loads the page anew.
func (b *Browser) Reload() {
	b.tb.Helper()
	run(b, "reload", chromedp.Reload())
}

// Location is the page's address.
func (b *Browser) Location() string {
	b.tb.Helper()
	return run(b, "location", chromedp.Location())
}

// Text waits for an element to be visible and gives the text that a person reads in it.
func (b *Browser) Text(selector string) string {
	b.tb.Helper()
	return run(b, "text of "+selector, chromedp.Text(chromedp.CSS(selector), chromedp.NodeVisible))
}

// Wait waits until an element is visible.
func (b *Browser) Wait(selector string) {
	b.tb.Helper()
	run(b, "wait for "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// WaitGone waits until no element matches.
func (b *Browser) WaitGone(selector string) {
	b.tb.Helper()
	run(b, "wait until "+selector+" is gone", chromedp.WaitNotPresent(chromedp.CSS(selector)))
}

// Click waits for an element to be visible, scrolls to it and clicks into its middle.
func (b *Browser) Click(selector string) {
	b.tb.Helper()
	run(b, "click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// Drag presses the mouse's left button at a point of the window, moves it in steps and lets go at another: on what
// can be carried it is a drag of the browser, elsewhere plain mouse events. The points are in CSS pixels and stand
// at least ten apart.
func (b *Browser) Drag(fromX, fromY, toX, toY float64) {
	b.tb.Helper()
	run(b, "drag", chromedp.DragAndDropXY(fromX, fromY, toX, toY))
}

// Type replaces what stands in a field by typing, key by key. Special keys are those of package
// chromedp/kb: "text\r" ends with Enter.
func (b *Browser) Type(selector, text string) {
	b.tb.Helper()
	field := chromedp.CSS(selector)
	run(b, "go to "+selector, chromedp.Steps(chromedp.WaitVisible(field), chromedp.Focus(field)))
	// Typing replaces a selection in every kind of field, and tells the page as a person's typing does.
	b.Eval("document.querySelector("+quote(selector)+").select()", nil)
	if text == "" {
		text = kb.Backspace
	}
	// Not by chromedp.SendKeys, which reads the field's attributes while the page may be changing them.
	run(b, "type into "+selector, chromedp.KeyEvent(text))
}

// Press types keys into whatever has the focus, as for keyboard shortcuts.
func (b *Browser) Press(keys string) {
	b.tb.Helper()
	run(b, "press "+keys, chromedp.KeyEvent(keys))
}

// Choose selects the option with the value in a select element and tells the page.
func (b *Browser) Choose(selector, value string) {
	b.tb.Helper()
	b.Wait(selector)
	var there bool
	b.Eval(fmt.Sprintf(`(() => {
		const s = document.querySelector(%s)
		s.value = %s
		s.dispatchEvent(new Event("input", {bubbles: true}))
		s.dispatchEvent(new Event("change", {bubbles: true}))
		return s.value === %[2]s
	})()`, quote(selector), quote(value)), &there)
	if !there {
		b.tb.Fatalf("browsertest: choose %s: there is no option %q", selector, value)
	}
}

// Eval evaluates a JavaScript expression and decodes its value, as JSON, into out; nil throws it away. A promise
// is awaited unless scripts are off.
func (b *Browser) Eval(expression string, out any) {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	if err := b.eval(ctx, expression, out); err != nil {
		b.fail("eval "+expression, err)
	}
}

func (b *Browser) eval(ctx context.Context, expression string, out any) error {
	action := chromedp.Evaluate[string]("JSON.stringify(("+expression+") ?? null)", chromedp.EvalAsValue)
	if !b.opts.noScript {
		action = chromedp.Evaluate[string]("(async () => JSON.stringify((await ("+expression+")) ?? null))()",
			chromedp.EvalAsValue, chromedp.EvalAwaitPromise)
	}
	text, err := chromedp.Run(ctx, action)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal([]byte(text), out)
}

// Until waits until a JavaScript expression is true, for as long as patience and at least for [Patience]. The page may
// be left and loaded meanwhile.
func (b *Browser) Until(expression string, patience time.Duration) {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, max(patience, Patience))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var holds bool
		err := b.eval(ctx, "!!("+expression+")", &holds)
		if holds {
			return
		}
		select {
		case <-ctx.Done():
			b.fail("wait until "+expression, errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}

// Screenshot writes a picture of the whole page to NAME.png in the folder named by MONOLITH_SHOTS, or else in the
// test's temporary folder, and gives its path.
func (b *Browser) Screenshot(name string) (path string) {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	path, err := b.shoot(ctx, name)
	if err != nil {
		b.tb.Fatalf("browsertest: screenshot: %v", err)
	}
	return path
}

func (b *Browser) shoot(ctx context.Context, name string) (string, error) {
	dir := os.Getenv("MONOLITH_SHOTS")
	if dir == "" {
		dir = b.tb.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100)) // of quality 100 is a PNG
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+".png")
	return path, os.WriteFile(path, picture, 0o644)
}

// quote makes a JavaScript string.
func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(out)
}
