package main

import (
	"os"
	"strings"
	"testing"

	"monolith"
	"monolith/internal/mysqltest"
	"monolith/poller"
)

// TestGrantFilesAreEnough runs the statements that deploy/grants offers and asks the connection test what
// is still missing.
func TestGrantFilesAreEnough(t *testing.T) {
	for file, server := range map[string]*mysqltest.Server{
		"mariadb.sql":   mysqltest.MariaDB(t),
		"mysql-5.6.sql": mysqltest.MySQL56(t),
	} {
		text, err := os.ReadFile("../../deploy/grants/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "--") {
				continue
			}
			if _, err := server.DB(t).Exec(strings.ReplaceAll(line, "'%'", "'127.0.0.1'")); err != nil {
				t.Fatalf("%s: %s: %v", file, line, err)
			}
		}
		p, err := poller.New(poller.Config{Collectors: poller.Collectors()})
		if err != nil {
			t.Fatal(err)
		}
		report := p.Test(t.Context(), monolith.Server{Name: "db1", Endpoint: monolith.Endpoint{
			Host: "127.0.0.1", Port: server.Port, User: "monolith", Password: "choose one"}})
		if !report.OK || len(report.Grants) > 0 {
			t.Errorf("%s: logged in %v, still missing %q", file, report.OK, report.Grants)
		}
	}
}
