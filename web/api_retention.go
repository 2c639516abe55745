package web

import (
	"math"
	"net/http"

	"monolith"
)

func (s *Server) showRetention(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	kept, err := s.store.Retention(r.Context())
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "retention", kept)
}

// putRetention changes what the body names and answers with all of it.
func (s *Server) putRetention(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	kept, err := s.store.Retention(r.Context())
	if err != nil {
		return err
	}
	if err := decode(r, &kept); err != nil {
		return err
	}
	if err := kept.Validate(); err != nil {
		return err
	}
	if err := s.store.SetRetention(r.Context(), kept); err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "retention", kept)
}

// showEstimate says what another retention would take, before it is saved.
func (s *Server) showEstimate(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "raw_days", "ten_minute_days", "hour_days", "raw_bytes")
	kept, err := s.store.Retention(r.Context())
	if err != nil {
		return err
	}
	const most = math.MaxInt32
	kept.RawDays = q.number("raw_days", kept.RawDays, 0, most)
	kept.TenMinuteDays = q.number("ten_minute_days", kept.TenMinuteDays, 0, most)
	kept.HourDays = q.number("hour_days", kept.HourDays, 0, most)
	kept.RawBytes = q.long("raw_bytes", kept.RawBytes, 0, math.MaxInt64)
	if q.err != nil {
		return q.err
	}
	if err := kept.Validate(); err != nil {
		return err
	}
	estimate, err := s.store.Estimate(r.Context(), kept)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "estimate", struct {
		Retention monolith.Retention `json:"retention"`
		monolith.Estimate
	}{kept, estimate})
}

func (s *Server) showUsage(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	usage, err := s.store.Usage(r.Context())
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "usage", usage)
}
