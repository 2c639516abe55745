package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/PagerDuty/go-pagerduty"

	"monolith"
)

// receiver is an HTTP receiver that keeps what it got.
type receiver struct {
	*httptest.Server
	header http.Header
	body   []byte
	status int
	answer string
	extra  http.Header
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusAccepted, answer: `{"status":"success"}`}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.header = req.Header.Clone()
		r.body, _ = io.ReadAll(req.Body)
		for name, values := range r.extra {
			w.Header()[name] = values
		}
		w.WriteHeader(r.status)
		io.WriteString(w, r.answer)
	}))
	t.Cleanup(r.Close)
	return r
}

func sender(t *testing.T, c *monolith.Channel, o Options) Sender {
	t.Helper()
	s, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	now := time.Unix(1_800_000_000, 0)
	record := &Dialogue{}
	s := sender(t, &monolith.Channel{Kind: "webhook", Config: map[string]string{"url": r.URL + "/x", "headers": "X-Team: dba\n"}, Secrets: map[string]monolith.Secret{"key": "hush-hush-key", "token": "bearer-secret"}},
		Options{Base: "https://monolith.example", Now: func() time.Time { return now }, Record: record})
	answer, err := s.Send(t.Context(), Examples()[0])
	if err != nil || !strings.HasPrefix(answer, "202 ") {
		t.Fatalf("%q, %v", answer, err)
	}
	mac := hmac.New(sha256.New, []byte("hush-hush-key"))
	mac.Write([]byte("1800000000."))
	mac.Write(r.body)
	if got, want := r.header.Get("X-Monolith-Signature"), "t=1800000000,v1="+hex.EncodeToString(mac.Sum(nil)); got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
	if r.header.Get("X-Team") != "dba" || r.header.Get("Authorization") != "Bearer bearer-secret" {
		t.Errorf("headers %v", r.header)
	}
	var body map[string]any
	if err := json.Unmarshal(r.body, &body); err != nil {
		t.Fatal(err)
	}
	alert, _ := body["alert"].(map[string]any)
	if body["kind"] != "problem" || body["key"] != "monolith-example-42" || body["level"] != "critical" || alert["rule"] != "replica-lag" || body["link"] != "https://monolith.example/alerts/42" {
		t.Errorf("body %s", r.body)
	}
	for _, secret := range []string{"bearer-secret", "hush-hush-key"} {
		if strings.Contains(record.String(), secret) {
			t.Errorf("the dialogue shows %s", secret)
		}
	}
	if !strings.Contains(record.String(), "> POST "+r.URL) || !strings.Contains(record.String(), "< 202 Accepted") {
		t.Errorf("dialogue:\n%s", record)
	}
	// Lengths of time are seconds, and how many alerts are open is said only where it is known.
	for i, want := range map[int]string{3: `"lasted":2400`, 6: `"open":{"critical":0,"warn":0,"info":0}`} {
		if _, err := s.Send(t.Context(), Examples()[i]); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(r.body), want) || i == 3 && strings.Contains(string(r.body), `"open"`) {
			t.Errorf("%s: %s", Examples()[i].Kind, r.body)
		}
	}
}

func TestPagerDuty(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	record := &Dialogue{}
	s := sender(t, &monolith.Channel{Kind: "pagerduty", Config: map[string]string{"url": r.URL}, Secrets: map[string]monolith.Secret{"routing_key": "0123456789abcdef0123456789abcdef"}}, Options{Record: record})
	// The last is a test, which ends the incident that it made.
	actions := []string{"trigger", "trigger", "trigger", "resolve", "acknowledge", "trigger", "", "resolve"}
	for i, n := range Examples() {
		r.body = nil
		if _, err := s.Send(t.Context(), n); err != nil {
			t.Fatalf("%s: %v", n.Kind, err)
		}
		if actions[i] == "" {
			if r.body != nil {
				t.Errorf("%s was sent: %s", n.Kind, r.body)
			}
			continue
		}
		var e pagerduty.V2Event
		if err := json.Unmarshal(r.body, &e); err != nil {
			t.Fatal(err)
		}
		if e.Action != actions[i] || e.DedupKey != n.Key || e.RoutingKey != "0123456789abcdef0123456789abcdef" {
			t.Errorf("%s: %+v", n.Kind, e)
		}
		if needs := e.Action == "trigger"; needs && (e.Payload == nil || e.Payload.Summary == "" || e.Payload.Source == "" || e.Payload.Severity == "") {
			t.Errorf("%s: payload %+v", n.Kind, e.Payload)
		}
	}
	for _, action := range []string{"trigger", "resolve"} {
		if want := fmt.Sprintf(`"event_action":%q,"dedup_key":"monolith-example-test"`, action); strings.Count(record.String(), want) != 1 {
			t.Errorf("the dialogue of the test lacks %s:\n%s", want, record)
		}
	}
	if _, err := s.Send(t.Context(), hostileNotice(monolith.NoticeProblem)); err != nil {
		t.Error(err)
	}
	var e pagerduty.V2Event
	if err := json.Unmarshal(r.body, &e); err != nil || len([]rune(e.Payload.Summary)) > 1024 || e.Payload.Severity != "critical" {
		t.Errorf("hostile: %v %+v", err, e.Payload)
	}
}

// Slack is reached through its own form of shoutrrr's generic service, since its real address can't be.
func TestShoutrrr(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	record := &Dialogue{}
	url := "generic+" + r.URL + "/hooks/T0KEN-very-secret?template=json"
	s := sender(t, &monolith.Channel{Kind: "shoutrrr", Secrets: map[string]monolith.Secret{"url": monolith.Secret(url)}}, Options{Record: record})
	if _, err := s.Send(t.Context(), Examples()[0]); err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(r.body, &body); err != nil || !strings.Contains(fmt.Sprint(body["message"]), "412 s behind") {
		t.Errorf("%v: %s", err, r.body)
	}
	r.status = http.StatusForbidden
	_, err := s.Send(t.Context(), Examples()[0])
	if err == nil || strings.Contains(err.Error(), "T0KEN") || strings.Contains(record.String(), "T0KEN") {
		t.Errorf("refused: %v\n%s", err, record)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status    int
		ok, again bool
	}{
		{200, true, false}, {204, true, false}, {301, false, false}, {400, false, false}, {401, false, false}, {404, false, false}, {408, false, true}, {410, false, false},
		{429, false, true}, {500, false, true}, {503, false, true},
	} {
		r := newReceiver(t)
		r.status, r.answer, r.extra = c.status, "", http.Header{"Retry-After": {"7"}, "Location": {"http://elsewhere.example/"}}
		s := sender(t, &monolith.Channel{Kind: "webhook", Config: map[string]string{"url": r.URL}}, Options{})
		_, err := s.Send(t.Context(), Examples()[0])
		if (err == nil) != c.ok || err != nil && IsPermanent(err) == c.again {
			t.Errorf("%d: %v, permanent %v", c.status, err, IsPermanent(err))
		}
		if err != nil && c.again && Wait(err) != 7*time.Second {
			t.Errorf("%d: waits %v", c.status, Wait(err))
		}
	}
	// Nobody there: worth another try.
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := sender(t, &monolith.Channel{Kind: "webhook", Config: map[string]string{"url": gone.URL}}, Options{})
	if _, err := s.Send(t.Context(), Examples()[0]); err == nil || IsPermanent(err) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	mail := func(change map[string]string) map[string]string {
		c := map[string]string{"host": "mail.example", "from": "m@example.com", "to": "a@example.com"}
		for k, v := range change {
			c[k] = v
		}
		return c
	}
	for _, c := range []struct {
		kind    string
		config  map[string]string
		secrets map[string]monolith.Secret
		field   string
	}{
		{"fax", nil, nil, "kind"},
		{"webhook", nil, nil, "config.url"},
		{"webhook", map[string]string{"url": "ftp://x"}, nil, "config.url"},
		{"webhook", map[string]string{"url": "https://user:pass@x"}, nil, "config.url"},
		{"webhook", map[string]string{"url": "https://x", "headers": "nonsense"}, nil, "config.headers"},
		{"webhook", map[string]string{"url": "https://x", "headers": "X-Monolith-Signature: x"}, nil, "config.headers"},
		{"webhook", map[string]string{"url": "https://x", "headers": "Transfer-Encoding: chunked"}, nil, "config.headers"},
		{"webhook", map[string]string{"url": "https://x", "headers": "X-A: b\x00c"}, nil, "config.headers"},
		{"webhook", map[string]string{"url": "https://x", "colour": "red"}, nil, "config.colour"},
		{"pagerduty", nil, nil, "secrets.routing_key"},
		{"shoutrrr", nil, map[string]monolith.Secret{"url": "logger://"}, "secrets.url"},
		{"shoutrrr", nil, map[string]monolith.Secret{"url": "nosuch://x"}, "secrets.url"},
		{"mail", mail(map[string]string{"to": "nobody"}), nil, "config.to"},
		{"mail", mail(map[string]string{"from": "x\r\nBcc: evil@example.com"}), nil, "config.from"},
		{"mail", mail(map[string]string{"port": "99999"}), nil, "config.port"},
		{"mail", mail(map[string]string{"tls": "sometimes"}), nil, "config.tls"},
		{"mail", mail(map[string]string{"auth": "plain"}), nil, "config.user"},
		{"mail", mail(map[string]string{"auth": "plain", "user": "u", "tls": "none"}), map[string]monolith.Secret{"password": "p"}, "config.tls"},
		{"mail", mail(map[string]string{"ca": "nothing"}), nil, "config.ca"},
		{"mail", mail(map[string]string{"host": "smtp://mail.example:25"}), nil, "config.host"},
		{"pager", mail(map[string]string{"reply_to": "x@example.com"}), nil, "config.reply_to"},
	} {
		_, err := New(&monolith.Channel{Kind: c.kind, Config: c.config, Secrets: c.secrets}, Options{})
		bad, ok := errors.AsType[*monolith.InvalidError](err)
		if !ok || bad.Field != c.field {
			t.Errorf("%s %v: %v, want an error at %s", c.kind, c.config, err, c.field)
		}
		for _, s := range c.secrets {
			if err != nil && len(s.Reveal()) > 5 && strings.Contains(err.Error(), s.Reveal()) {
				t.Errorf("the error shows the secret: %v", err)
			}
		}
	}
}
