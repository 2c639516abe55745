package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// TestHealthyServersStayQuiet lets servers do what healthy servers do, for six hours by the clock of a bubble, after which the windows of
// nearly all rules are full, and wants that nothing opens above info but what is known and true. It takes long: "make provoke" runs it.
func TestHealthyServersStayQuiet(t *testing.T) {
	const hours = 6
	if os.Getenv("MONOLITH_PROVOKED") == "" {
		t.Skip("takes a minute: make provoke runs it")
	}
	t.Parallel()
	servers, endpoints := watchedServers(t)
	out := newOutside(t)
	warm(t)
	dir, now := t.TempDir(), time.Now()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, servers, out, endpoints, dir, now, nil)
		customer := 1000
		for range hours * 60 {
			for _, name := range []string{"db1", "db2", "old"} {
				s.exec(name, many(60, fmt.Sprintf("SELECT name FROM shop.people WHERE id = %d", rand.IntN(500)))...)
				s.exec(name, many(6, fmt.Sprintf("SELECT COUNT(*) FROM shop.people WHERE city = %d", rand.IntN(20)))...)
			}
			for _, name := range []string{"db1", "old"} {
				s.exec(name, many(12, fmt.Sprintf("UPDATE shop.people SET city = %d WHERE id = %d", rand.IntN(20), rand.IntN(500)))...)
				customer++
				s.exec(name, fmt.Sprintf("INSERT INTO shop.people (id, name, city) VALUES (%d, 'somebody', 3)", customer))
				s.exec(name, "SELECT MAX(n) FROM (SELECT city, COUNT(*) AS n FROM shop.people GROUP BY city) AS cities") // a report
				s.sessions(name, "customer", "secret", 2)()
			}
			time.Sleep(time.Minute)
		}
		closed, err := s.alerts.Alerts(t.Context(), monolith.AlertQuery{Open: true, Closed: true, Limit: 5000})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range closed {
			if why := known(&a); why != "" {
				t.Logf("%s %s: %s (%s: %s)", a.ServerName, a.Peak, a.Summary, a.Rule, why)
				continue
			}
			t.Errorf("%s %s: %s %s: %s\n%s", a.ServerName, a.Peak, a.Rule, a.Instance, a.Summary, a.Text)
		}
		for name, id := range s.ids {
			for _, st := range s.alerts.Statuses(id) {
				if st.State == monolith.StateCannotEvaluate {
					t.Errorf("%s: %s can't be evaluated: %s", name, st.Rule, st.Why)
				}
				if strings.Contains(st.Text, "?") {
					t.Errorf("%s: %s says %s", name, st.Rule, st.Text)
				}
			}
		}
	})
}

// known says why an alert about a healthy server is right, or a hint that does no harm; "" when it is neither.
func known(a *monolith.Alert) string {
	switch a.Rule {
	case "cpu-usage-high", "load-average-high":
		return "it is the machine that runs the tests"
	case "root-no-password":
		return "root of a test has none"
	case "server-version-eol", "empty-password-allowed", "performance-schema-off", "account-global-privileges", "account-grant-option":
		if a.ServerName == "old" {
			return "so is MySQL 5.6"
		}
	}
	if a.Peak == monolith.LevelInfo {
		return "a hint"
	}
	return ""
}

// furnish makes what the rounds work with: a schema on both, and a table of 12,000 rows.
func furnish(t *testing.T, primary, older *mysqltest.Server) {
	t.Helper()
	rows := make([]string, 12000)
	for i := range rows {
		rows[i] = fmt.Sprintf("(%d, 'a name that is nearly the same for all, number %d')", i, i*7919%12000)
	}
	people := make([]string, 500)
	for i := range people {
		people[i] = fmt.Sprintf("(%d, 'a customer', %d)", i, i%20)
	}
	for _, s := range []*mysqltest.Server{primary, older} {
		s.Exec(t, "CREATE DATABASE IF NOT EXISTS shop", "CREATE TABLE shop.people (id INT PRIMARY KEY, name VARCHAR(80), city INT, KEY (city)) ENGINE=InnoDB",
			"INSERT INTO shop.people VALUES "+strings.Join(people, ", "), "CREATE USER 'customer'@'127.0.0.1' IDENTIFIED BY 'secret'", "GRANT SELECT ON shop.* TO 'customer'@'127.0.0.1'")
	}
	primary.Exec(t, "CREATE TABLE shop.orders (id INT PRIMARY KEY, n INT) ENGINE=InnoDB", "INSERT INTO shop.orders VALUES (1, 0), (2, 0), (3, 0)",
		"CREATE TABLE shop.big (id INT PRIMARY KEY, name VARCHAR(80)) ENGINE=InnoDB", "INSERT INTO shop.big VALUES "+strings.Join(rows, ", "))
}

// forget leaves a transaction idle that has changed a row, until the test ends. Only those that are older than ten
// seconds by the server's own clock are listed.
func forget(t *testing.T, primary *mysqltest.Server) {
	t.Helper()
	tx, err := primary.DB(t).Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE shop.orders SET n = 1 WHERE id = 3"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
}
