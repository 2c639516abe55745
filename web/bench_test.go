package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkSeries answers a dashboard of 20 series with 720 points: what it costs beside history.
func BenchmarkSeries(b *testing.B) {
	x := newSite(b)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		x.add(b, name, "g")
	}
	target := "http://localhost/api/v1/series?group=g&expr=status.Threads_running&expr=rate(status.Questions)&from=-2h&step=10"
	for b.Loop() {
		w := httptest.NewRecorder()
		x.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if w.Code != http.StatusOK || strings.Count(w.Body.String(), `"server"`) != 20 {
			b.Fatal(w.Code)
		}
		b.SetBytes(int64(w.Body.Len()))
	}
}
