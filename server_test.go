package monolith

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func goodServer() Server {
	return Server{Name: "db 1/ü", Group: "acme/prod", Endpoint: Endpoint{Host: "db1.example", Port: 3307, User: "monolith"}}
}

func TestServerValidateNamesTheField(t *testing.T) {
	if s := goodServer(); s.Validate() != nil {
		t.Fatalf("the good one: %v", s.Validate())
	}
	for _, c := range []struct {
		change func(*Server)
		field  string
	}{
		{func(s *Server) { s.Name = "" }, "name"},
		{func(s *Server) { s.Name = "a\x00b" }, "name"},
		{func(s *Server) { s.Name = "a\u202eb" }, "name"},
		{func(s *Server) { s.Name = strings.Repeat("x", 129) }, "name"},
		{func(s *Server) { s.Group = "acme//prod" }, "group"},
		{func(s *Server) { s.Endpoint.Host = "" }, "endpoint.host"},
		{func(s *Server) { s.Endpoint.Host = "h:3306" }, "endpoint.host"},
		{func(s *Server) { s.Endpoint.Host = "-x" }, "endpoint.host"},
		{func(s *Server) { s.Endpoint.Host = strings.Repeat("x", 5000) }, "endpoint.host"},
		{func(s *Server) { s.Endpoint.Host, s.Endpoint.Socket = "", "relative" }, "endpoint.socket"},
		{func(s *Server) { s.Endpoint.Socket = "/run/x" }, "endpoint.socket"},
		{func(s *Server) { s.Endpoint.Port = 70000 }, "endpoint.port"},
		{func(s *Server) { s.Endpoint.TLS = "yes" }, "endpoint.tls"},
		{func(s *Server) { s.Endpoint.Cert = "/c.pem" }, "endpoint.key"},
		{func(s *Server) { s.Environment = "production" }, "environment"},
		{func(s *Server) { s.Role = "slave" }, "role"},
		{func(s *Server) { s.Host = "agent" }, "host_source"},
		{func(s *Server) { s.Tags = []string{""} }, "tags"},
		{func(s *Server) { s.Tags = slices.Repeat([]string{"x"}, 51) }, "tags"},
		{func(s *Server) { s.ProbeAddresses = []string{"not an address<"} }, "probe_addresses"},
		{func(s *Server) { s.HeartbeatTable = "heartbeat" }, "heartbeat_table"},
		{func(s *Server) { s.TimeZone = "Mars/Olympus" }, "time_zone"},
		{func(s *Server) { s.TimeZone = "Local" }, "time_zone"},
		{func(s *Server) { s.Schedules = map[string]string{"weekly": "@every 1h"} }, "schedules"},
	} {
		s := goodServer()
		c.change(&s)
		var bad *InvalidError
		if err := s.Validate(); !errors.As(err, &bad) || bad.Field != c.field {
			t.Errorf("%+v: got %v, want an error at %s", s, err, c.field)
		}
	}
	for _, host := range []string{"fd00:aaaa:bbbb::1", "fe80::1%eth0", "10.0.0.5", "db_1.example"} {
		s := goodServer()
		s.Endpoint.Host, s.ProbeAddresses = host, []string{"10.0.0.0/8", "lb.example", "::1"}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// A secret must not come out by any of the usual ways.
func TestSecretHidesItself(t *testing.T) {
	s := goodServer()
	s.Endpoint.Password = "canary"
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(text), fmt.Sprint(s), fmt.Sprintf("%+v %#v %q %s", s, s, s.Endpoint.Password, s.Endpoint.Password), s.Endpoint.Password.LogValue().String()} {
		if strings.Contains(out, "canary") {
			t.Errorf("the password shows in %s", out)
		}
	}
	if s.Endpoint.Password.Reveal() != "canary" {
		t.Error("the password can't be used any more")
	}
}

func TestInGroup(t *testing.T) {
	for _, c := range []struct {
		path, group string
		want        bool
	}{{"acme/prod", "acme", true}, {"acme", "acme", true}, {"acme/prod", "", true}, {"acmex", "acme", false}, {"", "acme", false}} {
		if got := InGroup(c.path, c.group); got != c.want {
			t.Errorf("InGroup(%q, %q) = %v", c.path, c.group, got)
		}
	}
}
