package web

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// deliveryStates are the words for where a delivery stands.
var deliveryStates = []string{"pending", "claimed", "sent", "failed", "dropped"}

func (s *Server) listDeliveries(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "channel", "subscription", "alert", "state", "from", "to", "limit", "cursor")
	find := monolith.DeliveryQuery{Channel: q.long("channel", 0, 1, 1<<53), Subscription: q.long("subscription", 0, 1, 1<<53), Alert: monolith.AlertID(q.long("alert", 0, 1, 1<<53)),
		From: q.time("from", time.Time{}), To: q.time("to", time.Time{}), Limit: q.number("limit", 200, 1, 5000)}
	for _, word := range q.texts("state", len(deliveryStates)) {
		if !slices.Contains(deliveryStates, word) {
			return monolith.Invalid("state", fmt.Sprintf("%q is no state of a delivery", word), "one of "+strings.Join(deliveryStates, ", "))
		}
		find.States = append(find.States, monolith.DeliveryState(word))
	}
	if cursor := q.text("cursor"); cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(cursor)
		if err == nil {
			find.Before, err = strconv.ParseInt(string(text), 10, 64)
		}
		if err != nil || find.Before <= 0 {
			return monolith.Invalid("cursor", "this never was a cursor", "begin without one")
		}
	}
	if q.err != nil {
		return q.err
	}
	limit := find.Limit
	find.Limit = min(limit+1, 5000)
	list, err := s.cfg.Telling.Deliveries(r.Context(), find)
	if err != nil {
		return err
	}
	next := ""
	if len(list) > limit || limit == 5000 && len(list) == limit {
		list = list[:limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(list[limit-1].ID, 10)))
	}
	if list == nil {
		list = []monolith.Delivery{}
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Deliveries []monolith.Delivery `json:"deliveries"`
		Next       string              `json:"next,omitempty"`
	}{list, next})
}

// deliveryView is a delivery with what it says.
type deliveryView struct {
	monolith.Delivery
	Notice json.RawMessage `json:"notice,omitempty"`
}

func (s *Server) showDelivery(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	d, _, err := numbered(r, "delivery", "deliveries", s.cfg.Telling.Delivery)
	if err != nil {
		return err
	}
	v := deliveryView{Delivery: d}
	if json.Valid(d.Payload) {
		v.Notice = d.Payload
	}
	return s.respond(w, r, http.StatusOK, "delivery", v)
}

func (s *Server) retryDelivery(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	d, id, err := numbered(r, "delivery", "deliveries", s.cfg.Telling.Delivery)
	if err != nil {
		return err
	}
	err = s.cfg.Telling.RetryDelivery(r.Context(), id)
	if errors.Is(err, monolith.ErrConflict) {
		return refuse(http.StatusConflict, kindConflict, "the delivery is "+string(d.State), "only one that failed or was dropped is sent once more")
	}
	if err != nil {
		return err
	}
	if d, err = s.cfg.Telling.Delivery(r.Context(), id); err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "delivery", deliveryView{Delivery: d})
}

func (s *Server) listTemplates(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	list, err := s.cfg.Telling.Templates(r.Context())
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Templates []monolith.TemplateText `json:"templates"`
	}{list})
}

// template finds a template by the name of the path.
func (s *Server) template(r *http.Request) (monolith.TemplateText, error) {
	list, err := s.cfg.Telling.Templates(r.Context())
	if err != nil {
		return monolith.TemplateText{}, err
	}
	name := pathValue(r, "name")
	var names []string
	for _, one := range list {
		if one.Name == name {
			return one, nil
		}
		names = append(names, one.Name)
	}
	return monolith.TemplateText{}, notFound("template", name, "one of "+strings.Join(names, ", "))
}

func (s *Server) showTemplate(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	one, err := s.template(r)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "template", one)
}

func (s *Server) putTemplate(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	one, err := s.template(r)
	if err != nil {
		return err
	}
	var in struct {
		Source string `json:"source"`
		By     string `json:"by"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if err := checkSaid("by", in.By, 128); err != nil {
		return err
	}
	if err := s.cfg.Telling.PutTemplate(r.Context(), one.Name, in.Source, strings.TrimSpace(in.By)); err != nil {
		return err
	}
	if one, err = s.template(r); err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "template", one)
}

func (s *Server) deleteTemplate(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	one, err := s.template(r)
	if err != nil {
		return err
	}
	if err := s.cfg.Telling.DeleteTemplate(r.Context(), one.Name); err != nil && !errors.Is(err, monolith.ErrNotFound) {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) previewTemplate(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	one, err := s.template(r)
	if err != nil {
		return err
	}
	var in struct {
		Source string `json:"source"`
		Kind   string `json:"kind"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if in.Kind == "" {
		in.Kind = string(monolith.NoticeProblem)
	}
	text, err := s.cfg.Telling.PreviewTemplate(r.Context(), one.Name, in.Source, monolith.NoticeKind(in.Kind))
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "preview", struct {
		Text string `json:"text"`
	}{text})
}

func (s *Server) showHeartbeat(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	h, err := s.cfg.Telling.Heartbeat(r.Context())
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "heartbeat", h)
}

func (s *Server) putHeartbeat(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	var in struct {
		URL   string     `json:"url"`
		Every lengthText `json:"every"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	every, err := in.Every.length("every")
	if err != nil {
		return err
	}
	if err := s.cfg.Telling.PutHeartbeat(r.Context(), monolith.Heartbeat{URL: strings.TrimSpace(in.URL), Every: every}); err != nil {
		return err
	}
	return s.showHeartbeat(w, r)
}

func (s *Server) showTelling(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	return s.respond(w, r, http.StatusOK, "telling", s.cfg.Telling.TellingStatus())
}
