package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"monolith"
	"monolith/graph"
)

// problem is an RFC 9457 problem document, with members of our own: kind tells programs what is wrong,
// field and column where, cure what to do. It is an error, so handlers return it.
type problem struct {
	Type   string `json:"type"` // always about:blank: kind says more
	Title  string `json:"title"`
	Status int    `json:"status"`
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"`  // parameter, JSON path or YAML path
	Column int    `json:"column,omitempty"` // 1-based, inside the field's text
	Cure   string `json:"cure,omitempty"`
	// ID stands for what is not shown: the log has the rest under it.
	ID string `json:"id,omitempty"`

	retryAfter int // seconds; 0: none
	allow      []string
}

// The kinds of problem.
const (
	kindInvalid     = "invalid"
	kindPassword    = "password-needed"
	kindTooMuch     = "too-much"
	kindNotFound    = "not-found"
	kindMethod      = "method"
	kindConflict    = "conflict"
	kindTooLarge    = "too-large"
	kindMediaType   = "media-type"
	kindForeignHost = "foreign-host"
	kindCrossOrigin = "cross-origin"
	kindTimeout     = "timeout"
	kindUnavailable = "unavailable"
	kindInternal    = "internal"
)

// Error gives the detail, for logs.
func (p *problem) Error() string { return fmt.Sprintf("%s: %s", p.Kind, p.Detail) }

// refuse makes a problem. cure may be "".
func refuse(status int, kind, detail, cure string) *problem {
	return &problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Kind: kind, Detail: detail, Cure: cure}
}

// notFound says that there is no such thing, by its name.
func notFound(what, name, cure string) *problem {
	return refuse(http.StatusNotFound, kindNotFound, fmt.Sprintf("there is no %s %q", what, name), cure)
}

// problemOf is the one place where errors become statuses. What a caller can't mend is logged under an
// opaque id and not shown.
func (s *Server) problemOf(r *http.Request, err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, kindTooLarge,
			fmt.Sprintf("the request's body is longer than %d bytes", tooLarge.Limit), "")
	}
	var p *problem
	switch {
	case errors.Is(err, monolith.ErrNotFound):
		p = refuse(http.StatusNotFound, kindNotFound, "there is no such thing", "")
	case errors.Is(err, monolith.ErrConflict):
		p = refuse(http.StatusConflict, kindConflict, "it exists already, is still in use, or was changed in between", "read it again")
	case errors.Is(err, monolith.ErrInvalid):
		p = refuse(http.StatusBadRequest, kindInvalid, "the request makes no sense", "")
	case errors.Is(err, monolith.ErrUnavailable):
		p = refuse(http.StatusServiceUnavailable, kindUnavailable, "the store can't be reached now", "try again in a moment; /readyz says more")
		if t := s.trouble(); t != nil && !t.Reads {
			p.Detail = "the store takes no writes now"
		}
		p.retryAfter = 5
		s.log.WarnContext(r.Context(), "store unavailable", "path", r.URL.Path, "error", err)
		return p
	case errors.Is(err, context.DeadlineExceeded):
		p = refuse(http.StatusGatewayTimeout, kindTimeout, "the answer took too long", "ask for a shorter range or fewer things")
		s.log.WarnContext(r.Context(), "request timed out", "path", r.URL.Path, "error", err)
		return p
	default:
		return s.internal(r, err)
	}
	if bad, ok := errors.AsType[*monolith.InvalidError](err); ok {
		p.Detail, p.Field, p.Column, p.Cure = bad.Reason, bad.Field, bad.Column, bad.Cure
	}
	return p
}

// internal logs an error under a new id and gives the problem that shows only the id.
func (s *Server) internal(r *http.Request, err error, more ...any) *problem {
	var b [6]byte
	rand.Read(b[:]) // never fails
	p := refuse(http.StatusInternalServerError, kindInternal, "something went wrong inside", "the log says more under this id")
	p.ID = hex.EncodeToString(b[:])
	s.log.ErrorContext(r.Context(), "request failed",
		append([]any{"id", p.ID, "method", r.Method, "path", r.URL.Path, "error", err}, more...)...)
	return p
}

// fail answers with what err means: a page for people, a problem document for everything else.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // nobody is there to read it
	}
	p := s.problemOf(r, err)
	h := w.Header()
	h.Del("Etag")
	h.Set("Cache-Control", "no-store")
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if len(p.allow) > 0 {
		h.Set("Allow", strings.Join(p.allow, ", "))
	}
	if s.forPeople(r) {
		s.errorPage(w, r, p)
		return
	}
	if r.Header.Get("Sec-Fetch-Dest") == "image" && strings.HasSuffix(r.URL.Path, ".svg") && sendReason(w, r, p) {
		return
	}
	writeProblem(w, r, p)
}

// sendReason answers an <img> with a picture of the reason: browsers show it whatever the status, where a
// document would leave a broken image. false: nothing was written.
func sendReason(w http.ResponseWriter, r *http.Request, p *problem) bool {
	picture := graph.Picture{Width: 640, Height: 120, Dark: r.URL.Query().Get("theme") == "dark", Untitled: true}
	if width, err := strconv.Atoi(r.URL.Query().Get("width")); err == nil && width >= 120 && width <= 4000 {
		picture.Width = width
	}
	var out bytes.Buffer
	reason := graph.Drawing{Note: firstUpper(p.Detail) + "."}
	if err := reason.SVG(&out, picture); err != nil {
		return false
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		w.Write(out.Bytes()) // the client is gone when this fails
	}
	return true
}

// writeProblem writes the document as XML where that was asked for, else as JSON.
func writeProblem(w http.ResponseWriter, r *http.Request, p *problem) {
	kind, body := "application/problem+json", mustJSON(p)
	if formatOf(r) == formatXML {
		kind, body = "application/problem+xml", append([]byte(xmlHeader), xmlOf("problem", "urn:ietf:rfc:7807", body)...)
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}

// forPeople reports whether an error is better shown as a page: outside the API, to a browser.
func (s *Server) forPeople(r *http.Request) bool {
	return !strings.HasPrefix(r.URL.Path, s.base+"/api/") && strings.Contains(r.Header.Get("Accept"), "text/html")
}
