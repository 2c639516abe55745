package web

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"monolith"
)

// heartbeatPage is the dead man's switch.
type heartbeatPage struct {
	pageBase
	tellForm
	Tab    string
	Beat   monolith.Heartbeat
	Status monolith.TellingStatus
}

// usualBeat is how often a heartbeat is sent when nobody says.
const usualBeat = time.Minute

// Value gives what stands in a field.
func (d *heartbeatPage) Value(field string) string {
	switch {
	case d.Sent != nil:
		return d.Sent.Get(field)
	case field == "url":
		return d.Beat.URL
	}
	return writeDuration(cmp.Or(d.Beat.Every, usualBeat))
}

// OtherError gives what is wrong with no field of the form.
func (d *heartbeatPage) OtherError() string { return d.otherError([]string{"url", "every"}) }

func (s *Server) heartbeatPage(w http.ResponseWriter, r *http.Request) error {
	return s.showHeartbeatPage(w, r, http.StatusOK, &heartbeatPage{})
}

func (s *Server) showHeartbeatPage(w http.ResponseWriter, r *http.Request, status int, d *heartbeatPage) error {
	d.pageBase, d.Tab, d.Status = s.pageBase(r, "Heartbeat", "settings"), "heartbeat", s.cfg.Telling.TellingStatus()
	var err error
	d.Beat, err = s.cfg.Telling.Heartbeat(r.Context())
	if err = d.unread(err, "the heartbeat"); err != nil {
		return err
	}
	return s.show(w, r, status, "heartbeat", "frame", d)
}

func (s *Server) saveHeartbeatForm(w http.ResponseWriter, r *http.Request) error {
	every, err := monolith.ParseDuration("every", cmp.Or(strings.TrimSpace(r.PostFormValue("every")), writeDuration(usualBeat)))
	if err == nil {
		err = s.cfg.Telling.PutHeartbeat(r.Context(), monolith.Heartbeat{URL: strings.TrimSpace(r.PostFormValue("url")), Every: every})
	}
	if err == nil {
		done := "saved"
		if strings.TrimSpace(r.PostFormValue("url")) != "" {
			done = "beating"
		}
		s.back(w, r, s.link("heartbeat"), done)
		return nil
	}
	d := &heartbeatPage{}
	status, err := s.refused(r, &d.tellForm, err)
	if err != nil {
		return err
	}
	return s.showHeartbeatPage(w, r, status, d)
}
