package alerts

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/alerts/notify"
)

func TestChannelsAreChecked(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	c := monolith.Channel{Name: "hook", Kind: "webhook", Enabled: true, Config: map[string]string{"url": d.url + "/program"}, Secrets: map[string]monolith.Secret{"key": "s3cret-key"}}
	if err := d.tell.PutChannel(ctx, &c); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []monolith.Channel{{Name: "", Kind: "webhook"}, {Name: "x", Kind: "fax"}, {Name: "x", Kind: "webhook"}, {Name: "x", Kind: "mail", Config: map[string]string{"nosuch": "1"}},
		{Name: "x\r\nBcc: y", Kind: "webhook", Config: c.Config}} {
		if err := d.tell.PutChannel(ctx, &bad); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	// Another place: the key is asked for again, so that nobody can have it sent to themselves.
	moved := monolith.Channel{ID: c.ID, Name: "hook", Kind: "webhook", Config: map[string]string{"url": "http://127.0.0.1:1/evil"}}
	var bad *monolith.InvalidError
	if err := d.tell.PutChannel(ctx, &moved); !errors.As(err, &bad) || bad.Field != "secrets.key" {
		t.Errorf("moved: %v", err)
	}
	if _, err := d.tell.TestChannel(ctx, &moved); !errors.As(err, &bad) || bad.Field != "secrets.key" {
		t.Errorf("test of the moved one: %v", err)
	}
	test, err := d.tell.TestChannel(ctx, &monolith.Channel{ID: c.ID, Name: "hook", Kind: "webhook", Config: c.Config})
	if err != nil || !test.OK || !strings.Contains(test.Dialogue, "POST") || strings.Contains(test.Dialogue, "s3cret") {
		t.Errorf("%+v %v", test, err)
	}
	d.want("12:00:00 program: test [TEST] Monolith can reach you")
	d.status = 403
	if test, err := d.tell.TestChannel(ctx, &c); err != nil || test.OK || !test.Permanent || !strings.Contains(test.Error, "403") {
		t.Errorf("%+v %v", test, err)
	}
	if len(d.box.deliveries) != 0 {
		t.Error("a test stands in the outbox")
	}
}

func TestTemplates(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	d.subscribe(monolith.Subscription{Channel: 1})
	var bad *monolith.InvalidError
	if err := d.tell.PutTemplate(ctx, "chat", "one\n{{.Nonsense}}", "kim"); !errors.As(err, &bad) || !strings.Contains(bad.Reason, "line 2") {
		t.Errorf("a wrong template: %v", err)
	}
	if err := d.tell.PutTemplate(ctx, "fax", "x", ""); !errors.Is(err, monolith.ErrNotFound) {
		t.Errorf("an unknown one: %v", err)
	}
	if err := d.tell.PutTemplate(ctx, "subject", "ACME {{.Title}}", "kim"); err != nil {
		t.Fatal(err)
	}
	list, err := d.tell.Templates(ctx)
	if err != nil || list[0].Name != "subject" || list[0].Source != "ACME {{.Title}}" || list[0].By != "kim" || list[0].BuiltIn == "" || list[1].Source != "" {
		t.Errorf("%+v %v", list, err)
	}
	if text, err := d.tell.PreviewTemplate(ctx, "subject", "", monolith.NoticeRecovery); err != nil || !strings.HasPrefix(text, "ACME [OK]") {
		t.Errorf("%q %v", text, err)
	}
	// One that an upgrade broke is said to be wrong, and messages go on.
	d.box.templates[0].Source = "{{.Gone}}"
	d.start()
	if list, _ := d.tell.Templates(ctx); list[0].Wrong == "" {
		t.Error("a broken template is not said to be wrong")
	}
	if err := d.tell.DeleteTemplate(ctx, "subject"); err != nil {
		t.Fatal(err)
	}
	if text, err := d.tell.PreviewTemplate(ctx, "subject", "", monolith.NoticeProblem); err != nil || !strings.HasPrefix(text, "[CRIT]") {
		t.Errorf("%q %v", text, err)
	}
}

func TestHeartbeat(t *testing.T) {
	d := newDesk(t)
	ctx := t.Context()
	var alive error
	d.tell.cfg.Alive = func(context.Context) error { return alive }
	for _, h := range []monolith.Heartbeat{{URL: "ftp://x"}, {URL: "http://user@x"}, {URL: "x"}, {URL: d.url, Every: time.Second}} {
		if err := d.tell.PutHeartbeat(ctx, h); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("%+v: %v", h, err)
		}
	}
	if err := d.tell.PutHeartbeat(ctx, monolith.Heartbeat{URL: d.url + "/beat"}); err != nil {
		t.Fatal(err)
	}
	d.tell.beatOnce(ctx)
	d.want("12:00:00 beat: ")
	d.now = d.now.Add(time.Minute)
	alive = errors.New("no server was polled lately")
	d.tell.beatOnce(ctx)
	d.want()
	h, _ := d.tell.Heartbeat(ctx)
	if h.Every != time.Minute || !h.Last.Equal(monday) || !strings.Contains(h.Failing, "polled") || !h.FailingSince.Equal(d.now) {
		t.Errorf("%+v", h)
	}
	alive, d.status = nil, 500
	d.tell.beatOnce(ctx)
	if h, _ = d.tell.Heartbeat(ctx); !strings.Contains(h.Failing, "500") || !h.FailingSince.Equal(d.now) {
		t.Errorf("%+v", h)
	}
	d.status = 0
	d.start() // it is kept
	d.tell.beatOnce(ctx)
	if h, _ = d.tell.Heartbeat(ctx); h.Failing != "" || !h.Last.Equal(d.now) {
		t.Errorf("%+v", h)
	}
}

// The guide names every kind of channel with every setting, every word of a subscription and every template.
func TestGuideToTelling(t *testing.T) {
	text, err := os.ReadFile("../docs/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	for _, k := range newDesk(t).tell.ChannelKinds() {
		at := strings.Index(guide, "\n### "+k.Name+"\n")
		if at < 0 {
			t.Errorf("there is no section about %s", k.Name)
			continue
		}
		for _, f := range k.Fields {
			if !strings.Contains(guide, "`"+f.Name+"`") {
				t.Errorf("%s: the setting %s is not named", k.Name, f.Name)
			}
		}
	}
	for _, word := range append([]string{"levels", "groups", "servers", "rules", "hours", "zone", "delay", "repeat", "per_hour", "digest", "recovery", "quiet"}, notify.TemplateNames...) {
		if !strings.Contains(guide, "`"+word+"`") {
			t.Errorf("%s is not named", word)
		}
	}
}

// Where nobody would hear of anything it is said at its worst, whatever the reason.
func TestNobodyIsTold(t *testing.T) {
	d := newDesk(t)
	want := func(what string, level monolith.Level, text string) {
		t.Helper()
		if st := d.tell.TellingStatus(); st.Level != level || !strings.Contains(st.Text, text) || (st.Cure == "") != (level == monolith.LevelOK) {
			t.Errorf("%s: %+v", what, st)
		}
	}
	want("no subscription", crit, "no subscription")
	d.subscribe(monolith.Subscription{Channel: 1})
	want("a subscription", monolith.LevelOK, "")
	channels, err := d.tell.Channels(t.Context())
	if err != nil || len(channels) == 0 {
		t.Fatal(channels, err)
	}
	for _, c := range channels {
		if err := d.tell.DeleteChannel(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	want("no channel", crit, "there is no channel")
}
