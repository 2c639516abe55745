package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"
)

// incident is something that happens now and then, besides what customers do.
type incident struct {
	name   string
	every  time.Duration // on average
	writes bool
	run    func(context.Context, *shop) error
}

var incidents = []incident{
	{"failed login", 25 * time.Second, false, failedLogin},
	{"slow query", 20 * time.Second, false, slowQuery},
	{"row lock", 45 * time.Second, true, rowLock},
	{"deadlock", 3 * time.Minute, true, deadlock},
	{"heavy write", 3 * time.Minute, true, heavyWrite},
	{"clean up", time.Minute, true, cleanUp},
	{"purge binary logs", 10 * time.Minute, false, purgeBinaryLogs},
}

func failedLogin(ctx context.Context, s *shop) error {
	wrong := s.login.Clone()
	wrong.Passwd = "a guess"
	connector, err := mysql.NewConnector(wrong)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if err := db.PingContext(ctx); err != nil && !isError(err, 1045) {
		return err
	}
	return nil
}

func slowQuery(ctx context.Context, s *shop) error {
	if rand.IntN(2) == 0 {
		return drain(s.db.QueryContext(ctx, fmt.Sprintf("SELECT SLEEP(%.1f)", 0.6+2*rand.Float64())))
	}
	return drain(s.db.QueryContext(ctx, "SELECT c.city, v.page, COUNT(*) n FROM visits v JOIN customers c ON c.id = v.customer GROUP BY c.city, v.page, v.at ORDER BY n DESC, v.at"))
}

// rowLock holds a popular product's row for some seconds while others want it too.
func rowLock(ctx context.Context, s *shop) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	product := 1 + rand.IntN(products)
	if _, err := tx.ExecContext(ctx, "UPDATE products SET stock = stock + 1 WHERE id = ?", product); err != nil {
		return err
	}
	waiting := make(chan error)
	waiters := 1 + rand.IntN(4)
	for range waiters {
		go func() {
			_, err := s.db.ExecContext(ctx, "UPDATE products SET stock = stock - 1 WHERE id = ?", product)
			waiting <- err
		}()
	}
	_, sleepErr := tx.ExecContext(ctx, fmt.Sprintf("DO SLEEP(%.1f)", 0.5+3*rand.Float64()))
	err = errors.Join(sleepErr, tx.Commit())
	for range waiters {
		if waitErr := <-waiting; waitErr != nil && !isError(waitErr, 1205) {
			err = errors.Join(err, waitErr)
		}
	}
	return err
}

// deadlock lets two transactions take two rows in opposite order.
func deadlock(ctx context.Context, s *shop) error {
	a := 1 + rand.IntN(products-1)
	var first, second *sql.Tx
	for _, tx := range []**sql.Tx{&first, &second} {
		var err error
		if *tx, err = s.db.BeginTx(ctx, nil); err != nil {
			return err
		}
		defer (*tx).Rollback()
	}
	const update = "UPDATE products SET stock = stock + 1 WHERE id = ?"
	if _, err := first.ExecContext(ctx, update, a); err != nil {
		return err
	}
	if _, err := second.ExecContext(ctx, update, a+1); err != nil {
		return err
	}
	crossing := make(chan error)
	go func() {
		_, err := first.ExecContext(ctx, update, a+1)
		crossing <- err
	}()
	_, err := second.ExecContext(ctx, update, a)
	if firstErr := <-crossing; err == nil {
		err = firstErr
	}
	if err != nil && !isError(err, 1213) && !isError(err, 1205) {
		return err
	}
	return nil
}

// heavyWrite changes many rows of the table without an index: done in a moment here, while a replica with
// row-based replication scans the table for each of them and falls behind.
func heavyWrite(ctx context.Context, s *shop) error {
	_, err := s.db.ExecContext(ctx, "UPDATE visits SET seconds = seconds + 1 WHERE product % 3 = ?", rand.IntN(3))
	return err
}

// cleanUp keeps the shop from growing.
func cleanUp(ctx context.Context, s *shop) error {
	var newest int64
	if err := s.db.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) FROM orders").Scan(&newest); err != nil {
		return err
	}
	for _, statement := range []string{
		"DELETE FROM order_lines WHERE order_id < ? ORDER BY order_id LIMIT 5000",
		"DELETE FROM orders WHERE id < ? ORDER BY id LIMIT 2000",
	} {
		if _, err := s.db.ExecContext(ctx, statement, max(0, newest-keptOrders)); err != nil {
			return err
		}
	}
	var n int
	if err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM visits").Scan(&n); err != nil || n < keptVisits {
		return err
	}
	// In one step, so that nobody finds no table.
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS visits_new LIKE visits", "DROP TABLE IF EXISTS visits_old",
		"RENAME TABLE visits TO visits_old, visits_new TO visits", "DROP TABLE visits_old",
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func purgeBinaryLogs(ctx context.Context, s *shop) error {
	_, err := s.admin.ExecContext(ctx, "PURGE BINARY LOGS BEFORE NOW() - INTERVAL 1 HOUR")
	return err
}

// isError reports whether a server refused with this number.
func isError(err error, number uint16) bool {
	refused := new(mysql.MySQLError)
	return errors.As(err, &refused) && refused.Number == number
}
