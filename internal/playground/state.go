package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"monolith/internal/mysqltest"
)

// state is what a second run takes over from the first, in state.json of the playground's folder. The file holds
// passwords of accounts of the private servers, and is readable by its owner only.
type state struct {
	MonitorPassword string         `json:"monitor_password"`
	AppPassword     string         `json:"app_password"`
	StorePassword   string         `json:"store_password"`
	Ports           map[string]int `json:"ports"`            // by server name
	Listen          string         `json:"listen,omitempty"` // Monolith's address when none was asked for
	// Grouped names the stores in which the servers were put into their groups once; "" is the embedded one.
	Grouped []string `json:"grouped_in"`

	path string
}

// loadState reads the state of an earlier run, or begins one.
func loadState(dir string) (*state, error) {
	s := &state{path: filepath.Join(dir, "state.json"), Ports: map[string]int{}}
	text, err := os.ReadFile(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		s.MonitorPassword, s.AppPassword, s.StorePassword = rand.Text(), rand.Text(), rand.Text()
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("playground: read state: %w", err)
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("playground: read state: %s: %w; removing the folder starts afresh", s.path, err)
	}
	return s, nil
}

func (s *state) save() error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("playground: save state: %w", err)
	}
	// A half of it would cost the history: without it a second run has no passwords.
	half := s.path + ".new"
	err = os.WriteFile(half, append(text, '\n'), 0o600)
	if err == nil {
		err = os.Rename(half, s.path)
	}
	if err != nil {
		return fmt.Errorf("playground: save state: %w", err)
	}
	return nil
}

// port gives a server the port it had, if nobody listens there now, else a free one.
func (s *state) port(name string) (int, error) {
	if port := s.Ports[name]; port != 0 && free(net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) {
		return port, nil
	}
	port, err := mysqltest.FreePort()
	if err != nil {
		return 0, err
	}
	s.Ports[name] = port
	return port, nil
}

// defaultListen is where Monolith listens when that is free.
const defaultListen = "127.0.0.1:8080"

// listen gives Monolith's address: the one asked for, or the one it had, or the default, or a free one.
func (s *state) listen(asked string) (string, error) {
	if asked != "" {
		if !free(asked) {
			return "", fmt.Errorf("playground: %s is in use; choose another with LISTEN=127.0.0.1:PORT", asked)
		}
		return asked, nil
	}
	for _, address := range []string{s.Listen, defaultListen} {
		if address != "" && free(address) {
			s.Listen = address
			return address, nil
		}
	}
	port, err := mysqltest.FreePort()
	if err != nil {
		return "", err
	}
	s.Listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	return s.Listen, nil
}

func free(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// lock keeps a second playground out of the folder until the returned file is closed.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("playground: lock %s: %w", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("playground: %s is used by another playground that runs: %w", dir, err)
	}
	return f, nil
}
