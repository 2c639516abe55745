package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"monolith"
)

// deliveriesOfPage is how many messages stand on one page of the log.
const deliveriesOfPage = 100

// deliveriesPage is the log of what was sent, and what waits.
type deliveriesPage struct {
	pageBase
	Tab        string
	Deliveries []deliveryLine
	Channels   []monolith.Channel
	State      string
	Channel    string
	Later      bool // it is not the first page
	Older      string
	Status     monolith.TellingStatus
}

// deliveryLine is a message with names in the place of numbers.
type deliveryLine struct {
	monolith.Delivery
	ChannelName, SubscriptionName string
	About                         []monolith.Alert // as far as they are still known
}

// stateOfDelivery is a state of messages with its look and what it means to people.
type stateOfDelivery struct {
	State      monolith.DeliveryState
	Look, Word string
}

var deliveryLooks = []stateOfDelivery{
	{monolith.DeliveryPending, "wait", "waits"},
	{monolith.DeliveryClaimed, "wait", "is being sent"},
	{monolith.DeliverySent, "up", "sent"},
	{monolith.DeliveryFailed, "bad", "given up"},
	{monolith.DeliveryDropped, "off", "not wanted any more"},
}

// Look says how a message stands.
func (d deliveryLine) Look() look {
	for _, one := range deliveryLooks {
		if one.State == d.State {
			if one.State == monolith.DeliveryPending && d.Attempts > 0 {
				return look{"warn", "is tried again", d.Answer}
			}
			return look{one.Look, one.Word, ""}
		}
	}
	return look{"wait", string(d.State), ""}
}

// noticeWords say why something is told.
var noticeWords = map[monolith.NoticeKind]string{
	monolith.NoticeProblem: "problem", monolith.NoticeReminder: "reminder", monolith.NoticeLowered: "lowered", monolith.NoticeRecovery: "recovery",
	monolith.NoticeAcknowledged: "acknowledged", monolith.NoticeDigest: "digest", monolith.NoticeQuiet: "daily line", monolith.NoticeTest: "test",
}

// What says in a word why it was told.
func (d deliveryLine) What() string {
	if word := noticeWords[d.Kind]; word != "" {
		return word
	}
	return string(d.Kind)
}

// mostAbout is how many alerts stand in a line of the log.
const mostAbout = 2

// Shown are the alerts that stand in a line of the log.
func (d deliveryLine) Shown() []monolith.Alert { return d.About[:min(len(d.About), mostAbout)] }

// Rest is how many alerts a line of the log leaves out.
func (d deliveryLine) Rest() int { return len(d.Alerts) - len(d.Shown()) }

// CanRetry reports whether it can be sent once more.
func (d deliveryLine) CanRetry() bool {
	return d.State == monolith.DeliveryFailed || d.State == monolith.DeliveryDropped
}

// States lists the states for the filter.
func (d *deliveriesPage) States() []stateOfDelivery { return deliveryLooks }

func (s *Server) deliveriesPage(w http.ResponseWriter, r *http.Request) error {
	d := deliveriesPage{pageBase: s.pageBase(r, "Deliveries", "settings"), Tab: "deliveries", State: r.FormValue("state"), Channel: r.FormValue("channel"), Status: s.cfg.Telling.TellingStatus()}
	q := monolith.DeliveryQuery{Limit: deliveriesOfPage + 1}
	if d.State != "" {
		q.States = []monolith.DeliveryState{monolith.DeliveryState(d.State)}
		if !slices.ContainsFunc(deliveryLooks, func(one stateOfDelivery) bool { return string(one.State) == d.State }) {
			return notFound("state of deliveries", d.State, "pending, claimed, sent, failed or dropped")
		}
	}
	for name, to := range map[string]*int64{"channel": &q.Channel, "before": &q.Before} {
		text := r.FormValue(name)
		if text == "" {
			continue
		}
		var err error
		if *to, err = strconv.ParseInt(text, 10, 64); err != nil || *to < 0 {
			return monolith.Invalid(name, strconv.Quote(text)+" is no number of a channel or a delivery")
		}
	}
	list, err := s.cfg.Telling.Deliveries(r.Context(), q)
	if err = d.unread(err, "the deliveries"); err != nil {
		return err
	}
	if len(list) > deliveriesOfPage {
		list = list[:deliveriesOfPage]
		d.Older = d.With("before", strconv.FormatInt(list[len(list)-1].ID, 10))
	}
	d.Later = q.Before != 0
	d.Deliveries, d.Channels, err = s.viewDeliveries(r.Context(), list)
	if err = d.unread(err, "the channels"); err != nil {
		return err
	}
	return s.render(w, r, "deliveries", &d)
}

// viewDeliveries puts names to messages.
func (s *Server) viewDeliveries(ctx context.Context, list []monolith.Delivery) ([]deliveryLine, []monolith.Channel, error) {
	channels, err := s.cfg.Telling.Channels(ctx)
	subscriptions, err2 := s.cfg.Telling.Subscriptions(ctx)
	about := s.alertsOf(ctx, list)
	lines := make([]deliveryLine, 0, len(list))
	for i := range list {
		line := deliveryLine{Delivery: list[i]}
		for k := range channels {
			if channels[k].ID == line.Channel {
				line.ChannelName = channels[k].Name
			}
		}
		for k := range subscriptions {
			if subscriptions[k].ID == line.Subscription {
				line.SubscriptionName = subscriptions[k].Name
			}
		}
		for _, id := range line.Alerts {
			if a, there := about[id]; there {
				line.About = append(line.About, a)
			}
		}
		lines = append(lines, line)
	}
	return lines, channels, errors.Join(err, err2)
}

// alertsOf reads the alerts that messages are about. What can't be read is left out: the messages are what is asked for.
func (s *Server) alertsOf(ctx context.Context, list []monolith.Delivery) map[monolith.AlertID]monolith.Alert {
	found := map[monolith.AlertID]monolith.Alert{}
	var ids []monolith.AlertID
	for i := range list {
		ids = append(ids, list[i].Alerts...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if s.alerts != nil {
		for _, a := range s.alerts.Open() {
			found[a.ID] = a
		}
	}
	ids = slices.DeleteFunc(ids, func(id monolith.AlertID) bool { _, open := found[id]; return open })
	if s.cfg.Feeds != nil && len(ids) > 0 {
		closed, err := s.alertsByID(ctx, ids)
		if err != nil {
			s.log.WarnContext(ctx, "the alerts of deliveries can't be read", "error", err)
		}
		for id, a := range closed {
			found[id] = a
		}
	}
	return found
}

// deliveryPage is one message.
type deliveryPage struct {
	pageBase
	Tab     string
	D       deliveryLine
	Problem *problem
	Payload string // what was told, as JSON
}

// mostPayload bounds how much of what was told a page shows.
const mostPayload = 64 << 10

func (s *Server) deliveryPage(w http.ResponseWriter, r *http.Request) error {
	return s.showDeliveryPage(w, r, http.StatusOK, nil)
}

func (s *Server) showDeliveryPage(w http.ResponseWriter, r *http.Request, status int, bad *problem) error {
	id, err := numberedPath(r, "delivery")
	if err != nil {
		return err
	}
	one, err := s.cfg.Telling.Delivery(r.Context(), id)
	if err != nil {
		return gone(err, "delivery", id)
	}
	d := deliveryPage{pageBase: s.pageBase(r, "Delivery "+strconv.FormatInt(id, 10), "settings"), Tab: "deliveries", Problem: bad}
	lines, _, err := s.viewDeliveries(r.Context(), []monolith.Delivery{one})
	if err = d.unread(err, "the channels"); err != nil {
		return err
	}
	d.D = lines[0]
	var out bytes.Buffer
	if len(one.Payload) > 0 && json.Indent(&out, one.Payload, "", "  ") == nil {
		d.Payload = short(mostPayload, out.String())
	}
	return s.show(w, r, status, "delivery", "frame", &d)
}

// retryDeliveryForm sends a message once more.
func (s *Server) retryDeliveryForm(w http.ResponseWriter, r *http.Request) error {
	id, err := numberedPath(r, "delivery")
	if err != nil {
		return err
	}
	err = s.cfg.Telling.RetryDelivery(r.Context(), id)
	if errors.Is(err, monolith.ErrConflict) {
		p := refuse(http.StatusConflict, kindConflict, "it is no longer given up", "its state below says what became of it")
		return s.showDeliveryPage(w, r, p.Status, p)
	}
	if err != nil {
		return gone(err, "delivery", id)
	}
	s.back(w, r, s.link("deliveries", strconv.FormatInt(id, 10)), "retried")
	return nil
}
