// Package web serves the pages, the JSON and XML API, the live stream and Monolith's own metrics.
//
// Everything goes through one chi router that [Server.Handler] gives. To add a page: a file
// page_<name>.go, a template, a line in page_routes.go. To add to the API: a handler in api_<topic>.go,
// a line in routes.go, a section in docs/api.md (a test compares the two).
//
// Texts that came from monitored servers are hostile: they leave through html/template, encoding/json
// or the XML writer, never by joining strings.
package web

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"monolith"
	"monolith/graph"
)

// Config is what a [Server] is made of.
type Config struct {
	Store  Store
	Poller Poller
	// Alerts is the rule engine; nil: nothing is judged, and what is about alerts is not found.
	Alerts Alerts
	// Telling is who is told of alerts, and how; nil: nobody is, and what is about it is not found.
	Telling Telling
	// Feeds gives what feeds of alerts tell; nil: there are none.
	Feeds FeedSource
	// Exports keeps exports under names; nil: none are kept.
	Exports ExportProfiles
	// Instance is an id of this installation that never changes: ids in feeds begin with it.
	Instance string
	// OnChange is called after servers or groups were changed, so that polling follows. nil: nobody cares.
	OnChange func(ctx context.Context)
	// CheckSchedule tells whether a schedule can be read in a zone, by an [monolith.InvalidError]. nil
	// accepts everything.
	CheckSchedule func(expression, zone string) error
	// Collectors are those that can be switched off, with Name, Title and Help. nil accepts every name.
	Collectors []monolith.CollectorStatus
	// BasePath is what stands before every path when a proxy serves Monolith under it: "" or "/x".
	BasePath string
	// Hosts are the names, without ports, that Monolith answers to besides those of the loopback.
	Hosts   []string
	Version string
	Log     *slog.Logger     // nil discards
	Now     func() time.Time // nil is [time.Now]
}

// Validate gives an [monolith.InvalidError] naming what makes no sense.
func (c *Config) Validate() error {
	if c.Store == nil || c.Poller == nil {
		return errors.New("web: config: a store and a poller are needed")
	}
	if b := c.BasePath; b != "" {
		u, err := url.Parse(b)
		if err != nil || u.Path != b || !strings.HasPrefix(b, "/") || strings.HasSuffix(b, "/") ||
			strings.Contains(b, "//") || strings.ContainsAny(b, "{}*%\"'<> ") {
			return monolith.Invalid("base-path", fmt.Sprintf("%q is not a base path", b), `such as "/monolith", without a slash at its end`)
		}
	}
	for _, h := range c.Hosts {
		if h == "" || strings.ContainsAny(h, "/ *") || hostName(h) != strings.TrimSuffix(strings.ToLower(h), ".") {
			return monolith.Invalid("host", fmt.Sprintf("%q is not a host name", h), "a name or an address, without scheme and port")
		}
	}
	return nil
}

// Server answers HTTP. Its methods may be called from any goroutine.
type Server struct {
	cfg          Config
	store        Store // = inventory
	inventory    *inventory
	poller       Poller
	alerts       Alerts // nil: there is no rule engine
	log          *slog.Logger
	now          func() time.Time
	base         string
	hosts        []string
	started      time.Time
	live         *live
	metrics      *metrics
	assets       *assets
	availability availability
	feeds        feedCache
	unknowns     unknowns
	judging      judging
	room         room          // where lines are worked out
	exportRoom   room          // the same for exports over a range, which those who read slowly hold for long
	tagSeed      maphash.Seed  // of the ETags of answers
	tests        chan struct{} // holds one entry for each connection test that runs
	root         *chi.Mux
	handler      http.Handler
}

// New makes a server. It listens nowhere before [Server.Serve].
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{
		cfg: cfg, poller: cfg.Poller, alerts: cfg.Alerts, log: cfg.Log, now: cfg.Now, base: cfg.BasePath,
		started: cfg.Now(), tests: make(chan struct{}, 8), room: newRoom(), exportRoom: newRoom(),
		tagSeed: maphash.MakeSeed(),
	}
	s.inventory = &inventory{Store: cfg.Store, now: cfg.Now, log: cfg.Log}
	s.store = s.inventory
	for _, h := range cfg.Hosts {
		s.hosts = append(s.hosts, hostName(h))
	}
	graph.Catalogue() // a mistake in an embedded graph shows at the start, not at the first page
	var err error
	if s.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	s.live = newLive(s.poller, s.now)
	s.metrics = newMetrics(s)
	s.handler = s.router()
	return s, nil
}

// Handler gives the whole site.
func (s *Server) Handler() http.Handler { return s.handler }

// Push tells the open pages and the metrics what a poll gave. The poller calls it after each poll, once
// its own state has the snapshot. It never blocks.
func (s *Server) Push(ctx context.Context, snap *monolith.Snapshot) {
	s.metrics.observe(snap)
	s.live.push(snap)
}

// Serve answers on a listener until ctx ends, then lets requests in flight finish for five seconds and
// closes the live streams.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	h := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      requestTimeout + 10*time.Second, // the live stream sets its own
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10, // a page may ask for a thousand servers by name
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return streams },
	}
	s.remember(ctx)
	done := make(chan error, 1)
	go func() { done <- h.Serve(l) }()
	select {
	case err := <-done:
		return fmt.Errorf("web: serve: %w", err)
	case <-ctx.Done():
	}
	s.live.close()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := h.Shutdown(limit)
	if errors.Is(err, context.DeadlineExceeded) {
		endStreams()
		err = h.Close()
	}
	<-done
	if err != nil {
		return fmt.Errorf("web: shut down: %w", err)
	}
	return nil
}

// remember reads the lists that pages need even when the store goes before the first of them is asked for.
func (s *Server) remember(ctx context.Context) {
	_, err := s.store.Servers(ctx)
	if err == nil {
		_, err = s.store.Groups(ctx)
	}
	if err != nil {
		s.log.WarnContext(ctx, "the list of servers can't be read", "error", err)
	}
}

// link makes the path of a page or an API resource: every part is escaped, so that a name with a slash
// stays one part. It is the only place where paths are made. A part of dots alone would be resolved away by
// clients even so: names like that are refused where servers are made.
func (s *Server) link(parts ...string) string {
	var b strings.Builder
	b.WriteString(s.base)
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(p))
	}
	if len(parts) == 0 {
		b.WriteByte('/')
	}
	return b.String()
}

// pathValue gives a part of the path as people wrote it, unescaped.
func pathValue(r *http.Request, key string) string {
	// The router sees the escaped path (see escapedRouting), whose escapes are valid: it was parsed.
	v, err := url.PathUnescape(chi.URLParam(r, key))
	if err != nil {
		return chi.URLParam(r, key)
	}
	return v
}

// escapedRouting lets chi route by the path as it was sent, always: then a%2Fb is one part, and every
// parameter is unescaped exactly once.
func escapedRouting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chi.RouteContext(r.Context()).RoutePath = r.URL.EscapedPath()
		next.ServeHTTP(w, r)
	})
}

// handler answers a request or says why it can't; what is returned becomes a problem document or a page.
type handler func(w http.ResponseWriter, r *http.Request) error

// handle makes an http handler.
func (s *Server) handle(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	}
}

// observe logs, counts and survives every request.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now() // a length of time, not a moment: the injected clock may stand still
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		broken := s.survive(ww, r, next)
		took, status := time.Since(began), ww.Status()
		if status == 0 { // nothing was written: net/http says 200, unless nobody is there any more
			status = http.StatusOK
			if r.Context().Err() != nil {
				status = statusClientGone
			}
		}
		if ww.Header().Get("Content-Type") != eventStream { // how long a page stood open is no figure of ours
			s.metrics.request(r.Method, chi.RouteContext(r.Context()).RoutePattern(), status, took)
		}
		s.log.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path,
			"status", status, "bytes", ww.BytesWritten(), "took", took)
		if broken {
			panic(http.ErrAbortHandler)
		}
	})
}

// statusClientGone stands in figures for requests whose client left before the answer.
const statusClientGone = 499

// survive serves a request and turns a panic into a problem. broken says that part of an answer was out
// already: the connection must be cut, or the part would be taken for the whole.
func (s *Server) survive(w middleware.WrapResponseWriter, r *http.Request, next http.Handler) (broken bool) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler {
			broken = true
			return
		}
		p := s.internal(r, fmt.Errorf("panic: %v", v), "stack", string(debug.Stack()))
		if broken = w.Status() != 0; !broken {
			writeProblem(w, r, p)
		}
	}()
	next.ServeHTTP(w, r)
	return false
}
