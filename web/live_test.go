package web

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
)

// tape is a response writer that hands on what is flushed; it stands for a browser's connection.
type tape struct {
	header http.Header
	out    *io.PipeWriter
	code   int
}

func (t *tape) Header() http.Header         { return t.header }
func (t *tape) WriteHeader(code int)        { t.code = code }
func (t *tape) Write(b []byte) (int, error) { return t.out.Write(b) }
func (t *tape) Flush()                      {}

// frame is one event of a stream.
type frame struct {
	event, id string
	servers   []liveJSON
	at        time.Time // when it arrived
}

type liveJSON struct {
	Server     string
	Seq        uint64
	Up, OK     bool
	Age        *float64
	Queries    *float64
	Running    *float64 `json:"threads_running"`
	Lag        *float64
	LagUnknown bool `json:"lag_unknown"`
	Problems   int
}

// listen opens a stream and reads its events until ctx ends.
func (x *site) listen(t *testing.T, ctx context.Context, target string, header ...string) (frames chan frame, ended chan struct{}) {
	in, out := io.Pipe()
	frames, ended = make(chan frame, 100), make(chan struct{})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) == 2 {
		r.Header.Set(header[0], header[1])
	}
	go func() {
		defer close(ended)
		x.Handler().ServeHTTP(&tape{header: http.Header{}, out: out}, r)
		out.Close()
	}()
	go func() {
		defer close(frames)
		var f frame
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "event":
				f.event = value
			case "id":
				f.id = value
			case "data":
				var v struct{ Servers []liveJSON }
				if err := json.Unmarshal([]byte(value), &v); err != nil {
					t.Errorf("frame %q: %v", value, err)
				}
				f.servers = v.Servers
			case "":
				if lines.Text() == "" {
					if f.event != "" {
						f.at = time.Now()
						frames <- f
					}
					f = frame{}
				} else {
					frames <- frame{event: "comment", at: time.Now()}
				}
			}
		}
	}()
	return frames, ended
}

func (x *site) polled(snap *monolith.Snapshot) {
	x.poller.take(snap)
	x.Push(context.Background(), snap)
}

func TestLiveFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		a, b := x.add(t, "a/1", ""), x.add(t, "b", "")
		ctx, cancel := context.WithCancel(t.Context())
		frames, ended := x.listen(t, ctx, "/api/v1/live?server=a%2F1")
		synctest.Wait()
		lag := int64(12)
		x.polled(poll(a.ID, 1, 100, &lag))
		x.polled(poll(b.ID, 1, 100, nil))
		f := <-frames
		if f.event != "servers" || f.id == "" || len(f.servers) != 1 || f.servers[0].Server != "a/1" || f.servers[0].Seq != 1 {
			t.Fatalf("the first frame is %+v", f)
		}
		if s := f.servers[0]; !s.Up || !s.OK || s.Queries != nil || *s.Running != 7 || *s.Lag != 12 {
			t.Errorf("the first frame says %+v", s)
		}
		// Ten polls within a second make one frame, and it holds the newest.
		for seq := uint64(2); seq <= 11; seq++ {
			x.polled(poll(a.ID, seq, 100*seq, nil))
		}
		g := <-frames
		if g.servers[0].Seq != 11 || g.at.Sub(f.at) < framePace {
			t.Errorf("after %v the frame has seq %d", g.at.Sub(f.at), g.servers[0].Seq)
		}
		if s := g.servers[0]; s.Queries == nil || *s.Queries != 9.5 || s.Lag != nil || !s.LagUnknown {
			t.Errorf("the frame says %+v", s)
		}
		// Nothing happens: no frame, only signs of life. Other servers' polls wake nobody.
		x.polled(poll(b.ID, 2, 200, nil))
		if h := <-frames; h.event != "comment" || h.at.Sub(g.at) < heartbeat {
			t.Errorf("got %+v after %v", h, h.at.Sub(g.at))
		}
		cancel()
		<-ended
		if n := x.live.open(); n != 0 {
			t.Errorf("%d streams are still counted", n)
		}
		for range frames {
		}
	})
}

// A client that does not read is sent nothing more, costs nothing, and gets the newest when it reads on.
func TestLiveSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		a := x.add(t, "a", "")
		ctx, cancel := context.WithCancel(t.Context())
		in, out := io.Pipe()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/live", nil)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			x.Handler().ServeHTTP(&tape{header: http.Header{}, out: out}, r)
		}()
		for seq := uint64(1); seq <= 1000; seq++ {
			x.polled(poll(a.ID, seq, seq, nil)) // must not block though nobody reads
			<-time.After(10 * time.Second)      // the bubble's clock
		}
		go io.Copy(io.Discard, in)
		cancel()
		<-ended
		in.Close()
	})
}

func TestLiveFollowsRenames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		a := x.add(t, "old", "")
		ctx, cancel := context.WithCancel(t.Context())
		frames, ended := x.listen(t, ctx, "/api/v1/live?server=old")
		synctest.Wait()
		if got := x.do(t, http.MethodPatch, "/api/v1/servers/old", `{"name":"new"}`); got.Code != http.StatusOK {
			t.Fatal(got.body)
		}
		if f := <-frames; f.event != "inventory" {
			t.Fatalf("got %+v", f)
		}
		x.polled(poll(a.ID, 1, 100, nil))
		if f := <-frames; len(f.servers) != 1 || f.servers[0].Server != "new" {
			t.Errorf("got %+v", f)
		}
		cancel()
		<-ended
		for range frames {
		}
	})
}

func TestLiveFollowsTheGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		in := x.add(t, "in", "acme/prod")
		ctx, cancel := context.WithCancel(t.Context())
		frames, ended := x.listen(t, ctx, "/api/v1/live?group=acme")
		synctest.Wait()
		if got := x.do(t, http.MethodPost, "/api/v1/servers", `{"name":"joins","group":"acme/dev","endpoint":{"host":"h"}}`); got.Code != http.StatusCreated {
			t.Fatal(got.body)
		}
		if got := x.do(t, http.MethodPatch, "/api/v1/servers/in", `{"group":"other"}`); got.Code != http.StatusOK {
			t.Fatal(got.body)
		}
		if f := <-frames; f.event != "inventory" {
			t.Fatalf("got %+v", f)
		}
		joins, err := x.store.Server(ctx, "joins")
		if err != nil {
			t.Fatal(err)
		}
		x.polled(poll(in.ID, 1, 1, nil))
		x.polled(poll(joins.ID, 1, 1, nil))
		if f := <-frames; len(f.servers) != 1 || f.servers[0].Server != "joins" {
			t.Errorf("got %+v", f)
		}
		cancel()
		<-ended
		for range frames {
		}
	})
}

func TestLiveResumesAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		a, b := x.add(t, "a", ""), x.add(t, "b", "")
		x.polled(poll(a.ID, 1, 1, nil))
		x.polled(poll(b.ID, 1, 1, nil))
		frames, ended := x.listen(t, t.Context(), "/api/v1/live", "Last-Event-ID", "1")
		if f := <-frames; len(f.servers) != 1 || f.servers[0].Server != "b" {
			t.Errorf("what was seen already comes again: %+v", f)
		}
		x.live.close()
		<-ended
		for range frames {
		}
		got := x.get(t, "/api/v1/live")
		wantProblem(t, got, http.StatusServiceUnavailable, kindUnavailable, "")
	})
	x := newSite(t)
	wantProblem(t, x.get(t, "/api/v1/live?server=nobody"), http.StatusNotFound, kindNotFound, "server")
}
