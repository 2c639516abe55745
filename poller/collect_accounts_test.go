package poller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

func columnsOf(names ...string) answer {
	a := answer{columns: []string{"Field", "Type"}}
	for _, n := range names {
		a.rows = append(a.rows, []string{n, "x"})
	}
	return a
}

func counted(rows ...[]string) answer {
	return answer{columns: []string{"user", "host", "n", "grants"}, rows: rows}
}

// grantTables answers the tables that every version has with nothing.
func grantTables(more map[string]answer) map[string]answer {
	all := map[string]answer{}
	for _, table := range []string{"db", "tables_priv", "columns_priv", "procs_priv"} {
		begin := "SELECT User AS user, Host AS host, COUNT(*) AS n"
		switch table {
		case "db":
			begin += ", SUM(Grant_priv"
		case "tables_priv":
			begin += ", SUM(FIND_IN_SET('Grant', Table_priv)"
		case "procs_priv":
			begin += ", SUM(FIND_IN_SET('Grant', Proc_priv)"
		case "columns_priv":
			begin += " FROM mysql.columns_priv"
		}
		all[begin] = counted()
	}
	all[openGrants] = answer{columns: []string{"user", "host", "db"}}
	for k, v := range more {
		all[k] = v
	}
	return all
}

const openGrants = "SELECT User AS user, Host AS host, Db AS db FROM mysql.db WHERE User"

func TestAccountsOfMySQL8(t *testing.T) {
	t.Parallel()
	columns := columnsOf("Host", "User", "Select_priv", "Super_priv", "Grant_priv", "plugin", "authentication_string", "password_expired",
		"password_last_changed", "account_locked", "User_attributes", "Create_role_priv", "ssl_type", "password_lifetime")
	f := &fakeSession{answers: grantTables(map[string]answer{
		"SHOW COLUMNS FROM mysql.user": columns,
		"SELECT User AS user, Host AS host, COALESCE(authentication_string, '') = ''": {
			columns: []string{"user", "host", "auth_empty", "auth_length", "plugin", "locked", "expired", "changed", "factors", "Select_priv", "Super_priv", "Grant_priv", "Create_role_priv", "ssl_type", "lifetime"},
			rows: [][]string{
				{"root", "localhost", "0", "70", "caching_sha2_password", "N", "N", "1700000000", "0", "Y", "Y", "Y", "Y", "", null},
				{"mysql.sys", "localhost", "0", "70", "caching_sha2_password", "Y", "N", null, "0", "N", "N", "N", "N", "", null},
				{"reader", "%", "1", "0", "caching_sha2_password", "Y", "Y", null, "0", "Y", "N", "N", "N", "", null},
				{"app", "10.%", "1", "0", "caching_sha2_password", "N", "N", "1700000000", "1", "N", "N", "N", "N", "X509", "10"},
				{"granted", "%", "0", "70", "caching_sha2_password", "N", "N", null, "0", "N", "N", "N", "N", "", "0"},
			}},
		"SELECT USER AS user, HOST AS host, PRIV": {columns: []string{"user", "host", "priv", "with_grant"}, rows: [][]string{
			{"app", "10.%", "backup_admin", "N"}, {"app", "10.%", "BACKUP_ADMIN", "N"}, {"root", "localhost", "CLONE_ADMIN", "Y"}}},
		"SELECT TO_USER AS user": {columns: []string{"user", "host", "n", "admin"}, rows: [][]string{{"app", "10.%", "2", "1"}}},
		"SELECT USER AS user, HOST AS host, DEFAULT_ROLE_USER": {columns: []string{"user", "host", "role_user", "role_host"},
			rows: [][]string{{"app", "10.%", "reader", "%"}, {"app", "10.%", "gone", "%"}, {"gone", "%", "reader", "%"}}},
		openGrants:                          {columns: []string{"user", "host", "db"}, rows: [][]string{{"", "%", `test\_%`}, {"", "%", "test_orders"}, {"", "%", "TEST"}}},
		"SELECT DISTINCT FROM_USER AS user": {columns: []string{"user", "host"}, rows: [][]string{{"granted", "%"}}},
		"SELECT User AS user, Host AS host, COUNT(*) AS n FROM mysql.proxies_priv": counted([]string{"root", "localhost", "1"}),
		"SELECT User AS user, Host AS host, COUNT(*) AS n, SUM(Grant_priv":         counted([]string{"app", "10.%", "3", "1"}, []string{"gone", "%", "1", "0"}),
	})}
	snap, err := collect(t, accountsCollector(), server("8.4.0", ""), f, func(g *Gather) {
		g.Now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	})
	if err != nil || len(f.refused) > 0 || len(snap.Problems) > 0 {
		t.Fatalf("%v, refused %q, problems %v", err, f.refused, snap.Problems)
	}
	by := accountsByName(snap)
	if a := by["root@localhost"]; !a.GrantGlobal || a.IsRole || a.Reserved || a.PasswordChanged == nil || a.Proxies != 1 {
		t.Errorf("%+v", a)
	}
	if diff := cmp.Diff([]string{"CLONE_ADMIN", "CREATE ROLE", "GRANT OPTION", "SELECT", "SUPER"}, by["root@localhost"].Privileges); diff != "" {
		t.Error(diff)
	}
	if a := by["mysql.sys@localhost"]; !a.Reserved || !a.Locked {
		t.Errorf("%+v", a)
	}
	if a := by["reader@%"]; !a.IsRole {
		t.Errorf("a locked, expired account without a password is a role: %+v", a)
	}
	if a := by["granted@%"]; !a.IsRole {
		t.Errorf("what is granted to others is a role: %+v", a)
	}
	if a := by["app@10.%"]; !a.SecondFactor || !a.AuthEmpty || a.Roles != 2 || a.SchemaGrants != 3 || !a.GrantBelow || len(a.Privileges) != 1 {
		t.Errorf("%+v", a)
	}
	a := by["app@10.%"]
	if a.SSLType != "X509" || a.PasswordLifetime == nil || *a.PasswordLifetime != 10 || a.PasswordDays == nil || *a.PasswordDays > -300 ||
		!a.RoleAdmin || a.RightsMissing || a.Passwordless || !cmp.Equal(a.Powers, []string{"SELECT"}) || a.UsageOnly {
		t.Errorf("%+v", a)
	}
	if diff := cmp.Diff([]monolith.OpenGrant{{Host: "%", Schema: `test\_%`, Test: true}, {Host: "%", Schema: "test_orders"}, {Host: "%", Schema: "TEST", Test: true}},
		snap.OpenGrants); diff != "" {
		t.Error(diff)
	}
	wants(t, snap, map[string]string{"server.accounts": "2", "server.accounts_passwordless": "0", "server.accounts_anonymous": "0",
		"server.accounts_remote_without_tls": "0", "server.accounts_write_read_only": "1", "server.accounts_expiring": "1",
		"server.open_grants": "3", "server.open_test_grants": "2"})
	mustNotReadHashes(t, f.sent)
}

func TestAccountsOfMySQL55(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: grantTables(map[string]answer{
		"SHOW COLUMNS FROM mysql.user": columnsOf("Host", "User", "Password", "Select_priv", "plugin", "authentication_string"),
		"SELECT User AS user, Host AS host, CONCAT(Password": {columns: []string{"user", "host", "auth_empty", "auth_length", "plugin", "Select_priv"},
			rows: [][]string{{"root", "localhost", "1", "0", "", "Y"}, {"", "localhost", "1", "0", "", "N"}}},
		"SELECT User AS user, Host AS host, COUNT(*) AS n FROM mysql.proxies_priv": refuse(1142, "SELECT command denied to user for table 'proxies_priv'"),
	})}
	snap, err := collect(t, accountsCollector(), server("5.5.62", ""), f)
	if err != nil || len(snap.Accounts) != 2 || len(f.refused) > 0 {
		t.Fatal(snap.Accounts, err, f.refused)
	}
	if a := accountsByName(snap)["@localhost"]; !a.AuthEmpty || a.Privileges == nil || !a.Passwordless || !a.Anonymous || !a.RightsMissing || a.UsageOnly {
		t.Errorf("the anonymous account is %+v", a)
	}
	if problemKinds(snap) != "[partial]" || !strings.Contains(snap.Problems[0].Cure, "GRANT SELECT ON mysql.*") {
		t.Errorf("%v", snap.Problems)
	}
	mustNotReadHashes(t, f.sent)
}

// TestOpenGrantsMayBeHidden: what can't be read is not taken for nothing.
func TestOpenGrantsMayBeHidden(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: grantTables(map[string]answer{
		"SHOW COLUMNS FROM mysql.user":          columnsOf("Host", "User", "Password"),
		"SELECT User AS user, Host AS host, Pa": {columns: []string{"user", "host", "auth_empty", "auth_length"}, rows: [][]string{{"a", "%", "0", "41"}}},
		openGrants:                              refuse(1142, "SELECT command denied to user for table 'db'"),
		"SELECT User AS user, Host AS host, COUNT(*) AS n FROM mysql.proxies_priv": counted(),
	})}
	snap, err := collect(t, accountsCollector(), server("5.6.51", ""), f)
	if err != nil || snap.OpenGrants != nil || len(snap.Accounts) != 1 || problemKinds(snap) != "[privilege]" {
		t.Fatal(snap.OpenGrants, err, snap.Problems)
	}
	wants(t, snap, map[string]string{"server.open_grants": "absent", "server.accounts_remote_without_tls": "1"})
}

func TestMariaDBPrivilegeBits(t *testing.T) {
	t.Parallel()
	if got := mariadbPrivileges(1 | 1<<8 | 1<<15 | 1<<38); !cmp.Equal(got, []string{"SELECT", "PROCESS", "SUPER", "SLAVE MONITOR"}) {
		t.Errorf("got %v", got)
	}
	if got := mariadbPrivileges(1<<64 - 1); len(got) != len(mariadbRights) {
		t.Errorf("all bits give %d rights", len(got))
	}
}

func accountsByName(snap *monolith.Snapshot) map[string]monolith.Account {
	by := map[string]monolith.Account{}
	for _, a := range snap.Accounts {
		by[a.User+"@"+a.Host] = a
	}
	return by
}

// mustNotReadHashes looks for a hash among what the statements select as it is.
func mustNotReadHashes(t *testing.T, statements []string) {
	t.Helper()
	for _, s := range statements {
		for column := range strings.SplitSeq(s, ",") {
			column = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(column, "SELECT")))
			if column == "password" || column == "authentication_string" || column == "priv" || column == "*" {
				t.Errorf("%q reads a hash", s)
			}
		}
	}
}
