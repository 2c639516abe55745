package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// policy is the content security policy of every answer: nothing from elsewhere, nothing inline.
const policy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// secureHeaders tells browsers to distrust whatever a monitored server managed to get into a page.
func secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		next.ServeHTTP(w, r)
	})
}

// checkHost answers only to loopback names and to those given as hosts. A page elsewhere whose own
// name was made to point at this machine (DNS rebinding) is same-origin for the browser; the Host header
// is what gives it away.
func (s *Server) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostAllowed(r.Host, s.hosts) {
			p := refuse(http.StatusMisdirectedRequest, kindForeignHost,
				fmt.Sprintf("this Monolith does not answer to the name %q", r.Host),
				"use a loopback address, or start monolith serve with --host and the name")
			writeProblem(w, r, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostAllowed judges a Host header, with or without a port.
func hostAllowed(host string, allowed []string) bool {
	name := hostName(host)
	if name == "localhost" {
		return true
	}
	if addr, err := netip.ParseAddr(name); err == nil && addr.IsLoopback() && addr.Zone() == "" {
		return true
	}
	return name != "" && slices.Contains(allowed, name)
}

// hostName gives the name in a Host header in the one form in which names are compared: lower case,
// without port, brackets and the root's dot.
func hostName(host string) string {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.TrimSuffix(strings.ToLower(name), ".")
}

// sameOrigin refuses writes that a page of another origin sent.
func (s *Server) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := protection.Check(r); err != nil {
			s.fail(w, r, refuse(http.StatusForbidden, kindCrossOrigin,
				"a page of another origin may not change anything here", "send the request from Monolith's own pages, or without a browser"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limitBody bounds what a request may send.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}
