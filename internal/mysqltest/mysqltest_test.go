package mysqltest

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestServersAreRealAndPrivate(t *testing.T) {
	for _, test := range []struct {
		name  string
		start func(testing.TB, ...Option) *Server
		says  string
	}{
		{"MariaDB", MariaDB, "MariaDB"},
		{"MySQL 5.6", MySQL56, "5.6."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := test.start(t, Options("long_query_time=7"))
			var version, long, bin, name string
			if err := s.DB(t).QueryRow("SELECT VERSION(), @@long_query_time, @@log_bin, @@hostname").Scan(&version, &long, &bin, &name); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(version, test.says) || !strings.HasPrefix(long, "7") || bin != "1" {
				t.Errorf("version %s, long_query_time %s, log_bin %s", version, long, bin)
			}
			var anonymous int
			if err := s.DB(t).QueryRow("SELECT COUNT(*) FROM mysql.user WHERE User = ''").Scan(&anonymous); err != nil || anonymous != 0 {
				t.Errorf("%d anonymous accounts, %v", anonymous, err)
			}

			user, password := s.NewUser(t, "PROCESS", "SELECT ON kept.*")
			if err := ping(t, s.DSN(user, password)); err != nil {
				t.Errorf("new account: %v", err)
			}
			if err := ping(t, s.DSN(user, "wrong")); err == nil || !strings.Contains(err.Error(), "1045") {
				t.Errorf("wrong password: %v", err)
			}
			s.Exec(t, "CREATE DATABASE kept")
			s.Restart(t, Options("long_query_time=8"))
			if err := ping(t, s.DSN(user, password)+"kept"); err != nil {
				t.Errorf("after a restart: %v", err)
			}
			s.Kill(t)
			if err := ping(t, s.DSN(user, password)); err == nil {
				t.Error("a killed server answers")
			}
			s.Start(t)
			if err := s.DB(t).QueryRow("SELECT @@long_query_time").Scan(&long); err != nil || !strings.HasPrefix(long, "8") {
				t.Errorf("after a crash: long_query_time %s, %v", long, err)
			}
		})
	}
}

// A home that can't be written, as a service's account has, is no obstacle.
func TestHomeThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file") // below which not even root makes a folder
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, filepath.Join(file, "home"))
	}
	t.Setenv("TMPDIR", temporary)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir, err := template(ctx, FlavourMariaDB)
	if missing := new(MissingError); errors.As(err, &missing) {
		giveUp(t, err)
	}
	if err != nil || !strings.HasPrefix(dir, temporary) {
		t.Errorf("%q, %v", dir, err)
	}
}

func TestStoppedServerHangs(t *testing.T) {
	t.Parallel()
	s := MariaDB(t)
	s.Signal(t, syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.DB(t).PingContext(ctx); err == nil {
		t.Error("a stopped server answers")
	}
	s.Signal(t, syscall.SIGCONT)
	if err := s.DB(t).PingContext(t.Context()); err != nil {
		t.Errorf("after SIGCONT: %v", err)
	}
}

func TestReplicaFollows(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...Option) *Server{"MariaDB": MariaDB, "MySQL 5.6": MySQL56} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := start(t)
			primary.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (a INT PRIMARY KEY)")
			replica := Replica(t, primary)
			primary.Exec(t, "INSERT INTO shop.t VALUES (42)")
			replica.CatchUp(t, primary)
			var a int
			if err := replica.DB(t).QueryRow("SELECT a FROM shop.t").Scan(&a); err != nil || a != 42 {
				t.Errorf("%d, %v", a, err)
			}
			replica.Restart(t)
			primary.Exec(t, "INSERT INTO shop.t VALUES (43)")
			replica.CatchUp(t, primary)
		})
	}
}

func TestGaleraNodesFormACluster(t *testing.T) {
	t.Parallel()
	nodes := GaleraCluster(t, 2)
	nodes[0].Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (a INT PRIMARY KEY)")
	nodes[1].Exec(t, "INSERT INTO shop.t VALUES (42)")
	nodes[1].Kill(t)
	nodes[0].AwaitStatus(t, "wsrep_cluster_status", "non-Primary") // one of two is no majority
	nodes[0].Exec(t, "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'")
	nodes[0].AwaitStatus(t, "wsrep_cluster_status", "Primary")
	nodes[0].Exec(t, "INSERT INTO shop.t VALUES (43)")
	nodes[1].Start(t)
	nodes[1].AwaitStatus(t, "wsrep_local_state_comment", "Synced")
	var n int
	if err := nodes[1].DB(t).QueryRow("SELECT COUNT(*) FROM shop.t").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
}

func TestSharedServerGivesEachTestASchema(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	if Shared(t) != s {
		t.Error("two shared servers")
	}
	var left string
	t.Run("schema", func(t *testing.T) {
		dsn := s.NewDatabase(t)
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow("SELECT DATABASE()").Scan(&left); err != nil || left == "" {
			t.Errorf("%q, %v", left, err)
		}
	})
	var n int
	if err := s.DB(t).QueryRow("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", left).Scan(&n); err != nil || n != 0 {
		t.Errorf("schema %s is left: %d, %v", left, n, err)
	}
}

func TestBlackholeAcceptsAndSaysNothing(t *testing.T) {
	conn, err := net.Dial("tcp", Blackhole(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !os.IsTimeout(err) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestServersDieWithTheirProgram runs this test binary again as a program that starts a server and is killed.
func TestServersDieWithTheirProgram(t *testing.T) {
	if os.Getenv("MYSQLTEST_VICTIM") != "" {
		s := MariaDB(t)
		os.Stdout.WriteString("started " + s.Socket + "\n")
		<-t.Context().Done() // never: it is killed here
	}
	MariaDB(t) // skips where there is none
	victim := exec.Command(os.Args[0], "-test.run=^TestServersDieWithTheirProgram$")
	victim.Env = append(os.Environ(), "MYSQLTEST_VICTIM=1")
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	socket, ok := strings.CutPrefix(strings.TrimSpace(line), "started ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	dir := strings.TrimSuffix(socket, "/mysqld.sock")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := os.Stat(dir)
		if os.IsNotExist(err) {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s is left", dir)
		case <-tick.C:
		}
	}
	if conn, err := net.Dial("unix", socket); err == nil {
		conn.Close()
		t.Error("the server runs on")
	}
}

func ping(t *testing.T, dsn string) error {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(t.Context())
}
