package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

func TestParseGivenDividesAtTheFirstEqualsSign(t *testing.T) {
	g, err := parseGiven("shop db1=mon:p=a@s#s@tcp(db1.example:3307)/?tls=skip-verify", "--server")
	if err != nil {
		t.Fatal(err)
	}
	if g.name != "shop db1" || g.endpoint.Host != "db1.example" || g.endpoint.Port != 3307 || g.endpoint.Password.Reveal() != "p=a@s#s" {
		t.Errorf("got %q %+v", g.name, g.endpoint)
	}
}

func TestParseGivenNamesThePlaceAndHidesThePassword(t *testing.T) {
	for _, text := range []string{"no dsn", "=u:canary@tcp(h)/", "db1=u:canary@tcp(h:port/"} {
		_, err := parseGiven(text, "servers.txt, line 3")
		if err == nil {
			t.Errorf("%q was accepted", text)
			continue
		}
		if !strings.Contains(err.Error(), "servers.txt, line 3") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestServerFileMustBePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers")
	text := "# ours\n\ndb1=u:p@tcp(127.0.0.1:3306)/\ndb2 = u:p@unix(/run/mysqld.sock)/\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := serverFile(path); !errors.Is(err, monolith.ErrInvalid) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := serverFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].name != "db1" || all[1].name != "db2" || all[1].endpoint.Socket != "/run/mysqld.sock" {
		t.Errorf("got %+v", all)
	}
}

func TestServerEnvironment(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(secret, []byte("u:p@tcp(10.0.0.2:3306)/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := serverEnvironment([]string{"HOME=/", "MONOLITH_SERVER_b=u@tcp(10.0.0.1)/", "MONOLITH_SERVER_a_FILE=" + secret, "MONOLITH_SERVER_FILE=/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range all {
		names = append(names, g.name+" "+g.endpoint.Address())
	}
	if diff := cmp.Diff([]string{"a 10.0.0.2:3306", "b 10.0.0.1:3306"}, names); diff != "" {
		t.Error(diff)
	}
}

// Every password arrives as it is written, on the command line, in a file and in the environment: nothing quotes it and nothing cuts it.
func TestPasswordsArriveAsTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var lines, environ, want []string
	for i := range 300 {
		var b strings.Builder
		for range 1 + r.IntN(20) {
			b.WriteRune([]rune{rune(' ' + r.IntN('~'-' '+1)), rune('ß' + r.IntN(99))}[r.IntN(8)/7])
		}
		pw := []string{"", "#", " ", "=", "\"'", "${HOME}", "%41"}[i%7] + b.String()
		dsn := "mon:" + pw + "@tcp(db:3306)/"
		want = append(want, pw)
		lines = append(lines, fmt.Sprintf("db%03d=%s", i, dsn))
		environ = append(environ, fmt.Sprintf("MONOLITH_SERVER_db%03d=%s", i, dsn))
	}
	path := filepath.Join(t.TempDir(), "servers")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	fromFile, err := serverFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fromEnvironment, err := serverEnvironment(environ)
	if err != nil {
		t.Fatal(err)
	}
	fromFlags, err := serverFlags(lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	for from, list := range map[string][]given{"file": fromFile, "environment": fromEnvironment, "flags": fromFlags} {
		var got []string
		for _, g := range list {
			got = append(got, g.endpoint.Password.Reveal())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", from, diff)
		}
	}
}

// memoryStore keeps servers in a map.
type memoryStore map[string]monolith.Server

func (m memoryStore) Server(_ context.Context, name string) (monolith.Server, error) {
	s, ok := m[name]
	if !ok {
		return s, monolith.ErrNotFound
	}
	return s, nil
}
func (m memoryStore) AddServer(_ context.Context, s *monolith.Server) error {
	m[s.Name] = *s
	return nil
}
func (m memoryStore) UpdateServer(_ context.Context, s *monolith.Server) error {
	m[s.Name] = *s
	return nil
}

func TestKeepLeavesWhatPeopleSet(t *testing.T) {
	m := memoryStore{}
	g, err := parseGiven("db1=u:old@tcp(127.0.0.1:3306)/", "--server")
	if err != nil {
		t.Fatal(err)
	}
	if err := keep(t.Context(), m, g); err != nil {
		t.Fatal(err)
	}
	s := m["db1"]
	if s.Host != "local" {
		t.Errorf("a server on the loopback has the host source %q, want local", s.Host)
	}
	s.Group, s.Host = "acme/prod", "none"
	m["db1"] = s
	g.endpoint.Password = "new"
	if err := keep(t.Context(), m, g); err != nil {
		t.Fatal(err)
	}
	if got := m["db1"]; got.Group != "acme/prod" || got.Host != "none" || got.Endpoint.Password.Reveal() != "new" {
		t.Errorf("got %+v", got)
	}
}
