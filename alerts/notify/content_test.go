package notify

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"monolith"
)

// hostile is a text of a monitored server that tries everything.
const hostile = "db\r\nBcc: evil@example.com\r\n\r\n<script>alert(1)</script> ]]> \x00\x1b[31m \xff\u202e \u2028{{.Title}}"

// hostileNotice has the hostile text everywhere.
func hostileNotice(kind monolith.NoticeKind) *Notice {
	long := hostile + strings.Repeat("long ", 50_000) + "megabytes"
	n := 1e300
	return &Notice{Kind: kind, Key: hostile, At: time.Unix(0, 0), About: long, By: hostile, Note: hostile, Changes: []Change{{Text: long}},
		Server: &Subject{Name: hostile, Group: hostile, Role: hostile, Version: hostile, Environment: hostile},
		Alert: &monolith.Alert{ID: 1, AlertKey: monolith.AlertKey{Rule: hostile, Instance: hostile}, ServerName: hostile, Group: hostile, Level: monolith.LevelCritical,
			Title: hostile, Summary: long, Text: long, Formula: hostile, Values: []monolith.AlertValue{{Name: hostile, Text: hostile, Num: &n, Limit: &n}},
			Remedy: &monolith.Remedy{Text: hostile, Settings: []monolith.Setting{{Variable: hostile, To: hostile}}, Checks: []string{hostile, hostile, hostile, hostile}}},
		Others: []monolith.Alert{{Title: hostile, ServerName: hostile, Group: hostile}}}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	want := []string{
		"[CRIT] acme/prod/db3 Replication lag: 412 s > 300 s (eu2)", "[STILL CRIT] acme/prod/db3 Replication lag: 412 s > 300 s (eu2)",
		"[WARN] acme/prod/db3 Replication lag: 412 s > 300 s (eu2)", "[OK] acme/prod/db3 Replication lag: 412 s > 300 s (eu2)",
		"[ACK] acme/prod/db3 Replication lag: 412 s > 300 s (eu2)", "[CRIT] 5 alerts", "[OK] all quiet", "[TEST] Monolith can reach you",
	}
	for i, n := range Examples() {
		if got := title(n); got != want[i] {
			t.Errorf("%s: %q, want %q", n.Kind, got, want[i])
		}
	}
}

func TestBuiltInTemplates(t *testing.T) {
	t.Parallel()
	for _, name := range TemplateNames {
		if err := CheckTemplate(name, BuiltIn(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := &Options{Base: "https://monolith.example"}
	text := written(o, "text", Examples()[0], "")
	for _, part := range []string{"412 s behind its source", "(limit 5 min)", "replica of db1", "replica_parallel_workers: 4 → 0", "reports are wrong", "SHOW REPLICA STATUS",
		"replica_parallel_workers = 4", "https://monolith.example/alerts/42", "https://monolith.example/rules/replica-lag", "2026-03-14 11:20 UTC"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text lacks %q:\n%s", part, text)
		}
	}
	long := Examples()[0]
	long.Alert.Remedy.Checks[0] = "SELECT 1\nFROM dual"
	if got := written(o, "text", long, ""); !strings.Contains(got, "\n  SELECT 1\n  FROM dual\n") || !strings.Contains(got, "to acknowledge or silence it") {
		t.Errorf("a check of two lines:\n%s", got)
	}
	for _, name := range []string{"text", "html"} {
		if got := written(o, name, Examples()[3], ""); strings.Contains(got, "to acknowledge") {
			t.Errorf("%s: what is over can be acknowledged:\n%s", name, got)
		}
	}
	if got := written(o, "text", Examples()[3], ""); !strings.Contains(got, "over after 40 min") || !strings.Contains(got, "What it was: The replica") || strings.Contains(got, "First checks") {
		t.Errorf("recovery:\n%s", got)
	}
}

func TestHostileContent(t *testing.T) {
	t.Parallel()
	o := &Options{Base: "https://monolith.example"}
	for _, kind := range []monolith.NoticeKind{monolith.NoticeProblem, monolith.NoticeRecovery, monolith.NoticeAcknowledged, monolith.NoticeDigest, monolith.NoticeQuiet} {
		n := hostileNotice(kind)
		if html := written(o, "html", n, "graph"); strings.Contains(html, "<script") || strings.ContainsAny(html, "\x00\x1b\u202e") {
			t.Errorf("%s: the HTML holds what it must not", kind)
		}
		for _, name := range TemplateNames {
			text := written(o, name, n, "")
			if strings.Contains(text, "megabytes") || !utf8.ValidString(text) || len(text) > mostText || strings.ContainsAny(text, "\x00\x1b\u202e") {
				t.Errorf("%s: %s: %d bytes, valid %v", kind, name, len(text), utf8.ValidString(text))
			}
		}
		if line := pagerLine(o, n); strings.ContainsAny(line, "\r\n") {
			t.Errorf("%s: the pager's line is %q", kind, line)
		}
		if strings.ContainsAny(title(n), "\r\n\x00") {
			t.Errorf("%s: title %q", kind, title(n))
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"a\n{{.Tite}}": "line 2", "{{if}}": "line 1", "a\n\n{{range .List}}": "line 3", "{{.Alert.Nothing}}": "line 1", "{{call .Title}}": "line 1",
		"{{range $i := .Examples}}x{{end}}": "line 1", `{{printf "%1000000d" 1}}`: "too long",
	} {
		err := CheckTemplate("text", body)
		bad, ok := errors.AsType[*monolith.InvalidError](err)
		if !ok || !strings.Contains(bad.Reason, want) {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
	}
	if err := CheckTemplate("nothing", "x"); err == nil {
		t.Error("an unknown template is taken")
	}
	if err := CheckTemplate("text", strings.Repeat("x", mostText+1)); err == nil {
		t.Error("a template without end is taken")
	}
	if err := CheckTemplate("html", "<p>{{.Title}}</p>"); err != nil {
		t.Error(err)
	}

	// One that fails only at the notice at hand: the built-in one is used.
	o := &Options{Template: func(string) string { return "{{index .Others 99}}" }, Record: &Dialogue{}}
	if got := written(o, "text", Examples()[0], ""); !strings.Contains(got, "412 s behind") {
		t.Errorf("with a failing template: %q", got)
	}
	if !strings.Contains(o.Record.String(), "can't be used") {
		t.Errorf("nobody is told: %q", o.Record)
	}
	o.Template = func(name string) string { return map[string]string{"subject": "MY {{.Where}}"}[name] }
	if got := written(o, "subject", Examples()[0], ""); got != "MY acme/prod/db3" {
		t.Errorf("with a template of one's own: %q", got)
	}
}

func TestPagerLine(t *testing.T) {
	t.Parallel()
	o := &Options{}
	want := []string{
		"CRIT acme/prod/db3 Replication lag: 412 s > 300 s (eu2) since 11:20Z", "STILL CRIT acme/prod/db3 Replication lag: 412 s > 300 s (eu2) since 11:20Z",
		"WARN acme/prod/db3 Replication lag: 412 s > 300 s (eu2) since 11:20Z", "OK acme/prod/db3 Replication lag: 412 s > 300 s (eu2) after 40 min",
		"ACK acme/prod/db3 Replication lag: 412 s > 300 s (eu2) by eve", "[CRIT] 5 alerts: acme/prod/db3 Replication lag: 412 s > 300 s (eu2)", "[OK] all quiet", "TEST Monolith can reach this pager",
	}
	for i, n := range Examples() {
		if got := pagerLine(o, n); got != want[i] {
			t.Errorf("%s: %q, want %q", n.Kind, got, want[i])
		}
	}
	// A digest names the worst, wherever it stands, in the subject of a mail too.
	n := Examples()[5]
	n.Others[0], n.Others[1] = n.Others[1], n.Others[0]
	if got := oneLine(written(o, "subject", n, ""), mostSubject); got != want[5] || pagerLine(o, n) != want[5] {
		t.Errorf("subject of a digest: %q", got)
	}
	n.Others[0].Level = monolith.LevelOK
	if text := chatText(o, n); !strings.HasPrefix(text, "[CRIT] 5 alerts, 1 over\nOK acme/prod/db4 Disk will be full: /data 91 % used: over\n") {
		t.Errorf("a digest with what is over: %q", text)
	}
	n.Others, n.More = n.Others[:1], 0
	if got := title(n); got != "[OK] 1 alert over" {
		t.Errorf("a digest of what is over: %q", got)
	}
	n = Examples()[0]
	n.Alert.Summary = "größer als 90 % → voll " + strings.Repeat("sehr ", 60)
	got := pagerLine(o, n)
	if len(got) > pagerLength || !strings.HasPrefix(got, "CRIT acme/prod/db3 groesser als 90 % -> voll") || !strings.HasSuffix(got, ".. since 11:20Z") {
		t.Errorf("%d: %q", len(got), got)
	}
}

func FuzzPagerLine(f *testing.F) {
	f.Add("db1", "acme/prod", "lag", "412 s", "eu2", "eve", 3)
	f.Add(hostile, hostile, hostile, hostile, hostile, hostile, -1)
	f.Fuzz(func(t *testing.T, server, group, title, summary, instance, by string, more int) {
		for _, n := range Examples() {
			n.By, n.More = by, more
			if n.Server != nil {
				n.Server.Name, n.Server.Group = server, group
				n.Alert.Title, n.Alert.Summary, n.Alert.Instance = title, summary, instance
			}
			line := pagerLine(&Options{}, n)
			if len(line) > pagerLength {
				t.Fatalf("%d characters: %q", len(line), line)
			}
			for _, c := range []byte(line) {
				if c < ' ' || c > '~' {
					t.Fatalf("%q holds %q", line, c)
				}
			}
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, name := range TemplateNames {
		f.Add(name, BuiltIn(name))
	}
	f.Add("text", "{{range .List}}{{.}}{{end}}{{template \"x\"}}")
	f.Fuzz(func(t *testing.T, name, body string) {
		if CheckTemplate(name, body) != nil {
			return
		}
		for _, n := range Examples() {
			if _, err := Preview(name, body, n, &Options{}); err != nil {
				t.Fatalf("%q was taken and fails: %v", body, err)
			}
		}
	})
}

// A preview shows what would be sent: a subject is one line, a pager's line is ASCII and short.
func TestPreviewIsAsSent(t *testing.T) {
	t.Parallel()
	n := Examples()[0]
	for _, c := range []struct{ name, body, want string }{
		{"subject", "ACME {{.Title}}\r\nBcc: x@example.com", "ACME [CRIT] acme/prod/db3 Replication lag: 412 s > 300 s (eu2) Bcc: x@example.com"},
		{"pager", "Größe → {{.Title}}\n" + strings.Repeat("x", 200), "Groesse -> [CRIT] acme/prod/db3 Replication lag: 412 s > 300 s (eu2) " + strings.Repeat("x", 69) + ".."},
		{"pager", "", "CRIT acme/prod/db3 Replication lag: 412 s > 300 s (eu2) since 11:20Z"},
	} {
		got, err := Preview(c.name, c.body, n, &Options{Template: func(string) string { return "another" }})
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v\nwant %q", c.name, got, err, c.want)
		}
	}
}

// What was open already when somebody subscribed is not told as if it had happened just now.
func TestOpenAlreadyIsSaid(t *testing.T) {
	for _, i := range []int{0, 5} { // a problem, a digest
		n := *Examples()[i]
		for _, name := range []string{"text", "html", "chat"} {
			before, err := Preview(name, "", &n, &Options{})
			if err != nil {
				t.Fatal(err)
			}
			already := n
			already.Already = true
			after, err := Preview(name, "", &already, &Options{})
			if err != nil {
				t.Fatal(err)
			}
			const words = "open already when you subscribed"
			if strings.Contains(before, words) || !strings.Contains(after, words) {
				t.Errorf("%s of %s: %s", name, n.Kind, after)
			}
		}
	}
}
