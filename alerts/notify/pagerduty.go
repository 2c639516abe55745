package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/PagerDuty/go-pagerduty"

	"monolith"
)

// pagerDutyAddress is where PagerDuty takes events, version 2; its European region has another host.
const pagerDutyAddress = "https://events.pagerduty.com/v2/enqueue"

func pagerDutyKind() Kind {
	return Kind{make: newPagerDuty, ChannelKind: monolith.ChannelKind{Name: "pagerduty", Title: "PagerDuty", Keyed: true, Help: "Triggers, acknowledges and resolves incidents (events API, version 2).", Fields: []monolith.ChannelField{
		{Name: "routing_key", Title: "Routing key", Help: "The integration key of a service, Events API v2: 32 characters", Secret: true, Required: true},
		{Name: "url", Title: "Address", Help: "Of the events API; another one for the EU region", Default: pagerDutyAddress, Place: true},
	}}}
}

type pagerDuty struct {
	url, key string
	client   *http.Client
	options  Options
}

func newPagerDuty(c *config, o Options) (Sender, error) {
	u, err := c.address("url")
	if err != nil {
		return nil, err
	}
	o.Record.hide(c.secrets()...)
	return &pagerDuty{url: u.String(), key: c.secret("routing_key"), client: newHTTPClient(), options: o}, nil
}

// severities of PagerDuty; info is the least it has.
var severities = map[monolith.Level]string{monolith.LevelCritical: "critical", monolith.LevelWarn: "warning", monolith.LevelInfo: "info", monolith.LevelOK: "info"}

// event makes a notice into an event. ok is false for what PagerDuty has no place for: the quiet line is no incident.
func (p *pagerDuty) event(n *Notice) (pagerduty.V2Event, bool) {
	e := pagerduty.V2Event{RoutingKey: p.key, DedupKey: n.Key, Client: "Monolith", ClientURL: alertLink(&p.options, n)}
	switch n.Kind {
	case monolith.NoticeQuiet:
		return e, false
	case monolith.NoticeRecovery:
		e.Action = "resolve"
		return e, true
	case monolith.NoticeAcknowledged:
		e.Action = "acknowledge"
		return e, true
	}
	e.Action = "trigger"
	payload := &pagerduty.V2Payload{Summary: oneLine(title(n), 1024), Source: oneLine(n.Where(), 255), Severity: severities[n.Level()], Timestamp: n.At.UTC().Format(time.RFC3339)}
	details := map[string]any{"message": chatText(&p.options, n)}
	if a := n.Alert; a != nil {
		payload.Component, payload.Class = oneLine(a.Instance, 255), a.Rule
		for _, v := range a.Values {
			details[v.Name] = v.Text
		}
		if a.Remedy != nil {
			details["remedy"] = a.Remedy.Text
		}
	}
	if n.Server != nil {
		payload.Group = oneLine(n.Server.Group, 255)
	}
	payload.Details = details
	e.Payload = payload
	if link := alertLink(&p.options, n); link != "" {
		e.Links = []any{map[string]string{"href": link, "text": "The alert in Monolith"}}
	}
	return e, true
}

func (p *pagerDuty) Send(ctx context.Context, n *Notice) (string, error) {
	e, ok := p.event(n)
	if !ok {
		return "nothing to say to PagerDuty", nil
	}
	answer, err := p.post(ctx, &e)
	if err == nil && n.Kind == monolith.NoticeTest {
		// A test leaves nothing behind: its incident would stay open for ever.
		return p.post(ctx, &pagerduty.V2Event{RoutingKey: p.key, DedupKey: n.Key, Action: "resolve", Client: e.Client, ClientURL: e.ClientURL})
	}
	return answer, err
}

func (p *pagerDuty) post(ctx context.Context, e *pagerduty.V2Event) (string, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return "", Permanent(fmt.Errorf("notify: pagerduty: %w", err))
	}
	return post(ctx, p.client, p.options.Record, p.url, http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Monolith"}}, body, []string{p.key})
}
