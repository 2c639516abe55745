package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// FuzzServerFile reads a file of servers. A line that can't be read is named by its number, and no password is told.
func FuzzServerFile(f *testing.F) {
	f.Add("# comment\n\ndb1=u:p@tcp(h:3306)/\ndb 2 = u:p=q@unix(/run/mysqld/mysqld.sock)/?tls=preferred\n")
	f.Add("db1\n=x\ndb1=u:canaryZq@tcp(h:99999)/\n")
	f.Add("\xff=\x00@(\n" + strings.Repeat("x", 70_000))
	f.Add("u:canaryZq@tcp([::1]:3306)/?timeout=1s") // no name
	f.Add("a=u:canaryZq@tcp([::1]:3306)/?timeout=-1s&collation=x\r\n")
	path := filepath.Join(f.TempDir(), "servers")
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := serverFile(path)
		if err != nil && strings.Contains(err.Error(), ":canaryZq") {
			t.Errorf("%q: the password stands in %v", content, err)
		}
		for _, g := range all {
			if g.name == "" || g.name != strings.TrimSpace(g.name) {
				t.Errorf("%q gives a server named %q", content, g.name)
			}
		}
	})
}

// FuzzConfig reads a configuration file, as kong asks for its values.
func FuzzConfig(f *testing.F) {
	f.Add("listen: 127.0.0.1:9000\nserver:\n  - db1=u:p@tcp(h)/\n")
	f.Add("server: {a: b}\nlisten: [1]\nmigrate: yes\n")
	f.Add("a: &a [*a]\n")
	f.Add("? [x]\n: !!binary canaryZq\n")
	f.Add(">a !!binary canaryZq\n") // the complaint quotes it
	f.Add("store: canaryZq\nnope: canaryZq\n---\n- 1\n")
	f.Add("migrate: 1e999\nlog-level: .nan\ndata: 0x7fffffffffffffff\nhost: 2026-03-10\n")
	data := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		values, err := loadConfig(strings.NewReader(text))
		if err == nil {
			var c cli
			var parser *kong.Kong
			parser, err = kong.New(&c, kong.Name("monolith"), kong.Writers(io.Discard, io.Discard), kong.Resolvers(values),
				kong.Exit(func(int) { t.Error("it ends the program") }), kong.Vars{"data": data})
			if err != nil {
				t.Fatal(err)
			}
			_, err = parser.Parse([]string{"serve"})
		}
		if err != nil && strings.Contains(err.Error(), "canaryZq") && !strings.Contains(err.Error(), "unknown key") { // keys are no secrets
			t.Errorf("%q: a value stands in %v", text, err)
		}
	})
}
