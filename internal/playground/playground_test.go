package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith/internal/mysqltest"
)

// TestMain lets this test binary stand in for monolith: the playground's own job is tested here, and the real
// program is tested where it lives.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		standIn()
		return
	}
	os.Exit(m.Run())
}

// standIn serves what the playground asks Monolith for, and writes down how it was called.
func standIn() {
	value := func(flag string) string {
		for i, arg := range os.Args {
			if arg == flag {
				return os.Args[i+1]
			}
		}
		return ""
	}
	fmt.Println("stand-in: started with store", os.Getenv("MONOLITH_STORE"))
	if os.Getenv("STANDIN_FAILS") != "" {
		fmt.Println("stand-in: cannot go on")
		os.Exit(3)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /api/v1/servers/{name}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"group":""}`) })
	mux.HandleFunc("PATCH /api/v1/servers/{name}", func(w http.ResponseWriter, r *http.Request) {
		var change struct{ Group string }
		if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		fmt.Println("stand-in: group", r.PathValue("name"), change.Group)
	})
	go func() { fmt.Println(http.ListenAndServe(value("--listen"), mux)) }()
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM)
	<-stopped
	fmt.Println("stand-in: stopped in order")
}

// watch collects a run's output and tells when a text has come.
type watch struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func (w *watch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	select {
	case w.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (w *watch) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (w *watch) wait(t *testing.T, wanted string) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for !strings.Contains(w.all(), wanted) {
		select {
		case <-w.more:
		case <-deadline:
			t.Fatalf("%q did not come:\n%s", wanted, w.all())
		}
	}
}

// begin starts a playground; end stops it as Ctrl-C does and gives its error.
func begin(t *testing.T, c config) (out *watch, end func() error) {
	t.Helper()
	out = &watch{more: make(chan struct{}, 1)}
	c.out, c.binary = out, os.Args[0]
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx, c) }()
	t.Cleanup(cancel)
	return out, sync.OnceValue(func() error {
		cancel()
		return <-done
	})
}

func needsServers(t *testing.T) {
	t.Helper()
	mysqltest.MySQL56(t) // skips or fails where they are missing
	mysqltest.MariaDB(t)
}

func TestPlaygroundStartsStopsAndGoesOn(t *testing.T) {
	needsServers(t)
	dir := t.TempDir()
	out, end := begin(t, config{dir: dir, servers: true, store: "mariadb"})
	out.wait(t, "Ctrl-C stops everything")
	first := readServers(t, dir)
	if len(first) != 3 {
		t.Fatalf("servers: %v", first)
	}
	for _, wanted := range []string{
		"stand-in: group shop-db1 shop/prod", "stand-in: group crm-db1 crm/prod",
		"stand-in: started with store history:", "/monolith",
	} {
		out.wait(t, wanted) // through a pipe, and so perhaps a little later
	}
	for name, dsn := range first {
		db := open(t, dsn)
		counter := func() (n int64) {
			var name string
			if err := db.QueryRow("SHOW GLOBAL STATUS LIKE 'Com_select'").Scan(&name, &n); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return n
		}
		before := counter()
		within(t, name+"'s load", func() bool { return counter() > before+5 })
		if _, err := db.Exec("SELECT * FROM shop.customers"); err == nil {
			t.Errorf("%s: the monitoring account reads customers", name)
		}
		var tables int
		if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'visits'").Scan(&tables); err != nil || tables == 0 {
			t.Errorf("%s: the monitoring account does not see the application's tables: %d, %v", name, tables, err)
		}
	}
	replica := open(t, first["shop-db2"])
	rows, err := replica.Query("SHOW SLAVE STATUS")
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() {
		t.Error("the replica does not replicate")
	}
	rows.Close()
	if err := end(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if !strings.Contains(out.all(), "stand-in: stopped in order") {
		t.Error("Monolith was not stopped as an operator would")
	}
	for name, dsn := range first {
		if err := open(t, dsn).Ping(); err == nil {
			t.Errorf("%s runs on", name)
		}
	}

	// The port of the primary is taken meanwhile: it moves, and its replica finds it.
	c, err := mysql.ParseDSN(first["shop-db1"])
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", c.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	out, end = begin(t, config{dir: dir, servers: true, store: "mariadb"})
	out.wait(t, "Ctrl-C stops everything")
	second := readServers(t, dir)
	if second["crm-db1"] != first["crm-db1"] || second["shop-db1"] == first["shop-db1"] {
		t.Errorf("first %v, second %v", first, second)
	}
	if strings.Contains(out.all(), "stand-in: group") {
		t.Error("the second run groups the servers again")
	}
	if _, err := open(t, second["shop-db2"]).Exec("SELECT MASTER_GTID_WAIT((SELECT @@gtid_slave_pos), 5)"); err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), config{dir: dir, servers: true, out: out}); err == nil || !strings.Contains(err.Error(), "another playground") {
		t.Errorf("a second playground in the same folder: %v", err)
	}
	if err := end(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestPlaygroundWatchesAnOwnServerOnly(t *testing.T) {
	dir := t.TempDir()
	out, end := begin(t, config{dir: dir, dsn: "me:a=secret@tcp(db.example.org:3306)/", store: "someone@tcp(store:3306)/m"})
	out.wait(t, "Ctrl-C stops everything")
	if servers := readServers(t, filepath.Join(dir, "own")); servers["db.example.org"] != "me:a=secret@tcp(db.example.org:3306)/" || len(servers) != 1 {
		t.Errorf("servers: %v", servers)
	}
	if !strings.Contains(out.all(), "store someone@tcp(store:3306)/m") {
		t.Errorf("the store was not passed on:\n%s", out.all())
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestPlaygroundSaysWhyMonolithEnded(t *testing.T) {
	t.Setenv("STANDIN_FAILS", "1")
	out := &watch{more: make(chan struct{}, 1)}
	err := run(t.Context(), config{dir: t.TempDir(), binary: os.Args[0], out: out})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "cannot go on") {
		t.Errorf("%v", err)
	}
}

func TestPlaygroundRefusesAnAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := run(t.Context(), config{dir: t.TempDir(), listen: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
}

// TestLoadWorksOnEveryServer runs all that the load consists of once.
func TestLoadWorksOnEveryServer(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...mysqltest.Option) *mysqltest.Server{
		"MariaDB": mysqltest.MariaDB, "MySQL 5.6": mysqltest.MySQL56,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, mysqltest.Options(small...))
			server.Exec(t, "CREATE DATABASE shop")
			user, password := server.NewUser(t, "ALL ON shop.*")
			login, err := mysql.ParseDSN(server.DSN(user, password))
			if err != nil {
				t.Fatal(err)
			}
			login.DBName = "shop"
			s := &shop{db: open(t, login.FormatDSN()), login: login, admin: server.DB(t), writes: true}
			for range 2 { // the second time everything is there
				if err := setUpShop(t.Context(), s.db); err != nil {
					t.Fatal(err)
				}
			}
			for _, a := range actions {
				for range 3 {
					if err := a.run(t.Context(), s); err != nil {
						t.Errorf("%s: %v", a.name, err)
					}
				}
			}
			for _, i := range incidents {
				if err := i.run(t.Context(), s); err != nil {
					t.Errorf("%s: %v", i.name, err)
				}
			}
			var name, value, innodb string
			if err := server.DB(t).QueryRow("SHOW GLOBAL STATUS LIKE 'Aborted_connects'").Scan(&name, &value); err != nil || value == "0" {
				t.Errorf("no failed login: %v", err)
			}
			if err := server.DB(t).QueryRow("SHOW ENGINE INNODB STATUS").Scan(&name, &value, &innodb); err != nil || !strings.Contains(innodb, "LATEST DETECTED DEADLOCK") {
				t.Errorf("no deadlock: %v", err)
			}
		})
	}
}

// What is printed can be pasted into a shell, wherever the playground is: rm -rf stands before it.
func TestShellWord(t *testing.T) {
	for _, path := range []string{".playground", "/home/me/a b/.playground", "it's", "$HOME", "a;b", "~", "*", "Gärten", ""} {
		out, err := exec.Command("sh", "-c", "printf %s, "+shellWord(path)).Output()
		if err != nil || string(out) != path+"," {
			t.Errorf("%s: the shell reads %q, %v", shellWord(path), out, err)
		}
	}
	if got := shellWord("/tmp/a-b_c.d/e"); got != "/tmp/a-b_c.d/e" {
		t.Errorf("quoted without need: %s", got)
	}
}

func TestPeakMemoryIsTheProcessesOwn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	large := make([]byte, 100<<20)
	for i := range large {
		large[i] = 1
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if kB := peakMemory(cmd.Process.Pid); kB == 0 || kB > 50<<10 {
		t.Errorf("cat took %d kB", kB)
	}
	in.Close()
	if err := cmd.Wait(); err != nil || peakMemory(cmd.Process.Pid) != 0 {
		t.Errorf("a process that is gone: %v", err)
	}
	runtime.KeepAlive(large)
}

func TestTideComesAndGoes(t *testing.T) {
	low, high := 1.0, 0.0
	for s := range 360 {
		level := tide(time.Duration(s)*time.Second, 6*time.Minute, 0)
		low, high = min(low, level), max(high, level)
	}
	if low < 0.1 || low > 0.3 || high < 0.9 || high > 1.01 {
		t.Errorf("between %v and %v", low, high)
	}
}

func readServers(t *testing.T, dir string) map[string]string {
	t.Helper()
	path := filepath.Join(dir, "servers")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s may be read by others: %v", path, info.Mode())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, dsn, _ := strings.Cut(strings.TrimSpace(line), "=")
		servers[name] = dsn
	}
	return servers
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := openDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within a minute", what)
		case <-tick.C:
		}
	}
}
