package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"monolith"
)

func shoutrrrKind() Kind {
	const help = "Slack, Discord, Telegram, Teams, Matrix, Mattermost, Rocket.Chat, Zulip, ntfy, Gotify, Pushover, Opsgenie and others."
	return Kind{make: newShoutrrr, ChannelKind: monolith.ChannelKind{Name: "shoutrrr", Title: "chat or push", Help: help, Fields: []monolith.ChannelField{
		{Name: "url", Title: "Address", Secret: true, Required: true,
			Help: "As shoutrrr writes it: slack://hook:TOKEN@webhook, discord://TOKEN@ID, telegram://TOKEN@telegram?chats=@channel, ntfy://ntfy.sh/TOPIC"},
	}}}
}

// withdrawn are services that write here and not to somebody, or that have a kind of their own.
var withdrawn = []string{"logger", "smtp", "pagerduty"}

type chat struct {
	url     string
	service string
	secrets []string
	options Options
}

func newShoutrrr(c *config, o Options) (Sender, error) {
	address := c.secret("url")
	service, _, ok := strings.Cut(address, "://")
	service, _, _ = strings.Cut(service, "+")
	if !ok || slices.Contains(withdrawn, service) {
		return nil, monolith.Invalid("secrets.url", "this is not the address of a chat or push service", "such as slack://… or ntfy://…; mail and PagerDuty have kinds of their own")
	}
	s := &chat{url: address, service: service, options: o, secrets: secretParts(address)}
	if _, err := new(router.ServiceRouter).Locate(address); err != nil {
		// Its error may hold the address, and so the secret.
		return nil, monolith.Invalid("secrets.url", "the address can't be used: "+masked(err.Error(), s.secrets), "as shoutrrr's documentation gives it for "+service)
	}
	o.Record.hide(s.secrets...)
	return s, nil
}

// secretParts gives the parts of an address that must not be shown: all of it, and what stands between its signs.
func secretParts(address string) []string {
	parts := []string{address}
	_, rest, _ := strings.Cut(address, "://")
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return strings.ContainsRune(":/@?&=,", r) }) {
		if len(part) >= 8 {
			parts = append(parts, part)
		}
	}
	return parts
}

func (s *chat) Send(ctx context.Context, n *Notice) (string, error) {
	service, err := new(router.ServiceRouter).Locate(s.url)
	if err != nil {
		return "", Permanent(errors.New("notify: " + masked(err.Error(), s.secrets)))
	}
	params := types.Params{}
	params.SetTitle(oneLine(title(n), 200))
	text := chatText(&s.options, n)
	s.options.Record.say(">", "%s: %s\n%s", s.service, oneLine(title(n), 200), text)
	// The library takes no context: it has time-outs of its own, and who waits here need not wait for it.
	if err := within(ctx, func() error { return service.Send(text, &params) }); err != nil {
		err = errors.New(masked(err.Error(), s.secrets))
		s.options.Record.say("*", "%v", err)
		return "", fmt.Errorf("notify: %s: %w", s.service, err)
	}
	s.options.Record.say("<", "taken")
	return "taken by " + s.service, nil
}
