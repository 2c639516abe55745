package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"monolith"
)

const (
	// framePace is the least distance between two frames of a stream. It is a little under a second: so the
	// frames for a server that is polled each second fall in step with its polls instead of behind them.
	framePace = 900 * time.Millisecond

	heartbeat     = 15 * time.Second // keeps proxies from closing a quiet stream
	writeDeadline = 10 * time.Second // a client that takes longer for one frame is cut off; it will come back
	maxStreams    = 1000
)

// live holds the newest poll of each server for the open pages. Streams read from it at their own pace:
// nothing is queued for them, so a slow one costs no memory and never delays a poll, and a frame always
// holds what is newest. What a server's entry says is encoded once, however many pages show it.
type live struct {
	states States
	now    func() time.Time
	done   chan struct{} // closed by close

	mu      sync.Mutex
	version uint64 // of the newest entry
	entries map[monolith.ServerID]*liveEntry
	epoch   uint64        // grows when servers were added, removed or renamed
	news    chan struct{} // closed, and made anew, when version or epoch grew and a stream waits
	streams int
	closed  bool
}

// liveEntry is one server's newest poll. It is immutable; a poll makes a new one.
type liveEntry struct {
	version uint64
	snap    *monolith.Snapshot
	once    sync.Once
	text    []byte // the members of its stateView as JSON, without the opening brace
}

func newLive(states States, now func() time.Time) *live {
	return &live{
		states: states, now: now, done: make(chan struct{}), news: make(chan struct{}),
		entries: map[monolith.ServerID]*liveEntry{},
	}
}

// push notes a poll.
func (l *live) push(snap *monolith.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version++
	l.entries[snap.Server] = &liveEntry{version: l.version, snap: snap}
	l.wake()
}

// inventoryChanged makes streams look again which servers they are for, and forgets those that are gone.
func (l *live) inventoryChanged(servers []monolith.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := make(map[monolith.ServerID]*liveEntry, len(servers))
	for i := range servers {
		if e := l.entries[servers[i].ID]; e != nil {
			kept[servers[i].ID] = e
		}
	}
	l.entries = kept
	l.epoch++
	l.wake()
}

// wake is called with l.mu held.
func (l *live) wake() {
	if l.streams > 0 {
		close(l.news)
		l.news = make(chan struct{})
	}
}

func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.done)
	}
}

// join counts a stream in, or refuses it.
func (l *live) join() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams >= maxStreams || l.closed {
		p := refuse(http.StatusServiceUnavailable, kindUnavailable, "too many live streams are open", "close a few pages")
		p.retryAfter = 30
		return p
	}
	l.streams++
	return nil
}

func (l *live) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams--
}

func (l *live) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams
}

// since gives the entries of some servers that are newer than a version, and what to wait on for more.
func (l *live) since(servers []monolith.Server, seen uint64) (names []string, fresh []*liveEntry, version, epoch uint64, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seen > l.version {
		seen = 0 // a number from before Monolith was started again
	}
	for i := range servers {
		if e := l.entries[servers[i].ID]; e != nil && e.version > seen {
			names, fresh = append(names, servers[i].Name), append(fresh, e)
		}
	}
	return names, fresh, l.version, l.epoch, l.news
}

// encode works out what the entry says, once.
func (l *live) encode(e *liveEntry) []byte {
	e.once.Do(func() {
		st := l.states.State(e.snap.Server)
		if st == nil || st.Seq < e.snap.Seq {
			st = st.With(e.snap)
		}
		e.text, e.snap = mustJSON(newStateView(st, l.now()))[1:], nil
	})
	return e.text
}

// frame makes the data of a "servers" event. names belong to the entries.
func (l *live) frame(names []string, entries []*liveEntry) []byte {
	out := append([]byte(`{"at":`), mustJSON(l.now())...)
	out = append(out, `,"servers":[`...)
	for i, e := range entries {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, `{"server":`...), mustJSON(names[i])...)
		out = append(append(out, ','), l.encode(e)...)
	}
	return append(out, "]}"...)
}

// stream sends what changes of the servers asked for as server-sent events: at most one frame a second
// with the newest state of those that were polled since the frame before. "servers" events carry
// {"servers": […]}; an "inventory" event says that servers were added, removed, renamed or moved.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "server", "group")
	names, group := q.texts("server", 5000), q.text("group")
	if q.err != nil {
		return q.err
	}
	ctx := r.Context()
	_, _, _, epoch, _ := s.live.since(nil, 0) // before the list is read: no change falls between
	servers, err := s.chosen(ctx, names, group)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", eventStream)
		return nil
	}
	if err := s.live.join(); err != nil {
		return err
	}
	defer s.live.leave()
	out := &eventWriter{w: w, control: http.NewResponseController(w)}
	if err := out.begin(); err != nil {
		return err
	}
	seen, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64) // 0, everything, where there is none
	pace := time.NewTimer(0)
	defer pace.Stop()
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return nil
		case <-s.live.done:
			return nil
		}
		labels, fresh, version, now, news := s.live.since(servers, seen)
		if now != epoch {
			epoch = now
			if servers, err = s.stillChosen(ctx, servers, len(names) > 0, group); err != nil {
				s.log.DebugContext(ctx, "live stream ends", "error", err)
				return nil // the browser connects again by itself
			}
			if out.event("inventory", 0, []byte("{}")) != nil {
				return nil
			}
			pace.Reset(0)
			continue
		}
		if len(fresh) > 0 {
			if out.event("servers", version, s.live.frame(labels, fresh)) != nil {
				return nil
			}
			beat.Reset(heartbeat)
		}
		seen = version
		// Whatever happens next, this stream looks again in a second at the earliest.
		pace.Reset(framePace)
		for waiting := true; waiting; {
			select {
			case <-news:
				waiting = false
			case <-beat.C:
				if out.comment("still here") != nil {
					return nil
				}
				beat.Reset(heartbeat)
			case <-ctx.Done():
				return nil
			case <-s.live.done:
				return nil
			}
		}
	}
}

// stillChosen looks a stream's servers up again: those that were named by id, so that a rename goes on
// under the new name, and whatever stands in the group now.
func (s *Server) stillChosen(ctx context.Context, before []monolith.Server, named bool, group string) ([]monolith.Server, error) {
	all, err := s.store.Servers(ctx)
	if err != nil {
		return nil, err
	}
	ids := make(map[monolith.ServerID]bool, len(before))
	for i := range before {
		ids[before[i].ID] = named
	}
	byGroup := !named || group != ""
	return slices.DeleteFunc(all, func(server monolith.Server) bool {
		return !ids[server.ID] && !(byGroup && monolith.InGroup(server.Group, group))
	}), nil
}

const eventStream = "text/event-stream"

// eventWriter writes server-sent events, each with a deadline of its own.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
}

func (e *eventWriter) begin() error {
	// The server's read deadline would end the stream: nothing more is read from it.
	if err := e.control.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	h := e.w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold frames back
	e.w.WriteHeader(http.StatusOK)
	e.buf.WriteString("retry: 3000\n\n")
	return e.flush()
}

// event writes one event; id 0 has none. data holds no line break: it is compact JSON.
func (e *eventWriter) event(name string, id uint64, data []byte) error {
	if id > 0 {
		e.buf.WriteString("id: " + strconv.FormatUint(id, 10) + "\n")
	}
	e.buf.WriteString("event: " + name + "\ndata: ")
	e.buf.Write(data)
	e.buf.WriteString("\n\n")
	return e.flush()
}

func (e *eventWriter) comment(text string) error {
	e.buf.WriteString(": " + text + "\n\n")
	return e.flush()
}

func (e *eventWriter) flush() error {
	defer e.buf.Reset()
	if err := e.control.SetWriteDeadline(time.Now().Add(writeDeadline)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := e.w.Write(e.buf.Bytes()); err != nil {
		return err
	}
	return e.control.Flush()
}
