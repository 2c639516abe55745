package web

import (
	"net/http/httptest"
	"testing"
	"time"

	"monolith/internal/browsertest"
)

// openFleet serves an invented fleet and opens a browser on it. Its clock is the real one, since the
// script has no other.
func openFleet(t *testing.T, n int, opts ...browsertest.Option) (*site, *browsertest.Browser, string) {
	t.Helper()
	x := newFleet(t, n, func(c *Config) { c.Now = time.Now })
	server := httptest.NewServer(x.Handler())
	t.Cleanup(func() { x.live.close(); server.Close() })
	return x, browsertest.New(t, opts...), server.URL
}

func TestBrowserServerPage(t *testing.T) {
	_, b, url := openFleet(t, 3, browsertest.Dark(), browsertest.Width(1440))
	b.Open(url + "/servers/db1")
	b.Wait("figure[data-graph=query-rate] canvas")
	b.Until("document.querySelectorAll('.graph canvas').length > 12", browsertest.Patience)
	b.Screenshot("server-dark-wide")
}
