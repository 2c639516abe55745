// Command playground is behind "make run": it starts private database servers with an application's traffic, and
// Monolith watching them. Everything is kept in one folder, .playground unless told otherwise, so that a second
// run goes on with the servers, their data and the history of the first. Nothing outside the folder is touched and
// no port that is in use; Ctrl-C stops all of it.
//
// With the environment variable MONOLITH_RUN_DSN, or -servers none, it starts no database server, and Monolith
// watches that one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith/internal/mysqltest"
)

// config is what the command line and the environment say.
type config struct {
	dir      string // the playground's folder
	binary   string // the monolith to run
	listen   string // its address; "" lets the playground choose
	servers  bool   // start the private servers
	dsn      string // the user's own server instead
	store    string // a DSN for Monolith's history, "mariadb" for one more private server, "" for the embedded store
	duration time.Duration
	out      io.Writer
}

const (
	storeUser   = "history"
	storeSchema = "monolith"
)

func main() {
	c := config{out: os.Stdout, dsn: os.Getenv("MONOLITH_RUN_DSN"), store: os.Getenv("MONOLITH_RUN_STORE")}
	var servers string
	flag.StringVar(&c.dir, "dir", ".playground", "`folder` that everything is kept in")
	flag.StringVar(&c.binary, "monolith", "bin/monolith", "the monolith `program`")
	flag.StringVar(&c.listen, "listen", "", "`address` for the pages; default: the last one, or "+defaultListen+", or a free port")
	flag.StringVar(&servers, "servers", "all", "`which` private servers to start: all or none")
	flag.DurationVar(&c.duration, "duration", 0, "stop after this `time`; default: at Ctrl-C")
	flag.Parse()
	if servers != "all" && servers != "none" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "playground: -servers is all or none, and there are no further arguments")
		os.Exit(2)
	}
	c.servers = servers == "all" && c.dsn == ""
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, c)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs the playground until ctx or its time ends. It returns after all that it started is gone.
func run(ctx context.Context, c config) (err error) {
	if c.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.duration)
		defer cancel()
	}
	dir, err := filepath.Abs(c.dir)
	if err != nil {
		return fmt.Errorf("playground: %w", err)
	}
	if !c.servers {
		dir = filepath.Join(dir, "own") // another history than the private servers'
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("playground: %w", err)
	}
	locked, err := lock(dir)
	if err != nil {
		return err
	}
	defer locked.Close()
	s, err := loadState(dir)
	if err != nil {
		return err
	}
	listen, err := s.listen(c.listen)
	if err != nil {
		return err
	}
	out := &lineWriter{w: c.out}
	say := func(format string, args ...any) { fmt.Fprintf(out, "==> "+format+"\n", args...) }
	f := &fleet{dir: c.dir, state: s, say: say, log: slog.New(slog.NewTextHandler(out, nil))}
	if c.servers {
		f.members = newFleet(dir)
	}
	if c.store == "mariadb" {
		f.members = append(f.members, &member{name: "store", spec: mysqltest.Spec{
			Dir: filepath.Join(dir, "store"), Options: []string{"max_connections=60", "innodb_buffer_pool_size=64M", "innodb_flush_log_at_trx_commit=1"}}})
	}
	if len(f.members) > 0 {
		say("Starting the servers in %s …", dir)
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	if err := errors.Join(f.start(ctx), s.save(), f.setUp(ctx)); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting
		}
		return err
	}
	store, err := f.storeDSN(c.store)
	if err != nil {
		return err
	}
	servers, err := watched(c, f)
	if err != nil {
		return err
	}
	m, err := startMonitor(c.binary, listen, dir, store, servers, out)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, m.stop())
		say("%s", m.used())
	}()

	loads, closeLoads, err := f.loads()
	defer closeLoads()
	work, stopWork := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer func() { // before Monolith and the servers stop
		stopWork()
		wg.Wait()
	}()
	if err != nil {
		return err
	}
	for _, l := range loads {
		wg.Go(func() { l.run(work) })
	}
	for _, member := range f.members {
		wg.Go(func() { f.keep(work, member) })
	}

	if err := m.ready(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if err := f.group(ctx, m, c.store); err != nil {
		return err
	}
	greet(out, m.address, c, f)
	select {
	case <-ctx.Done():
		say("Stopping …")
		return nil
	case <-m.process.Exited():
		return m.ended()
	}
}

// watched are the servers that Monolith is told of.
func watched(c config, f *fleet) ([]namedDSN, error) {
	var list []namedDSN
	for _, m := range f.members {
		if m.schema != "" {
			list = append(list, namedDSN{m.name, m.current().DSN(monitorUser, f.state.MonitorPassword)})
		}
	}
	if c.dsn != "" {
		own, err := mysql.ParseDSN(c.dsn)
		if err != nil {
			return nil, fmt.Errorf("playground: DSN: %w; it has the form user:password@tcp(host:3306)/", err)
		}
		name := own.Addr
		if host, _, err := net.SplitHostPort(own.Addr); err == nil {
			name = host
		}
		list = append(list, namedDSN{strings.ReplaceAll(name, "=", "-"), c.dsn})
	}
	return list, nil
}

// storeDSN gives the DSN for Monolith's history.
func (f *fleet) storeDSN(asked string) (string, error) {
	if asked != "mariadb" {
		return asked, nil
	}
	store := f.members[len(f.members)-1].current()
	c, err := mysql.ParseDSN(store.DSN(storeUser, f.state.StorePassword))
	if err != nil {
		return "", fmt.Errorf("playground: store: %w", err)
	}
	c.DBName = storeSchema
	return c.FormatDSN(), nil
}

// group puts the servers into their groups, once in each store: afterwards people may move them.
func (f *fleet) group(ctx context.Context, m *monitor, store string) error {
	if c, err := mysql.ParseDSN(store); err == nil && store != "" {
		c.Passwd = "" // not for a file
		store = c.FormatDSN()
	}
	if len(f.members) == 0 || slices.Contains(f.state.Grouped, store) {
		return nil
	}
	for _, member := range f.members {
		if member.schema == "" {
			continue
		}
		if err := m.group(ctx, member.name, member.group); err != nil {
			f.say("%s stays without a group: %v", member.name, err)
		}
	}
	f.state.Grouped = append(f.state.Grouped, store)
	return f.state.save()
}

// greet tells where everything is.
func greet(w io.Writer, address string, c config, f *fleet) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n    Monolith shows its pages at  %s/\n\n", address)
	for _, m := range f.members {
		p := m.current()
		what := "watched"
		if m.schema == "" {
			what = "history"
		}
		fmt.Fprintf(&b, "    %-9s %-9s %-9s 127.0.0.1:%d, pid %d; as root: mariadb -u root -S %s\n", m.name, what, p.Flavour, p.Port, p.PID, shellWord(p.Socket))
	}
	if len(f.members) > 0 {
		fmt.Fprintf(&b, "\n    Change a variable or stop a server to see it on the page: a server that ends is started again after %v.\n", outage)
		fmt.Fprintf(&b, "    All of it is in %s; removing that folder starts afresh.\n", c.dir)
	}
	fmt.Fprint(&b, "    Ctrl-C stops everything.\n\n")
	io.WriteString(w, b.String())
}

// lineWriter lets several goroutines write to one place.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes whole.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
