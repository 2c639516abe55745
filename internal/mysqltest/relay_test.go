package mysqltest

import (
	"database/sql"
	"strings"
	"testing"
)

func TestRelayPassesOnTellsAndTurns(t *testing.T) {
	t.Parallel()
	server := Shared(t)
	relay := NewRelay(t, server, nil)
	db, err := sql.Open("mysql", relay.DSN(t, server.NewDatabase(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	large := strings.Repeat("x", 200_000)
	var n int
	if err := db.QueryRow("SELECT LENGTH('" + large + "')").Scan(&n); err != nil || n != len(large) {
		t.Fatalf("%d, %v", n, err)
	}
	if err := db.QueryRow("SELECT 1 + ?", 2).Scan(&n); err != nil || n != 3 { // prepared
		t.Fatalf("%d, %v", n, err)
	}
	if _, err := db.Exec("SELECT nonsense"); err == nil {
		t.Fatal("nonsense is answered")
	}
	said := relay.Statements()
	for statement, want := range map[string]Said{"SELECT LENGTH('" + large + "')": {Times: 1}, "SELECT 1 + ?": {Times: 1}, "SELECT nonsense": {Times: 1, Refused: 1054}} {
		if got := said[statement]; got.Times != want.Times || got.Refused != want.Refused {
			t.Errorf("%.40s: %+v, want %+v", statement, got, want)
		}
	}
	relay.To(nil)
	if err := db.Ping(); err == nil {
		t.Error("a ping is answered where nobody is")
	}
	relay.To(server)
	if err := db.Ping(); err != nil {
		t.Error(err)
	}
}

func TestRelayPassesOnWhatItCantRead(t *testing.T) {
	t.Parallel()
	server := Shared(t)
	relay := NewRelay(t, server, nil)
	db, err := sql.Open("mysql", relay.DSN(t, server.NewDatabase(t))+"?compress=true")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRow("SELECT LENGTH('" + strings.Repeat("x", 100_000) + "')").Scan(&n); err != nil || n != 100_000 {
		t.Fatalf("%d, %v", n, err)
	}
	if said := relay.Statements(); len(said) != 0 {
		t.Errorf("of a connection that can't be read %v is told", said)
	}
}
