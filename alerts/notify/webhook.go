package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

func webhookKind() Kind {
	return Kind{make: newWebhook, ChannelKind: monolith.ChannelKind{Name: "webhook", Title: "webhook", Keyed: true, Help: "Posts each notice as JSON to an address of yours, signed.", Fields: []monolith.ChannelField{
		{Name: "url", Title: "Address", Help: "Where to post, such as https://hooks.example/monolith", Required: true, Place: true},
		{Name: "headers", Title: "Headers", Help: "Further headers, a line each: Name: value", Lines: true},
		{Name: "key", Title: "Signing key", Secret: true, Help: "Signs each message: X-Monolith-Signature: t=TIME,v1=HMAC-SHA256 of TIME, a dot and the body, in hex"},
		{Name: "token", Title: "Bearer token", Secret: true, Help: "Sent as Authorization: Bearer …"},
	}}}
}

type webhook struct {
	url     string
	header  http.Header
	key     []byte
	secrets []string
	client  *http.Client
	options Options
}

func newWebhook(c *config, o Options) (Sender, error) {
	u, err := c.address("url")
	if err != nil {
		return nil, err
	}
	h := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Monolith"}}
	for line := range strings.Lines(c.text("headers")) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		if !ok || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsFunc(name+value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) ||
			slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Upgrade"}, name) || name == "X-Monolith-Signature" {
			return nil, monolith.Invalid("config.headers", fmt.Sprintf("%q is no header that can be set", line), "Name: value, a line each")
		}
		h.Add(name, strings.TrimSpace(value))
	}
	if token := c.secret("token"); token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	o.Record.hide(c.secrets()...)
	return &webhook{url: u.String(), header: h, key: []byte(c.secret("key")), secrets: c.secrets(), client: newHTTPClient(), options: o}, nil
}

// webhookBody is the form of a webhook's body. Members are never renamed; new ones may come.
type webhookBody struct {
	Version int                 `json:"version"` // 1
	Kind    monolith.NoticeKind `json:"kind"`
	Key     string              `json:"key"`
	At      time.Time           `json:"at"`
	Title   string              `json:"title"`
	Text    string              `json:"text"`
	Level   string              `json:"level"`
	Link    string              `json:"link,omitempty"`
	Lasted  float64             `json:"lasted,omitempty"` // seconds, of a recovery
	Open    *Counts             `json:"open,omitempty"`   // of the daily line; of no other notice is it known
	*Notice
}

func (w *webhook) Send(ctx context.Context, n *Notice) (string, error) {
	var open *Counts
	if n.Kind == monolith.NoticeQuiet {
		open = &n.Open
	}
	body, err := json.Marshal(webhookBody{Lasted: n.Lasted.Seconds(), Open: open, Version: 1, Kind: n.Kind, Key: n.Key, At: n.At, Title: title(n), Text: chatText(&w.options, n), Level: n.Level().String(),
		Link: alertLink(&w.options, n), Notice: n})
	if err != nil {
		return "", Permanent(fmt.Errorf("notify: webhook: %w", err))
	}
	h := w.header.Clone()
	if len(w.key) > 0 {
		h.Set("X-Monolith-Signature", sign(w.key, w.options.now(), body))
	}
	return post(ctx, w.client, w.options.Record, w.url, h, body, w.secrets)
}

// sign makes the signature of a body. The time is part of it, so that nobody can send an old message again.
func sign(key []byte, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
