package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigRefusesWithoutShowingValues: a configuration file may hold passwords, and what is printed
// ends in a journal that many read.
func TestConfigRefusesWithoutShowingValues(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		says string
	}{
		"unknown key":   {"listne: 127.0.0.1:1\n", 0o600, `unknown key "listne"`},
		"map as value":  {"server: [{m1: \"u:canary@tcp(127.0.0.1:1)/\"}]\n", 0o600, "config.server"},
		"list as store": {"store: [\"u:canary@tcp(127.0.0.1:1)/x\"]\n", 0o600, "config.store"},
		"open quote":    {"store: \"u:canary@tcp(127.0.0.1:1)/x\nlisten: 127.0.0.1:1\n", 0o600, "config"},
		"others read":   {"server: [\"m1=u:canary@tcp(127.0.0.1:1)/\"]\n", 0o644, "chmod 600"},
	} {
		path := filepath.Join(t.TempDir(), "monolith.yaml")
		if err := os.WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := run(t.Context(), []string{"serve", "--config", path, "--data", t.TempDir()}, console{&out, &out})
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if all := err.Error() + out.String(); !strings.Contains(all, c.says) || strings.Contains(all, "canary") {
			t.Errorf("%s: %s", name, all)
		}
	}
}

func TestOnlyArgumentsAreWarnedAbout(t *testing.T) {
	const dsn = "m1=u:canary@tcp(127.0.0.1:1)/"
	for _, c := range []struct {
		args arguments
		want bool
	}{{arguments{"serve", "--server", dsn}, true}, {arguments{"serve", "--server=" + dsn}, true}, {arguments{"serve", "--config", "x"}, false}} {
		all, err := serverFlags([]string{dsn}, c.args)
		if err != nil {
			t.Fatal(err)
		}
		if all[0].visible != c.want {
			t.Errorf("%v: visible %v, want %v", c.args, all[0].visible, c.want)
		}
	}
}

func TestStorePassword(t *testing.T) {
	for dsn, want := range map[string]bool{
		"": false, "root@unix(/run/s.sock)/monolith": false, "u:@tcp(db:3306)/m": false, "u:p@tcp(db:3306)/m": true, "u:p@tcp(db:3306": true,
	} {
		if got := storePassword(dsn); got != want {
			t.Errorf("%q holds a password: %t, want %t", dsn, got, want)
		}
	}
}
