package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"monolith"
)

// healthz answers while the process is alive, whatever the store does.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	return s.respond(w, r, http.StatusOK, "health", struct {
		Status  string  `json:"status"`
		Version string  `json:"version,omitempty"`
		Uptime  float64 `json:"uptime"` // seconds
	}{"alive", s.cfg.Version, s.now().Sub(s.started).Round(time.Second).Seconds()})
}

// check is one line of the answer of /readyz.
type check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Why  string `json:"why,omitempty"`
}

// readyz says whether Monolith does its work, and what does not.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	answer := struct {
		Ready  bool    `json:"ready"`
		Checks []check `json:"checks"`
	}{Checks: []check{s.storeCheck(ctx), s.pollCheck(ctx)}}
	answer.Ready = answer.Checks[0].OK && answer.Checks[1].OK
	status := http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Cache-Control", "no-store")
	return s.respond(w, r, status, "readiness", answer)
}

func (s *Server) storeCheck(ctx context.Context) check {
	if err := s.store.Ping(ctx); err != nil {
		s.log.WarnContext(ctx, "store does not answer", "error", err)
		c := check{Name: "store", Why: "the store does not answer; the log says why"}
		if t := s.trouble(); t != nil {
			c.Why += fmt.Sprintf("; %s wait in memory, %d were lost", plural(t.Waiting, "poll"), t.Dropped)
		}
		return c
	}
	if t := s.trouble(); t != nil {
		c := check{Name: "store", Why: "the store takes no writes"}
		if t.Reads {
			c.Why = "the store can't be read"
		}
		if t.Why != "" {
			c.Why += ": " + t.Why
		}
		c.Why += fmt.Sprintf("; %s wait in memory, %d were lost", plural(t.Waiting, "poll"), t.Dropped)
		return c
	}
	return check{Name: "store", OK: true}
}

// pollCheck looks whether polls are made in time. One that fails is made all the same: a server that is
// down is not our fault.
func (s *Server) pollCheck(ctx context.Context) check {
	c := check{Name: "polling"}
	servers, err := s.store.Servers(ctx)
	if err != nil {
		c.Why = "the list of servers can't be read"
		return c
	}
	var late []string
	for i := range servers {
		if !servers[i].Paused && s.late(&servers[i]) {
			late = append(late, servers[i].Name)
		}
	}
	if len(late) > 0 {
		c.Why = fmt.Sprintf("%d servers were not polled in time: %s", len(late), strings.Join(late[:min(len(late), 5)], ", "))
		if len(late) > 5 {
			c.Why += " …"
		}
		return c
	}
	c.OK = true
	return c
}

// late reports whether a server's last poll is older than five intervals, and a minute at least.
func (s *Server) late(server *monolith.Server) bool {
	const least = time.Minute
	now, since, allowed := s.now(), server.Created, least
	if s.started.After(since) {
		since = s.started
	}
	if st := s.poller.State(server.ID); st != nil {
		if st.At.After(since) {
			since = st.At
		}
		allowed = max(least, 5*st.Interval)
	}
	return now.Sub(since) > allowed
}
