package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
)

// How much the shop holds. Small enough for a laptop, large enough that a table scan can be seen.
const (
	customers  = 2000
	products   = 1500
	keptOrders = 20_000 // older ones are deleted, so that a playground may run for weeks
	keptVisits = 14_000 // then the table is rotated
	oldVisits  = 7000   // of before the playground began, so that a replica has something to do from the start
)

// tables is the shop's schema. visits has no index at all, as somebody's quickly added table would: reading it
// scans, joining it scans more, and a replica looks for every changed row from its beginning.
var tables = []string{
	`CREATE TABLE IF NOT EXISTS customers (
		id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, email VARCHAR(120) NOT NULL, name VARCHAR(80) NOT NULL,
		city VARCHAR(60) NOT NULL, last_login INT UNSIGNED NOT NULL DEFAULT 0, UNIQUE KEY (email), KEY (city)) ENGINE=InnoDB`,
	`CREATE TABLE IF NOT EXISTS products (
		id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, category TINYINT UNSIGNED NOT NULL, name VARCHAR(80) NOT NULL,
		description TEXT NOT NULL, price DECIMAL(8,2) NOT NULL, stock INT NOT NULL, KEY (category, price)) ENGINE=InnoDB`,
	`CREATE TABLE IF NOT EXISTS orders (
		id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, customer INT UNSIGNED NOT NULL, placed INT UNSIGNED NOT NULL,
		state ENUM('new','paid','sent') NOT NULL DEFAULT 'new', total DECIMAL(10,2) NOT NULL DEFAULT 0,
		KEY (customer, placed), KEY (state)) ENGINE=InnoDB`,
	`CREATE TABLE IF NOT EXISTS order_lines (
		order_id INT UNSIGNED NOT NULL, line TINYINT UNSIGNED NOT NULL, product INT UNSIGNED NOT NULL,
		amount SMALLINT UNSIGNED NOT NULL, price DECIMAL(8,2) NOT NULL, PRIMARY KEY (order_id, line), KEY (product)) ENGINE=InnoDB`,
	`CREATE TABLE IF NOT EXISTS visits (
		at INT UNSIGNED NOT NULL, customer INT UNSIGNED NOT NULL, product INT UNSIGNED NOT NULL, seconds INT NOT NULL, page VARCHAR(120) NOT NULL) ENGINE=InnoDB`,
	`CREATE TABLE IF NOT EXISTS words (word VARCHAR(40) NOT NULL, product INT UNSIGNED NOT NULL, KEY (word)) ENGINE=MyISAM`,
}

var (
	cities = []string{"Berlin", "Lyon", "Porto", "Riga", "Gdańsk", "Oulu", "Graz", "Bergen", "Split", "Cork"}
	nouns  = []string{"lamp", "chair", "kettle", "rope", "bicycle", "blanket", "mug", "ladder", "clock", "tent", "drill", "basket"}
	looks  = []string{"blue", "sturdy", "folding", "enamelled", "quiet", "heavy", "wooden", "small", "bright", "plain"}
)

func pick(list []string) string { return list[rand.IntN(len(list))] }

// setUpShop makes the tables and fills those that are empty.
func setUpShop(ctx context.Context, db *sql.DB) error {
	for _, statement := range tables {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("playground: make the shop: %w", err)
		}
	}
	fills := []struct {
		table, columns string
		rows           int
		row            func(i int) []any
	}{
		{"customers", "email, name, city", customers, func(i int) []any {
			return []any{fmt.Sprintf("customer%d@example.org", i), "Customer " + fmt.Sprint(i), pick(cities)}
		}},
		{"products", "category, name, description, price, stock", products, func(int) []any {
			name := pick(looks) + " " + pick(nouns)
			return []any{rand.IntN(12), name, strings.Repeat("A "+name+". ", 1+rand.IntN(12)), 1 + rand.IntN(300), 1000}
		}},
		{"visits", "at, customer, product, seconds, page", oldVisits, func(int) []any {
			return []any{now() - rand.Int64N(86_400), 1 + rand.IntN(customers), 1 + rand.IntN(products), rand.IntN(300), "/shop/" + pick(nouns)}
		}},
		{"words", "word, product", 3 * products, func(i int) []any { return []any{pick(nouns), 1 + i%products} }},
	}
	for _, f := range fills {
		var n int
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+f.table).Scan(&n); err != nil {
			return fmt.Errorf("playground: fill %s: %w", f.table, err)
		}
		for n < f.rows {
			count := min(250, f.rows-n)
			var args []any
			var marks string
			for i := range count {
				row := f.row(n + i + 1)
				args = append(args, row...)
				marks = "(?" + strings.Repeat(",?", len(row)-1) + ")"
			}
			insert := "INSERT INTO " + f.table + " (" + f.columns + ") VALUES " + marks + strings.Repeat(","+marks, count-1)
			if _, err := db.ExecContext(ctx, insert, args...); err != nil {
				return fmt.Errorf("playground: fill %s: %w", f.table, err)
			}
			n += count
		}
	}
	return nil
}
