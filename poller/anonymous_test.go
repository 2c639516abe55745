package poller

import (
	"strings"
	"testing"

	"monolith"
	"monolith/internal/mysqltest"
)

// MySQL 5.6 is installed with anonymous accounts, which shadow an account for every host. Without a password one
// even gets in, as nobody.
func TestAnonymousAccountIsNamed(t *testing.T) {
	t.Parallel()
	db := mysqltest.MySQL56(t)
	const cure = `''@'localhost' comes before 'monolith'@'%', since its host is more exact: DROP USER ''@'localhost', or CREATE USER 'monolith'@'localhost'`
	db.Exec(t, "GRANT PROCESS ON *.* TO 'monolith'@'%' IDENTIFIED BY 'a secret'", "REPLACE INTO mysql.user (Host, User, ssl_cipher, x509_issuer, x509_subject) VALUES ('localhost', '', '', '', '')", "FLUSH PRIVILEGES")
	p, err := New(Config{Collectors: Collectors()})
	if err != nil {
		t.Fatal(err)
	}
	server := monolith.Server{Name: "db", Endpoint: monolith.Endpoint{Host: db.Host, Port: db.Port, User: "monolith", Password: "a secret"}}
	step := func(report monolith.TestReport, name string) monolith.TestStep {
		t.Helper()
		for _, s := range report.Steps {
			if s.Name == name {
				return s
			}
		}
		t.Fatalf("no step %s in %+v", name, report.Steps)
		return monolith.TestStep{}
	}
	if s := step(p.Test(t.Context(), server), "login"); s.Result != monolith.StepFailed || !strings.Contains(s.Cure, cure) {
		t.Errorf("turned away: %+v", s)
	}
	server.Endpoint.Password = ""
	report := p.Test(t.Context(), server)
	if s := step(report, "version"); s.Result != monolith.StepWarn || !strings.Contains(s.Cure, cure) {
		t.Errorf("let in as nobody: %+v", s)
	}
	for _, name := range []string{"innodb", "sizes"} {
		if s := step(report, name); !strings.Contains(s.Cure, cure) {
			t.Errorf("%+v", s)
		}
	}
	if len(report.Grants) > 0 {
		t.Errorf("grants to nobody: %q", report.Grants)
	}
	db.Exec(t, "DROP USER ''@'localhost'")
	server.Endpoint.Password = "a secret"
	report = p.Test(t.Context(), server)
	if !report.OK || report.Account != "monolith@%" {
		t.Errorf("after the cure: %+v", report)
	}
}
