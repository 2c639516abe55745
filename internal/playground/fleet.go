package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith/internal/mysqltest"
)

// The accounts on the watched servers. The monitor's has the least privileges that let every collector work.
const (
	monitorUser = "monolith"
	appUser     = "shop"
)

// member is one private server.
type member struct {
	name, group string
	schema      string  // of the application; "" has none
	writes      bool    // the application writes here; a replica is only read
	peak        float64 // actions a second at high tide
	period      time.Duration
	spec        mysqltest.Spec

	mu      sync.Mutex
	process *mysqltest.Process
}

func (m *member) current() *mysqltest.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process
}

func (m *member) set(p *mysqltest.Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process = p
}

// small is what makes a small server show what a large one does: temporary tables on disk, merge passes of
// sorts, tables that are opened again, slow queries.
var small = []string{
	"innodb_buffer_pool_size=24M", "innodb_flush_log_at_trx_commit=2", "innodb_lock_wait_timeout=5",
	"max_connections=100", "thread_cache_size=4", "table_open_cache=128", "tmp_table_size=256K", "max_heap_table_size=256K",
	"sort_buffer_size=64K", "slow_query_log=ON", "slow_query_log_file=slow.log", "long_query_time=0.5",
	"log_bin=binlog", "binlog_format=ROW", "sync_binlog=1", "max_binlog_size=16M", "expire_logs_days=1",
}

// newFleet plans the servers: a primary and its replica, and an old one that stands alone.
func newFleet(dir string) []*member {
	spec := func(name string, flavour mysqltest.Flavour, id int, options ...string) mysqltest.Spec {
		return mysqltest.Spec{Flavour: flavour, Dir: filepath.Join(dir, name), ServerID: id, Options: append(small[:len(small):len(small)], options...)}
	}
	return []*member{
		{name: "shop-db1", group: "shop/prod", schema: "shop", writes: true, peak: 45, period: 6 * time.Minute,
			spec: spec("shop-db1", mysqltest.FlavourMariaDB, 1)},
		{name: "shop-db2", group: "shop/prod", schema: "shop", peak: 20, period: 6 * time.Minute,
			spec: spec("shop-db2", mysqltest.FlavourMariaDB, 2, "relay_log=relay", "log_slave_updates", "read_only=ON")},
		{name: "crm-db1", group: "crm/prod", schema: "crm", writes: true, peak: 15, period: 9 * time.Minute,
			spec: spec("crm-db1", mysqltest.FlavourMySQL56, 3, "query_cache_type=1", "query_cache_size=1M")},
	}
}

// fleet is the servers that run, and what keeps them running.
type fleet struct {
	members []*member
	state   *state
	log     *slog.Logger
	say     func(format string, args ...any)
	dir     string // as people named it
}

// start launches every server at the same time. One whose program is not on this machine is left out, unless it is
// the first, and so is one whose root has a password now.
func (f *fleet) start(ctx context.Context) error {
	for _, m := range f.members {
		port, err := f.state.port(m.name)
		if err != nil {
			return err
		}
		m.spec.Port = port
	}
	failures := make([]error, len(f.members))
	var wg sync.WaitGroup
	for i, m := range f.members {
		wg.Go(func() {
			bounded, cancel := context.WithTimeout(ctx, 2*time.Minute)
			defer cancel()
			p, err := mysqltest.Launch(bounded, m.spec)
			failures[i] = err
			if err == nil {
				m.set(p)
			}
		})
	}
	wg.Wait()
	var running []*member
	var failed error
	for i, m := range f.members {
		missing := new(mysqltest.MissingError)
		switch err := failures[i]; {
		case err == nil:
			running = append(running, m)
		case errors.As(err, &missing) && i > 0:
			f.say("Without %s: %v", m.name, err)
		case errors.Is(err, mysqltest.ErrRoot) && m.schema != "":
			f.say("Without %s: %v. %s", m.name, mysqltest.ErrRoot, f.afresh())
		default:
			failed = errors.Join(failed, err)
		}
	}
	f.members = running
	return failed
}

// afresh tells the way out of everything that people did to the servers.
func (f *fleet) afresh() string { return "rm -rf " + shellWord(f.dir) + " starts afresh." }

// shellWord writes a path so that a shell takes it for one word.
func shellWord(path string) string {
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-"
	if strings.Trim(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// setUp makes accounts, the shop and the replication, or finds them as an earlier run left them. People are invited
// to break the servers, so what can't be set up is told, and the rest starts; only the store has to work.
func (f *fleet) setUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, m := range f.members {
		if m.schema != "" && !m.writes {
			continue // it gets all of it from its primary
		}
		err := f.setUpMember(ctx, m)
		switch {
		case err == nil:
		case m.schema == "" || ctx.Err() != nil:
			return fmt.Errorf("playground: set up %s: %w", m.name, err)
		default:
			f.say("%s could not be set up whole: %v. %s", m.name, err, f.afresh())
		}
	}
	for _, replica := range f.members {
		primary := f.primaryOf(replica)
		if primary == nil {
			continue
		}
		if err := f.replicate(ctx, replica, primary); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("playground: replication of %s: %w", replica.name, err)
			}
			f.say("Replication of %s is broken: %s. To skip what it stumbles over: mariadb -u root -S %s -e '%s'. %s",
				replica.name, oneLine(err), shellWord(replica.current().Socket), skipEvent, f.afresh())
		}
	}
	return nil
}

// primaryOf gives the member that a replica follows; nil for one that is none, or whose primary does not run.
func (f *fleet) primaryOf(replica *member) *member {
	if replica.writes || replica.schema == "" {
		return nil
	}
	i := slices.IndexFunc(f.members, func(m *member) bool { return m.writes && m.schema == replica.schema })
	if i < 0 {
		return nil
	}
	return f.members[i]
}

const (
	// skipEvent lets a replica pass over what it can't apply.
	skipEvent = "STOP SLAVE; SET GLOBAL sql_slave_skip_counter = 1; START SLAVE"
	// replicaPatience is how long a replica may take to connect, and to have the shop.
	replicaPatience = 30 * time.Second
	// stumbles is how long a replica that has the shop may take to catch up, or to stumble. A lag is no matter.
	stumbles = 3 * time.Second
)

// replicate makes a replica follow and waits until it has the shop, lest the load finds no tables.
func (f *fleet) replicate(ctx context.Context, replica, primary *member) error {
	ctx, cancel := context.WithTimeout(ctx, replicaPatience)
	defer cancel()
	if err := mysqltest.Replicate(ctx, replica.current(), primary.current()); err != nil {
		return err
	}
	root, err := openDSN(replica.current().RootDSN())
	if err != nil {
		return err
	}
	defer root.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	enough := time.After(stumbles)
	for late := false; ; {
		caughtUp, err := mysqltest.CaughtUp(ctx, replica.current(), primary.current())
		if err != nil {
			return err
		}
		var there int
		if err := root.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", replica.schema).Scan(&there); err != nil {
			return err
		}
		switch whole := there >= len(tables); {
		case whole && (caughtUp || late):
			return nil
		case caughtUp:
			return fmt.Errorf("it has %d of the %d tables of %s", there, len(tables), replica.schema)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it has no shop after %v", replicaPatience)
		case <-enough:
			late = true
		case <-tick.C:
		}
	}
}

// oneLine writes an error without line breaks and this program's prefix.
func oneLine(err error) string {
	return strings.TrimPrefix(strings.Join(strings.Fields(err.Error()), " "), "mysqltest: replicate: ")
}

func (f *fleet) setUpMember(ctx context.Context, m *member) error {
	root, err := openDSN(m.current().RootDSN())
	if err != nil {
		return err
	}
	defer root.Close()
	if m.schema == "" {
		if _, err := root.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+storeSchema+" CHARACTER SET utf8mb4"); err != nil {
			return err
		}
		return makeAccount(ctx, root, storeUser, f.state.StorePassword, "ALL ON "+storeSchema+".*")
	}
	// SHOW VIEW and REFERENCES let the account see that tables and columns exist, and so measure them, without reading a row.
	grants := []string{"PROCESS, SHOW VIEW, REFERENCES, BINLOG MONITOR, REPLICA MONITOR ON *.*", "SELECT ON mysql.*"}
	if m.spec.Flavour == mysqltest.FlavourMySQL56 {
		grants = []string{"PROCESS, SHOW VIEW, REFERENCES, REPLICATION CLIENT ON *.*", "SELECT ON mysql.*", "SELECT ON performance_schema.*"}
	}
	if err := makeAccount(ctx, root, monitorUser, f.state.MonitorPassword, grants...); err != nil {
		return err
	}
	if _, err := root.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+m.schema); err != nil {
		return err
	}
	if err := makeAccount(ctx, root, appUser, f.state.AppPassword, "ALL ON "+m.schema+".*"); err != nil {
		return err
	}
	app, err := mysql.ParseDSN(m.current().RootDSN())
	if err != nil {
		return err
	}
	app.DBName = m.schema
	db, err := openDSN(app.FormatDSN())
	if err != nil {
		return err
	}
	defer db.Close()
	return setUpShop(ctx, db)
}

// makeAccount makes an account that is not there yet, sets its password, which may be of another state file, and
// gives it its rights, which somebody may have taken.
// Names and grants are this program's own.
func makeAccount(ctx context.Context, root *sql.DB, user, password string, grants ...string) error {
	var there int
	if err := root.QueryRowContext(ctx, "SELECT COUNT(*) FROM mysql.user WHERE User = ? AND Host = '%'", user).Scan(&there); err != nil {
		return err
	}
	statement := "CREATE USER '" + user + "'@'%' IDENTIFIED BY '" + password + "'"
	if there > 0 {
		statement = "SET PASSWORD FOR '" + user + "'@'%' = PASSWORD('" + password + "')"
	}
	if _, err := root.ExecContext(ctx, statement); err != nil {
		return err
	}
	for _, grant := range grants {
		if _, err := root.ExecContext(ctx, "GRANT "+grant+" TO '"+user+"'@'%'"); err != nil {
			return err
		}
	}
	return nil
}

// openDSN opens a pool that does not print on standard error when its server goes away.
func openDSN(dsn string) (*sql.DB, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	c.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// outage is how long a server that ended stays away: long enough to be a gap in its graphs.
const outage = 20 * time.Second

// keep starts a server that ended again, until ctx ends.
func (f *fleet) keep(ctx context.Context, m *member) {
	timer := time.NewTimer(outage)
	defer timer.Stop()
	for {
		p := m.current()
		select {
		case <-ctx.Done():
			return
		case <-p.Exited():
		}
		f.say("%s ended; starting it again in %v. Its log's last lines:\n%s", m.name, outage, p.LogTail(6))
		timer.Reset(outage)
		for restarted := false; !restarted; {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			bounded, cancel := context.WithTimeout(ctx, 2*time.Minute)
			p, err := mysqltest.Launch(bounded, m.spec)
			cancel()
			if err != nil {
				f.say("%s could not be started: %v", m.name, err)
				timer.Reset(outage)
				continue
			}
			m.set(p)
			f.say("%s runs again.", m.name)
			restarted = true
		}
	}
}

// loads gives every server of an application its traffic. close closes their pools.
func (f *fleet) loads() (loads []*load, closeAll func(), err error) {
	var pools []*sql.DB
	closeAll = func() {
		for _, db := range pools {
			db.Close()
		}
	}
	for i, m := range f.members {
		if m.schema == "" {
			continue
		}
		login, err := mysql.ParseDSN(m.current().DSN(appUser, f.state.AppPassword))
		if err != nil {
			return nil, closeAll, fmt.Errorf("playground: load of %s: %w", m.name, err)
		}
		login.DBName, login.Logger, login.Timeout = m.schema, &mysql.NopLogger{}, 5*time.Second
		connector, err := mysql.NewConnector(login)
		if err != nil {
			return nil, closeAll, fmt.Errorf("playground: load of %s: %w", m.name, err)
		}
		db := sql.OpenDB(connector)
		db.SetMaxIdleConns(6)
		db.SetConnMaxLifetime(time.Minute)
		admin, err := openDSN(m.current().RootDSN())
		if err != nil {
			return nil, closeAll, fmt.Errorf("playground: load of %s: %w", m.name, err)
		}
		pools = append(pools, db, admin)
		loads = append(loads, &load{
			name: m.name, peak: m.peak, period: m.period, phase: float64(i) / 5, log: f.log,
			shop: &shop{db: db, login: login, admin: admin, writes: m.writes},
		})
	}
	return loads, closeAll, nil
}

// stop stops the servers one after the other, replicas before their primary.
func (f *fleet) stop() error {
	var failed error
	for i := len(f.members) - 1; i >= 0; i-- {
		p := f.members[i].current()
		if p == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		failed = errors.Join(failed, p.Stop(ctx))
		cancel()
	}
	return failed
}
