package alerts

import (
	"fmt"
	"slices"
	"time"

	"monolith"
)

// DefaultPerHour is how many messages a subscription gets in an hour when it does not say.
const DefaultPerHour = 20

// Bounds of what a subscription may say.
const (
	maxSubscriptionDelay  = 7 * 24 * time.Hour
	minRepeat             = 5 * time.Minute
	maxRepeat             = 30 * 24 * time.Hour
	minDigest             = time.Minute
	maxDigest             = 24 * time.Hour
	maxPerHour            = 1000
	maxSubscriptionChosen = 1000
)

// CheckSubscription refuses a subscription that makes no sense by itself. Whether its channel, servers, groups and rules are
// there is for who keeps it to say.
func CheckSubscription(s *monolith.Subscription) error {
	if err := monolith.CheckLabel("name", s.Name, 128); err != nil {
		return err
	}
	switch {
	case s.Channel == 0:
		return monolith.Invalid("channel", "a subscription has a channel")
	case s.Delay < 0 || s.Delay > maxSubscriptionDelay:
		return monolith.Invalid("delay", "the delay is up to 7 days", "0 is none")
	case s.Repeat != 0 && (s.Repeat < minRepeat || s.Repeat > maxRepeat):
		return monolith.Invalid("repeat", "a reminder comes every 5 minutes at most and every 30 days at least", "0 is never")
	case s.Digest != 0 && (s.Digest < minDigest || s.Digest > maxDigest):
		return monolith.Invalid("digest", "a digest gathers for a minute at least and a day at most", "0 is none")
	case s.PerHour < 0 || s.PerHour > maxPerHour:
		return monolith.Invalid("per_hour", fmt.Sprintf("the limit is a number up to %d", maxPerHour), fmt.Sprintf("0 is %d", DefaultPerHour))
	}
	for _, l := range s.Levels {
		if !slices.Contains(monolith.Levels, l) {
			return monolith.Invalid("levels", "an alert has no level "+l.String(), "info, warn or critical")
		}
	}
	for field, n := range map[string]int{"groups": len(s.Groups), "servers": len(s.Servers), "rules": len(s.Rules)} {
		if n > maxSubscriptionChosen {
			return monolith.Invalid(field, fmt.Sprintf("the list has more than %d entries", maxSubscriptionChosen), "choose groups in the place of servers")
		}
	}
	if _, err := parseTimetable(s.Hours, s.Zone); err != nil {
		return err
	}
	if s.Quiet != "" {
		if m, err := minuteOf(s.Quiet); err != nil || m == 24*60 {
			return monolith.Invalid("quiet", quoted(s.Quiet)+" is no time of day", `such as "08:00"; nothing is never`)
		}
	}
	return nil
}

// subscriber is a subscription made ready for planning.
type subscriber struct {
	monolith.Subscription
	channel monolith.Channel // without secrets; ID 0 when it is gone
	keyed   bool             // see [monolith.ChannelKind.Keyed]
	hours   timetable
}

// off says why nobody is told by it at all; "" when somebody is.
func (s *subscriber) off() string {
	switch {
	case !s.Enabled:
		return "the subscription is switched off"
	case s.channel.ID == 0:
		return "the channel is gone"
	case !s.channel.Enabled:
		return "the channel is switched off"
	}
	return ""
}

func (s *subscriber) perHour() int {
	if s.PerHour == 0 {
		return DefaultPerHour
	}
	return s.PerHour
}
