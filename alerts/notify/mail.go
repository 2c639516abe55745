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
	"net"
	"net/mail"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"monolith"
)

// relayFields are how a mail relay is reached; mail and pager share them.
var relayFields = []monolith.ChannelField{
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
	return Kind{make: newMail, ChannelKind: monolith.ChannelKind{
		Name: "mail", Title: "mail", Help: "Mail with text, HTML and a picture of the graph; recovery is threaded under its problem.",
		Fields: append(slices.Clip(relayFields), monolith.ChannelField{Name: "reply_to", Title: "Reply to", Help: "Where answers go, when not to the sender"}),
	}}
}

// relay is a mail relay with sender and recipients.
type relay struct {
	from    *mail.Address
	to      []*mail.Address
	replyTo *mail.Address
	line    smtpLine
	login   []gomail.Option
	domain  string // of message ids
	secrets []string
	options Options
}

func newMail(c *config, o Options) (Sender, error) { return newRelay(c, o) }

// newRelay reads the settings of a relay.
func newRelay(c *config, o Options) (*relay, error) {
	r := &relay{line: smtpLine{host: c.text("host"), record: o.Record}, secrets: c.secrets(), options: o}
	if _, notAddress := netip.ParseAddr(r.line.host); strings.ContainsAny(r.line.host, " /@:[]") && notAddress != nil {
		return nil, monolith.Invalid("config.host", fmt.Sprintf("%q is not the name or address of a host", r.line.host), "without port and scheme: the port has a field of its own")
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
	o.Record.hide(r.secrets...)
	return r, r.transport(c)
}

// transport settles encryption and login.
func (r *relay) transport(c *config) error {
	port, err := c.port("port")
	if err != nil {
		return err
	}
	l := &r.line
	l.mode = c.text("tls")
	l.port = cmp.Or(port, map[string]int{"none": 25, "starttls": 587, "tls": 465}[l.mode])
	l.hello = cmp.Or(r.options.Hostname, "localhost")
	l.trust = &tls.Config{ServerName: cmp.Or(c.text("server_name"), l.host), MinVersion: tls.VersionTLS12}
	if pem := c.text("ca"); pem != "" {
		l.trust.RootCAs = x509.NewCertPool()
		if !l.trust.RootCAs.AppendCertsFromPEM([]byte(pem)) {
			return monolith.Invalid("config.ca", "there is no certificate in this text", "PEM, beginning with -----BEGIN CERTIFICATE-----")
		}
	}
	user, password := c.text("user"), c.secret("password")
	switch auth := c.text("auth"); {
	case auth == "none":
	case user == "" || password == "":
		return monolith.Invalid("config.user", "a login needs a user and a password", "give both, or choose the login none")
	case l.mode == "none" && l.host != "localhost" && !strings.HasPrefix(l.host, "127.") && l.host != "::1":
		return monolith.Invalid("config.tls", "the password would go over the network unencrypted", "choose starttls or tls")
	default:
		// Encryption lies below the library, which must not ask for it.
		how := map[string]gomail.SMTPAuthType{"plain": gomail.SMTPAuthPlainNoEnc, "login": gomail.SMTPAuthLoginNoEnc}[auth]
		r.login = []gomail.Option{gomail.WithSMTPAuth(how), gomail.WithUsername(user), gomail.WithPassword(password)}
	}
	return nil
}

func (r *relay) Send(ctx context.Context, n *Notice) (string, error) {
	m, err := r.message(ctx, n)
	if err != nil {
		return "", Permanent(fmt.Errorf("notify: mail: %w", err))
	}
	return r.deliver(ctx, m)
}

// mostSubject is how many characters the subject of a mail has at most.
const mostSubject = 250

// message puts a mail together. Addresses and headers go through the library's encoders: nothing of a server's text can end one.
func (r *relay) message(ctx context.Context, n *Notice) (*gomail.Msg, error) {
	n = lastHour(ctx, &r.options, n)
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(r.from)
	m.ToMailAddress(r.to...)
	if r.replyTo != nil {
		m.ReplyToMailAddress(r.replyTo)
	}
	m.SetDateWithValue(r.options.now())
	m.Subject(oneLine(written(&r.options, "subject", n, ""), mostSubject))
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

// quitTime is how long a relay that took a mail may take to say goodbye.
const quitTime = 5 * time.Second

// deliver hands a mail to the relay and gives what it said when it took it, which often names the mail in its queue.
func (r *relay) deliver(ctx context.Context, m *gomail.Msg) (answer string, err error) {
	ctx, stop := context.WithTimeout(ctx, mostTime)
	defer stop()
	end, _ := ctx.Deadline()
	dial := func(dialing context.Context, _, _ string) (net.Conn, error) {
		conn, err := r.line.dial(dialing)
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() }) // whichever way this ends, nobody waits on it any more
		}
		return conn, err
	}
	client, err := gomail.NewClient(r.line.host, append(slices.Clone(r.login), gomail.WithPort(r.line.port), gomail.WithHELO(r.line.hello), gomail.WithTLSPolicy(gomail.NoTLS),
		gomail.WithoutNoop(), gomail.WithoutRset(), gomail.WithDialContextFunc(dial), gomail.WithTimeout(max(time.Millisecond, time.Until(end))))...)
	if err != nil {
		return "", Permanent(fmt.Errorf("notify: mail: %w", err))
	}
	var talk *smtp.Client
	// The library waits for each answer anew and looks at ctx only while it connects; who waits here does not wait longer.
	err = within(ctx, func() (err error) {
		if talk, err = client.DialToSMTPClientWithContext(ctx); err != nil {
			return err
		}
		return client.SendWithSMTPClient(talk, m)
	})
	if err != nil {
		r.options.Record.say("*", "%v", err)
		return "", mailError(err)
	}
	// The mail is taken. Whatever becomes of the goodbye, it must not be sent again.
	if err := errors.Join(talk.UpdateDeadline(quitTime), client.CloseWithSMTPClient(talk)); err != nil {
		r.options.Record.say("*", "%v", err)
	}
	return "taken by " + r.line.host + ": " + oneLine(masked("250 "+m.ServerResponse(), r.secrets), 300), nil
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
