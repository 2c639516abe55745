package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"monolith"
)

// tellingPages are the addresses of pages about who is told of what, and of exports.
func (s *Server) tellingPages(get, post func(pattern string, h handler)) {
	read := func(pattern string, h handler) { get(pattern, s.telling(h)) }
	write := func(pattern string, h handler) { post(pattern, s.telling(h)) }

	read("/channels", s.channelsPage)
	read("/channels/new", s.editChannelPage)
	write("/channels/new", s.saveChannelForm)
	read("/channels/{id}", s.editChannelPage)
	write("/channels/{id}", s.saveChannelForm)
	write("/channels/{id}/delete", s.deleteChannelForm)
	read("/subscriptions", s.subscriptionsPage)
	read("/subscriptions/new", s.editSubscriptionPage)
	write("/subscriptions/new", s.saveSubscriptionForm)
	read("/subscriptions/{id}", s.editSubscriptionPage)
	write("/subscriptions/{id}", s.saveSubscriptionForm)
	write("/subscriptions/{id}/delete", s.deleteSubscriptionForm)
	read("/deliveries", s.deliveriesPage)
	read("/deliveries/{id}", s.deliveryPage)
	write("/deliveries/{id}/retry", s.retryDeliveryForm)
	read("/templates", s.templatesPage)
	read("/templates/{name}", s.templatesPage)
	write("/templates/{name}", s.saveTemplateForm)
	read("/templates/{name}/preview", s.templatePreview)
	write("/templates/{name}/preview", s.templatePreview)
	read("/heartbeat", s.heartbeatPage)
	write("/heartbeat", s.saveHeartbeatForm)

	get("/exports", s.exportsPage)
	post("/exports", s.saveExportForm)
}

// telling lets pages about telling people be there only where somebody could be told.
func (s *Server) telling(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.cfg.Telling == nil {
			return refuse(http.StatusNotFound, kindNotFound, "nobody is told of anything here", "")
		}
		return h(w, r)
	}
}

// tellForm is a form that may have been refused.
type tellForm struct {
	Problem *problem
	Sent    url.Values // nil: it was not sent
}

// ErrorAt gives what is wrong with a field, or "".
func (f *tellForm) ErrorAt(field string) string {
	if f.Problem == nil || f.Problem.Field != field {
		return ""
	}
	return errorText(f.Problem)
}

// otherError gives what is wrong with none of the fields.
func (f *tellForm) otherError(fields []string) string {
	if f.Problem == nil || slices.Contains(fields, f.Problem.Field) {
		return ""
	}
	return errorText(f.Problem)
}

// refused notes what is wrong with a form; what nobody can mend in it is given back.
func (s *Server) refused(r *http.Request, f *tellForm, err error) (status int, _ error) {
	p := s.problemOf(r, err)
	if p.Status >= http.StatusInternalServerError && p.Kind != kindUnavailable {
		return 0, p
	}
	f.Problem, f.Sent = p, r.PostForm
	return p.Status, nil
}

// numberedPath reads the id of a thing in the path; "" in it is 0, a new one.
func numberedPath(r *http.Request, what string) (int64, error) {
	text := pathValue(r, "id")
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 {
		return 0, notFound(what, text, "")
	}
	return id, nil
}

// gone says that a thing with a number is not there; other errors it gives back.
func gone(err error, what string, id int64) error {
	if errors.Is(err, monolith.ErrNotFound) {
		return notFound(what, strconv.FormatInt(id, 10), "it may have been removed meanwhile")
	}
	return err
}

// formLines reads a field with several lines as forms send it.
func formLines(r *http.Request, field string) string {
	return strings.TrimSpace(strings.ReplaceAll(r.PostFormValue(field), "\r\n", "\n"))
}

// Tells reports whether somebody could be told of alerts here.
func (b pageBase) Tells() bool { return b.status != nil }

// Deaf gives what keeps people from being told, or nil when all is well.
func (b pageBase) Deaf() *monolith.TellingStatus {
	if b.status == nil {
		return nil
	}
	if st := b.status(); st.Level > monolith.LevelOK {
		return &st
	}
	return nil
}

// pageFeed is a feed that belongs to a page.
type pageFeed struct{ Title, Level, Link string }

// FeedLinks lists the feeds of a page in a form, the worst level first; none on pages to which none belongs.
func (b pageBase) FeedLinks(form string) []pageFeed {
	if b.feeds == nil {
		return nil
	}
	tail := ""
	if len(b.feeds) > 0 {
		tail = "?" + b.feeds.Encode()
	}
	of := narrowed(b.feeds["server"], b.feeds.Get("group"))
	var list []pageFeed
	for _, level := range []string{"critical", "warn", "info"} {
		list = append(list, pageFeed{Title: "Alerts, " + level + of, Level: level, Link: b.link("feeds", level+"."+form) + tail})
	}
	return append(list, pageFeed{Title: "Changes" + of, Level: "changes", Link: b.link("feeds", "changes."+form) + tail})
}

// feedsOf says what the feeds of a page are narrowed to; nil: it has none.
func (s *Server) feedsOf(r *http.Request) url.Values {
	path := strings.TrimPrefix(r.URL.Path, s.base)
	switch {
	case s.cfg.Feeds == nil || s.alerts == nil:
		return nil
	case path == "/" || path == "/alerts":
		narrow := url.Values{}
		if group := strings.Trim(r.URL.Query().Get("group"), "/"); group != "" {
			narrow.Set("group", group)
		}
		return narrow
	case strings.HasPrefix(path, "/servers/"):
		if name := pathValue(r, "name"); name != "" {
			return url.Values{"server": {name}}
		}
	}
	return nil
}
