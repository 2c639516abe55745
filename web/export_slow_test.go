package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// full takes all of a room until the test ends.
func full(t *testing.T, r room) {
	t.Helper()
	leave, err := r.enter(t.Context(), roomValues, 0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(leave)
}

// TestSlowExportsHoldUpNobodyElse fills the room of exports over a range, as those do who don't read theirs: graphs, exports
// of a moment and questions whether something is new go on.
func TestSlowExportsHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	const ranged = "/api/v1/export.json?fields=status.Questions&from=-1h&to=now&step=10"
	tag := x.get(t, ranged).Header().Get("Etag")
	full(t, x.exportRoom)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	status := func(path string, header ...string) int {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		r.Host = "localhost"
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		x.Handler().ServeHTTP(w, r)
		return w.Code
	}
	if got := status("/api/v1/export.json?fields=server,status.Questions"); got != http.StatusOK {
		t.Errorf("an export of a moment: %d", got)
	}
	if got := status("/api/v1/drawings?server=%3Ddb2&graph=query-rate&from=-1h"); got != http.StatusOK {
		t.Errorf("a graph: %d", got)
	}
	if got := status(ranged, "If-None-Match", tag); got != http.StatusNotModified {
		t.Errorf("what is known already: %d", got)
	}
}

// impatient notes until when it may be written to.
type impatient struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (w *impatient) SetWriteDeadline(t time.Time) error {
	w.deadlines = append(w.deadlines, t)
	return nil
}

// TestExportCutsWhoDoesNotRead holds every part of an export to a deadline of its own.
func TestExportCutsWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/export.csv?fields=status.Questions", nil)
	r.Host = "localhost"
	w := &impatient{ResponseRecorder: httptest.NewRecorder()}
	x.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK || len(w.deadlines) < 3 { // two servers and the end
		t.Fatalf("%d, deadlines %v", w.Code, w.deadlines)
	}
	for _, d := range w.deadlines {
		if left := time.Until(d); left > exportPatience || left <= 0 {
			t.Errorf("there are %s left", left)
		}
	}
}
