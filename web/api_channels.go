package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"monolith"
)

// tellingRoutes is the part of the API that is about telling people. Without [Config.Telling] nothing of it is there.
func (s *Server) tellingRoutes(r chi.Router, get func(pattern string, h handler)) {
	read := func(pattern string, h handler) { get(pattern, s.telling(h)) }
	write := func(method, pattern string, h handler) { r.Method(method, pattern, s.handle(s.telling(h))) }

	read("/channels", s.listChannels)
	read("/channels/kinds", s.listChannelKinds)
	write(http.MethodPost, "/channels", s.addChannel)
	write(http.MethodPost, "/channels/test", s.testChannel)
	read("/channels/{id}", s.showChannel)
	write(http.MethodPut, "/channels/{id}", s.putChannel)
	write(http.MethodDelete, "/channels/{id}", s.deleteChannel)
	write(http.MethodPost, "/channels/{id}/test", s.testKeptChannel)

	read("/subscriptions", s.listSubscriptions)
	write(http.MethodPost, "/subscriptions", s.addSubscription)
	write(http.MethodPost, "/subscriptions/check", s.checkSubscription)
	read("/subscriptions/{id}", s.showSubscription)
	write(http.MethodPut, "/subscriptions/{id}", s.putSubscription)
	write(http.MethodDelete, "/subscriptions/{id}", s.deleteSubscription)
	read("/alerts/{id}/audience", s.showAudience)

	read("/deliveries", s.listDeliveries)
	read("/deliveries/{id}", s.showDelivery)
	write(http.MethodPost, "/deliveries/{id}/retry", s.retryDelivery)

	read("/templates", s.listTemplates)
	read("/templates/{name}", s.showTemplate)
	write(http.MethodPut, "/templates/{name}", s.putTemplate)
	write(http.MethodDelete, "/templates/{name}", s.deleteTemplate)
	write(http.MethodPost, "/templates/{name}/preview", s.previewTemplate)

	read("/heartbeat", s.showHeartbeat)
	write(http.MethodPut, "/heartbeat", s.putHeartbeat)
	read("/telling", s.showTelling)
}

// lengthText is a length of time in a body: a text as everywhere, or seconds.
type lengthText string

// UnmarshalJSON takes a text or a number.
func (l *lengthText) UnmarshalJSON(b []byte) error {
	if n, err := strconv.ParseFloat(string(b), 64); err == nil {
		*l = lengthText(strconv.FormatInt(int64(n), 10) + "s")
		return nil
	}
	text, err := strconv.Unquote(string(b))
	if err != nil {
		return monolith.Invalid("", "this is no length of time", `"90s", "2h", "7d", or seconds`)
	}
	*l = lengthText(text)
	return nil
}

// length reads a length of time; nothing is 0.
func (l lengthText) length(field string) (time.Duration, error) {
	if l == "" || l == "0" || l == "0s" {
		return 0, nil
	}
	return monolith.ParseDuration(field, string(l))
}

// maskedSecret is how a secret shows: sent back, it stays as it is.
const maskedSecret = "•••"

// tellingChannel is a channel with the names of the secrets that are set.
type tellingChannel struct {
	monolith.Channel
	Secrets []string `json:"secrets"`
}

func viewTellingChannel(c monolith.Channel) tellingChannel {
	v := tellingChannel{c, []string{}}
	for name, secret := range c.Secrets {
		if secret != "" {
			v.Secrets = append(v.Secrets, name)
		}
	}
	slices.Sort(v.Secrets)
	if v.Config == nil {
		v.Config = map[string]string{}
	}
	return v
}

func (s *Server) listChannels(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "limit", "cursor")
	channels, err := s.cfg.Telling.Channels(r.Context())
	if err != nil {
		return err
	}
	part, next := cut(q, channels, 1000, func(c monolith.Channel) string { return strconv.FormatInt(c.ID, 10) })
	if q.err != nil {
		return q.err
	}
	views := make([]tellingChannel, len(part))
	for i := range part {
		views[i] = viewTellingChannel(part[i])
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Channels []tellingChannel `json:"channels"`
		Next     string           `json:"next,omitempty"`
	}{views, next})
}

func (s *Server) listChannelKinds(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Kinds []monolith.ChannelKind `json:"kinds"`
	}{s.cfg.Telling.ChannelKinds()})
}

// numbered answers with something that has the number of the path.
func numbered[T any](r *http.Request, what, list string, find func(context.Context, int64) (T, error)) (v T, id int64, err error) {
	if id, err = pathID(r, what, list); err != nil {
		return v, id, err
	}
	v, err = find(r.Context(), id)
	if errors.Is(err, monolith.ErrNotFound) {
		err = notFound(what, strconv.FormatInt(id, 10), "/api/v1/"+list+" lists them")
	}
	return v, id, err
}

func (s *Server) showChannel(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	c, _, err := numbered(r, "channel", "channels", s.cfg.Telling.Channel)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "channel", viewTellingChannel(c))
}

// channelBody is what people say of a channel.
type channelBody struct {
	ID      int64             `json:"id"` // for a test of one that is kept: whose secrets to use
	Name    string            `json:"name"`
	Kind    string            `json:"kind"`
	Enabled *bool             `json:"enabled"`
	Config  map[string]string `json:"config"`
	Secrets map[string]string `json:"secrets"`
}

func (in *channelBody) channel() (*monolith.Channel, error) {
	c := &monolith.Channel{ID: in.ID, Name: strings.TrimSpace(in.Name), Kind: in.Kind, Enabled: in.Enabled == nil || *in.Enabled, Config: in.Config}
	for name, value := range in.Secrets {
		if value == maskedSecret {
			continue
		}
		if c.Secrets == nil {
			c.Secrets = map[string]monolith.Secret{}
		}
		c.Secrets[name] = monolith.Secret(value)
	}
	return c, checkSaid("name", c.Name, 128)
}

func decodeChannel(r *http.Request, id int64) (*monolith.Channel, error) {
	var in channelBody
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if id != 0 {
		if in.ID != 0 && in.ID != id {
			return nil, monolith.Invalid("id", "the address names another channel", "leave it out")
		}
		in.ID = id
	}
	return in.channel()
}

func (s *Server) addChannel(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	c, err := decodeChannel(r, 0)
	if err != nil {
		return err
	}
	if c.ID != 0 {
		return monolith.Invalid("id", "a new channel has no id yet", "leave it out; PUT changes one")
	}
	if err := taken("channel", c.Name, s.cfg.Telling.PutChannel(r.Context(), c)); err != nil {
		return err
	}
	w.Header().Set("Location", s.link("api", "v1", "channels", strconv.FormatInt(c.ID, 10)))
	return s.respond(w, r, http.StatusCreated, "channel", viewTellingChannel(*c))
}

// taken says which name is taken.
func taken(what, name string, err error) error {
	if !errors.Is(err, monolith.ErrConflict) {
		return err
	}
	p := refuse(http.StatusConflict, kindConflict, fmt.Sprintf("there is a %s %q already", what, name), "choose another name")
	p.Field = "name"
	return p
}

func (s *Server) putChannel(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	_, id, err := numbered(r, "channel", "channels", s.cfg.Telling.Channel)
	if err != nil {
		return err
	}
	c, err := decodeChannel(r, id)
	if err != nil {
		return err
	}
	if err := taken("channel", c.Name, s.cfg.Telling.PutChannel(r.Context(), c)); err != nil {
		return err
	}
	kept, err := s.cfg.Telling.Channel(r.Context(), id)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "channel", viewTellingChannel(kept))
}

func (s *Server) deleteChannel(w http.ResponseWriter, r *http.Request) error {
	err := s.remove(w, r, "channel", "channels", s.cfg.Telling.DeleteChannel)
	if errors.Is(err, monolith.ErrConflict) {
		return refuse(http.StatusConflict, kindConflict, "subscriptions use the channel", "give them another channel, or remove them first")
	}
	return err
}

// testChannel tries a channel as it is given, kept or not.
func (s *Server) testChannel(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	c, err := decodeChannel(r, 0)
	if err != nil {
		return err
	}
	return s.answerTest(w, r, c)
}

// testKeptChannel tries a channel as it is kept.
func (s *Server) testKeptChannel(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	c, _, err := numbered(r, "channel", "channels", s.cfg.Telling.Channel)
	if err != nil {
		return err
	}
	return s.answerTest(w, r, &c)
}

func (s *Server) answerTest(w http.ResponseWriter, r *http.Request, c *monolith.Channel) error {
	test, err := s.cfg.Telling.TestChannel(unhurried(r.Context()), c)
	if errors.Is(err, monolith.ErrNotFound) {
		return notFound("channel", strconv.FormatInt(c.ID, 10), "/api/v1/channels lists them")
	}
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "test", test)
}
