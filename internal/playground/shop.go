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

// shop is the application's view of one server.
type shop struct {
	db     *sql.DB       // the application's pool
	login  *mysql.Config // its account, for what does without the pool
	admin  *sql.DB       // root, for what an operator's script does
	writes bool          // false on a replica
}

// action is something that customers do: the more weight, the more often.
type action struct {
	name   string
	weight int
	writes bool
	run    func(context.Context, *shop) error
}

var actions = []action{
	{"look at a product", 40, false, lookAtProduct},
	{"list a category", 20, false, listCategory},
	{"visit a page", 25, true, visitPage},
	{"find a word", 6, false, findWord},
	{"search in descriptions", 3, false, searchDescriptions},
	{"log in", 8, true, logIn},
	{"place an order", 10, true, placeOrder},
	{"read old orders", 8, false, readOrders},
	{"best sellers", 1, false, bestSellers},
	{"who looked at what", 1, false, whoLooked},
	{"report with a temporary table", 1, false, temporaryReport},
	{"page of a script that connects anew", 8, false, connectAnew},
}

func now() int64 { return time.Now().Unix() }

// drain reads all rows, as an application does, and throws them away.
func drain(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// lookAtProduct prepares, executes and closes a statement, since the driver does so with arguments.
func lookAtProduct(ctx context.Context, s *shop) error {
	return drain(s.db.QueryContext(ctx, "SELECT name, description, price, stock FROM products WHERE id = ?", 1+rand.IntN(products)))
}

func listCategory(ctx context.Context, s *shop) error {
	// Without arguments the text is sent as it is, which a query cache may answer.
	return drain(s.db.QueryContext(ctx, fmt.Sprintf("SELECT id, name, price FROM products WHERE category = %d ORDER BY price LIMIT 20", rand.IntN(12))))
}

func visitPage(ctx context.Context, s *shop) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO visits (at, customer, product, seconds, page) VALUES (?, ?, ?, 0, ?)",
		now(), 1+rand.IntN(customers), 1+rand.IntN(products), "/shop/"+pick(nouns))
	return err
}

func findWord(ctx context.Context, s *shop) error {
	return drain(s.db.QueryContext(ctx, "SELECT p.id, p.name FROM words w JOIN products p ON p.id = w.product WHERE w.word = ? LIMIT 30", pick(nouns)))
}

func searchDescriptions(ctx context.Context, s *shop) error {
	return drain(s.db.QueryContext(ctx, "SELECT id, name FROM products WHERE description LIKE ? ORDER BY name LIMIT 10", "%"+pick(looks)+" "+pick(nouns)+"%"))
}

func logIn(ctx context.Context, s *shop) error {
	_, err := s.db.ExecContext(ctx, "UPDATE customers SET last_login = ? WHERE email = ?", now(), fmt.Sprintf("customer%d@example.org", 1+rand.IntN(customers)))
	return err
}

// placeOrder is one transaction over three tables; one in twelve customers thinks better of it.
func placeOrder(ctx context.Context, s *shop) (err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // err says more
		}
	}()
	result, err := tx.ExecContext(ctx, "INSERT INTO orders (customer, placed) VALUES (?, ?)", 1+rand.IntN(customers), now())
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	first := 1 + rand.IntN(products-5) // ascending, so that two orders seldom deadlock
	for line := range 1 + rand.IntN(4) {
		product := first + line
		if _, err = tx.ExecContext(ctx, "UPDATE products SET stock = IF(stock < 10, 1000, stock - 1) WHERE id = ?", product); err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, "INSERT INTO order_lines SELECT ?, ?, id, 1, price FROM products WHERE id = ?", id, line, product); err != nil {
			return err
		}
	}
	if rand.IntN(12) == 0 {
		return tx.Rollback()
	}
	if _, err = tx.ExecContext(ctx, "UPDATE orders SET state = 'paid', total = (SELECT SUM(price * amount) FROM order_lines WHERE order_id = ?) WHERE id = ?", id, id); err != nil {
		return err
	}
	return tx.Commit()
}

func readOrders(ctx context.Context, s *shop) error {
	return drain(s.db.QueryContext(ctx, `SELECT o.id, o.placed, o.total, p.name FROM orders o JOIN order_lines l ON l.order_id = o.id
		JOIN products p ON p.id = l.product WHERE o.customer = ? ORDER BY o.placed DESC LIMIT 20`, 1+rand.IntN(customers)))
}

// bestSellers groups with a TEXT column, for which older servers put the temporary table on disk.
func bestSellers(ctx context.Context, s *shop) error {
	return drain(s.db.QueryContext(ctx, `SELECT p.name, p.description, SUM(l.amount) sold FROM order_lines l JOIN products p ON p.id = l.product
		WHERE l.order_id > (SELECT COALESCE(MAX(id), 0) FROM orders) - 3000 GROUP BY p.name, p.description ORDER BY sold DESC, p.description LIMIT 20`))
}

// whoLooked joins without an index on either side.
func whoLooked(ctx context.Context, s *shop) error {
	return drain(s.db.QueryContext(ctx, `SELECT a.customer, COUNT(*) FROM (SELECT * FROM visits LIMIT 150) a JOIN (SELECT * FROM visits LIMIT 300) b
		ON a.product = b.product AND a.customer <> b.customer GROUP BY a.customer ORDER BY 2 DESC LIMIT 10`))
}

// temporaryReport needs one connection for all of its statements.
func temporaryReport(ctx context.Context, s *shop) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "CREATE TEMPORARY TABLE by_city (city VARCHAR(60), n INT)"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "INSERT INTO by_city SELECT c.city, COUNT(*) FROM customers c GROUP BY c.city")
	_, dropErr := conn.ExecContext(ctx, "DROP TEMPORARY TABLE by_city")
	return errors.Join(err, dropErr)
}

// connectAnew is a script without a pool: it connects, asks a little and leaves, sometimes without a goodbye.
func connectAnew(ctx context.Context, s *shop) error {
	connector, err := mysql.NewConnector(s.login)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	for range 1 + rand.IntN(3) {
		if err := drain(db.QueryContext(ctx, fmt.Sprintf("SELECT id, name FROM products WHERE category = %d LIMIT 5", rand.IntN(12)))); err != nil {
			return err
		}
	}
	return nil
}
