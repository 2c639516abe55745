package notify

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/text/unicode/norm"

	"monolith"
)

// pagerLength is what a pager, or a gateway to short messages, takes: 140 ASCII characters.
const pagerLength = 140

func pagerKind() Kind {
	return Kind{make: newPager, ChannelKind: monolith.ChannelKind{
		Name: "pager", Title: "pager", Help: "A mail of at most 140 ASCII characters, for gateways to pagers and short messages.", Fields: relayFields}}
}

type pager struct{ *relay }

func newPager(c *config, o Options) (Sender, error) {
	r, err := newRelay(c, o)
	if err != nil {
		return nil, err
	}
	return pager{r}, nil
}

func (p pager) Send(ctx context.Context, n *Notice) (string, error) {
	line := pagerLine(&p.options, n)
	answer, err := p.deliver(ctx, p.message(n, line))
	if err != nil {
		return "", err
	}
	return answer + ": " + line, nil
}

// message puts the mail together. Gateways do not decode: the line stands in it as it is.
func (p pager) message(n *Notice, line string) *gomail.Msg {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithEncoding(gomail.EncodingUSASCII), gomail.WithCharset(gomail.CharsetASCII))
	m.FromMailAddress(p.from)
	m.ToMailAddress(p.to...)
	m.SetDateWithValue(p.options.now())
	p.thread(m, n, "pager "+n.Key) // one mailbox may get mails of both kinds
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	// Gateways show the subject, the text, or both: all is in the text, and the subject says the level only.
	switch n.Kind {
	case monolith.NoticeRecovery:
		m.Subject(short[monolith.LevelOK])
	case monolith.NoticeTest:
		m.Subject("TEST")
	default:
		m.Subject(short[n.Level()])
	}
	// The library writes quoted-printable under the name of 7bit, which would break the line at its 76th character.
	m.SetBodyString(gomail.TypeTextPlain, line, gomail.WithPartEncoding(gomail.NoEncoding))
	return m
}

// pagerLine is the notice in at most 140 ASCII characters, in the order of need: how bad, where, what, since.
func pagerLine(o *Options, n *Notice) string {
	if o.Template != nil && o.Template("pager") != "" {
		return cutASCII(written(o, "pager", n, ""), pagerLength)
	}
	switch {
	case n.Kind == monolith.NoticeTest:
		return "TEST Monolith can reach this pager"
	case n.Alert == nil:
		line := title(n)
		if a := worst(n); a != nil {
			line += ": " + where(a) + " " + what(a)
		}
		return cutASCII(line, pagerLength)
	}
	head := short[n.Alert.Level]
	tail := " since " + n.Alert.Opened.UTC().Format("15:04") + "Z"
	switch n.Kind {
	case monolith.NoticeRecovery:
		head, tail = "OK", " after "+lasted(n.Lasted)
	case monolith.NoticeAcknowledged:
		head, tail = "ACK", ""
		if n.By != "" {
			tail = " by " + n.By
		}
	case monolith.NoticeReminder:
		head = "STILL " + head
	}
	if more := len(n.Others) + n.More; more > 0 {
		tail += fmt.Sprintf(" +%d", more)
	}
	a := n.Alert
	name := n.Where()
	if n.Server != nil && len(name) > 40 {
		name = n.Server.Name // the group is what can be looked up
	}
	text := a.Summary
	if text == "" {
		text = a.Title
	}
	if a.Instance != "" && !strings.Contains(text, a.Instance) {
		text += " (" + a.Instance + ")"
	}
	tail = cutASCII(tail, 30)
	begin := cutASCII(head+" "+name, 50) + " "
	if full := cutASCII(begin+toASCII(a.Title+": "+text)+" "+strings.TrimSpace(tail), 10_000); len(full) <= pagerLength && a.Summary != "" {
		return full
	}
	return begin + cutASCII(text, pagerLength-len(begin)-len(tail)-1) + strings.TrimRight(" "+strings.TrimSpace(tail), " ")
}

// cutASCII makes one line of at most so many ASCII characters.
func cutASCII(text string, most int) string {
	text = strings.Join(strings.Fields(toASCII(text)), " ")
	if len(text) <= most {
		return text
	}
	return strings.TrimSpace(text[:max(0, most-2)]) + ".."
}

// replaced are signs that have a spelling in ASCII.
var replaced = strings.NewReplacer("→", "->", "≥", ">=", "≤", "<=", "–", "-", "—", "-", "…", "..", "•", "*", "×", "x", "°", "", "“", `"`, "”", `"`, "‘", "'", "’", "'",
	"ß", "ss", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ä", "ae", "ö", "oe", "ü", "ue", "æ", "ae", "ø", "o", "Δ", "d", "µ", "u", "\u00a0", " ", "\u202f", " ", "\r\n", " ", "\n", " ", "\t", " ")

// toASCII writes a text in ASCII: accents fall, what has no spelling becomes a question mark.
func toASCII(text string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(visible(replaced.Replace(text))) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		default:
			b.WriteByte('?')
		}
	}
	return b.String()
}
