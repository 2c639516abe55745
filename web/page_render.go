package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"monolith"
)

//go:embed templates/*.html
var templateFiles embed.FS

// views are the pages: one template set a file, each with the frame and the shared parts. Each is parsed when it is first
// asked for, and once: a set takes 300 kB, all of them together as much as everything else that watches three servers, and
// most are looked at rarely. A mistake in one panics, since the binary itself is broken then; TestViews finds it.
var views = sync.OnceValue(func() map[string]func() *template.Template {
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(fmt.Sprintf("web: templates: %v", err))
	}
	common := []string{"templates/frame.html", "templates/parts.html", "templates/alert_parts.html", "templates/alert_told.html", "templates/telling_parts.html"}
	all := make(map[string]func() *template.Template, len(names))
	for _, name := range names {
		if !slices.Contains(common, name) {
			files := append(slices.Clone(common), name)
			all[strings.TrimSuffix(path.Base(name), ".html")] = sync.OnceValue(func() *template.Template {
				return template.Must(template.New("").Funcs(viewFuncs).Funcs(alertFuncs).ParseFS(templateFiles, files...))
			})
		}
	}
	return all
})

// pageBase is what the frame around every page needs; page structs embed it.
type pageBase struct {
	Title string
	Nav   string // which entry of the bar is current: servers, graphs, settings
	URL   *url.URL
	Theme string // light, dark, or "" for what the system says
	Zone  string // IANA name; "" for the browser's own, which the server writes as UTC
	Now   time.Time
	Flash string // one sentence about what was just done
	// NoZone is a time zone that the address asks for and that does not exist.
	NoZone string

	Unread []string // what a store that does not answer could not tell

	// Judged says that there is a rule engine; Alarm is what is open.
	Judged bool
	Alarm  alarm

	// Scripted says that the bundle was built: graphs are then drawn in the browser.
	Scripted      bool
	CSS, JS, Icon string

	by       string // the name that this browser gave last
	location *time.Location
	link     func(parts ...string) string
	trouble  func() *storeTrouble
	status   func() monolith.TellingStatus // of telling people; nil: nobody could be told
	feeds    url.Values                    // what the page's feeds are narrowed to; nil: it has none
}

// pageBase gives the frame of a page.
func (s *Server) pageBase(r *http.Request, title, nav string) pageBase {
	b := pageBase{
		Title: title, Nav: nav, URL: r.URL, Now: s.now(), location: time.UTC, link: s.link, trouble: s.trouble,
		CSS: s.link("assets", s.assets.path("app.css")), Icon: s.link("assets", s.assets.path("icon.svg")),
	}
	b.Judged, b.Alarm, b.by = s.alerts != nil, s.alarm(), rememberedName(r)
	if b.feeds = s.feedsOf(r); s.cfg.Telling != nil {
		b.status = s.cfg.Telling.TellingStatus
	}
	if js := s.assets.path("app.js"); js != "" {
		b.Scripted, b.JS = true, s.link("assets", js)
	}
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		b.Theme = c.Value
	}
	if c, err := r.Cookie("zone"); err == nil {
		if name, err := url.QueryUnescape(c.Value); err == nil {
			b.setZone(name)
		}
	}
	if tz := r.URL.Query().Get("tz"); tz != "" && !b.setZone(tz) {
		b.NoZone = tz
	}
	if r.Method != http.MethodPost { // a form that comes back with its error was sent from an address that tells what was done before
		b.Flash = flashes[r.URL.Query().Get("done")]
	}
	return b
}

// Trouble is nil while the store works. It is asked when the page is written: what the page itself reads may be what
// meets a store that is gone.
func (b pageBase) Trouble() *storeTrouble { return b.trouble() }

// setZone chooses a zone by its IANA name, or the browser's own by "browser". One that does not exist changes
// nothing and gives false.
func (b *pageBase) setZone(name string) bool {
	if name == "browser" {
		b.Zone, b.location = "", time.UTC
		return true
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return false
	}
	b.Zone, b.location = name, loc
	return true
}

// flashes are the sentences shown after something was done; the address carries only their names.
var flashes = map[string]string{
	"added":    "The server was added. Every collector is running once now.",
	"saved":    "Saved.",
	"removed":  "The server and its history were removed.",
	"paused":   "Polling is paused.",
	"resumed":  "Polling goes on.",
	"polled":   "Every collector of the server runs now.",
	"reading":  "The process list is being read; it stands here in a moment.",
	"noted":    "The note stands on the time axis.",
	"unnoted":  "The note is gone.",
	"deleted":  "Deleted.",
	"arranged": "The order was changed.",

	"acked":         "The alert is acknowledged.",
	"taken":         "The alert is taken.",
	"silenced":      "Nobody is told of the alert until the silence ends. It still stands here.",
	"unsilenced":    "The silence has ended.",
	"alert-noted":   "The note stands in the alert's history.",
	"limits":        "The rule's settings are kept. They hold from the next poll on.",
	"copied":        "The settings of rules were copied.",
	"rule-saved":    "The rule is kept and judges from the next poll on.",
	"channel-saved": "The channel is kept. Send a test to see that it works.",
	"subscribed":    "The subscription is kept. It holds for what happens from now on.",
	"retried":       "The message is sent once more.",
	"text-saved":    "The text is kept and used from the next message on.",
	"text-reset":    "The built-in text is used again.",
	"beating":       "Kept. The address is called from now on.",
	"export-saved":  "The export is kept under its name.",

	"quiet-saved": "Kept. Alerts are still judged and shown, but nobody is told meanwhile.",
}

// unread notes what a store that does not answer could not tell; other errors it gives back.
func (b *pageBase) unread(err error, what string) error {
	if unanswered(err) {
		b.Unread = append(b.Unread, what)
		return nil
	}
	return err
}

// At gives an address of ours, with each part escaped: {{.At "servers" .Name}}.
func (b pageBase) At(parts ...string) string { return b.link(parts...) }

// With gives the present address with query parameters set ("" removes one): {{.With "sort" "name"}}.
func (b pageBase) With(pairs ...string) string {
	q := b.URL.Query()
	q.Del("done")
	q.Del("page") // another list has other pages
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		} else {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return b.URL.EscapedPath()
	}
	return b.URL.EscapedPath() + "?" + q.Encode()
}

// Param gives a query parameter of the present address.
func (b pageBase) Param(name string) string { return b.URL.Query().Get(name) }

// show renders a view into memory first, so that a page is never half an answer.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, view, block string, data any) error {
	parsed := views()[view]
	if parsed == nil {
		return fmt.Errorf("web: there is no view %q", view)
	}
	var out bytes.Buffer
	if err := parsed().ExecuteTemplate(&out, block, data); err != nil {
		return fmt.Errorf("web: render %s: %w", view, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Cookie")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(out.Bytes()) // the reader is gone when this fails
	}
	return nil
}

// render answers with a whole page.
func (s *Server) render(w http.ResponseWriter, r *http.Request, view string, data any) error {
	return s.show(w, r, http.StatusOK, view, "frame", data)
}

// back answers a form: the browser goes to an address of ours, which says what was done.
func (s *Server) back(w http.ResponseWriter, r *http.Request, to, done string) {
	if done != "" {
		sep := "?"
		if strings.Contains(to, "?") {
			sep = "&"
		}
		to += sep + "done=" + done
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}
