package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"monolith"
	"monolith/alerts"
	"monolith/poller"
	"monolith/store"
	"monolith/web"
)

// serveCommand watches servers and serves the pages until it is told to stop.
type serveCommand struct {
	Listen     string          `default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Address to serve on. Until there are accounts only the loopback is allowed."`
	Data       string          `placeholder:"DIR" help:"Folder for the embedded store and the key that seals passwords (default: ${data})."`
	Store      string          `placeholder:"DSN" help:"Keep history in this MySQL or MariaDB database instead: user:password@tcp(host:3306)/database. Better given as MONOLITH_STORE."`
	Migrate    bool            `help:"Bring a MySQL or MariaDB store's schema up to this version at the start."`
	Config     kong.ConfigFlag `placeholder:"FILE" help:"YAML file with the long names of these flags as keys."`
	Server     []string        `sep:"none" placeholder:"NAME=DSN" help:"Watch this server; may be given several times. The DSN has go-sql-driver's form."`
	ServerFile string          `placeholder:"FILE" help:"File of NAME=DSN lines, readable by its owner only."`
	Host       []string        `placeholder:"NAME" help:"Host name to answer to besides the loopback's, as when a proxy stands in front."`
	BasePath   string          `placeholder:"/PATH" help:"Serve under this path."`
	PublicURL  string          `name:"public-url" placeholder:"URL" help:"Address under which people reach the pages, for links in messages (default: https and the first --host, else the address to serve on)."`
	LogLevel   slog.Level      `default:"info" help:"debug, info, warn or error."`
}

// Run serves until ctx ends, then stops in order: the pages, the poller, the store.
func (c *serveCommand) Run(ctx context.Context, con console, args arguments) (err error) {
	log := slog.New(slog.NewTextHandler(con.err, &slog.HandlerOptions{Level: c.LogLevel}))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(roomHalf) // until curb knows better
	}
	servers, err := c.servers(log, args)
	if err != nil {
		return err
	}
	listener, err := listenLoopback(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()

	config, err := storeConfig(storeFlags{data: c.Data, dsn: c.Store, migrate: c.Migrate}, log)
	if err != nil {
		return err
	}
	a := &app{log: log}
	config.Hold = a.hold
	db, err := store.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	for _, g := range servers {
		if err := keep(ctx, db, g); err != nil {
			return err
		}
	}
	if err := a.assemble(ctx, c, db); err != nil {
		return err
	}
	if err := a.reload(ctx); err != nil {
		return err
	}
	fmt.Fprintf(con.out, "Monolith %s serves on http://%s%s/\n", version, listener.Addr(), c.BasePath)
	return a.run(ctx, listener)
}

// servers gathers the servers that were named outside the pages.
func (c *serveCommand) servers(log *slog.Logger, args arguments) ([]given, error) {
	if storePassword(c.Store) && args.show(c.Store) {
		log.Warn("a password in an argument can be read by everyone on this machine; MONOLITH_STORE or MONOLITH_STORE_FILE keeps the store's to yourself")
	}
	flags, err := serverFlags(c.Server, args)
	if err != nil {
		return nil, err
	}
	file, err := serverFile(c.ServerFile)
	if err != nil {
		return nil, err
	}
	environment, err := serverEnvironment(os.Environ())
	if err != nil {
		return nil, err
	}
	all := append(append(environment, file...), flags...)
	seen := map[string]string{}
	for _, g := range all {
		if before, dup := seen[g.name]; dup {
			return nil, monolith.Invalid(g.from, fmt.Sprintf("server %q was given already by %s", g.name, before))
		}
		seen[g.name] = g.from
		if g.visible {
			log.Warn("a password in an argument can be read by everyone on this machine; --server-file keeps it to yourself", "server", g.name)
		}
	}
	return all, nil
}

// storePassword reports whether the DSN of a store holds a password. One that can't be read may hold one.
func storePassword(dsn string) bool {
	if dsn == "" {
		return false
	}
	cfg, err := mysql.ParseDSN(dsn)
	return err != nil || cfg.Passwd != ""
}

// app joins the parts that run: poller, history, rules, pages.
type app struct {
	db     *store.DB
	poller *poller.Poller
	alerts *alerts.Service
	web    *web.Server
	log    *slog.Logger

	telling *alerts.Telling
	watched polled
}

// assemble makes the parts and joins them; nothing runs yet.
func (a *app) assemble(ctx context.Context, c *serveCommand, db *store.DB) (err error) {
	a.db = db
	instance, err := a.instance(ctx)
	if err != nil {
		return fmt.Errorf("instance: %w", err)
	}
	if err := a.tell(c, instance); err != nil {
		return err
	}
	if err := a.judge(ctx); err != nil {
		return err
	}
	a.poller, err = poller.New(poller.Config{
		Collectors: poller.Collectors(),
		Handle: []func(context.Context, *monolith.Snapshot){
			func(_ context.Context, snap *monolith.Snapshot) { db.Append(snap) },
			func(ctx context.Context, snap *monolith.Snapshot) { a.alerts.Handle(ctx, snap) },
			func(ctx context.Context, snap *monolith.Snapshot) { a.web.Push(ctx, snap) },
		},
		Resume:    db.Resume,
		LastState: db.LastState,
		Log:       a.log.With("part", "poller"),
		Version:   version,
	})
	if err != nil {
		return err
	}
	a.web, err = web.New(web.Config{
		Store:    db,
		Poller:   a.poller,
		Alerts:   a.alerts,
		Feeds:    db,
		Exports:  db,
		Telling:  a.telling,
		Instance: instance,
		OnChange: func(ctx context.Context) {
			if err := a.reload(ctx); err != nil {
				a.log.Error("the changed list of servers could not be read; polling goes on with the old one", "error", err)
			}
		},
		CheckSchedule: func(expression, zone string) error {
			_, err := poller.ParseSchedule(expression, zone)
			return err
		},
		Collectors: collectorList(),
		BasePath:   c.BasePath,
		Hosts:      c.Host,
		Version:    version,
		Log:        a.log.With("part", "web"),
	})
	return err
}

// collectorList names the collectors for pages and checks.
func collectorList() []monolith.CollectorStatus {
	var list []monolith.CollectorStatus
	for _, c := range poller.Collectors() {
		list = append(list, monolith.CollectorStatus{Name: c.Name, Title: c.Title, Help: c.Help, Schedule: c.Schedule})
	}
	return list
}

// hold says how long a value of a metric stays good on a server: until its collector's next run.
func (a *app) hold(server monolith.ServerID, metric string) time.Duration {
	if a.poller != nil {
		if d := a.poller.Every(server, metric); d > 0 {
			return d
		}
	}
	return monolith.DefaultInterval(monolith.ScheduleOf(metric))
}

// reload makes the poller and the rules follow the store's list of servers.
func (a *app) reload(ctx context.Context) error {
	servers, err := a.db.Servers(ctx)
	if err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	groups, err := a.db.Groups(ctx)
	if err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	a.watched.set(servers)
	a.alerts.SetServers(ctx, servers, groups)
	a.poller.Apply(servers, groups)
	return a.alerts.Reload(ctx)
}

// run runs everything until ctx ends or a part fails. The store is the last to stop, so that what the
// poller took before the end is kept.
func (a *app) run(ctx context.Context, l net.Listener) error {
	storing, stopStoring := context.WithCancel(context.WithoutCancel(ctx))
	defer stopStoring()
	stored := make(chan error, 1)
	go func() { stored <- a.db.Run(storing) }()

	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return a.poller.Run(ctx) })
	parts.Go(func() error { return a.alerts.Run(ctx) })
	parts.Go(func() error { return a.telling.Run(ctx) })
	parts.Go(func() error { return a.web.Serve(ctx, l) })
	parts.Go(func() error { return ebb(ctx, readHeap, a.giveBack) })
	if os.Getenv("GOGC") == "" {
		parts.Go(func() error { return curb(ctx, readHeap, debug.SetGCPercent) })
	}
	parts.Go(func() error { // a store that ends by itself ends everything
		select {
		case err := <-stored:
			stored <- err
			return err
		case <-ctx.Done():
			return nil
		}
	})
	err := parts.Wait()
	stopStoring()
	return errors.Join(err, <-stored)
}

// storeFlags says where the store is.
type storeFlags struct {
	data, dsn string
	migrate   bool
}

// storeConfig makes the data folder and the store's configuration.
func storeConfig(f storeFlags, log *slog.Logger) (store.Config, error) {
	data := f.data
	if data == "" {
		data = defaultData()
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return store.Config{}, fmt.Errorf("data folder: %w; choose another with --data", err)
	}
	dsn := f.dsn
	if path := os.Getenv("MONOLITH_STORE_FILE"); dsn == "" && path != "" {
		var err error
		if dsn, err = secretFile("MONOLITH_STORE_FILE", path); err != nil {
			return store.Config{}, err
		}
	}
	c := store.Config{KeyFile: filepath.Join(data, "monolith.key"), DSN: dsn, Migrate: f.migrate, Log: log.With("part", "store"), Now: time.Now}
	if dsn == "" {
		c.Path = filepath.Join(data, "monolith.db")
	}
	return c, nil
}

// defaultData is the folder that packages make for the service's account, where it is there, else one
// in the user's own data folder.
func defaultData() string {
	const service = "/var/lib/monolith"
	if info, err := os.Stat(service); err == nil && info.IsDir() {
		return service
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "monolith")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "monolith")
	}
	return "monolith-data"
}

// listenLoopback listens, on the loopback only: without accounts everyone who reaches the port could
// do everything.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, monolith.Invalid("listen", fmt.Sprintf("%q is not an address", address), "such as 127.0.0.1:8080")
	}
	if ip := net.ParseIP(host); !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return nil, monolith.Invalid("listen", fmt.Sprintf("%q is not on the loopback, and there are no accounts yet that could keep strangers out", address),
			"listen on 127.0.0.1 and put a proxy that asks for a login in front, with its name as --host")
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; choose another address with --listen", address, err)
	}
	return l, nil
}
