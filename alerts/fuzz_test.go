package alerts

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
	"unicode/utf8"

	"monolith"
)

const fuzzedRule = `rules:
- id: threads
  title: Many threads run
  about: Whether many run.
  category: connections
  each: server
  window: 5m
  let:
    running: {is: "avg_over(status.Threads_running)"}
  when:
  - if: running > limit.running
    limits:
      warn: {running: 20}
    for: 1m
  summary: "{running} run"
  says: "{running} threads run"
  remedy: {text: "Look."}
`

// FuzzRule compiles rules that users write: each is taken, or refused with its place and a reason, never a fault.
func FuzzRule(f *testing.F) {
	cat, err := Load()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(strings.TrimPrefix(fuzzedRule, "rules:\n"))
	f.Add(fuzzedRule)
	builtin, err := Builtin()
	if err != nil {
		f.Fatal(err)
	}
	for i, r := range builtin.rules {
		if i%10 == 0 {
			f.Add("- id: x\n  title: " + r.info.Title + "\n  category: connections\n  when: [{if: 'status.Uptime < 1', level: info}]\n")
		}
	}
	for _, file := range BuiltinFiles() {
		entry, _, _ := strings.Cut(strings.TrimPrefix(string(file.Text), "rules:\n"), "\n- id:")
		f.Add(entry)
	}
	for _, s := range []string{"", "id: x", "rules: []", "- &a [*a]", "when: {if: [}", "id: x\nwindow: 1e9w\nevery: poll\nwhen: [{if: 'limit.x > 1', limits: {warn: {x: .nan}}, for: {warn: -1s}}]",
		"id: x\nneeds: {version: '>= 99999999999999999999'}\nsays: '{a ? \"}\" : \"{\"}'", "\xff: \x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, in, err := cat.Check(text, nil)
		if err != nil {
			var bad *LoadError
			if !errors.As(err, &bad) && !errors.Is(err, monolith.ErrInvalid) {
				t.Errorf("%q is refused without a place: %v", text, err)
			}
			if utf8.ValidString(text) && !utf8.ValidString(err.Error()) {
				t.Errorf("%q is refused with %q", text, err)
			}
			return
		}
		if len(text) < 4000 {
			RunTests(in, r)
		}
	})
}

// FuzzRestore takes up states that another version, or a disk, may have spoilt, and goes on from there.
func FuzzRestore(f *testing.F) {
	cat, err := LoadOwn(File{"fuzz.yaml", []byte(fuzzedRule)})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []*savedServer{
		{},
		{Seen: []string{"status.Uptime", "nothing"}, Rings: []savedRing{{Name: "status.Threads_running", Newest: 1 << 40, Sum: []float64{1, 2}, Secs: []float32{60}}, {Name: "x", Newest: -1}}},
		{States: []savedState{{Rule: "threads", State: monolith.RuleState("open"), Conds: []savedCond{{}, {}, {}}}, {Rule: "gone"}}},
	} {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(s); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("nonsense"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, flate.NoCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		blob := append([]byte{'M', 'A', savedVersion}, binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(packed.Bytes()))...)
		blob = append(blob, packed.Bytes()...)
		e := NewEngine(cat)
		if err := e.Restore(1, blob); err != nil {
			return
		}
		again, err := e.Save(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := NewEngine(cat).Restore(1, again); err != nil {
			t.Errorf("what was saved again can't be restored: %v", err)
		}
	})
}
