package mysqltest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Replica starts a server of the primary's flavour that replicates everything the primary ever wrote, by GTID on
// MariaDB and by file and position on MySQL 5.6, and waits until both of its threads run. The primary must have
// its binary log from the start, as [MariaDB] and [MySQL56] have.
func Replica(tb testing.TB, primary *Server, opts ...Option) *Server {
	tb.Helper()
	opts = append([]Option{Options("relay_log=relay", "log_slave_updates", "read_only=ON", "slave_net_timeout=10")}, opts...)
	s := start(tb, primary.Flavour, opts)
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	if err := Replicate(ctx, s.current(), primary.current()); err != nil {
		tb.Fatal(err)
	}
	return s
}

// CatchUp waits until the replica's threads run, as they do some time after its start, and until it has applied all
// that its primary has written by now.
func (s *Server) CatchUp(tb testing.TB, primary *Server) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	if err := waitRunning(ctx, s.root); err != nil {
		tb.Fatal(err)
	}
	var pos string
	wait := "SELECT MASTER_GTID_WAIT(?, 60)"
	if s.Flavour == FlavourMySQL56 {
		wait = "SELECT MASTER_POS_WAIT(SUBSTRING_INDEX(?, ' ', 1), SUBSTRING_INDEX(?, ' ', -1), 60)"
		status, err := statusRow(ctx, primary.root, "SHOW MASTER STATUS")
		if err != nil {
			tb.Fatal(err)
		}
		pos = status["File"] + " " + status["Position"]
	} else if err := primary.root.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&pos); err != nil {
		tb.Fatal(err)
	}
	args := []any{pos, pos}[:strings.Count(wait, "?")]
	var result sql.NullInt64
	if err := s.root.QueryRowContext(ctx, wait, args...).Scan(&result); err != nil {
		tb.Fatal(err)
	}
	if !result.Valid || result.Int64 < 0 {
		tb.Fatalf("mysqltest: the replica did not reach %s", pos)
	}
}

// Replicate makes one server follow another from the beginning of its binary log, with an account made for it,
// and waits until both threads run. A server that follows already keeps its place and is only told the primary's
// address, should that have changed. The error carries the text of the thread that stopped.
func Replicate(ctx context.Context, replica, primary *Process) error {
	from, err := primary.open()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := replica.open()
	if err != nil {
		return err
	}
	defer to.Close()
	if row, err := statusRow(ctx, to, "SHOW SLAVE STATUS"); err == nil {
		return follow(ctx, to, row["Master_Port"], primary)
	} else if !errors.Is(err, errNoRow) {
		return fmt.Errorf("mysqltest: replicate: %w", err)
	}
	user, password := "repl_"+strings.ToLower(rand.Text()[:6]), rand.Text()
	change := fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%d, MASTER_USER='%s', MASTER_PASSWORD='%s', MASTER_CONNECT_RETRY=1",
		primary.Host, primary.Port, user, password)
	if replica.Flavour == FlavourMariaDB {
		change += ", MASTER_USE_GTID=slave_pos"
	}
	steps := []struct {
		db        *sql.DB
		statement string
	}{
		{from, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", user, password)},
		{from, fmt.Sprintf("GRANT REPLICATION SLAVE ON *.* TO '%s'@'%%'", user)},
		{to, change},
		{to, "START SLAVE"},
	}
	for _, step := range steps {
		if _, err := step.db.ExecContext(ctx, step.statement); err != nil {
			verb, _, _ := strings.Cut(step.statement, "'") // nothing behind it: there are passwords
			return fmt.Errorf("mysqltest: replicate: %s…: %w", verb, err)
		}
	}
	return waitRunning(ctx, to)
}

// follow lets a replica that knows its primary go on, at the primary's new port if it has one.
func follow(ctx context.Context, db *sql.DB, port string, primary *Process) error {
	var statements []string
	if now := strconv.Itoa(primary.Port); port != now {
		statements = []string{"STOP SLAVE", "CHANGE MASTER TO MASTER_PORT=" + now}
	}
	for _, statement := range append(statements, "START SLAVE") { // which only warns where it runs
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("mysqltest: replicate: %s: %w", statement, err)
		}
	}
	return waitRunning(ctx, db)
}

// CaughtUp reports whether a MariaDB that replicates by GTID has applied all that its primary has written by now. The
// error says why it never will: the text of the thread that stopped.
func CaughtUp(ctx context.Context, replica, primary *Process) (bool, error) {
	from, err := primary.open()
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := replica.open()
	if err != nil {
		return false, err
	}
	defer to.Close()
	var pos string
	if err := from.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&pos); err != nil {
		return false, fmt.Errorf("mysqltest: replicate: %w", err)
	}
	var result sql.NullInt64
	if err := to.QueryRowContext(ctx, "SELECT MASTER_GTID_WAIT(?, 0)", pos).Scan(&result); err != nil {
		return false, fmt.Errorf("mysqltest: replicate: %w", err)
	}
	_, _, err = running(ctx, to)
	return result.Valid && result.Int64 == 0, err
}

func waitRunning(ctx context.Context, db *sql.DB) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		both, row, err := running(ctx, db)
		if both || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("mysqltest: replicate: %w; its I/O thread says %q", context.Cause(ctx), row["Last_IO_Error"])
		case <-tick.C:
		}
	}
}

// running reports whether both threads run. The error is that of one that gave up.
func running(ctx context.Context, db *sql.DB) (both bool, row map[string]string, err error) {
	if row, err = statusRow(ctx, db, "SHOW SLAVE STATUS"); err != nil {
		return false, nil, fmt.Errorf("mysqltest: replicate: %w", err)
	}
	if row["Slave_IO_Running"] == "Yes" && row["Slave_SQL_Running"] == "Yes" {
		return true, row, nil
	}
	text := row["Last_SQL_Error"]
	if text == "" && row["Slave_IO_Running"] == "No" { // else it tries again
		text = row["Last_IO_Error"]
	}
	if text != "" {
		err = errors.New("mysqltest: replicate: " + text)
	}
	return false, row, err
}

var errNoRow = errors.New("no row")

// statusRow gives the one row of a SHOW statement by column name; NULL is "".
func statusRow(ctx context.Context, db *sql.DB, statement string) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", statement, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", statement, err)
	}
	if !rows.Next() {
		return nil, fmt.Errorf("%s: %w", statement, cmp.Or(rows.Err(), errNoRow))
	}
	cells := make([]sql.NullString, len(names))
	targets := make([]any, len(names))
	for i := range cells {
		targets[i] = &cells[i]
	}
	if err := rows.Scan(targets...); err != nil {
		return nil, fmt.Errorf("%s: %w", statement, err)
	}
	row := make(map[string]string, len(names))
	for i, name := range names {
		row[name] = cells[i].String
	}
	return row, rows.Err()
}
