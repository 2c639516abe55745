package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"monolith"
	"monolith/alerts"
	"monolith/alerts/notify"
	"monolith/graph"
)

// instanceKey is where the store keeps the id of the installation.
const instanceKey = "instance"

// instance gives the random id of the installation that the store belongs to. The first one to ask makes it.
func (a *app) instance(ctx context.Context) (string, error) {
	id, err := a.db.Setting(ctx, instanceKey)
	if !errors.Is(err, monolith.ErrNotFound) {
		return id, err
	}
	id = strings.ToLower(rand.Text())
	return id, a.db.SetSetting(ctx, instanceKey, id)
}

// polled are the servers that are polled now.
type polled struct {
	mu  sync.Mutex
	ids []monolith.ServerID
}

func (w *polled) set(servers []monolith.Server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = nil
	for i := range servers {
		if !servers[i].Paused {
			w.ids = append(w.ids, servers[i].ID)
		}
	}
}

func (w *polled) list() []monolith.ServerID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ids
}

// tell makes the part that tells people of alerts. What it asks of the rules is there before it is asked.
func (a *app) tell(c *serveCommand, instance string) error {
	base, err := c.publicURL()
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	a.telling = alerts.NewTelling(alerts.TellingConfig{
		Store:    a.db,
		Open:     func() []monolith.Alert { return a.alerts.Open() },
		Alert:    func(ctx context.Context, id monolith.AlertID) (monolith.Alert, error) { return a.alerts.Alert(ctx, id) },
		Subject:  func(id monolith.ServerID) *notify.Subject { return a.alerts.Subject(id) },
		About:    func(rule string) string { return a.alerts.About(rule) },
		Changes:  a.changes,
		Servers:  a.db.Servers,
		Groups:   a.db.Groups,
		Alive:    a.alive,
		Base:     func() string { return base },
		Graph:    a.alertGraph,
		Hour:     a.lastHour,
		Hostname: host,
		Instance: instance,
		KnownRule: func(rule string) bool {
			_, ok := a.ruleInfo(rule)
			return ok
		},
		Log: a.log.With("part", "telling"),
	})
	return nil
}

func (a *app) ruleInfo(rule string) (monolith.RuleInfo, bool) {
	for _, r := range a.alerts.Rules() {
		if r.ID == rule {
			return r, true
		}
	}
	return monolith.RuleInfo{}, false
}

// publicURL gives the address under which people reach the pages, for links in messages.
func (c *serveCommand) publicURL() (string, error) {
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return "", monolith.Invalid("public-url", fmt.Sprintf("%q is not an address of the pages", c.PublicURL), "such as https://monitor.example.com/monolith")
		}
		return strings.TrimRight(u.String(), "/"), nil
	}
	if len(c.Host) > 0 {
		return "https://" + c.Host[0] + c.BasePath, nil
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil || port == "0" {
		return "", nil // nobody knows the port yet
	}
	return "http://" + net.JoinHostPort(host, port) + c.BasePath, nil
}

// alive says why servers can't be watched now; nil when they can.
func (a *app) alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := a.db.Ping(ctx); err != nil {
		return fmt.Errorf("the store does not answer: %w", err)
	}
	ids := a.watched.list()
	for _, id := range ids {
		if st := a.poller.State(id); st != nil && time.Since(st.At) <= 3*st.Interval+time.Minute {
			return nil
		}
	}
	if len(ids) > 0 {
		return errors.New("no server was polled lately")
	}
	return nil
}

// written is how long after a poll its changes stand in the store, if all is well.
const written = time.Second

// changes reads what changed on a server. What belongs to a poll of this moment is waited for: a change of a variable and the
// alert that it causes come with the same poll, and the alert is told faster than the change is written.
func (a *app) changes(ctx context.Context, q monolith.ChangeQuery) ([]monolith.Change, error) {
	if wait := time.Until(q.To.Add(written)); wait > 0 {
		timer := time.NewTimer(min(wait, 2*written))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return a.db.Changes(ctx, q)
}

// The picture of a message: the hours around the opening of the alert.
const (
	pictureBefore = 2 * time.Hour
	pictureAfter  = 30 * time.Minute
	pictureStep   = 30 * time.Second
)

var errNoGraph = errors.New("there is no graph for it")

// catalogued gives the graph that a rule names; nil: there is none.
func catalogued(name string) *graph.Graph {
	for _, g := range graph.Catalogue() {
		if name != "" && (g.ID == name || g.Plan == name) {
			return g
		}
	}
	return nil
}

// alertGraph draws the graph that shows what an alert is about.
func (a *app) alertGraph(ctx context.Context, alert *monolith.Alert) ([]byte, error) {
	info, ok := a.ruleInfo(alert.Rule)
	if !ok || info.Graph == "" || alert.Server == 0 {
		return nil, errNoGraph
	}
	g := catalogued(info.Graph)
	if g == nil {
		return nil, errNoGraph
	}
	to := alert.Opened.Add(pictureAfter)
	if now := time.Now(); now.Before(to) {
		to = now
	}
	target := graph.Target{ID: alert.Server, Name: alert.ServerName, State: a.poller.State(alert.Server)}
	drawings, err := graph.Draw(ctx, a.db, target, graph.Request{From: alert.Opened.Add(-pictureBefore), To: to, Step: pictureStep}, g)
	if err != nil {
		return nil, err
	}
	if drawings[0].Note != "" {
		return nil, errNoGraph
	}
	var picture bytes.Buffer
	if err := drawings[0].PNG(&picture, graph.Picture{Width: 640, Height: 200}); err != nil {
		return nil, err
	}
	return picture.Bytes(), nil
}
