package notify

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"monolith"
)

// Kind is a kind of channel with what makes its senders.
type Kind struct {
	monolith.ChannelKind

	make func(c *config, o Options) (Sender, error)
}

// Kinds lists the kinds of channel.
func Kinds() []Kind {
	return []Kind{mailKind(), pagerKind(), pagerDutyKind(), webhookKind(), shoutrrrKind()}
}

// KindOf gives a kind by its name.
func KindOf(name string) (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// New makes the sender of a channel. A setting that makes no sense is a [monolith.InvalidError] that names it
// as config.NAME or secrets.NAME.
func New(c *monolith.Channel, o Options) (Sender, error) {
	kind, ok := KindOf(c.Kind)
	if !ok {
		var names []string
		for _, k := range Kinds() {
			names = append(names, k.Name)
		}
		return nil, monolith.Invalid("kind", fmt.Sprintf("unknown kind of channel %q", c.Kind), "one of "+strings.Join(names, ", "))
	}
	cfg := &config{channel: c, kind: kind}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return kind.make(cfg, o)
}

// config reads the settings of a channel.
type config struct {
	channel *monolith.Channel
	kind    Kind
}

// check refuses settings that the kind does not have, and the want of those that it needs.
func (c *config) check() error {
	field := func(name string, secret bool) (monolith.ChannelField, bool) {
		i := slices.IndexFunc(c.kind.Fields, func(f monolith.ChannelField) bool { return f.Name == name && f.Secret == secret })
		if i < 0 {
			return monolith.ChannelField{}, false
		}
		return c.kind.Fields[i], true
	}
	for name, value := range c.channel.Config {
		f, ok := field(name, false)
		switch {
		case !ok:
			return monolith.Invalid("config."+name, "a "+c.kind.Title+" channel has no such setting", "it has "+strings.Join(c.names(false), ", "))
		case len(value) > 10_000:
			return monolith.Invalid("config."+name, "the setting is longer than 10,000 characters")
		case value != "" && len(f.Choices) > 0 && !slices.Contains(f.Choices, value):
			return monolith.Invalid("config."+name, fmt.Sprintf("%q is not known here", value), "one of "+strings.Join(f.Choices, ", "))
		case !f.Lines && strings.ContainsAny(value, "\r\n\x00"):
			return monolith.Invalid("config."+name, "the setting has more than one line")
		}
	}
	for name, value := range c.channel.Secrets {
		if _, ok := field(name, true); !ok {
			return monolith.Invalid("secrets."+name, "a "+c.kind.Title+" channel has no such secret", "it has "+strings.Join(c.names(true), ", "))
		}
		if strings.ContainsAny(value.Reveal(), "\r\n\x00") {
			return monolith.Invalid("secrets."+name, "the secret has more than one line")
		}
	}
	for _, f := range c.kind.Fields {
		switch {
		case f.Required && f.Secret && c.channel.Secrets[f.Name] == "":
			return monolith.Invalid("secrets."+f.Name, f.Title+" is missing", f.Help)
		case f.Required && !f.Secret && c.text(f.Name) == "":
			return monolith.Invalid("config."+f.Name, f.Title+" is missing", f.Help)
		}
	}
	return nil
}

// names lists the settings or the secrets of the kind.
func (c *config) names(secret bool) (out []string) {
	for _, f := range c.kind.Fields {
		if f.Secret == secret {
			out = append(out, f.Name)
		}
	}
	return out
}

// text gives a setting, or its default.
func (c *config) text(name string) string {
	if v := strings.TrimSpace(c.channel.Config[name]); v != "" {
		return v
	}
	for _, f := range c.kind.Fields {
		if f.Name == name {
			return f.Default
		}
	}
	return ""
}

func (c *config) secret(name string) string { return c.channel.Secrets[name].Reveal() }

// secrets gives all secrets, for masking.
func (c *config) secrets() (out []string) {
	for _, s := range c.channel.Secrets {
		if s != "" {
			out = append(out, s.Reveal())
		}
	}
	return out
}

// list gives a setting that holds several things, with commas or lines between.
func (c *config) list(name string) (out []string) {
	for part := range strings.FieldsFuncSeq(c.text(name), func(r rune) bool { return r == ',' || r == ';' || r == '\n' || r == '\r' }) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// port gives a port; 0 when none is set.
func (c *config) port(name string) (int, error) {
	text := c.text(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0, monolith.Invalid("config."+name, fmt.Sprintf("%q is not a port", text), "a number from 1 to 65535")
	}
	return n, nil
}

// address gives a setting that is the address of an HTTP receiver.
func (c *config) address(name string) (*url.URL, error) {
	u, err := url.Parse(c.text(name))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, monolith.Invalid("config."+name, "this is not the address of an HTTP receiver", "such as https://hooks.example/monolith, without a user")
	}
	return u, nil
}
