package notify

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Dialogue records what went to and fro with a receiver, secrets masked, for "send test" and the log. Its zero
// value is ready. Several goroutines may write to it.
type Dialogue struct {
	mu      sync.Mutex
	lines   []string
	secrets []string
	size    int
}

// hidden stands for what must not be shown.
const hidden = "•••"

// mostDialogue bounds a dialogue in bytes: a receiver may send for ever.
const mostDialogue = 64 << 10

// hide adds texts that must not be shown, in every form in which they may travel.
func (d *Dialogue) hide(secrets ...string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range secrets {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s))} {
			if form != "" && !slices.Contains(d.secrets, form) {
				d.secrets = append(d.secrets, form)
			}
		}
	}
	// The longest first: one may be part of another.
	slices.SortFunc(d.secrets, func(a, b string) int { return len(b) - len(a) })
}

// say adds lines with a sign before them: > sent, < received, * what happened.
func (d *Dialogue) say(sign, format string, args ...any) {
	if d == nil {
		return
	}
	text := format
	if len(args) > 0 {
		text = fmt.Sprintf(format, args...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for line := range strings.Lines(text) {
		line = sign + " " + d.mask(visible(strings.TrimRight(line, "\r\n")))
		if d.size += len(line); d.size > mostDialogue {
			return
		}
		d.lines = append(d.lines, line)
	}
}

// mask hides the secrets in a text.
func (d *Dialogue) mask(text string) string {
	for _, s := range d.secrets {
		text = strings.ReplaceAll(text, s, hidden)
	}
	return text
}

// String gives what was said so far, a line each.
func (d *Dialogue) String() string {
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, "\n")
}

// masked hides secrets in a text without a dialogue.
func masked(text string, secrets []string) string {
	var d Dialogue
	d.hide(secrets...)
	return d.mask(text)
}

// visible replaces what can't be seen or turns the direction of writing, so that a text stays where it stands.
func visible(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, text)
}

// oneLine makes one line of a text, with at most so many characters.
func oneLine(text string, most int) string {
	text = visible(strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); len(runes) > most {
		return strings.TrimSpace(string(runes[:most-1])) + "…"
	}
	return text
}
