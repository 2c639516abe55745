package poller

import (
	"errors"
	"math/bits"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// globalPriv reads MariaDB's table of accounts (≥ 10.4), of which mysql.user is only a view that hides
// all ways to log in but one. The alternatives are taken apart by the server, so that no hash leaves it: of each
// entry of auth_or the plugin's name, and the length of its string.
const globalPriv = "SELECT User AS user, Host AS host," +
	" COALESCE(JSON_VALUE(Priv, '$.plugin'), '') AS plugin," +
	" COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '') = '' AS auth_empty," +
	" CHAR_LENGTH(COALESCE(JSON_VALUE(Priv, '$.authentication_string'), '')) AS auth_length," +
	" JSON_VALUE(Priv, '$.account_locked') AS locked," +
	" JSON_VALUE(Priv, '$.is_role') AS is_role," +
	" JSON_VALUE(Priv, '$.password_last_changed') AS changed," +
	" JSON_VALUE(Priv, '$.password_lifetime') AS lifetime," +
	" JSON_VALUE(Priv, '$.ssl_type') AS ssl_type," +
	" JSON_VALUE(Priv, '$.default_role') AS default_role," +
	" CAST(COALESCE(JSON_VALUE(Priv, '$.access'), '0') AS UNSIGNED) AS access_bits," +
	" COALESCE(JSON_LENGTH(Priv, '$.auth_or'), 0) AS ways"

// maxAuthWays is how many alternatives of an account are read.
const maxAuthWays = 4

// waysColumns asks for the alternatives. An empty object stands for the account's own plugin and string.
func waysColumns() string {
	var b strings.Builder
	for i := range maxAuthWays {
		at := "$.auth_or[" + string(rune('0'+i)) + "]"
		n := string(rune('0' + i))
		b.WriteString(", JSON_VALUE(Priv, '" + at + ".plugin') AS way" + n +
			", CHAR_LENGTH(COALESCE(JSON_VALUE(Priv, '" + at + ".authentication_string'), '')) AS way" + n + "_length")
	}
	return b.String()
}

func (r *accountReader) readGlobalPriv() error {
	var defaults []string // by account
	err := r.g.Session.Query(r.ctx, globalPriv+waysColumns()+" FROM mysql.global_priv", func(row Row) error {
		a := monolith.Account{
			User: first(row.Text("user")), Host: first(row.Text("host")), Plugin: first(row.Text("plugin")),
			AuthEmpty:  first(row.Text("auth_empty")) == "1",
			AuthLength: number(row, "auth_length"),
			Locked:     isYes(row, "locked"),
			IsRole:     isYes(row, "is_role"),
		}
		changed, ok := row.Int("changed")
		a.Expired = ok && changed == 0 && a.User != "mariadb.sys" // ALTER USER … PASSWORD EXPIRE sets 0
		if ok && changed > 0 {
			t := time.Unix(changed, 0).UTC()
			a.PasswordChanged = &t
		}
		if days, ok := row.Int("lifetime"); ok && days >= 0 { // −1: the default
			a.PasswordLifetime = new(int(days))
		}
		if i := number(row, "ssl_type"); i > 0 && i < len(mariadbSSLTypes) {
			a.SSLType = mariadbSSLTypes[i]
		}
		access := row.Num("access_bits")
		word, _, _, _ := access.Bits()
		a.Privileges = mariadbPrivileges(word)
		a.GrantGlobal = word>>10&1 == 1
		for i := range min(number(row, "ways"), maxAuthWays) {
			name := "way" + string(rune('0'+i))
			way := monolith.AuthWay{Plugin: a.Plugin, AuthEmpty: a.AuthEmpty, AuthLength: a.AuthLength}
			if plugin, ok := row.Text(name); ok {
				length := number(row, name+"_length")
				way = monolith.AuthWay{Plugin: printable(plugin), AuthEmpty: length == 0, AuthLength: length}
			}
			a.Alternatives = append(a.Alternatives, way)
		}
		r.add(a)
		defaults = append(defaults, first(row.Text("default_role")))
		return nil
	})
	r.addDefaultRoles(defaults)
	return err
}

// mariadbSSLTypes gives the words for the number in mysql.global_priv.
var mariadbSSLTypes = []string{"", "ANY", "X509", "SPECIFIED"}

// mariadbRights gives the name of each bit of the access word in mysql.global_priv.
var mariadbRights = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "RELOAD", "SHUTDOWN", "PROCESS", "FILE",
	"GRANT OPTION", "REFERENCES", "INDEX", "ALTER", "SHOW DATABASES", "SUPER", "CREATE TEMPORARY TABLES", "LOCK TABLES", "EXECUTE",
	"REPLICATION SLAVE", "BINLOG MONITOR", "CREATE VIEW", "SHOW VIEW", "CREATE ROUTINE", "ALTER ROUTINE", "CREATE USER", "EVENT", "TRIGGER",
	"CREATE TABLESPACE", "DELETE HISTORY", "SET USER", "FEDERATED ADMIN", "CONNECTION ADMIN", "READ_ONLY ADMIN", "REPLICATION SLAVE ADMIN",
	"REPLICATION MASTER ADMIN", "BINLOG ADMIN", "BINLOG REPLAY", "SLAVE MONITOR", "SHOW CREATE ROUTINE"}

func mariadbPrivileges(word uint64) []string {
	list := make([]string, 0, bits.OnesCount64(word))
	for i, name := range mariadbRights {
		if word>>i&1 == 1 {
			list = append(list, name)
		}
	}
	return list
}

// readGrants counts the rights below the global level, roles and proxies. Tables that a version does not
// have are not asked for; one that can't be read is noted, and the accounts are kept without it.
func (r *accountReader) readGrants() error {
	id := r.g.Identity
	group := func(table, extra string) string {
		return "SELECT User AS user, Host AS host, COUNT(*) AS n" + extra + " FROM mysql." + table + " GROUP BY User, Host"
	}
	type step struct {
		statement string
		apply     func(row Row)
	}
	counted := func(field func(*monolith.Account) *int) func(Row) {
		return func(row Row) {
			if a := r.account(row); a != nil {
				*field(a) += number(row, "n")
				a.GrantBelow = a.GrantBelow || number(row, "grants") > 0
			}
		}
	}
	steps := []step{
		{group("db", ", SUM(Grant_priv = 'Y') AS grants"), counted(func(a *monolith.Account) *int { return &a.SchemaGrants })},
		{group("tables_priv", ", SUM(FIND_IN_SET('Grant', Table_priv) > 0) AS grants"), counted(func(a *monolith.Account) *int { return &a.TableGrants })},
		{group("columns_priv", ""), counted(func(a *monolith.Account) *int { return &a.ColumnGrants })},
		{group("procs_priv", ", SUM(FIND_IN_SET('Grant', Proc_priv) > 0) AS grants"), counted(func(a *monolith.Account) *int { return &a.RoutineGrants })},
	}
	if has(id, since{mysql: v(5, 5, 7), mariadb: v(5, 2)}) {
		steps = append(steps, step{group("proxies_priv", ""), counted(func(a *monolith.Account) *int { return &a.Proxies })})
	}
	if has(id, since{mariadb: v(10, 0, 5)}) {
		steps = append(steps, step{"SELECT User AS user, Host AS host, COUNT(*) AS n, SUM(Admin_option = 'Y') AS admin FROM mysql.roles_mapping GROUP BY User, Host", r.addRoles})
	}
	if has(id, since{mysql: v(8)}) {
		steps = append(steps,
			step{"SELECT USER AS user, HOST AS host, PRIV AS priv, WITH_GRANT_OPTION AS with_grant FROM mysql.global_grants", r.addDynamic},
			step{"SELECT TO_USER AS user, TO_HOST AS host, COUNT(*) AS n, SUM(WITH_ADMIN_OPTION = 'Y') AS admin FROM mysql.role_edges GROUP BY TO_USER, TO_HOST", r.addRoles},
			step{"SELECT USER AS user, HOST AS host, DEFAULT_ROLE_USER AS role_user, DEFAULT_ROLE_HOST AS role_host FROM mysql.default_roles", func(row Row) {
				r.addDefaultRole(first(row.Text("user")), first(row.Text("host")), first(row.Text("role_user")), first(row.Text("role_host")))
			}},
			step{"SELECT DISTINCT FROM_USER AS user, FROM_HOST AS host FROM mysql.role_edges", func(row Row) {
				if a := r.account(row); a != nil {
					a.IsRole = true
				}
			}},
		)
	}
	for _, s := range steps {
		err := r.g.Session.Query(r.ctx, s.statement, func(row Row) error { s.apply(row); return nil })
		var refused *mysql.MySQLError
		if errors.As(err, &refused) {
			r.partial = true
			cure := ""
			if isDenial(refused) { // a fork without the table is another matter
				cure = r.g.grant()
			}
			r.g.Note(monolith.ProblemPartial, "the accounts are read, but not all of their rights: "+printable(refused.Message), cure)
			continue
		}
		if err != nil {
			return err
		}
	}
	if has(id, since{mysql: v(8)}) {
		// CREATE ROLE makes an account that is locked, expired and without a password.
		for i := range r.accounts {
			a := &r.accounts[i]
			a.IsRole = a.IsRole || a.Locked && a.Expired && a.AuthEmpty
		}
	}
	return nil
}

// addDynamic adds a dynamic privilege of MySQL 8.
func (r *accountReader) addDynamic(row Row) {
	a := r.account(row)
	if a == nil {
		return
	}
	a.Privileges = append(a.Privileges, strings.ToUpper(printable(first(row.Text("priv")))))
	a.GrantGlobal = a.GrantGlobal || isYes(row, "with_grant")
}
