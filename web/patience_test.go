package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
)

// hung waits until somebody's patience ends, and answers as a store does then.
func hung(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("store: %w: %w", monolith.ErrUnavailable, ctx.Err())
}

// The parts of a site whose store hangs.
type (
	hungFeeds   struct{ FeedSource }
	engine      = Alerts // its name would hide a method
	hungAlerts  struct{ engine }
	hungTelling struct{ Telling }
	stuckStore  struct{ Store }
)

func (hungFeeds) NewestEvents(ctx context.Context, _ monolith.AlertEventQuery) ([]monolith.AlertEvent, error) {
	return nil, hung(ctx)
}

func (hungAlerts) Alert(ctx context.Context, _ monolith.AlertID) (monolith.Alert, error) {
	return monolith.Alert{}, hung(ctx)
}

func (hungAlerts) Alerts(ctx context.Context, _ monolith.AlertQuery) ([]monolith.Alert, error) {
	return nil, hung(ctx)
}

func (hungAlerts) Acknowledge(ctx context.Context, _ monolith.AlertID, _, _ string) (monolith.Alert, error) {
	return monolith.Alert{}, hung(ctx)
}

func (hungAlerts) MaintenanceWindows(ctx context.Context) ([]monolith.MaintenanceWindow, error) {
	return nil, hung(ctx)
}

func (hungTelling) Subscriptions(ctx context.Context) ([]monolith.Subscription, error) {
	return nil, hung(ctx)
}

func (hungTelling) Delivery(ctx context.Context, _ int64) (monolith.Delivery, error) {
	return monolith.Delivery{}, hung(ctx)
}

func (hungTelling) PutSubscription(ctx context.Context, _ *monolith.Subscription) error {
	return hung(ctx)
}

func (s stuckStore) AddServer(ctx context.Context, _ *monolith.Server) error { return hung(ctx) }

func (s stuckStore) Read(ctx context.Context, _ monolith.Query) (*monolith.Range, error) {
	return nil, hung(ctx)
}

// A store that hangs is unavailable, and soon: to programs with a problem and when to come again, to people with a page.
func TestStoreThatHangs(t *testing.T) {
	for _, ask := range []struct{ method, path, body string }{
		{http.MethodGet, "/feeds/warn.rss", ""},
		{http.MethodGet, "/feeds/critical.json?group=acme", ""},
		{http.MethodGet, "/feeds/maintenance.ics", ""},
		{http.MethodGet, "/api/v1/alerts/7", ""},
		{http.MethodGet, "/api/v1/alerts?state=closed", ""},
		{http.MethodPost, "/api/v1/alerts/7/ack", `{"by":"eve"}`},
		{http.MethodGet, "/api/v1/subscriptions", ""},
		{http.MethodPost, "/api/v1/servers", `{"name":"db2","endpoint":{"host":"db2.example"}}`},
		{http.MethodGet, "/alerts/7", ""},
		{http.MethodGet, "/deliveries/7", ""},
	} {
		t.Run(ask.method+" "+ask.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newSite(t, func(c *Config) {
					c.Feeds, c.Alerts, c.Telling, c.Store = hungFeeds{c.Feeds}, hungAlerts{c.Alerts}, hungTelling{c.Telling}, stuckStore{c.Store}
				})
				x.add(t, "db1", "acme")
				asked := time.Now()
				page := !strings.HasPrefix(ask.path, "/api") && !strings.HasPrefix(ask.path, "/feeds")
				accept := "*/*"
				if page {
					accept = "text/html"
				}
				w := x.do(t, ask.method, ask.path, ask.body, "Content-Type", "application/json", "Accept", accept)
				if took := time.Since(asked); w.Code != http.StatusServiceUnavailable || took > storePatience || w.Header().Get("Retry-After") == "" {
					t.Errorf("%d after %s, Retry-After %q: %s", w.Code, took, w.Header().Get("Retry-After"), w.body)
				}
				if page && !strings.Contains(w.body, "<html") {
					t.Errorf("no page: %s", w.body)
				}
			})
		})
	}
}

// What is long by itself may take longer than what the store is waited for.
func TestLongRequestsAreNotCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, func(c *Config) { c.Store = stuckStore{c.Store} })
		x.add(t, "db1", "")
		for path, least := range map[string]time.Duration{"/api/v1/series?server=db1&expr=status.Questions": requestTimeout, "/api/v1/export.json?fields=status.Questions&from=-1h&step=1m": requestTimeout} {
			asked := time.Now()
			w := x.get(t, path)
			if took := time.Since(asked); took < least || took > least+time.Second {
				t.Errorf("%s: %d after %s: %s", path, w.Code, took, w.body)
			}
		}
	})
}
