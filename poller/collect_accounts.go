package poller

import (
	"context"
	"slices"
	"strings"
	"time"

	"monolith"
)

// accountsCollector reads the accounts. Hashes never leave the server: statements ask whether the
// authentication text is empty and how long it is.
func accountsCollector() *Collector {
	return &Collector{
		Name:    "accounts",
		Title:   "Accounts",
		Help:    "Accounts, their ways to log in and their rights; never a password hash.",
		Timeout: 15 * time.Second,
		Grant: func(_ monolith.Identity, account string) string {
			return "GRANT SELECT ON mysql.* TO " + quoteAccount(account) + ";"
		},
		Collect: collectAccounts,
	}
}

// accountKey names an account. Host names are compared without case, as the server does.
type accountKey struct{ user, host string }

func keyOf(user, host string) accountKey { return accountKey{user, strings.ToLower(host)} }

func collectAccounts(ctx context.Context, g *Gather) error {
	r := accountReader{ctx: ctx, g: g, by: map[accountKey]int{}, active: map[int][]int{}}
	var err error
	if has(g.Identity, since{mariadb: v(10, 4)}) {
		err = r.readGlobalPriv()
	} else {
		err = r.readUserTable()
	}
	if err != nil {
		return err
	}
	if err := r.readGrants(); err != nil {
		return err
	}
	open, err := readOpenGrants(ctx, g)
	if err != nil {
		return err
	}
	for i := range r.accounts {
		a := &r.accounts[i]
		slices.Sort(a.Privileges)
		a.Privileges = slices.Compact(a.Privileges)
		a.Reserved = monolith.ReservedAccount(a)
	}
	r.derive()
	recordAccounts(g, r.accounts, open)
	g.snapshot.Accounts, g.snapshot.OpenGrants = r.accounts, open
	return nil
}

// accountReader gathers accounts from the several tables that make them up.
type accountReader struct {
	ctx      context.Context
	g        *Gather
	accounts []monolith.Account
	by       map[accountKey]int
	// active are the roles that an account has from its login on: their accounts' places.
	active  map[int][]int
	partial bool // a table of rights could not be read
}

// add appends an account and remembers its place.
func (r *accountReader) add(a monolith.Account) {
	a.User, a.Host, a.Plugin = printable(a.User), printable(a.Host), printable(a.Plugin)
	r.by[keyOf(a.User, a.Host)] = len(r.accounts)
	r.accounts = append(r.accounts, a)
}

// account gives the account of a row that has the columns user and host, or nil.
func (r *accountReader) account(row Row) *monolith.Account {
	return r.find(first(row.Text("user")), first(row.Text("host")))
}

func (r *accountReader) find(user, host string) *monolith.Account {
	if i, ok := r.by[keyOf(printable(user), printable(host))]; ok {
		return &r.accounts[i]
	}
	return nil
}

// readUserTable reads mysql.user of MySQL and of MariaDB before 10.4. Its columns are asked for first: they
// differ by version and only those that are needed may be read.
func (r *accountReader) readUserTable() error {
	columns := map[string]string{} // lower case → as the server writes it
	err := r.g.Session.Query(r.ctx, "SHOW COLUMNS FROM mysql.user", func(row Row) error {
		name := string(row.Bytes(0))
		columns[strings.ToLower(name)] = name
		return nil
	})
	if err != nil {
		return err
	}
	var privileges []string // columns
	for _, p := range userPrivileges {
		if name, ok := columns[p.column]; ok {
			privileges = append(privileges, name)
		}
	}
	var defaults []string // by account; MariaDB
	err = r.g.Session.Query(r.ctx, userStatement(columns, privileges), func(row Row) error {
		a := monolith.Account{
			User: first(row.Text("user")), Host: first(row.Text("host")), Plugin: first(row.Text("plugin")),
			AuthEmpty:  first(row.Text("auth_empty")) == "1",
			AuthLength: number(row, "auth_length"),
			Locked:     isYes(row, "locked"),
			Expired:    isYes(row, "expired"),
			IsRole:     isYes(row, "is_role"),
			Privileges: []string{},
			SSLType:    first(row.Text("ssl_type")),
		}
		if days, ok := row.Int("lifetime"); ok {
			a.PasswordLifetime = new(int(days))
		}
		a.SecondFactor = number(row, "factors") > 0
		if changed, ok := row.Int("changed"); ok && changed > 0 {
			t := time.Unix(changed, 0).UTC()
			a.PasswordChanged = &t
		}
		for _, p := range userPrivileges {
			if _, there := columns[p.column]; !there || !isYes(row, p.column) {
				continue
			}
			if p.name == "GRANT OPTION" {
				a.GrantGlobal = true
			}
			a.Privileges = append(a.Privileges, p.name)
		}
		r.add(a)
		defaults = append(defaults, first(row.Text("default_role")))
		return nil
	})
	r.addDefaultRoles(defaults)
	return err
}

// userStatement makes the statement for a mysql.user with the given columns.
func userStatement(columns map[string]string, privileges []string) string {
	has := func(name string) bool { _, ok := columns[name]; return ok }
	// Until 5.7.5 the hash stands in Password, and for plugins in authentication_string.
	auth := "COALESCE(authentication_string, '')"
	switch {
	case has("password") && has("authentication_string"):
		auth = "CONCAT(Password, COALESCE(authentication_string, ''))"
	case has("password"):
		auth = "Password"
	}
	parts := []string{"User AS user", "Host AS host", auth + " = '' AS auth_empty", "CHAR_LENGTH(" + auth + ") AS auth_length"}
	for _, c := range []struct{ column, as string }{
		{"plugin", "plugin"}, {"account_locked", "locked"}, {"password_expired", "expired"}, {"is_role", "is_role"},
		{"ssl_type", "ssl_type"}, {"password_lifetime", "lifetime"}, {"default_role", "default_role"},
	} {
		if has(c.column) {
			parts = append(parts, c.column+" AS "+c.as)
		}
	}
	if has("password_last_changed") {
		parts = append(parts, "UNIX_TIMESTAMP(password_last_changed) AS changed")
	}
	if has("user_attributes") {
		parts = append(parts, "COALESCE(JSON_LENGTH(User_attributes, '$.multi_factor_authentication'), 0) AS factors")
	}
	parts = append(parts, privileges...)
	return "SELECT " + strings.Join(parts, ", ") + " FROM mysql.user"
}

// userPrivileges are the columns of mysql.user that hold a global right, lower case, with the right's name in GRANT.
var userPrivileges = []struct{ column, name string }{
	{"select_priv", "SELECT"}, {"insert_priv", "INSERT"}, {"update_priv", "UPDATE"}, {"delete_priv", "DELETE"},
	{"create_priv", "CREATE"}, {"drop_priv", "DROP"}, {"reload_priv", "RELOAD"}, {"shutdown_priv", "SHUTDOWN"},
	{"process_priv", "PROCESS"}, {"file_priv", "FILE"}, {"grant_priv", "GRANT OPTION"}, {"references_priv", "REFERENCES"},
	{"index_priv", "INDEX"}, {"alter_priv", "ALTER"}, {"show_db_priv", "SHOW DATABASES"}, {"super_priv", "SUPER"},
	{"create_tmp_table_priv", "CREATE TEMPORARY TABLES"}, {"lock_tables_priv", "LOCK TABLES"}, {"execute_priv", "EXECUTE"},
	{"repl_slave_priv", "REPLICATION SLAVE"}, {"repl_client_priv", "REPLICATION CLIENT"}, {"create_view_priv", "CREATE VIEW"},
	{"show_view_priv", "SHOW VIEW"}, {"create_routine_priv", "CREATE ROUTINE"}, {"alter_routine_priv", "ALTER ROUTINE"},
	{"create_user_priv", "CREATE USER"}, {"event_priv", "EVENT"}, {"trigger_priv", "TRIGGER"},
	{"create_tablespace_priv", "CREATE TABLESPACE"}, {"delete_history_priv", "DELETE HISTORY"},
	{"create_role_priv", "CREATE ROLE"}, {"drop_role_priv", "DROP ROLE"},
}

func number(row Row, name string) int {
	n, _ := row.Int(name)
	return int(n)
}

// isYes reads Y, 1 and true as yes; JSON_VALUE gives 1 or true.
func isYes(row Row, name string) bool {
	switch s, _ := row.Text(name); strings.ToLower(s) {
	case "y", "1", "true", "yes":
		return true
	}
	return false
}
