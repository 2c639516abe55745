package poller

import (
	"strings"
	"testing"
)

func TestCertificate(t *testing.T) {
	t.Parallel()
	status := func(end string) *fakeSession {
		return &fakeSession{answers: map[string]answer{certificateEnd: {columns: []string{"Variable_name", "Value"}, rows: [][]string{{"Ssl_server_not_after", end}}}}}
	}
	now := func(g *Gather) { g.Now, _ = parseCertificateTime("May  3 00:00:00 2034 GMT") }
	for end, want := range map[string]string{"May  3 12:00:00 2034 GMT": "0.5", "Jun 12 00:00:00 2034 GMT": "40", "May  1 00:00:00 2034 GMT": "-2"} {
		snap, err := collect(t, certificateCollector(), server("8.4.0", ""), status(end), now)
		if err != nil || len(snap.Problems) > 0 {
			t.Fatal(err, snap.Problems)
		}
		wants(t, snap, map[string]string{"server.certificate_days_left": want})
	}
	for _, c := range []struct{ version, end, kind, says string }{
		{"10.11.6-MariaDB", "", "[off]", "connected with TLS"}, {"8.4.0", "", "[off]", "has none"}, {"8.4.0", "tomorrow", "[answer]", "tomorrow"},
	} {
		snap, err := collect(t, certificateCollector(), server(c.version, ""), status(c.end), now)
		if err != nil || problemKinds(snap) != c.kind || !strings.Contains(snap.Problems[0].Text, c.says) {
			t.Errorf("%+v: %v, %v", c, snap.Problems, err)
		}
		wants(t, snap, map[string]string{"server.certificate_days_left": "none"})
	}
	for _, c := range []struct{ version, have, says string }{{"5.5.62", "YES", "5.6"}, {"10.11.6-MariaDB", "DISABLED", "have_ssl=DISABLED"}, {"8.4.0", "", ""}} {
		ok, why := certificateCollector().Applies(&Gather{Identity: server(c.version, ""), Variables: variablesOf(map[string]string{"have_ssl": c.have})})
		if ok != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%+v: %v, %q", c, ok, why)
		}
	}
}

func FuzzParseCertificateTime(f *testing.F) {
	f.Add("May  3 12:00:00 2034 GMT")
	f.Add("Feb 29 23:59:60 2023 GMT")
	f.Fuzz(func(t *testing.T, text string) {
		if at, ok := parseCertificateTime(text); ok && at.IsZero() && text == "" {
			t.Error("nothing is a time")
		}
	})
}
