package web

import (
	"context"
	"slices"
	"time"

	"monolith"
)

// fakeFeedSource gives the alerts of a fake rule engine.
type fakeFeedSource struct{ *fakeAlerts }

func (f fakeFeedSource) NewestEvents(context.Context, monolith.AlertEventQuery) ([]monolith.AlertEvent, error) {
	return nil, f.broken
}

func (f fakeFeedSource) AlertsByID(_ context.Context, ids []monolith.AlertID) (map[monolith.AlertID]monolith.Alert, error) {
	defer f.lock()()
	found := map[monolith.AlertID]monolith.Alert{}
	for _, a := range f.alerts {
		if slices.Contains(ids, a.ID) {
			found[a.ID] = a
		}
	}
	return found, f.broken
}

// fillTelling puts channels, subscriptions and some messages about an alert to a site.
// evil stands where people or servers could write.
func (x *site) fillTelling(id monolith.AlertID, evil string) {
	f, at := x.tell, x.now()
	f.channels = []monolith.Channel{
		{ID: 1, Name: "mail ops" + evil, Kind: "mail", Enabled: true, Config: map[string]string{"host": "relay.example" + evil, "to": "ops@example.com" + evil}, Secrets: map[string]monolith.Secret{"password": "canary-Zx9"}, LastSent: at.Add(-5 * time.Minute)},
		{ID: 2, Name: "hook" + evil, Kind: "webhook", Enabled: true, Config: map[string]string{"url": "https://hooks.example/x" + evil}, Secrets: map[string]monolith.Secret{"key": "canary-Zx9"}, Failing: "503 Service Unavailable" + evil, FailingSince: at.Add(-time.Hour)},
		{ID: 3, Name: "pager" + evil, Kind: "mail", Config: map[string]string{"host": "pager.example", "to": "491701234567@pager.example"}},
		{ID: 4, Name: "kind of old" + evil, Kind: "fax", Enabled: true},
	}
	f.subs = []monolith.Subscription{
		{ID: 8, Name: "operators by day" + evil, Channel: 1, Enabled: true, Recovery: true, Levels: []monolith.Level{monolith.LevelWarn, monolith.LevelCritical}, Groups: []string{"client1/prod", "gone" + evil},
			Servers: []monolith.ServerID{1, 999}, Rules: []string{"lag"}, Hours: "mon-fri 08:00-18:00\nsat 10:00-14:00", Zone: "Europe/Berlin", Delay: 5 * time.Minute, Repeat: 4 * time.Hour, Quiet: "08:00"},
		{ID: 9, Name: "all to the hook" + evil, Channel: 2, Enabled: true, PerHour: 60, Digest: 10 * time.Minute},
		{ID: 10, Name: "nobody" + evil, Channel: 77},
	}
	f.audience = []monolith.Audience{{Subscription: 8, Name: "operators by day" + evil, Channel: 1, ChannelName: "mail ops" + evil, Told: true, At: at.Add(-4 * time.Minute), Why: "it was told" + evil},
		{Subscription: 9, Name: "all to the hook" + evil, Channel: 2, ChannelName: "hook", Told: true, At: at.Add(8 * time.Minute), Why: "it waits for its digest"}, {Subscription: 10, Name: "nobody", Channel: 77, Why: "the channel is gone"}}
	f.deliveries = []monolith.Delivery{
		{ID: 54, Channel: 1, Kind: monolith.NoticeTest, State: monolith.DeliveryClaimed, Created: at},
		{ID: 53, Channel: 2, Subscription: 9, Kind: monolith.NoticeDigest, Alerts: []monolith.AlertID{id, id + 1, id + 2, 99999}, State: monolith.DeliveryPending, Attempts: 3, Created: at.Add(-2 * time.Minute), Next: at.Add(3 * time.Minute), Answer: "503 Service Unavailable" + evil},
		{ID: 52, Channel: 1, Subscription: 8, Kind: monolith.NoticeProblem, Alerts: []monolith.AlertID{id}, State: monolith.DeliverySent, Attempts: 1, Created: at.Add(-4 * time.Minute), Done: at.Add(-4 * time.Minute), Answer: "250 queued as 7F" + evil, Key: "m-1-" + evil, Payload: []byte(`{"kind":"problem","title":"<script>"}`)},
		{ID: 51, Channel: 77, Subscription: 10, Kind: monolith.NoticeRecovery, Alerts: []monolith.AlertID{99999}, State: monolith.DeliveryFailed, Attempts: 9, Created: at.Add(-time.Hour), Done: at.Add(-time.Minute), Answer: "550 no such user" + evil},
		{ID: 50, Channel: 1, Subscription: 8, Kind: monolith.NoticeQuiet, State: monolith.DeliveryDropped, Created: at.Add(-2 * time.Hour)},
	}
	f.heartbeat = monolith.Heartbeat{URL: "https://hc.example/uuid", Every: time.Minute, Last: at.Add(-20 * time.Second), Failing: "503" + evil, FailingSince: at.Add(-10 * time.Second)}
	f.status = monolith.TellingStatus{Level: monolith.LevelWarn, Text: "messages can't be sent over hook" + evil, Cure: "look at the channel", Failing: []string{"hook" + evil}, Waiting: 2}
}
