package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// TestProvokedGTIDs provokes alerts on a MySQL 5.6 and its replica that have GTIDs, and on a MariaDB that has a certificate and nothing
// to do. "make provoke" runs it.
func TestProvokedGTIDs(t *testing.T) {
	list := os.Getenv("MONOLITH_PROVOKED")
	if list == "" {
		t.Skip("takes a minute: make provoke runs it")
	}
	t.Parallel()
	certificate, key := filepath.Join(t.TempDir(), "server.pem"), filepath.Join(t.TempDir(), "server.key")
	const year = 365 * 24 * time.Hour
	certify(t, certificate, key, year)
	sound := mysqltest.Options("sync_binlog=1", "innodb_flush_log_at_trx_commit=1", "expire_logs_days=7")
	ids := mysqltest.Options("gtid_mode=ON", "enforce_gtid_consistency=ON", "log_slave_updates", "innodb_log_buffer_size=262144", "max_allowed_packet=8388608")
	primary := mysqltest.MySQL56(t, sound, ids)
	servers := map[string]*mysqltest.Server{
		"gtid1": primary, "gtid2": mysqltest.Replica(t, primary, sound, ids),
		"tls": mysqltest.MariaDB(t, sound, mysqltest.Options("ssl_cert="+certificate, "ssl_key="+key)),
	}
	primary.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.blobs (id INT PRIMARY KEY, b MEDIUMBLOB) ENGINE=InnoDB")
	servers["tls"].Exec(t, "CREATE DATABASE shop")
	endpoints := map[string]monolith.Endpoint{}
	account := func(mode string, from *mysqltest.Server, grants []string, names ...string) {
		user, password := from.NewUser(t, grants...)
		for _, name := range names {
			endpoints[name] = monolith.Endpoint{Host: servers[name].Host, Port: servers[name].Port, User: user, Password: monolith.Secret(password), TLS: mode}
		}
	}
	account("disabled", primary, []string{"PROCESS, SHOW VIEW, REFERENCES, REPLICATION CLIENT", "SELECT ON mysql.*", "SELECT ON performance_schema.*"}, "gtid1", "gtid2")
	account("required", servers["tls"], []string{"PROCESS, SHOW VIEW, REFERENCES, BINLOG MONITOR, REPLICA MONITOR", "SELECT ON mysql.*"}, "tls")
	servers["gtid2"].CatchUp(t, primary)
	out := newOutside(t)
	warm(t)
	dir, now := t.TempDir(), time.Now()
	var lines []provoked
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, servers, out, endpoints, dir, now, nil)
		renew := func(good time.Duration) func(*stage) {
			return func(s *stage) {
				s.outside.do(func() { certify(s.outside.t, certificate, key, good) })
				s.exec("tls", "FLUSH SSL")
				s.kill("tls") // a session goes on with the certificate that it began with
			}
		}
		for _, r := range []round{identifiers(renew(52*time.Hour), renew(year)), unsafely(s), undo()} {
			lines = append(lines, s.play(&r)...)
		}
	})
	writeProvoked(t, list, lines)
}

// identifiers are transactions that lack or that are too many, and a certificate that ends soon.
func identifiers(short, long func(*stage)) round {
	const somebody = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	transaction := func(s *stage, server, gtid string) {
		s.session(server, "SET SESSION gtid_next = '"+gtid+"'", "BEGIN", "COMMIT", "SET SESSION gtid_next = 'AUTOMATIC'")
	}
	return round{
		name: "identifiers", opens: 90 * time.Minute, closes: 90 * time.Minute,
		all: []provocation{
			{
				server: "gtid1", rule: "gtid-gap", level: "warn", how: "transactions 1 and 5 of a source, and not those between", says: []string{"3 transactions missing in gtid_executed"},
				start: func(s *stage) {
					transaction(s, "gtid1", somebody+":1")
					transaction(s, "gtid1", somebody+":5")
				},
				stop: func(s *stage) {
					for i := 2; i <= 4; i++ {
						transaction(s, "gtid1", fmt.Sprintf("%s:%d", somebody, i))
					}
				},
			},
			{
				server: "gtid2", rule: "errant-transactions", level: "warn", how: "a transaction on the replica, later an empty one with its GTID on the source", says: []string{"1 transaction exists only on this replica"},
				start: func(s *stage) { s.exec("gtid2", "CREATE DATABASE astray") },
				stop: func(s *stage) {
					var uuid string
					if err := s.root("gtid2").QueryRowContext(s.t.Context(), "SELECT @@server_uuid").Scan(&uuid); err != nil {
						s.t.Fatal(err)
					}
					transaction(s, "gtid1", uuid+":1")
				},
			},
			{
				server: "gtid1", rule: "innodb-log-waits", level: "info", how: "innodb_log_buffer_size = 256 KiB, and 10 rows of 700 kB a minute", says: []string{"for the log buffer", "a session waited because the InnoDB log buffer"},
				minute: func(s *stage) {
					all := append([]string{"SET SESSION sql_log_bin = 0"}, many(5, "REPLACE INTO shop.blobs VALUES (1, REPEAT('x', 700000)), (1, REPEAT('y', 700000))")...)
					s.session("gtid1", append(all, "SET SESSION sql_log_bin = 1")...)
				},
			},
			{
				server: "tls", rule: "tls-certificate-expiring", level: "critical", how: "a certificate that ends in 52 hours, and FLUSH SSL", says: []string{"certificate ends in 2"},
				start: short, stop: long,
			},
		},
	}
}

// session runs statements of root in one session.
func (s *stage) session(server string, statements ...string) {
	s.t.Helper()
	c, err := s.root(server).Conn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	for _, statement := range statements {
		if _, err := c.ExecContext(s.t.Context(), statement); err != nil {
			s.t.Fatalf("%s: %.200s: %v", server, statement, err)
		}
	}
}

// unsafely is a server that somebody started with what is only for emergencies.
func unsafely(s *stage) round {
	restart := func(options ...string) func(*stage) {
		return func(s *stage) {
			s.outside.do(func() { s.servers["gtid2"].Restart(s.outside.t, mysqltest.Options(options...)) })
		}
	}
	r := round{
		name: "unsafe start", opens: 40 * time.Minute, closes: 40 * time.Minute,
		all: []provocation{
			{
				server: "gtid2", rule: "innodb-doublewrite", level: "warn", how: "started with skip_innodb_doublewrite, innodb_force_recovery=1 and innodb_flush_method=nosync", says: []string{"innodb_doublewrite=OFF", "Doublewrite is off"},
				start: restart("skip_innodb_doublewrite", "innodb_force_recovery=1", "innodb_flush_method=nosync"),
				stop:  restart("innodb_doublewrite=1", "innodb_force_recovery=0", "innodb_flush_method=O_DIRECT"),
			},
			{server: "gtid2", rule: "innodb-force-recovery", level: "warn", says: []string{"innodb_force_recovery=1"}},
		},
	}
	if kind, _, _ := s.poller.State(s.ids["gtid2"]).Text(monolith.Metric{Name: "host.datadir_type"}); kind != "tmpfs" { // where O_DIRECT does not work
		r.all = append(r.all, provocation{server: "gtid2", rule: "innodb-flush-method", level: "critical", says: []string{"innodb_flush_method=nosync"}})
		r.beside = true // InnoDB's files go through the cache from the beginning, which is told as info
	}
	return r
}

// certify writes a certificate that is good for so long, and its key.
func certify(t *testing.T, certificate, key string, good time.Duration) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(good), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
