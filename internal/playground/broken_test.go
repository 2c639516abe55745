package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// rootOf opens a member's root through its socket.
func rootOf(t *testing.T, dir, name string) *sql.DB {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr = "root", "unix", filepath.Join(dir, name, "mysqld.sock")
	return open(t, c.FormatDSN())
}

func command(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// sqlError is the replica's last error, and whether its applier runs.
func sqlError(t *testing.T, replica *sql.DB) (text string, runs bool) {
	t.Helper()
	rows, err := replica.Query("SHOW SLAVE STATUS")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	cells := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range cells {
		into[i] = &cells[i]
	}
	if !rows.Next() {
		return "", false
	}
	if err := rows.Scan(into...); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		switch name {
		case "Last_SQL_Error":
			text = cells[i].String
		case "Slave_SQL_Running":
			runs = cells[i].String == "Yes"
		}
	}
	return text, runs
}

const started = "Ctrl-C stops everything"

// TestPlaygroundComesBack breaks the servers as people do who want to see it on the pages.
func TestPlaygroundComesBack(t *testing.T) {
	needsServers(t)
	dir := t.TempDir()
	again := func(broken string, then func(out *watch)) {
		t.Helper()
		out, end := begin(t, config{dir: dir, servers: true})
		out.wait(t, started)
		if got := strings.Contains(out.all(), broken); !got && broken != "" || broken == "" && strings.Contains(out.all(), "is broken") {
			t.Errorf("expected %q in:\n%s", broken, out.all())
		}
		then(out)
		if err := end(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	again("", func(out *watch) {
		// The load meets the whole shop from its beginning, and then a duplicate key.
		primary, replica := rootOf(t, dir, "shop-db1"), rootOf(t, dir, "shop-db2")
		command(t, replica, "SET sql_log_bin = 0", "CREATE TABLE shop.people (id INT PRIMARY KEY)", "INSERT INTO shop.people VALUES (1)")
		command(t, primary, "CREATE TABLE IF NOT EXISTS shop.people (id INT PRIMARY KEY)")
		command(t, primary, "INSERT INTO shop.people VALUES (1)")
		within(t, "the error", func() bool { text, _ := sqlError(t, replica); return text != "" })
		if strings.Contains(out.all(), "load failed") {
			t.Errorf("the load fails:\n%s", out.all())
		}
	})
	again("Replication of shop-db2 is broken", func(out *watch) {
		for _, wanted := range []string{"rm -rf " + dir, skipEvent, "shop.people"} {
			if !strings.Contains(out.all(), wanted) {
				t.Errorf("%q is not in:\n%s", wanted, out.all())
			}
		}
		// What is printed mends it.
		replica := rootOf(t, dir, "shop-db2")
		command(t, replica, strings.Split(skipEvent, "; ")...)
		primary := rootOf(t, dir, "shop-db1")
		command(t, primary, "INSERT INTO shop.people VALUES (2)")
		within(t, "what came after the skipped event", func() bool {
			var n int
			text, _ := sqlError(t, replica)
			if text != "" {
				t.Log(text)
			}
			return replica.QueryRow("SELECT COUNT(*) FROM shop.people WHERE id = 2").Scan(&n) == nil && n == 1
		})
		command(t, replica, "STOP SLAVE")
	})
	again("", func(*watch) {
		replica := rootOf(t, dir, "shop-db2")
		within(t, "the applier", func() bool { _, runs := sqlError(t, replica); return runs })
		command(t, replica, "STOP SLAVE", "RESET SLAVE ALL")
		command(t, rootOf(t, dir, "shop-db1"), "DROP DATABASE shop", "DROP USER monolith@'%'")
	})
	again("", func(*watch) {
		for name, dsn := range readServers(t, dir) {
			if err := open(t, dsn).Ping(); err != nil {
				t.Errorf("%s: the dropped account is not back: %v", name, err)
			}
		}
		command(t, rootOf(t, dir, "shop-db2"), "STOP SLAVE", "DROP DATABASE shop")
	})
	again("Replication of shop-db2 is broken", func(*watch) {
		command(t, rootOf(t, dir, "shop-db1"), "ALTER USER root@localhost IDENTIFIED BY 'mine'")
	})
	again("Without shop-db1: root can't log in without a password", func(out *watch) {
		if !strings.Contains(out.all(), "rm -rf "+dir) {
			t.Errorf("no way out in:\n%s", out.all())
		}
		command(t, rootOf(t, dir, "crm-db1"), "SELECT 1")
	})
}
