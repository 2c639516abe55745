package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"monolith"
)

// tellingSite is a site with a channel, a subscription and deliveries.
func tellingSite(t *testing.T) *site {
	x := newSite(t)
	x.add(t, "db1", "acme/prod")
	x.store.groups = []monolith.Group{{Path: "acme/prod"}}
	x.tell.channels = []monolith.Channel{{ID: 4, Name: "operations", Kind: "mail", Enabled: true, Config: map[string]string{"host": "mail.example", "to": "ops@example.com"},
		Secrets: map[string]monolith.Secret{"password": "canary-Kx3"}}}
	x.tell.subs = []monolith.Subscription{{ID: 5, Name: "night", Channel: 4, Enabled: true, Servers: []monolith.ServerID{x.store.servers[0].ID, 999}, Delay: 5 * time.Minute}}
	for id := int64(9); id > 0; id-- {
		state := monolith.DeliverySent
		if id%3 == 0 {
			state = monolith.DeliveryFailed
		}
		x.tell.deliveries = append(x.tell.deliveries, monolith.Delivery{ID: id, Channel: 4, Subscription: 5, Kind: monolith.NoticeProblem, Alerts: []monolith.AlertID{42},
			State: state, Created: noon, Answer: "550 <no> \x01\xff", Payload: []byte(`{"kind":"problem"}`)})
	}
	return x
}

func TestSecretsOfChannelsAreNeverShown(t *testing.T) {
	x := tellingSite(t)
	for _, accept := range []string{"application/json", "application/xml"} {
		for _, path := range []string{"/api/v1/channels", "/api/v1/channels/4"} {
			got := x.do(t, http.MethodGet, path, "", "Accept", accept)
			if got.Code != 200 || strings.Contains(got.body, "canary") || !strings.Contains(got.body, "password") {
				t.Errorf("%s: %d %s", path, got.Code, got.body)
			}
		}
	}
	// What is sent back as it was shown, or left out, stays; an empty one is removed.
	for _, c := range []struct{ secrets, want string }{{`{"password":"•••"}`, "canary-Kx3"}, {`{}`, "canary-Kx3"}, {`{"password":"new"}`, "new"}, {`{"password":""}`, ""}} {
		got := x.do(t, http.MethodPut, "/api/v1/channels/4", `{"name":"operations","kind":"mail","config":{"host":"mail.example","to":"a@example.com"},"secrets":`+c.secrets+`}`)
		if got.Code != 200 || x.tell.channels[0].Secrets["password"].Reveal() != c.want {
			t.Errorf("%s: %d %s, kept %q", c.secrets, got.Code, got.body, x.tell.channels[0].Secrets["password"].Reveal())
		}
	}
}

func TestMistakesAboutTellingNameTheirField(t *testing.T) {
	x := tellingSite(t)
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"POST", "/api/v1/channels", `{"name":"x","kind":"fax"}`, 400, `"field":"kind"`},
		{"POST", "/api/v1/channels", `{"name":"x","kind":"mail","config":{"host":"m"}}`, 400, `"field":"config.to"`},
		{"POST", "/api/v1/channels", `{"name":"x","kind":"mail","konfig":{}}`, 400, `did you mean config`},
		{"POST", "/api/v1/channels", `{"name":"operations","kind":"webhook","config":{"url":"http://x"}}`, 409, `"field":"name"`},
		{"POST", "/api/v1/channels", `{"id":4,"name":"x","kind":"webhook"}`, 400, `"field":"id"`},
		{"PUT", "/api/v1/channels/77", `{"name":"x","kind":"mail"}`, 404, `no channel`},
		{"DELETE", "/api/v1/channels/4", ``, 409, `subscriptions use`},
		{"GET", "/api/v1/channels/x", ``, 404, `no channel`},
		{"POST", "/api/v1/subscriptions", `{"name":"x","channel":8}`, 400, `"field":"channel"`},
		{"POST", "/api/v1/subscriptions", `{"name":"x","channel":4,"levels":["warn","bad"]}`, 400, `"field":"levels[1]"`},
		{"POST", "/api/v1/subscriptions", `{"name":"x","channel":4,"servers":["db2"]}`, 404, `"field":"servers[0]"`},
		{"POST", "/api/v1/subscriptions", `{"name":"x","channel":4,"groups":["acme/no"]}`, 404, `"field":"groups[0]"`},
		{"POST", "/api/v1/subscriptions", `{"name":"x","channel":4,"delay":"soon"}`, 400, `"field":"delay"`},
		{"POST", "/api/v1/subscriptions", `{"name":"x","channel":4,"hours":"never"}`, 400, `"field":"hours"`},
		{"POST", "/api/v1/subscriptions", `{"name":"night","channel":4}`, 409, `"field":"name"`},
		{"POST", "/api/v1/subscriptions/check", `{"channel":4}`, 400, `"field":"name"`},
		{"GET", "/api/v1/deliveries?state=lost", ``, 400, `"field":"state"`},
		{"GET", "/api/v1/deliveries?cursor=x", ``, 400, `"field":"cursor"`},
		{"GET", "/api/v1/deliveries?cursor=MTIz!", ``, 400, `"field":"cursor"`},
		{"GET", "/api/v1/deliveries?chanel=4", ``, 400, `channel`},
		{"POST", "/api/v1/deliveries/8/retry", ``, 409, `is sent`},
		{"POST", "/api/v1/deliveries/99/retry", ``, 404, `no delivery`},
		{"PUT", "/api/v1/templates/text", `{"source":"{{"}`, 400, `"field":"source"`},
		{"PUT", "/api/v1/templates/fax", `{"source":"x"}`, 404, `subject, text`},
		{"POST", "/api/v1/templates/text/preview", `{"kind":"shout"}`, 400, `"field":"kind"`},
		{"PUT", "/api/v1/heartbeat", `{"url":"ftp://x"}`, 400, `"field":"url"`},
		{"PUT", "/api/v1/heartbeat", `{"url":"http://x","every":"often"}`, 400, `"field":"every"`},
		{"GET", "/api/v1/alerts/4711/audience", ``, 404, `no alert`},
	} {
		if got := x.do(t, c.method, c.path, c.body); got.Code != c.code || !strings.Contains(got.body, c.want) {
			t.Errorf("%s %s %s gives %d %s; want %d with %s", c.method, c.path, c.body, got.Code, got.body, c.code, c.want)
		}
	}
}

func TestSubscriptionsOverTheAPI(t *testing.T) {
	x := tellingSite(t)
	made := x.do(t, http.MethodPost, "/api/v1/subscriptions", `{"name":"office","channel":4,"levels":["critical"],"servers":["db1"],"groups":["/acme/prod/"],"delay":90,"repeat":"2h","recovery":false}`)
	if made.Code != http.StatusCreated || made.Header().Get("Location") == "" {
		t.Fatalf("%d %s", made.Code, made.body)
	}
	sub := x.tell.subs[1]
	if sub.Delay != 90*time.Second || sub.Repeat != 2*time.Hour || sub.Recovery || !sub.Enabled || len(sub.Servers) != 1 || sub.Groups[0] != "acme/prod" || sub.Levels[0] != monolith.LevelCritical {
		t.Errorf("kept %+v", sub)
	}
	// A server that is gone has no name any more.
	if got := x.do(t, http.MethodGet, "/api/v1/subscriptions/5", ""); !strings.Contains(got.body, `"servers":["db1"]`) || !strings.Contains(got.body, `"delay":300`) {
		t.Errorf("%s", got.body)
	}
}

func TestDeliveriesComeInPages(t *testing.T) {
	x := tellingSite(t)
	path, seen := "/api/v1/deliveries?limit=4", 0
	for range 3 {
		got := x.do(t, http.MethodGet, path, "")
		seen += strings.Count(got.body, `"key"`)
		_, next, more := strings.Cut(got.body, `"next":"`)
		if !more {
			break
		}
		path = "/api/v1/deliveries?limit=4&cursor=" + next[:strings.Index(next, `"`)]
	}
	if seen != 9 {
		t.Errorf("%d deliveries in all pages", seen)
	}
	if got := x.do(t, http.MethodGet, "/api/v1/deliveries.xml?state=failed&channel=4", ""); got.Code != 200 || strings.Count(got.body, "<item>") < 3 {
		t.Errorf("%d %s", got.Code, got.body)
	}
	if got := x.do(t, http.MethodGet, "/api/v1/deliveries/3", ""); !strings.Contains(got.body, `"notice":{"kind":"problem"}`) {
		t.Errorf("%s", got.body)
	}
	if got := x.do(t, http.MethodPost, "/api/v1/deliveries/3/retry", ""); got.Code != 200 || !strings.Contains(got.body, `"state":"pending"`) {
		t.Errorf("%d %s", got.Code, got.body)
	}
}

func TestWithoutTellingNothingOfItIsThere(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Telling = nil })
	for _, path := range []string{"/api/v1/channels", "/api/v1/subscriptions", "/api/v1/deliveries", "/api/v1/templates", "/api/v1/heartbeat", "/api/v1/telling"} {
		if got := x.do(t, http.MethodGet, path, ""); got.Code != http.StatusNotFound {
			t.Errorf("%s gives %d", path, got.Code)
		}
	}
}
