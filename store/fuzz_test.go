package store

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"monolith"
)

// FuzzNamesAndTexts throws what a monitored server may call its metrics, or say of itself, at the two
// functions that make it fit a column.
func FuzzNamesAndTexts(f *testing.F) {
	for _, s := range []string{"", "status.Questions", "a ", " ", "a\x00b", "\xff\xfe", strings.Repeat("é", 300), strings.Repeat("x", maxText+1), strings.Repeat("€", maxText), "\u00a0", strings.Repeat(" ", 400)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := cleanName(s)
		switch {
		case !utf8.ValidString(name):
			t.Errorf("%q becomes the invalid %q", s, name)
		case utf8.RuneCountInString(name) > maxName:
			t.Errorf("%q becomes %d characters", s, utf8.RuneCountInString(name))
		case strings.HasSuffix(name, " "):
			t.Errorf("%q ends with a space", name)
		case cleanName(name) != name:
			t.Errorf("%q is cleaned again to %q", name, cleanName(name))
		}
		text := boundText(s)
		if !utf8.ValidString(text) || len(text) > maxText+100 {
			t.Errorf("%d bytes become %d", len(s), len(text))
		}
		if utf8.ValidString(s) && len(s) <= maxText && text != s {
			t.Errorf("%q is kept as %q", s, text)
		}
	})
}

// FuzzLatest reads rows that another version, or a disk, may have spoilt.
func FuzzLatest(f *testing.F) {
	b := newBench(f, Config{Path: f.TempDir() + "/monolith.db"})
	for part, text := range map[string]string{
		partStatus: `{"seq":3,"identity":{"flavour":"mysql"}}`, partReplicas: `[{"channel":""}]`, partProcesses: `{"total":1}`,
		partAccounts: `[]`, partSchemas: `{}`, partBinaryLogs: `[{"name":"x"}]`,
		partSection + "status": `{"collector":"status","num_names":[{"Name":"a","Instance":""}],"nums":["1"],"text_names":null,"texts":null}`,
	} {
		f.Add(part, b.db.zip.EncodeAll([]byte(text), nil))
	}
	f.Add(partSection, []byte("nonsense"))
	f.Fuzz(func(t *testing.T, part string, payload []byte) {
		value, err := b.db.decodeLatest(part, payload)
		if err == nil {
			var s monolith.Snapshot
			setLatest(&s, value)
			(*monolith.State)(nil).With(&s)
		}
	})
}

// FuzzDSN reads DSNs that people write. No error may hold the password.
func FuzzDSN(f *testing.F) {
	for _, s := range []string{"", "u:p@tcp(h:1)/d", "u:p@/d", "/d", "u:canarycanary@nonsense", "u:canarycanary@tcp(h:1)/d?x=%zz", "u:canarycanary@tcp([::1]:1)/d?tls=no"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		cfg, place, err := mysqlConfig(dsn)
		if err != nil {
			if strings.Contains(dsn, "canarycanary") && strings.Contains(err.Error(), "canarycanary") {
				t.Errorf("the password stands in %q", err)
			}
			return
		}
		if cfg.DBName == "" || place == "" {
			t.Errorf("%q gives database %q at %q", dsn, cfg.DBName, place)
		}
	})
}

// FuzzSealed opens sealed passwords and reads key files that somebody or something may have spoilt.
func FuzzSealed(f *testing.F) {
	b := newBench(f, Config{Path: f.TempDir() + "/monolith.db"})
	sealed, err := b.db.seals.seal("canary", "place")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed, "place")
	f.Add(sealed[:len(sealed)-1], "place")
	f.Add(sealed, "elsewhere")
	f.Add([]byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"), "")
	f.Add([]byte{}, "\xff")
	path := f.TempDir() + "/key"
	f.Fuzz(func(t *testing.T, content []byte, place string) {
		text, err := b.db.seals.open(content, place)
		if opens := place == "place" && string(content) == string(sealed); (err == nil) != opens {
			t.Errorf("%x opens at %q to %q, %v", content, place, text, err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := readKey(path); err == nil && len(key) != 32 {
			t.Errorf("%q is a key of %d bytes", content, len(key))
		}
	})
}
