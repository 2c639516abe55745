package poller

import (
	"context"
	"maps"
	"regexp"
	"strings"

	"monolith"
)

// rights are the global rights of an account, its role's among them. A session keeps those of its login for ever: what is
// granted later counts for later sessions only. Collectors ask these, and not the server, whether an
// answer can be complete, since many answers are just smaller without a right.
type rights struct {
	known bool // false: the server did not tell
	held  map[string]bool
	// lessOn says that a right held globally is taken away on some schemas (partial_revokes, MySQL ≥ 8.0.16).
	lessOn map[string]map[string]bool // schema → rights
}

// has reports whether one of the rights is held; false where that is not known.
func (r rights) has(names ...string) bool {
	for _, n := range names {
		if r.held[n] || r.held["ALL PRIVILEGES"] {
			return true
		}
	}
	return false
}

// tableRights are the rights that make tables visible in information_schema when they are held globally.
var tableRights = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "REFERENCES", "INDEX", "ALTER", "SHOW VIEW", "CREATE VIEW",
	"TRIGGER", "DELETE HISTORY", "DELETE VERSIONING ROWS"}

// seesAllTables reports whether no table of people's schemas is hidden.
func (r rights) seesAllTables() bool {
	for schema, less := range r.lessOn {
		left := false
		for _, n := range tableRights {
			left = left || r.has(n) && !less[n]
		}
		if !left && !strings.Contains(systemSchemas, "'"+schema+"'") {
			return false
		}
	}
	return r.has(tableRights...)
}

func (r rights) equal(other rights) bool {
	return r.known == other.known && maps.Equal(r.held, other.held) &&
		maps.EqualFunc(r.lessOn, other.lessOn, func(a, b map[string]bool) bool { return maps.Equal(a, b) })
}

// grantOfRights is a line of SHOW GRANTS about global rights, or about a schema that is left out of them. No name of a
// right has a quote or a backtick, so that the words of a name can't be taken for it.
var grantOfRights = regexp.MustCompile("^(GRANT|REVOKE) ([A-Z0-9_, ]+?) ON (\\*|[`\"](.+)[`\"])\\.\\* (?:TO|FROM) ")

// addGrant takes in one line of SHOW GRANTS.
func (r *rights) addGrant(line string) {
	m := grantOfRights.FindStringSubmatch(line)
	if m == nil {
		return
	}
	into := r.held
	switch {
	case m[1] == "REVOKE" && m[3] != "*":
		if r.lessOn == nil {
			r.lessOn = map[string]map[string]bool{}
		}
		if r.lessOn[m[4]] == nil {
			r.lessOn[m[4]] = map[string]bool{}
		}
		into = r.lessOn[m[4]]
	case m[1] != "GRANT" || m[3] != "*":
		return
	}
	for _, name := range strings.Split(m[2], ",") {
		into[strings.TrimSpace(name)] = true
	}
}

// readRights asks for the rights of the session's account. Except on MySQL ≥ 8.0 it is not SHOW GRANTS that is
// asked about the account, since that sends the hash of its password.
func (s *session) readRights(ctx context.Context, u *use) (rights, error) {
	r := rights{held: map[string]bool{}}
	grants := func(statement string) error {
		return u.Query(ctx, statement, func(row Row) error {
			r.addGrant(string(row.Bytes(0)))
			return nil
		})
	}
	if has(s.identity, since{mysql: v(8)}) {
		if err := grants("SHOW GRANTS"); err != nil {
			return rights{}, err
		}
		r.known = true
		return r, nil
	}
	at := max(strings.LastIndexByte(s.account, '@'), 0)
	grantee := "'" + s.account[:at] + "'@'" + strings.TrimPrefix(s.account[at:], "@") + "'" // the column escapes nothing
	err := u.Query(ctx, "SELECT PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES WHERE GRANTEE = "+quoteText(grantee), func(row Row) error {
		r.held[string(row.Bytes(0))] = true
		return nil
	})
	if err != nil {
		return rights{}, err
	}
	if has(s.identity, since{mariadb: v(10, 0, 5)}) {
		role := false
		err := u.Query(ctx, "SELECT CURRENT_ROLE()", func(row Row) error {
			role = row.Bytes(0) != nil
			return nil
		})
		if err == nil && role {
			err = grants("SHOW GRANTS FOR CURRENT_ROLE")
		}
		if err != nil {
			return rights{}, err
		}
	}
	r.known = len(r.held) > 0 // at least USAGE: the account was found
	return r, nil
}

// renewRights logs in again when the account has been given other rights since the login, so that what people granted
// works without anything having to be restarted.
func (p *poll) renewRights(ctx context.Context) {
	ps := &p.t.poll
	now, err := ps.session.readRights(ctx, &use{s: ps.session, limit: p.limit})
	if err != nil || !now.known || now.equal(ps.session.rights) {
		return
	}
	p.t.p.log.Info("poller: the account's rights changed, logging in again", "server", p.server.Name)
	p.t.disconnect()
	p.dueAll(func(c *Collector) bool { return c.Schedule != monolith.Fast })
	p.snap.Problems = append(p.snap.Problems, p.connectionProblem(ctx)...)
}
