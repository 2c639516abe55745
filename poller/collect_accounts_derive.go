package poller

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"monolith"
)

// addRoles counts the roles of an account.
func (r *accountReader) addRoles(row Row) {
	if a := r.account(row); a != nil {
		a.Roles += number(row, "n")
		a.RoleAdmin = a.RoleAdmin || number(row, "admin") > 0
	}
}

// addDefaultRoles takes over which role is active from the login on, by the accounts' places. MariaDB has one, by its name.
func (r *accountReader) addDefaultRoles(roles []string) {
	for i, role := range roles {
		if role != "" && i < len(r.accounts) {
			r.addDefaultRole(r.accounts[i].User, r.accounts[i].Host, role, "")
		}
	}
}

func (r *accountReader) addDefaultRole(user, host, role, roleHost string) {
	i, ok := r.by[keyOf(printable(user), printable(host))]
	if !ok {
		return
	}
	if k, ok := r.by[keyOf(printable(role), printable(roleHost))]; ok && k != i {
		r.active[i] = append(r.active[i], k)
	}
}

// derive gives the accounts the rights of their roles, and works out what follows.
func (r *accountReader) derive() {
	on := monolith.AccountFacts{
		Identity: r.g.Identity, Now: r.g.Now, Hostname: r.g.variable("hostname"), Account: r.g.Account,
	}
	on.DefaultLifetime, _ = strconv.Atoi(r.g.variable("default_password_lifetime"))
	for i := range r.accounts {
		a := &r.accounts[i]
		for _, k := range r.active[i] {
			a.RolePrivileges = append(a.RolePrivileges, r.accounts[k].Privileges...)
		}
		slices.Sort(a.RolePrivileges)
		a.RolePrivileges = slices.Compact(a.RolePrivileges)
		a.RightsMissing = r.partial
		a.Derive(on)
	}
}

const maxOpenGrants = 200

// readOpenGrants reads what everybody may do in which schemas. PUBLIC stands for everybody since MariaDB 10.11.
func readOpenGrants(ctx context.Context, g *Gather) ([]monolith.OpenGrant, error) {
	grants := []monolith.OpenGrant{}
	who := "User = ''"
	if has(g.Identity, since{mariadb: v(10, 11)}) {
		who = "User IN ('', 'PUBLIC')"
	}
	err := g.Session.Query(ctx, "SELECT User AS user, Host AS host, Db AS db FROM mysql.db WHERE "+who+" ORDER BY Db, User, Host LIMIT "+
		strconv.Itoa(maxOpenGrants), func(row Row) error {
		o := monolith.OpenGrant{
			User: printable(first(row.Text("user"))), Host: printable(first(row.Text("host"))), Schema: printable(first(row.Text("db"))),
		}
		switch strings.ToLower(o.Schema) {
		case "test", "test_%", `test\_%`:
			o.Test = true
		}
		grants = append(grants, o)
		return nil
	})
	if err := noteRefusal(g, err, "it is not known which schemas are open to everybody", g.grant()); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	return grants, nil
}

// recordAccounts records how many accounts are of a kind that matters. Roles and what the server made itself are left out.
func recordAccounts(g *Gather, accounts []monolith.Account, open []monolith.OpenGrant) {
	var people, passwordless, anonymous, plain, writers, expiring uint64
	count := func(n *uint64, is bool) {
		if is {
			*n++
		}
	}
	for i := range accounts {
		a := &accounts[i]
		if a.IsRole || a.Reserved {
			continue
		}
		people++
		count(&passwordless, a.Passwordless)
		count(&anonymous, a.Anonymous)
		count(&plain, a.Usable && !a.Local && a.SSLType == "")
		count(&writers, a.WritesReadOnly)
		count(&expiring, a.PasswordDays != nil && *a.PasswordDays < 30)
	}
	rec := g.Recorder("server")
	for _, x := range []struct {
		name string
		n    uint64
	}{
		{"accounts", people}, {"accounts_passwordless", passwordless}, {"accounts_anonymous", anonymous}, {"accounts_remote_without_tls", plain},
		{"accounts_write_read_only", writers}, {"accounts_expiring", expiring},
	} {
		rec.Number(x.name, "", monolith.Uint(x.n))
	}
	if open != nil {
		test := uint64(0)
		for _, o := range open {
			count(&test, o.Test)
		}
		rec.Number("open_grants", "", monolith.Uint(uint64(len(open))))
		rec.Number("open_test_grants", "", monolith.Uint(test))
	}
	rec.Done()
}
