package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/klauspost/compress/zstd"

	"monolith"
)

// Config says where the store is and how it behaves. Exactly one of Path and DSN is set.
type Config struct {
	// Path is the SQLite file. Its folder must exist and be writable.
	Path string
	// DSN is a MySQL-protocol store in go-sql-driver's form (user:password@tcp(host:port)/database):
	// MySQL ≥ 8.0 or MariaDB ≥ 10.5. It is parsed to fields; settings that the store needs are added.
	DSN string
	// KeyFile holds the key that seals passwords, made with mode 0600 when it is not there. "" puts
	// "monolith.key" beside the SQLite file; with a DSN it must be given before a password can be kept.
	KeyFile string
	// Migrate lets Open bring a MySQL store's schema up to date. A SQLite store always does.
	Migrate bool
	// Log gets what the background work has to say; nil discards it.
	Log *slog.Logger
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
	// Hold says how long a value of the metric stays good on this server when no newer one came: the
	// distance between two runs of its collector; 0 for what is read with each poll. nil goes by
	// [monolith.ScheduleOf] and the default schedules.
	Hold func(server monolith.ServerID, metric string) time.Duration
	// SpoolBytes bounds what waits for a store that fails; 0 is 64 MiB. Beyond it the oldest polls are dropped.
	SpoolBytes int64
}

const defaultSpool = 64 << 20

// dialect picks the engine.
func (c Config) dialect() (*dialect, error) {
	switch {
	case c.Path != "" && c.DSN != "":
		return nil, monolith.Invalid("store", "there are both a file and a DSN", "give one of them")
	case c.DSN != "":
		return mysqlDialect(), nil
	case c.Path != "":
		return sqliteDialect(), nil
	}
	return nil, monolith.Invalid("store", "there is neither a file nor a DSN", "give one of them")
}

// DB is an open store. It is safe for concurrent use.
type DB struct {
	dialect *dialect
	w, r    *sqlx.DB // for writing, for reading; the same on MySQL
	place   string   // the file, or host and database
	lock    writerLock
	word    string       // by which this writer is known
	sure    atomic.Int64 // nobody else wrote until the lock was taken again for the so many-th time
	recount atomic.Bool  // the engine may have forgotten metrics that it had committed
	seals   *sealer      // nil: no key file, passwords can't be kept
	log     *slog.Logger
	now     func() time.Time
	hold    func(monolith.ServerID, string) time.Duration
	zip     *zstd.Encoder
	unzip   *zstd.Decoder

	names dictionary
	spool spool
	count counters
	cache blockCache

	damages damages

	mu        sync.RWMutex
	byServer  map[monolith.ServerID]*tail
	forgotten map[monolith.ServerID]bool // deleted: a poll that was still under way is not kept

	commitMu sync.Mutex // one commit of the queue at a time
	unsure   attempt    // under commitMu
	failing  atomic.Bool
	alerting alertQueue
	packMu   sync.Mutex // one packing at a time
	headLow  int64      // no head row lies below, under packMu
	purgeNow chan struct{}
	closed   atomic.Bool
}

// Open opens the store and loads the tails of all servers. A SQLite file is made and migrated where
// needed. A MySQL store whose schema is behind gives a [BehindError] unless c.Migrate is set. A store of
// a newer program gives a [NewerError], one with the wrong key a [KeyError], a place that can't be used
// an [OpenError], and so does one that another process works with; then nothing was changed. Until Close
// no other process can open the store. History is written once [DB.Run] runs; the caller closes.
func Open(ctx context.Context, c Config) (*DB, error) {
	d, err := c.dialect()
	if err != nil {
		return nil, err
	}
	lock, err := d.lock(ctx, c)
	if err != nil {
		return nil, err
	}
	w, r, place, err := d.open(ctx, c)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	db := &DB{
		dialect: d, w: w, r: r, place: place, lock: lock, word: newWriterWord(), log: c.Log, now: c.Now, hold: c.Hold,
		byServer: map[monolith.ServerID]*tail{}, forgotten: map[monolith.ServerID]bool{},
		purgeNow: make(chan struct{}, 1),
	}
	db.spool.limit = c.SpoolBytes
	if db.spool.limit <= 0 {
		db.spool.limit = defaultSpool
	}
	if db.log == nil {
		db.log = slog.New(slog.DiscardHandler)
	}
	if db.now == nil {
		db.now = time.Now
	}
	if db.hold == nil {
		db.hold = defaultHold
	}
	// One goroutine and little memory each: the store is one of many users of a small machine.
	if db.zip, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true)); err == nil {
		db.unzip, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(64<<20))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store: compression: %w", err), db.closePools())
	}
	for _, step := range []func() error{
		func() error { return db.migrate(ctx, c.Migrate || d.name == "sqlite") },
		func() error { return db.openSealer(ctx, c.KeyFile) },
		func() error { return d.claim(ctx, db) },
		func() error { return db.load(ctx) },
		func() error { return db.loadAlertIDs(ctx) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, db.closePools())
		}
	}
	return db, nil
}

// defaultHold is the distance between two runs of the collector that reads the metric, by the default
// schedules; 0 for what is read with each poll.
func defaultHold(_ monolith.ServerID, metric string) time.Duration {
	schedule := monolith.ScheduleOf(metric)
	if schedule == monolith.Fast {
		return 0
	}
	return monolith.DefaultInterval(schedule)
}

// Close commits what waits, as far as the store lets it, and closes the connections. Run must have
// returned before, and nobody may call Commit any more.
func (db *DB) Close() error {
	if db.closed.Swap(true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	db.spoolLatest()
	err := errors.Join(db.finish(ctx), db.closePools())
	db.alerting.behind.Wait() // soon: what they still want to write fails now
	return err
}

// finish commits what waits before the end. A store that was gone leaves dead connections in the pool, which
// the first attempt may meet. An error says what is lost.
func (db *DB) finish(ctx context.Context) error {
	alerts := db.flushAlerts(ctx)
	if errors.Is(alerts, monolith.ErrUnavailable) {
		alerts = db.flushAlerts(ctx)
	}
	if alerts != nil {
		alerts = fmt.Errorf("%d batches of alerts are lost: %w", db.alerting.len(), alerts)
	}
	return errors.Join(alerts, db.finishPolls(ctx))
}

// finishPolls commits the polls that wait.
func (db *DB) finishPolls(ctx context.Context) error {
	err := db.flush(ctx)
	if errors.Is(err, monolith.ErrUnavailable) {
		err = db.flush(ctx)
	}
	switch polls, _, _ := db.spool.size(); {
	case err == nil || polls == 0:
		return err
	case polls == 1:
		return fmt.Errorf("1 poll is lost: %w", err)
	default:
		return fmt.Errorf("%d polls are lost: %w", polls, err)
	}
}

// unlessDead drops the complaint that a connection which is to be closed or unlocked is gone already.
func (db *DB) unlessDead(err error) error {
	if err != nil && db.dialect.dead(err) {
		return nil
	}
	return err
}

func (db *DB) closePools() error {
	err := db.unlessDead(db.w.Close())
	if db.r != db.w {
		err = errors.Join(err, db.unlessDead(db.r.Close()))
	}
	if db.zip != nil {
		err = errors.Join(err, db.zip.Close())
	}
	if db.unzip != nil {
		db.unzip.Close()
	}
	return errors.Join(err, db.lock.release()) // the last: nothing is written without it
}

// Ping asks the store for a sign of life, through the pool that writes. An error is
// [monolith.ErrUnavailable].
func (db *DB) Ping(ctx context.Context) error {
	if err := db.w.PingContext(ctx); err != nil {
		return fmt.Errorf("store: ping %s: %w: %w", db.place, monolith.ErrUnavailable, err)
	}
	return nil
}

// failed wraps an error of the engine with what was being done; nil stays nil.
func (db *DB) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: %s: %w", doing, db.unavailable(err))
}

// unavailable marks errors that trying again later may mend as [monolith.ErrUnavailable], and damage, which
// others mend: what is asked is not answered wrong, and what is to be written waits.
func (db *DB) unavailable(err error) error {
	if err == nil || errors.Is(err, monolith.ErrUnavailable) || errors.Is(err, context.Canceled) {
		return err
	}
	if db.damaged(err) {
		words := fmt.Sprintf("%s is damaged (%s)", db.place, damagedCure)
		db.count.damage.Store(words)
		return fmt.Errorf("%w: %s: %w", monolith.ErrUnavailable, words, err)
	}
	if db.dialect.transient(err) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", monolith.ErrUnavailable, err)
	}
	return err
}

// tail gives what is kept in memory of a server, made where there is nothing yet. nil: the server was deleted.
func (db *DB) tail(id monolith.ServerID) *tail {
	db.mu.RLock()
	t, gone := db.byServer[id], db.forgotten[id]
	db.mu.RUnlock()
	if t != nil || gone {
		return t
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if t := db.byServer[id]; t != nil || db.forgotten[id] {
		return t
	}
	t = newTail(id)
	db.byServer[id] = t
	return t
}

// tails gives the tails of all servers in no order.
func (db *DB) tails() []*tail {
	db.mu.RLock()
	defer db.mu.RUnlock()
	all := make([]*tail, 0, len(db.byServer))
	for _, t := range db.byServer {
		all = append(all, t)
	}
	return all
}

// forget drops what memory holds of a deleted server.
func (db *DB) forget(id monolith.ServerID) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if t := db.byServer[id]; t != nil {
		t.deleted.Store(true)
	}
	delete(db.byServer, id)
	db.forgotten[id] = true
}

func (db *DB) walBytes() int64 {
	if db.dialect.name != "sqlite" {
		return 0
	}
	st, err := os.Stat(db.place + "-wal")
	if err != nil {
		return 0 // there is none before the first write
	}
	return st.Size()
}
