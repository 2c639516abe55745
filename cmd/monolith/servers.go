package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"monolith"
	"monolith/poller"
)

// given is a server named on the command line, in a file or in the environment.
type given struct {
	name     string
	endpoint monolith.Endpoint
	from     string // where it was named, for messages
	visible  bool   // its password stands in the process list
}

// parseGiven reads NAME=DSN; the first equals sign divides them.
func parseGiven(text, from string) (given, error) {
	name, dsn, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return given{}, monolith.Invalid(from, "a server is given as NAME=DSN", "such as db1=user:password@tcp(db1.example:3306)/")
	}
	endpoint, err := poller.ParseDSN(strings.TrimSpace(dsn))
	if err != nil && strings.ContainsAny(name, ":@") {
		// Without a name the first equals sign is one of the DSN's own, and its password stands before it.
		return given{}, monolith.Invalid(from, "a server is given as NAME=DSN, and what stands before the first = looks like a part of a DSN",
			"such as db1=user:password@tcp(db1.example:3306)/")
	}
	if err != nil {
		return given{}, fmt.Errorf("%s, server %s: %w", from, name, err)
	}
	return given{name: name, endpoint: endpoint, from: from}, nil
}

// serverFlags reads the values of --server, which may come from the configuration file too.
func serverFlags(values []string, args arguments) ([]given, error) {
	var all []given
	for _, v := range values {
		g, err := parseGiven(v, "--server")
		if err != nil {
			return nil, err
		}
		g.visible = g.endpoint.Password != "" && args.show(v)
		all = append(all, g)
	}
	return all, nil
}

// serverFile reads a file of NAME=DSN lines; empty lines and those that begin with # are passed over.
// It holds passwords, so other people must not be able to read it.
func serverFile(path string) ([]given, error) {
	if path == "" {
		return nil, nil
	}
	if err := private("server-file", path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("server-file: %w", err)
	}
	defer f.Close()
	var all []given
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		g, err := parseGiven(line, fmt.Sprintf("%s, line %d", path, n))
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("server-file %s: %w", path, err)
	}
	return all, nil
}

// private refuses a file with secrets that others may read.
func private(flag, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	if info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		return monolith.Invalid(flag, fmt.Sprintf("others may read %s (mode %04o), and it holds passwords", path, info.Mode().Perm()), "chmod 600 "+path)
	}
	return nil
}

const serverVariable = "MONOLITH_SERVER_"

// serverEnvironment reads MONOLITH_SERVER_<NAME>=DSN, and MONOLITH_SERVER_<NAME>_FILE=path of a file
// that holds the DSN. MONOLITH_SERVER_FILE itself is the --server-file flag.
func serverEnvironment(environ []string) ([]given, error) {
	var all []given
	for _, kv := range environ {
		key, value, _ := strings.Cut(kv, "=")
		name, ok := strings.CutPrefix(key, serverVariable)
		if !ok || name == "FILE" || name == "" {
			continue
		}
		if short, isFile := strings.CutSuffix(name, "_FILE"); isFile {
			text, err := secretFile(key, value)
			if err != nil {
				return nil, err
			}
			name, value = short, text
		}
		g, err := parseGiven(name+"="+value, key)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b given) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

func secretFile(name, path string) (string, error) {
	if err := private(name, path); err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// serverStore is the part of the store that keeps servers.
type serverStore interface {
	Server(ctx context.Context, name string) (monolith.Server, error)
	AddServer(ctx context.Context, s *monolith.Server) error
	UpdateServer(ctx context.Context, s *monolith.Server) error
}

// keep adds a given server to the store, or gives a server of that name the given endpoint. What people
// set in the pages stays.
func keep(ctx context.Context, db serverStore, g given) error {
	s, err := db.Server(ctx, g.name)
	switch {
	case errors.Is(err, monolith.ErrNotFound):
		s = monolith.Server{Name: g.name, Endpoint: g.endpoint}
		if local(g.endpoint) {
			s.Host = "local"
		}
		if err := s.Validate(); err != nil {
			return fmt.Errorf("%s, server %s: %w", g.from, g.name, err)
		}
		if err := db.AddServer(ctx, &s); err != nil {
			return fmt.Errorf("add server %s: %w", g.name, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("server %s: %w", g.name, err)
	case s.Endpoint == g.endpoint:
		return nil
	}
	s.Endpoint = g.endpoint
	if err := db.UpdateServer(ctx, &s); err != nil {
		return fmt.Errorf("update server %s: %w", g.name, err)
	}
	return nil
}

// local reports whether an endpoint is on this machine, so that its host can be read here.
func local(e monolith.Endpoint) bool {
	if e.Socket != "" || strings.EqualFold(e.Host, "localhost") {
		return true
	}
	ip := net.ParseIP(e.Host)
	return ip != nil && ip.IsLoopback()
}
