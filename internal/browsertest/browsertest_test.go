package browsertest

import (
	"bytes"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

const page = `<!doctype html><html lang=en><title>A page</title><link rel=icon href="data:,">
<style>body{background:white} @media (prefers-color-scheme: dark){body{background:black}}</style>
<p id=late hidden>came late</p><noscript><p id=plain>no script</p></noscript>
<form><input name=q value=old><select name=s><option>a<option>b</select><button type=button>Go</button></form><output></output>
<script nonce=n>
document.querySelector("button").onclick = () => {
	document.querySelector("output").textContent = document.querySelector("input").value + document.querySelector("select").value
	setTimeout(() => document.getElementById("late").hidden = false, 100)
}
</script>`

func serve(t *testing.T, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; script-src 'nonce-n'")
		w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestBrowserReadsClicksAndTypes(t *testing.T) {
	t.Parallel()
	b := New(t, Dark(), Width(600))
	b.Open(serve(t, page))
	b.Type("input", "new")
	b.Choose("select", "b")
	b.Click("button")
	b.Wait("#late")
	b.Until(`document.querySelector("output").textContent === "newb"`, 0)
	if text := b.Text("output"); text != "newb" {
		t.Errorf("text %q", text)
	}
	var seen struct {
		Width int
		Color string
	}
	b.Eval(`({width: innerWidth, color: getComputedStyle(document.body).backgroundColor})`, &seen)
	if seen.Width != 600 || seen.Color != "rgb(0, 0, 0)" {
		t.Errorf("%+v", seen)
	}
	picture, err := os.ReadFile(b.Screenshot("page"))
	if err != nil {
		t.Fatal(err)
	}
	if config, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || config.Width != 600 {
		t.Errorf("%+v, %v", config, err)
	}
}

// TestTypeReplaces types into fields of several kinds that people have changed already, in which the attribute
// "value" is no longer what stands there.
func TestTypeReplaces(t *testing.T) {
	t.Parallel()
	for _, options := range [][]Option{nil, {NoScript()}} {
		b := New(t, options...)
		b.Open(serve(t, `<!doctype html><html lang=en><title>Fields</title><link rel=icon href="data:,"><form>
			<input id=text value=old><input id=number type=number value=3306><input id=password type=password value=secret>
			<input id=search type=search value=old><textarea id=area>old
lines</textarea></form>`))
		for _, id := range []string{"text", "number", "password", "search", "area"} {
			for _, text := range []string{"14539", "5", "", "27"} {
				b.Type("#"+id, text)
				var value string
				b.Eval("document.getElementById("+quote(id)+").value", &value)
				if value != text {
					t.Errorf("%s: typed %q, there is %q", id, text, value)
				}
			}
		}
	}
}

func TestBrowserWithoutScript(t *testing.T) {
	t.Parallel()
	b := New(t, NoScript())
	b.Open(serve(t, page))
	if text := b.Text("#plain"); text != "no script" {
		t.Errorf("text %q", text)
	}
	var width int
	b.Eval("innerWidth", &width)
	if width != 1280 {
		t.Errorf("width %d", width)
	}
}

func TestBrowserCollectsErrors(t *testing.T) {
	t.Parallel()
	b := New(t)
	b.Open(serve(t, `<!doctype html><title>wrong</title><link rel=icon href="data:,"><img src=/missing.png>
		<script>alert("not allowed by the policy")</script>
		<script nonce=n>console.error("said by the page"); setTimeout(() => { throw new Error("thrown by the page") })</script>`))
	wanted := []string{"404", "Content Security Policy", "said by the page", "thrown by the page"}
	deadline := time.After(Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var all string
	for {
		all += strings.Join(b.TakeErrors(), "\n")
		left := 0
		for _, text := range wanted {
			if !strings.Contains(all, text) {
				left++
			}
		}
		if left == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d of %q are missing in:\n%s", left, wanted, all)
		case <-tick.C:
		}
	}
}

func TestBrowserFailsTheTestThatLeavesErrors(t *testing.T) {
	t.Parallel()
	for _, allow := range []bool{false, true} {
		inner := &recorder{TB: t}
		b := New(inner)
		if allow {
			b.Allow("said by")
		}
		b.Open(serve(t, `<!doctype html><title>wrong</title><link rel=icon href="data:,"><script nonce=n>console.error("said by the page")</script>`))
		inner.end()
		if failed := inner.failed != ""; failed == allow {
			t.Errorf("allowed %v, failed %q", allow, inner.failed)
		}
	}
}

// recorder is a test that ends when told.
type recorder struct {
	testing.TB
	cleanups []func()
	failed   string
}

func (r *recorder) Cleanup(f func())               { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, _ ...any) { r.failed = format }

func (r *recorder) end() {
	for _, f := range r.cleanups {
		f()
	}
}
