package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// subscriptionsPage lists who is told of what.
type subscriptionsPage struct {
	pageBase
	Tab           string
	Subscriptions []subscriptionLine
	Channels      []monolith.Channel
}

// subscriptionLine is a subscription in words.
type subscriptionLine struct {
	monolith.Subscription
	What, When  string
	ChannelName string // "": the channel is gone
	Off         string // why nobody is told by it
	Open        int    // alerts that it is told of
	Next        time.Time
}

func (s *Server) subscriptionsPage(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	d := subscriptionsPage{pageBase: s.pageBase(r, "Subscriptions", "settings"), Tab: "subscriptions"}
	list, err := s.cfg.Telling.Subscriptions(ctx)
	if err = d.unread(err, "the subscriptions"); err != nil {
		return err
	}
	d.Channels, err = s.cfg.Telling.Channels(ctx)
	if err = d.unread(err, "the channels"); err != nil {
		return err
	}
	names, err := s.serverNames(ctx)
	if err = d.unread(err, "the servers"); err != nil {
		return err
	}
	for i := range list {
		d.Subscriptions = append(d.Subscriptions, s.viewSubscription(&list[i], d.Channels, names, d.Now))
	}
	return s.render(w, r, "subscriptions", &d)
}

func (s *Server) viewSubscription(sub *monolith.Subscription, channels []monolith.Channel, names map[monolith.ServerID]string, now time.Time) subscriptionLine {
	line := subscriptionLine{Subscription: *sub, What: chosenWords(sub, names), When: whenWords(sub)}
	if i := slices.IndexFunc(channels, func(c monolith.Channel) bool { return c.ID == sub.Channel }); i >= 0 {
		line.ChannelName = channels[i].Name
		if !channels[i].Enabled {
			line.Off = "its channel is switched off"
		}
	} else {
		line.Off = "its channel is gone"
	}
	if !sub.Enabled {
		line.Off = "switched off"
	}
	if line.Off == "" && sub.Hours != "" {
		if next := s.cfg.Telling.NextHours(sub, now); next.After(now) {
			line.Next = next
		}
	}
	if s.alerts != nil {
		for _, a := range s.alerts.Open() {
			if sub.Declines(&a) == "" {
				line.Open++
			}
		}
	}
	return line
}

// fewNames joins names as sentences do, and counts those that are too many.
func fewNames(names []string, most int, noun string) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %s more", plural(len(names)-most, noun))
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// chosenWords says what a subscription is about: "critical and warn of acme/prod".
func chosenWords(sub *monolith.Subscription, servers map[monolith.ServerID]string) string {
	text := "everything"
	if len(sub.Levels) > 0 && len(sub.Levels) < 3 {
		var levels []string
		for _, l := range slices.Backward(slices.Sorted(slices.Values(sub.Levels))) {
			levels = append(levels, l.String())
		}
		text = fewNames(levels, 3, "level")
	}
	if len(sub.Groups) > 0 {
		text += " of " + fewNames(sub.Groups, 4, "group")
	}
	if len(sub.Servers) > 0 {
		var names []string
		for _, id := range sub.Servers {
			names = append(names, cmp.Or(servers[id], "a server that is gone"))
		}
		text += " on " + fewNames(names, 4, "server")
	}
	if len(sub.Rules) > 0 {
		noun := " by the rules "
		if len(sub.Rules) == 1 {
			noun = " by the rule "
		}
		text += noun + fewNames(sub.Rules, 4, "rule")
	}
	return text
}

// whenWords says when a subscription tells.
func whenWords(sub *monolith.Subscription) string {
	var parts []string
	if lines := strings.FieldsFunc(sub.Hours, func(r rune) bool { return r == '\n' || r == '\r' || r == ';' }); len(lines) == 0 {
		parts = append(parts, "always")
	} else {
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		parts = append(parts, strings.ReplaceAll(strings.Join(lines, "; "), "-", "–")+" "+cmp.Or(sub.Zone, "UTC"))
	}
	if sub.Delay > 0 {
		parts = append(parts, "once open for "+writeDuration(sub.Delay))
	}
	if sub.Digest > 0 {
		parts = append(parts, "gathered for "+writeDuration(sub.Digest))
	}
	if sub.Repeat > 0 {
		parts = append(parts, "again each "+writeDuration(sub.Repeat))
	}
	if !sub.Recovery {
		parts = append(parts, "not when it is over")
	}
	if sub.PerHour > 0 {
		parts = append(parts, "at most "+strconv.Itoa(sub.PerHour)+" an hour")
	}
	if sub.Quiet != "" {
		parts = append(parts, "a line each day at "+sub.Quiet)
	}
	return strings.Join(parts, ", ")
}

// subscriptionForm makes or changes a subscription.
type subscriptionForm struct {
	pageBase
	tellForm
	Tab      string
	Old      string // the name as it is kept; "": a new one
	Sub      monolith.Subscription
	Channels []monolith.Channel
	Groups   []pick
	Servers  []pick
	Rules    []pick
	Asked    bool // who would be told now was asked
	Would    []monolith.Foretold
	More     int // alerts that the list leaves out
	Words    string
}

// pick is one of many things that can be chosen.
type pick struct {
	Value, Title string
	On           bool
}

// Duration gives what stands in the field of a length of time.
func (d *subscriptionForm) Duration(field string) string {
	if d.Sent != nil {
		return d.Sent.Get(field)
	}
	if v := map[string]time.Duration{"delay": d.Sub.Delay, "repeat": d.Sub.Repeat, "digest": d.Sub.Digest}[field]; v > 0 {
		return writeDuration(v)
	}
	return ""
}

// PerHour gives what stands in the field of the most messages an hour.
func (d *subscriptionForm) PerHour() string {
	if d.Sent != nil {
		return d.Sent.Get("per_hour")
	}
	if d.Sub.PerHour == 0 {
		return ""
	}
	return strconv.Itoa(d.Sub.PerHour)
}

// HasLevel reports whether a level's box is ticked.
func (d *subscriptionForm) HasLevel(word string) bool {
	return slices.ContainsFunc(d.Sub.Levels, func(l monolith.Level) bool { return l.String() == word })
}

// OtherError gives what is wrong with no field of the form.
func (d *subscriptionForm) OtherError() string {
	return d.otherError([]string{"name", "channel", "levels", "groups", "servers", "rules", "hours", "zone", "delay", "repeat", "digest", "per_hour", "quiet"})
}

// subscriptionFormOf reads which subscription a form is about.
func (s *Server) subscriptionFormOf(r *http.Request) (*subscriptionForm, error) {
	id, err := numberedPath(r, "subscription")
	if err != nil {
		return nil, err
	}
	d := &subscriptionForm{Tab: "subscriptions", Sub: monolith.Subscription{Enabled: true, Recovery: true, Levels: []monolith.Level{monolith.LevelWarn, monolith.LevelCritical}}}
	title := "New subscription"
	if id != 0 {
		if d.Sub, err = s.cfg.Telling.Subscription(r.Context(), id); err != nil {
			return nil, gone(err, "subscription", id)
		}
		title, d.Old = d.Sub.Name, d.Sub.Name
	} else if c, err := strconv.ParseInt(r.FormValue("channel"), 10, 64); err == nil {
		d.Sub.Channel = c
	}
	d.pageBase = s.pageBase(r, title, "settings")
	if d.Sub.ID == 0 {
		d.Sub.Zone = cmp.Or(d.Zone, "UTC")
	}
	d.Channels, err = s.cfg.Telling.Channels(r.Context())
	return d, err
}

func (s *Server) editSubscriptionPage(w http.ResponseWriter, r *http.Request) error {
	d, err := s.subscriptionFormOf(r)
	if err != nil {
		return err
	}
	return s.showSubscriptionPage(w, r, http.StatusOK, d)
}

// showSubscriptionPage adds what can be chosen and shows the form.
func (s *Server) showSubscriptionPage(w http.ResponseWriter, r *http.Request, status int, d *subscriptionForm) error {
	servers, err := s.store.Servers(r.Context())
	if err = d.unread(err, "the servers"); err != nil {
		return err
	}
	groups, err := s.store.Groups(r.Context())
	if err = d.unread(err, "the groups"); err != nil {
		return err
	}
	d.Groups, d.Servers = pickGroups(groups, d.Sub.Groups), pickServers(servers, d.Sub.Servers)
	var rules []pick
	if s.alerts != nil {
		for _, rule := range s.alerts.Rules() {
			rules = append(rules, pick{Value: rule.ID, Title: rule.Title})
		}
	}
	d.Rules = tick(rules, d.Sub.Rules)
	names := make(map[monolith.ServerID]string, len(servers))
	for i := range servers {
		names[servers[i].ID] = servers[i].Name
	}
	d.Words = chosenWords(&d.Sub, names) + ", " + whenWords(&d.Sub)
	return s.show(w, r, status, "subscription", "frame", d)
}

// pickGroups lists the groups to choose from, those that are chosen first.
func pickGroups(groups []monolith.Group, chosen []string) []pick {
	var list []pick
	for i := range groups {
		list = append(list, pick{Value: groups[i].Path})
	}
	return tick(list, chosen)
}

// pickServers lists the servers to choose from, those that are chosen first. One that is gone stays until people take it
// out: a subscription to it alone must not become one to everything.
func pickServers(servers []monolith.Server, chosen []monolith.ServerID) []pick {
	var list []pick
	var names []string
	for i := range servers {
		list = append(list, pick{Value: servers[i].Name, Title: servers[i].Group})
	}
	for _, id := range chosen {
		if i := slices.IndexFunc(servers, func(srv monolith.Server) bool { return srv.ID == id }); i >= 0 {
			names = append(names, servers[i].Name)
		} else {
			names = append(names, goneServer(id))
		}
	}
	return tick(list, names)
}

// goneServer stands for a server that was removed in the list of servers.
func goneServer(id monolith.ServerID) string { return fmt.Sprintf("#%d", id) }

// tick marks what is chosen and puts it first. What is chosen and there no more stays in the list.
func tick(list []pick, chosen []string) []pick {
	for _, value := range chosen {
		i := slices.IndexFunc(list, func(p pick) bool { return p.Value == value })
		if i < 0 {
			list = append(list, pick{Value: value, Title: "there no more", On: true})
		} else {
			list[i].On = true
		}
	}
	slices.SortStableFunc(list, func(a, b pick) int {
		switch {
		case a.On == b.On:
			return 0
		case a.On:
			return -1
		}
		return 1
	})
	return list
}

// readSubscriptionForm reads the form into the subscription. It reads all of it, also when something in it is wrong, so that
// the form comes back as it was sent.
func (s *Server) readSubscriptionForm(r *http.Request, sub *monolith.Subscription) error {
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	r.PostFormValue("") // reads the form
	sub.Name, sub.Enabled, sub.Recovery = strings.TrimSpace(r.PostFormValue("name")), r.PostFormValue("enabled") != "", r.PostFormValue("recovery") != ""
	sub.Hours, sub.Zone, sub.Quiet = formLines(r, "hours"), strings.TrimSpace(r.PostFormValue("zone")), strings.TrimSpace(r.PostFormValue("quiet"))
	sub.Channel, _ = strconv.ParseInt(r.PostFormValue("channel"), 10, 64) // 0 is refused as no channel
	before := sub.Servers
	sub.Levels, sub.Groups, sub.Rules, sub.Servers = nil, r.PostForm["groups"], r.PostForm["rules"], nil
	for _, word := range r.PostForm["levels"] {
		level, err := monolith.ParseLevel(word)
		note(err)
		sub.Levels = append(sub.Levels, level)
	}
	servers, err := s.store.Servers(r.Context())
	note(err)
	for _, name := range r.PostForm["servers"] {
		if i := slices.IndexFunc(servers, func(srv monolith.Server) bool { return srv.Name == name }); i >= 0 {
			sub.Servers = append(sub.Servers, servers[i].ID)
		} else if i := slices.IndexFunc(before, func(id monolith.ServerID) bool { return goneServer(id) == name }); i >= 0 {
			sub.Servers = append(sub.Servers, before[i])
		} else {
			note(monolith.Invalid("servers", fmt.Sprintf("there is no server %q", name), "it may have been renamed or removed meanwhile"))
		}
	}
	for field, to := range map[string]*time.Duration{"delay": &sub.Delay, "repeat": &sub.Repeat, "digest": &sub.Digest} {
		text := strings.TrimSpace(r.PostFormValue(field))
		if *to = 0; text == "" || text == "0" {
			continue
		}
		*to, err = monolith.ParseDuration(field, text)
		note(err)
	}
	sub.PerHour = 0
	if text := strings.TrimSpace(r.PostFormValue("per_hour")); text != "" {
		if sub.PerHour, err = strconv.Atoi(text); err != nil {
			note(monolith.Invalid("per_hour", strconv.Quote(text)+" is not a whole number"))
		}
	}
	return firstErr(errs...)
}

// saveSubscriptionForm keeps a subscription, or shows what it would tell of now.
func (s *Server) saveSubscriptionForm(w http.ResponseWriter, r *http.Request) error {
	d, err := s.subscriptionFormOf(r)
	if err != nil {
		return err
	}
	status := http.StatusOK
	err = s.readSubscriptionForm(r, &d.Sub)
	switch {
	case err != nil:
	case r.PostFormValue("action") == "preview":
		if err = s.cfg.Telling.CheckSubscription(r.Context(), &d.Sub); err == nil {
			d.Asked, d.Sent = true, r.PostForm
			d.Would = s.cfg.Telling.Foretell(&d.Sub)
			if d.More = max(0, len(d.Would)-mostWould); d.More > 0 {
				d.Would = d.Would[:mostWould]
			}
		}
	default:
		if err = s.cfg.Telling.PutSubscription(r.Context(), &d.Sub); err == nil {
			s.back(w, r, s.link("subscriptions"), "subscribed")
			return nil
		}
		if errors.Is(err, monolith.ErrConflict) {
			taken := refuse(http.StatusConflict, kindConflict, "another subscription has this name", "")
			taken.Field, err = "name", taken
		}
	}
	if err != nil {
		if status, err = s.refused(r, &d.tellForm, err); err != nil {
			return err
		}
	}
	return s.showSubscriptionPage(w, r, status, d)
}

// mostWould is how many alerts the preview of a subscription lists.
const mostWould = 25

func (s *Server) deleteSubscriptionForm(w http.ResponseWriter, r *http.Request) error {
	id, err := numberedPath(r, "subscription")
	if err != nil {
		return err
	}
	if err := s.cfg.Telling.DeleteSubscription(r.Context(), id); err != nil && !errors.Is(err, monolith.ErrNotFound) {
		return err
	}
	s.back(w, r, s.link("subscriptions"), "deleted")
	return nil
}
