package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// subscriptionView is a subscription as the API gives it: servers by name, lengths of time in seconds.
type subscriptionView struct {
	monolith.Subscription
	Servers []string `json:"servers"`
	Delay   float64  `json:"delay"`
	Repeat  float64  `json:"repeat"`
	Digest  float64  `json:"digest"`
	// NextHours is the next moment that lies in its hours: now, while they last.
	NextHours time.Time `json:"next_hours"`
}

func (s *Server) subscriptionView(sub *monolith.Subscription, names map[monolith.ServerID]string) subscriptionView {
	v := subscriptionView{Subscription: *sub, Servers: []string{}, Delay: sub.Delay.Seconds(), Repeat: sub.Repeat.Seconds(), Digest: sub.Digest.Seconds(),
		NextHours: s.cfg.Telling.NextHours(sub, s.now()).UTC()}
	for _, id := range sub.Servers {
		if name := names[id]; name != "" {
			v.Servers = append(v.Servers, name)
		}
	}
	if v.Levels == nil {
		v.Levels = []monolith.Level{}
	}
	if v.Groups == nil {
		v.Groups = []string{}
	}
	if v.Rules == nil {
		v.Rules = []string{}
	}
	return v
}

func (s *Server) listSubscriptions(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "limit", "cursor")
	subs, err := s.cfg.Telling.Subscriptions(r.Context())
	if err != nil {
		return err
	}
	names, err := s.serverNames(r.Context())
	if err != nil {
		return err
	}
	part, next := cut(q, subs, 1000, func(x monolith.Subscription) string { return strconv.FormatInt(x.ID, 10) })
	if q.err != nil {
		return q.err
	}
	views := make([]subscriptionView, len(part))
	for i := range part {
		views[i] = s.subscriptionView(&part[i], names)
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Subscriptions []subscriptionView `json:"subscriptions"`
		Next          string             `json:"next,omitempty"`
	}{views, next})
}

func (s *Server) showSubscription(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	sub, _, err := numbered(r, "subscription", "subscriptions", s.cfg.Telling.Subscription)
	if err != nil {
		return err
	}
	return s.answerSubscription(w, r, http.StatusOK, &sub)
}

func (s *Server) answerSubscription(w http.ResponseWriter, r *http.Request, status int, sub *monolith.Subscription) error {
	names, err := s.serverNames(r.Context())
	if err != nil {
		return err
	}
	return s.respond(w, r, status, "subscription", s.subscriptionView(sub, names))
}

// subscriptionBody is what people say of a subscription.
type subscriptionBody struct {
	Name     string     `json:"name"`
	Channel  int64      `json:"channel"`
	Enabled  *bool      `json:"enabled"`
	Levels   []string   `json:"levels"`
	Groups   []string   `json:"groups"`
	Servers  []string   `json:"servers"`
	Rules    []string   `json:"rules"`
	Hours    string     `json:"hours"`
	Zone     string     `json:"zone"`
	Delay    lengthText `json:"delay"`
	Repeat   lengthText `json:"repeat"`
	Digest   lengthText `json:"digest"`
	PerHour  int        `json:"per_hour"`
	Recovery *bool      `json:"recovery"`
	Quiet    string     `json:"quiet"`
}

// subscriptionOf reads what people say. What is checked here is what has no place in a subscription: names of servers, levels
// and lengths of time. Pages use it too.
func (s *Server) subscriptionOf(ctx context.Context, in *subscriptionBody, id int64) (*monolith.Subscription, error) {
	sub := &monolith.Subscription{ID: id, Name: strings.TrimSpace(in.Name), Channel: in.Channel, Enabled: in.Enabled == nil || *in.Enabled, Rules: in.Rules,
		Hours: strings.TrimSpace(in.Hours), Zone: in.Zone, PerHour: in.PerHour, Recovery: in.Recovery == nil || *in.Recovery, Quiet: strings.TrimSpace(in.Quiet)}
	if err := firstErr(checkSaid("name", sub.Name, 128), checkSaid("hours", sub.Hours, 2000)); err != nil {
		return nil, err
	}
	for i, word := range in.Levels {
		l, err := monolith.ParseLevel(word)
		if err != nil || l == monolith.LevelOK {
			return nil, monolith.Invalid(fmt.Sprintf("levels[%d]", i), fmt.Sprintf("an alert has no level %q", word), "info, warn or critical")
		}
		sub.Levels = append(sub.Levels, l)
	}
	for i, name := range in.Servers {
		server, err := s.serverNamed(ctx, fmt.Sprintf("servers[%d]", i), name)
		if err != nil {
			return nil, err
		}
		sub.Servers = append(sub.Servers, server.ID)
	}
	for i, path := range in.Groups {
		path = strings.Trim(path, "/")
		if err := s.groupThere(ctx, fmt.Sprintf("groups[%d]", i), path); err != nil {
			return nil, err
		}
		sub.Groups = append(sub.Groups, path)
	}
	for _, l := range []struct {
		field string
		text  lengthText
		to    *time.Duration
	}{{"delay", in.Delay, &sub.Delay}, {"repeat", in.Repeat, &sub.Repeat}, {"digest", in.Digest, &sub.Digest}} {
		d, err := l.text.length(l.field)
		if err != nil {
			return nil, err
		}
		*l.to = d
	}
	return sub, s.cfg.Telling.CheckSubscription(ctx, sub)
}

func (s *Server) readSubscription(r *http.Request, id int64) (*monolith.Subscription, error) {
	var in subscriptionBody
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	return s.subscriptionOf(r.Context(), &in, id)
}

func (s *Server) checkSubscription(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	sub, err := s.readSubscription(r, 0)
	if err != nil {
		return err
	}
	return s.answerSubscription(w, r, http.StatusOK, sub)
}

func (s *Server) addSubscription(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	sub, err := s.readSubscription(r, 0)
	if err != nil {
		return err
	}
	if err := taken("subscription", sub.Name, s.cfg.Telling.PutSubscription(r.Context(), sub)); err != nil {
		return err
	}
	w.Header().Set("Location", s.link("api", "v1", "subscriptions", strconv.FormatInt(sub.ID, 10)))
	return s.answerSubscription(w, r, http.StatusCreated, sub)
}

func (s *Server) putSubscription(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	_, id, err := numbered(r, "subscription", "subscriptions", s.cfg.Telling.Subscription)
	if err != nil {
		return err
	}
	sub, err := s.readSubscription(r, id)
	if err != nil {
		return err
	}
	if err := taken("subscription", sub.Name, s.cfg.Telling.PutSubscription(r.Context(), sub)); err != nil {
		return err
	}
	return s.answerSubscription(w, r, http.StatusOK, sub)
}

func (s *Server) deleteSubscription(w http.ResponseWriter, r *http.Request) error {
	return s.remove(w, r, "subscription", "subscriptions", s.cfg.Telling.DeleteSubscription)
}

// showAudience says who is told of an alert.
func (s *Server) showAudience(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id, err := pathID(r, "alert", "alerts")
	if err != nil {
		return err
	}
	who, err := s.cfg.Telling.Who(r.Context(), monolith.AlertID(id))
	if errors.Is(err, monolith.ErrNotFound) {
		return notFound("alert", strconv.FormatInt(id, 10), "/api/v1/alerts lists them")
	}
	if err != nil {
		return err
	}
	if who == nil {
		who = []monolith.Audience{}
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Audience []monolith.Audience `json:"audience"`
	}{who})
}
