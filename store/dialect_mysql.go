package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"monolith"
)

func mysqlDialect() *dialect {
	return &dialect{
		name: "mysql", goose: goose.DialectMySQL,
		upsert: func(table string, key, set []string) string {
			s := insertInto(table, append(append([]string{}, key...), set...)) + " ON DUPLICATE KEY UPDATE "
			if len(set) == 0 {
				return s + key[0] + " = " + key[0]
			}
			// VALUES() is the one form that MySQL 8.0 to 9 and MariaDB share.
			for i, c := range set {
				s += map[bool]string{false: ", "}[i == 0] + c + " = VALUES(" + c + ")"
			}
			return s
		},
		open:      openMySQL,
		duplicate: func(err error) bool { return mysqlCode(err) == 1062 },
		corrupt: func(err error) bool {
			switch mysqlCode(err) {
			case 126, 127, 1034, 1035, 1194, 1195, 1712: // table or index
				return true
			}
			return false
		},
		problem: mysqlProblem,
		dead:    mysqlDead,
		transient: func(err error) bool {
			switch mysqlCode(err) {
			case 1021, 1040, 1053, 1077, 1114, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1290, 1836: // full, going down, network, locks, read only
				return true
			}
			var network net.Error
			return errors.As(err, &network) || errors.Is(err, mysql.ErrInvalidConn)
		},
		usage: func(ctx context.Context, r *sqlx.DB) (bytes, free int64, err error) {
			var u struct{ Bytes, Free int64 }
			err = r.GetContext(ctx, &u, `SELECT COALESCE(SUM(data_length + index_length), 0) AS bytes, COALESCE(SUM(data_free), 0) AS free
				FROM information_schema.tables WHERE table_schema = DATABASE()`)
			return u.Bytes, u.Free, err
		},
		version: func(ctx context.Context, r *sqlx.DB) (string, error) {
			id, err := mysqlIdentity(ctx, r)
			return id.String(), err
		},
		lock: lockMySQL,
		claim: func(ctx context.Context, db *DB) error {
			if err := db.durability(ctx); err != nil {
				return err
			}
			return db.SetSetting(ctx, writerSetting, db.word)
		},
		shrink: func(context.Context, *sqlx.DB) (bool, error) { return false, nil },
	}
}

// mysqlStore is what the server behind a DSN must be.
var mysqlStore = map[bool]monolith.Version{
	false: {Major: 8},
	true:  {Major: 10, Minor: 5},
}

// mysqlMode makes the server refuse what it would otherwise bend: cut texts, zeros for nonsense.
const mysqlMode = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"

// mysqlConfig parses a DSN and sets what the store needs. place is "host:port/database" without secrets.
func mysqlConfig(dsn string) (cfg *mysql.Config, place string, err error) {
	cfg, err = mysql.ParseDSN(dsn)
	if err != nil {
		// The driver's words may hold parts of the DSN, and so of the password.
		return nil, "", monolith.Invalid("store", "the DSN can't be read", "user:password@tcp(host:3306)/database")
	}
	if cfg.DBName == "" {
		return nil, "", monolith.Invalid("store", "the DSN names no database", "user:password@tcp(host:3306)/database")
	}
	cfg.InterpolateParams = true
	cfg.ClientFoundRows = true
	cfg.ParseTime = false
	cfg.MultiStatements = false
	cfg.Loc = time.UTC
	cfg.Logger = &mysql.NopLogger{} // every error is returned, too
	set := func(d *time.Duration, limit time.Duration) {
		if *d == 0 {
			*d = limit
		}
	}
	set(&cfg.Timeout, 5*time.Second)
	set(&cfg.ReadTimeout, 60*time.Second)
	set(&cfg.WriteTimeout, 60*time.Second)
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["sql_mode"] = "'" + mysqlMode + "'"
	cfg.Params["time_zone"] = "'+00:00'"
	cfg.Params["innodb_lock_wait_timeout"] = "10"
	cfg.Params["lock_wait_timeout"] = "30"
	return cfg, cfg.Addr + "/" + cfg.DBName, nil
}

func openMySQL(ctx context.Context, c Config) (w, r *sqlx.DB, place string, err error) {
	cfg, place, err := mysqlConfig(c.DSN)
	if err != nil {
		return nil, nil, "", err
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, nil, place, fmt.Errorf("store: DSN: %w", err)
	}
	db := sqlx.NewDb(sql.OpenDB(connector), "mysql")
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(4)
	db.SetConnMaxLifetime(4 * time.Minute) // below any sensible wait_timeout
	id, err := mysqlIdentity(ctx, db)
	if err != nil {
		return nil, nil, place, errors.Join(mysqlProblem(place, err), db.Close())
	}
	if least := mysqlStore[id.Flavour.IsMariaDB()]; id.Version.Compare(least) < 0 {
		err := &OpenError{Place: place, Why: fmt.Sprintf("the server is %s and the store needs MySQL 8.0 or MariaDB 10.5 at least", id),
			Cure: "use a newer server, or the embedded SQLite store"}
		return nil, nil, place, errors.Join(err, db.Close())
	}
	return db, db, place, nil
}

func mysqlIdentity(ctx context.Context, db *sqlx.DB) (monolith.Identity, error) {
	var v struct{ Version, Comment string }
	if err := db.GetContext(ctx, &v, "SELECT @@version AS version, @@version_comment AS comment"); err != nil {
		return monolith.Identity{}, err
	}
	return monolith.Identify(map[string]string{"version": v.Version, "version_comment": v.Comment}), nil
}

func mysqlCode(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// mysqlDead reports whether an error says that the connection is gone.
func mysqlDead(err error) bool {
	return errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// mysqlProblem puts the server's error number into words with their cure.
func mysqlProblem(place string, err error) error {
	o := &OpenError{Place: place, Err: err}
	switch code := mysqlCode(err); code {
	case 1045, 1044, 1698:
		o.Why, o.Cure = "the server refuses the account", "check user and password; it needs all rights on the store's own database"
	case 1049:
		name := place[strings.LastIndexByte(place, '/')+1:] // a socket's path has slashes too
		o.Why, o.Cure = "there is no such database", "CREATE DATABASE `"+name+"` CHARACTER SET utf8mb4"
	case 1040, 1203:
		o.Why, o.Cure = "the server has no free connection", "raise max_connections there"
	case 1021, 1114:
		o.Why, o.Cure = "the server's disk or table space is full", "free some space there"
	case 1290, 1836:
		o.Why, o.Cure = "the server is read-only", "SET GLOBAL read_only = OFF, or name the primary as the store"
	case 0:
		o.Why, o.Cure = "the server does not answer", "check that it runs and that address and port are right"
	default:
		o.Why = "the server refuses"
	}
	return o
}
