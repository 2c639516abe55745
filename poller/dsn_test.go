package poller

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
	"monolith/internal/mysqltest"
	"monolith/internal/replay"
)

func TestParseDSN(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]monolith.Endpoint{
		"mon:pw@tcp(db1:3307)/":                              {Host: "db1", Port: 3307, User: "mon", Password: "pw"},
		"mon:pw@tcp(db1)/":                                   {Host: "db1", User: "mon", Password: "pw"},
		"mon:pw@tcp(db1:3306)/shop":                          {Host: "db1", User: "mon", Password: "pw"},
		"mon@tcp([::1]:3307)/":                               {Host: "::1", Port: 3307, User: "mon"},
		"mon@tcp([::1])/":                                    {Host: "::1", User: "mon"},
		"mon@tcp(fd00:aaaa:bbbb::1)/":                        {Host: "fd00:aaaa:bbbb::1", User: "mon"},
		"mon@tcp([fe80::1%eth0]:3306)/":                      {Host: "fe80::1%eth0", User: "mon"},
		"mon:pw@unix(/run/mysqld/mysqld.sock)/":              {Socket: "/run/mysqld/mysqld.sock", User: "mon", Password: "pw"},
		"mon:a?b@tcp(h)/":                                    {Host: "h", User: "mon", Password: "a?b"},
		"mon:at@sla/sh:@tcp(h)/":                             {Host: "h", User: "mon", Password: "at@sla/sh:"},
		"mon:p&ss%j+x#;'\"\\ @tcp(h)/?tls=skip-verify":       {Host: "h", User: "mon", Password: `p&ss%j+x#;'"\ `, TLS: "required"},
		"mon:pw@tcp(h)/?tls=true&charset=utf8mb4":            {Host: "h", User: "mon", Password: "pw", TLS: "verify_identity"},
		"mon:pw@tcp(h)/?tls=verify_ca&ca=%2Fetc%2Fca.pem":    {Host: "h", User: "mon", Password: "pw", TLS: "verify_ca", CA: "/etc/ca.pem"},
		"mon:pw@tcp(h)/?parseTime=true&tls_server_name=db.x": {Host: "h", User: "mon", Password: "pw", ServerName: "db.x"},
		"/": {Host: "127.0.0.1"},
	} {
		got, err := ParseDSN(dsn)
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", dsn, diff)
		}
	}
}

func TestParseDSNRefuses(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"", "mysql://mon:canary@h/db", "mon:canary", "mon:canary@tcp(h", "mon:canary@tcp(h:0)/", "mon:canary@tcp(h:99999)/", "mon:canary@tcp(h:x)/",
		"mon:canary@pipe(h)/", "mon:canary@tcp(h)/?tls=canary", "mon:canary@tcp(h)/?canary=1", "mon:canary@tcp(h)/?tls=%zz",
		"mon:canary@tcp(a b)/", "mon:canary@tcp(h)/?cert=x", "mon:canary@tcp(h)/?ca=/etc/ca.pem", "mon:x@tcp(h)/?y@canary:3306/z",
	} {
		_, err := ParseDSN(dsn)
		if !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("%q: %v", dsn, err)
		} else if strings.Contains(err.Error(), "canary") && !strings.Contains(dsn, "?canary") {
			t.Errorf("%q: the error holds the password: %v", dsn, err)
		}
	}
}

func FuzzParseDSN(f *testing.F) {
	for _, s := range []string{"mon:pw@tcp(h:1)/", "a:b@unix(/x)/?tls=true", "@/", "/?", "a:?@b/@c(d)/e?f=g", "u:p@tcp([::1]:1)/x?ca=%2F"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		e, err := ParseDSN(dsn)
		if err != nil {
			if !errors.Is(err, monolith.ErrInvalid) {
				t.Fatalf("%q: %v is not an invalid input", dsn, err)
			}
			return
		}
		if (e.Host == "") == (e.Socket == "") || e.Port < 0 || e.Port > 65535 {
			t.Fatalf("%q gives %+v", dsn, e)
		}
		if _, err := newDialed(monolith.Endpoint{Host: e.Host, Port: e.Port, Socket: e.Socket, User: e.User, Password: e.Password}, "", time.Second); err != nil {
			t.Fatalf("%q can't be dialled: %v", dsn, err)
		}
	})
}

// password makes a random password out of everything that can be typed.
func randomPassword(r *rand.Rand) string {
	runes := []rune("äöüßéñ€日本語🔑Ω")
	var b strings.Builder
	for range 1 + r.IntN(24) {
		if r.IntN(6) == 0 {
			b.WriteRune(runes[r.IntN(len(runes))])
		} else {
			b.WriteByte(byte(' ' + r.IntN('~'-' '+1)))
		}
	}
	return b.String()
}

// Every password reaches the driver as it is, from the fields and from a DSN.
func TestPasswordsSurvive(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		pw := randomPassword(r)
		d, err := newDialed(monolith.Endpoint{Host: "h", User: "mon", Password: monolith.Secret(pw)}, "1.0", time.Second)
		if err != nil || d.config.Passwd != pw || d.config.User != "mon" || d.config.Addr != "h:3306" {
			t.Fatalf("%q arrives as %q, %v", pw, d.config.Passwd, err)
		}
		e, err := ParseDSN("mon:" + pw + "@tcp(h:3307)/?tls=disabled")
		if err != nil || e.Password.Reveal() != pw || e.Host != "h" || e.Port != 3307 {
			t.Fatalf("%q read from a DSN is %q at %s, %v", pw, e.Password.Reveal(), e.Address(), err)
		}
	}
}

func TestPasswordsLogIn(t *testing.T) {
	t.Parallel()
	db := mysqltest.Shared(t)
	p, err := New(Config{Collectors: []*Collector{statusCollector()}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	passwords := []string{"a?b", "p&ss", "%j+x", "s#arp", "semi;colon", "at@sla/sh:", " leading blank", `quote'and"back\slash`}
	for range 6 {
		passwords = append(passwords, randomPassword(r))
	}
	for i, pw := range passwords {
		user := fmt.Sprintf("pw_%d", i)
		if _, err := db.DB(t).ExecContext(t.Context(), "CREATE USER '"+user+"'@'%' IDENTIFIED BY '"+strings.NewReplacer(`\`, `\\`, "'", "''").Replace(pw)+"'"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.DB(t).Exec("DROP USER '" + user + "'@'%'") })
		report := p.Test(t.Context(), monolith.Server{Endpoint: monolith.Endpoint{Host: db.Host, Port: db.Port, User: user, Password: monolith.Secret(pw)}})
		if !report.OK {
			t.Errorf("%q does not log in: %+v", pw, report.Steps)
		}
	}
}

// Every way of logging in works, or is named as one that does not: an account that can't log in is no server that is down.
func TestWaysToLogIn(t *testing.T) {
	t.Parallel()
	p, err := New(Config{Collectors: []*Collector{statusCollector()}})
	if err != nil {
		t.Fatal(err)
	}
	const password = "longer than the twenty bytes of a scramble: ÄÖÜ"
	record := func(version string, opts ...replay.Option) monolith.Endpoint {
		s := replay.Start(t, replay.Record(map[string]string{"version": version, "wait_timeout": "28800"}, map[string]string{"Uptime": "9"}),
			append(opts, replay.Account("mon", password))...)
		return monolith.Endpoint{Host: s.Host, Port: s.Port, User: "mon", Password: password}
	}
	real := mysqltest.MariaDB(t, mysqltest.Options("skip_name_resolve=ON"))
	real.Exec(t, "INSTALL SONAME 'auth_ed25519'", "CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('"+password+"')",
		"CREATE USER sock@localhost IDENTIFIED BY '"+password+"'")
	for name, c := range map[string]struct {
		e     monolith.Endpoint
		tls   string
		fails string // what is said; "" when it works
	}{
		"sha2 without TLS":    {record("9.5.0"), "disabled", ""},
		"sha2 over TLS":       {record("8.4.3", replay.TLS()), "required", ""},
		"native":              {record("5.7.44"), "", ""},
		"switched to native":  {record("8.0.40", replay.Plugin("mysql_native_password")), "", ""},
		"a plug-in not known": {record("8.4.3", replay.Plugin("authentication_fido")), "", "authentication_fido"},
		"ed25519":             {monolith.Endpoint{Host: real.Host, Port: real.Port, User: "ed", Password: password}, "", ""},
		"by the socket":       {monolith.Endpoint{Socket: real.Socket, User: "sock", Password: password}, "", ""},
		"localhost is not 127.0.0.1": {monolith.Endpoint{Host: real.Host, Port: real.Port, User: "sock", Password: password}, "",
			"'sock'@'127.0.0.1'"},
	} {
		c.e.TLS = c.tls
		report := p.Test(t.Context(), monolith.Server{Endpoint: c.e})
		said := ""
		for _, s := range report.Steps {
			if s.Result == monolith.StepFailed {
				said += s.Text + s.Cure
			}
		}
		if report.OK != (c.fails == "") || !report.Up || !strings.Contains(said, c.fails) || strings.Contains(said, password) {
			t.Errorf("%s: ok %v, up %v: %+v", name, report.OK, report.Up, report.Steps)
		}
	}
}
