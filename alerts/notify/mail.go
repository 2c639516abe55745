package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/log"

	"monolith"
)

// relayFields are how a mail relay is reached; mail and pager share them.
var relayFields = []Field{
	{Name: "host", Title: "Relay", Help: "Name or address of the mail relay (SMTP server)", Required: true, Place: true},
	{Name: "port", Title: "Port", Help: "587 with STARTTLS, 465 with TLS, 25 without, when nothing is said", Place: true},
	{Name: "tls", Title: "Encryption", Help: "starttls must be offered, tls from the first byte, none for a relay on this machine", Default: "starttls", Choices: []string{"none", "starttls", "tls"}, Place: true},
	{Name: "ca", Title: "CA certificates", Help: "PEM text of the authorities to trust instead of the system's", Lines: true},
	{Name: "server_name", Title: "Name in the certificate", Help: "When it is not the relay's"},
	{Name: "auth", Title: "Login", Help: "How to log in", Default: "none", Choices: []string{"none", "plain", "login"}},
	{Name: "user", Title: "User"},
	{Name: "password", Title: "Password", Secret: true},
	{Name: "from", Title: "From", Help: `Sender, such as Monolith <monolith@example.com>`, Required: true},
	{Name: "to", Title: "To", Help: "Recipients, with commas or a line each", Required: true, Lines: true},
}

func mailKind() Kind {
	fields := append([]Field{}, relayFields...)
	return Kind{Name: "mail", Title: "mail", Help: "Mail with text, HTML and a picture of the graph; recovery is threaded under its problem.", make: newMail,
		Fields: append(fields, Field{Name: "reply_to", Title: "Reply to", Help: "Where answers go, when not to the sender"})}
}

// relay is a mail relay with sender and recipients.
type relay struct {
	from    *mail.Address
	to      []*mail.Address
	replyTo *mail.Address
	client  []gomail.Option
	host    string
	domain  string // of message ids
	options Options
}

func newMail(c *config, o Options) (Sender, error) { return newRelay(c, o) }

// newRelay reads the settings of a relay.
func newRelay(c *config, o Options) (*relay, error) {
	r := &relay{host: c.text("host"), options: o}
	if _, notAddress := netip.ParseAddr(r.host); strings.ContainsAny(r.host, " /@:[]") && notAddress != nil {
		return nil, monolith.Invalid("config.host", fmt.Sprintf("%q is not the name or address of a host", r.host), "without port and scheme: the port has a field of its own")
	}
	var err error
	if r.from, err = mail.ParseAddress(c.text("from")); err != nil {
		return nil, monolith.Invalid("config.from", fmt.Sprintf("%q is not a mail address", c.text("from")), "such as Monolith <monolith@example.com>")
	}
	for _, text := range c.list("to") {
		a, err := mail.ParseAddress(text)
		if err != nil {
			return nil, monolith.Invalid("config.to", fmt.Sprintf("%q is not a mail address", text), "such as dba@example.com, ops@example.com")
		}
		r.to = append(r.to, a)
	}
	if text := c.text("reply_to"); text != "" {
		if r.replyTo, err = mail.ParseAddress(text); err != nil {
			return nil, monolith.Invalid("config.reply_to", fmt.Sprintf("%q is not a mail address", text))
		}
	}
	_, r.domain, _ = strings.Cut(r.from.Address, "@")
	return r, r.transport(c)
}

// transport settles encryption and login.
func (r *relay) transport(c *config) error {
	port, err := c.port("port")
	if err != nil {
		return err
	}
	usual := map[string]int{"none": 25, "starttls": 587, "tls": 465}
	mode := c.text("tls")
	r.client = []gomail.Option{gomail.WithPort(cmp.Or(port, usual[mode])), gomail.WithHELO(cmp.Or(r.options.Hostname, "localhost")),
		gomail.WithoutNoop()}
	trust := &tls.Config{ServerName: cmp.Or(c.text("server_name"), r.host), MinVersion: tls.VersionTLS12}
	if pem := c.text("ca"); pem != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			return monolith.Invalid("config.ca", "there is no certificate in this text", "PEM, beginning with -----BEGIN CERTIFICATE-----")
		}
	}
	r.client = append(r.client, gomail.WithTLSConfig(trust))
	switch mode {
	case "tls":
		r.client = append(r.client, gomail.WithSSL())
	case "starttls":
		r.client = append(r.client, gomail.WithTLSPolicy(gomail.TLSMandatory))
	default:
		r.client = append(r.client, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	user, password := c.text("user"), c.secret("password")
	switch auth := c.text("auth"); {
	case auth == "none":
	case user == "" || password == "":
		return monolith.Invalid("config.user", "a login needs a user and a password", "give both, or choose the login none")
	case mode == "none" && r.host != "localhost" && !strings.HasPrefix(r.host, "127.") && r.host != "::1":
		return monolith.Invalid("config.tls", "the password would go over the network unencrypted", "choose starttls or tls")
	default:
		how := map[string]gomail.SMTPAuthType{"plain": gomail.SMTPAuthPlain, "login": gomail.SMTPAuthLogin}[auth]
		if mode == "none" {
			how = map[string]gomail.SMTPAuthType{"plain": gomail.SMTPAuthPlainNoEnc, "login": gomail.SMTPAuthLoginNoEnc}[auth]
		}
		r.client = append(r.client, gomail.WithSMTPAuth(how), gomail.WithUsername(user), gomail.WithPassword(password))
	}
	if r.options.Record != nil {
		r.options.Record.hide(c.secrets()...)
		r.client = append(r.client, gomail.WithDebugLog(), gomail.WithLogger(smtpLog{r.options.Record}))
	}
	return nil
}

// smtpLog writes the dialogue with a relay. The library leaves the data of a login out of it.
type smtpLog struct{ d *Dialogue }

func (l smtpLog) write(m log.Log) {
	sign := "<"
	if m.Direction == log.DirClientToServer {
		sign = ">"
	}
	l.d.say(sign, "%s", fmt.Sprintf(m.Format, m.Messages...))
}

func (l smtpLog) Debugf(m log.Log) { l.write(m) }
func (l smtpLog) Infof(m log.Log)  { l.write(m) }
func (l smtpLog) Warnf(m log.Log)  { l.write(m) }
func (l smtpLog) Errorf(m log.Log) { l.write(m) }

func (r *relay) Send(ctx context.Context, n *Notice) (string, error) {
	m, err := r.message(ctx, n)
	if err != nil {
		return "", Permanent(fmt.Errorf("notify: mail: %w", err))
	}
	return r.deliver(ctx, m)
}

// message puts a mail together. Addresses and headers go through the library's encoders: nothing of a server's text can end one.
func (r *relay) message(ctx context.Context, n *Notice) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(r.from)
	m.ToMailAddress(r.to...)
	if r.replyTo != nil {
		m.ReplyToMailAddress(r.replyTo)
	}
	m.SetDateWithValue(r.options.now())
	m.Subject(oneLine(written(&r.options, "subject", n, ""), 250))
	r.thread(m, n, n.Key)
	m.SetGenHeader("Auto-Submitted", "auto-generated") // no out-of-office answers
	m.SetGenHeader("X-Monolith-Level", n.Level().String())
	m.SetGenHeader("X-Monolith-Server", oneLine(n.Where(), 200))
	if n.Alert != nil {
		m.SetGenHeader("X-Monolith-Rule", oneLine(n.Alert.Rule, 200))
	}
	if n.Level() == monolith.LevelCritical && n.Kind == monolith.NoticeProblem {
		m.SetImportance(gomail.ImportanceHigh)
	}
	m.SetBodyString(gomail.TypeTextPlain, written(&r.options, "text", n, ""))
	picture := r.picture(ctx, n)
	cid := ""
	if picture != nil {
		cid = "graph@" + r.domain
	}
	m.AddAlternativeString(gomail.TypeTextHTML, written(&r.options, "html", n, cid))
	if picture != nil {
		if err := m.EmbedReader("graph.png", bytes.NewReader(picture), gomail.WithFileContentID(cid), gomail.WithFileContentType("image/png")); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// picture draws the graph of the alert; nil: there is none. A mail without picture is better than none.
func (r *relay) picture(ctx context.Context, n *Notice) []byte {
	if r.options.Graph == nil || n.Alert == nil || n.Kind == monolith.NoticeAcknowledged {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	png, err := r.options.Graph(ctx, n.Alert)
	if err != nil || len(png) == 0 {
		r.options.Record.say("*", "there is no picture of the graph: %v", err)
		return nil
	}
	return png
}

// thread gives the first mail of an episode an id that is made of its key, and lets the others refer to it: mail programs
// then show them together, whatever was lost in between.
func (r *relay) thread(m *gomail.Msg, n *Notice, key string) {
	root := messageID(key) + "@" + r.domain
	if n.Kind == monolith.NoticeProblem && n.Alert != nil && n.Alert.Changed.Equal(n.Alert.Opened) {
		m.SetMessageIDWithValue(root)
		return
	}
	own := messageID(key+" "+string(n.Kind)+" "+strconv.FormatInt(n.At.UnixNano(), 10)) + "@" + r.domain
	m.SetMessageIDWithValue(own)
	if n.Alert != nil {
		m.SetGenHeader("In-Reply-To", "<"+root+">")
		m.SetGenHeader("References", "<"+root+">")
	}
}

// messageID makes the part before the @ of a key: a key may hold anything.
func messageID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "monolith." + hex.EncodeToString(sum[:12])
}

// deliver hands a mail to the relay.
func (r *relay) deliver(ctx context.Context, m *gomail.Msg) (string, error) {
	ctx, stop := context.WithTimeout(ctx, mostTime)
	defer stop()
	end, _ := ctx.Deadline()
	client, err := gomail.NewClient(r.host, append(slices.Clone(r.client), gomail.WithTimeout(max(time.Millisecond, time.Until(end))))...)
	if err != nil {
		return "", Permanent(fmt.Errorf("notify: mail: %w", err))
	}
	// The library waits for each answer anew and looks at ctx only while it connects; who waits here does not wait longer.
	if err := within(ctx, func() error { return client.DialAndSendWithContext(ctx, m) }); err != nil {
		r.options.Record.say("*", "%v", err)
		return "", mailError(err)
	}
	return "taken by " + r.host, nil
}

// mailError tells whether a relay will refuse again. 5yz is its word for that; everything else may pass.
func mailError(err error) error {
	wrapped := fmt.Errorf("notify: mail: %w", err)
	if sent, ok := errors.AsType[*gomail.SendError](err); ok && sent.ErrorCode() >= 500 && !sent.IsTemp() {
		return Permanent(wrapped)
	}
	if refused, ok := errors.AsType[*textproto.Error](err); ok && refused.Code >= 500 {
		return Permanent(wrapped)
	}
	return wrapped
}
