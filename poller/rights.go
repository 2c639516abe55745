package poller

import (
	"cmp"
	"context"
	"hash/crc32"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

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
	// local stands for the rights on single schemas, tables and columns: it differs when they do.
	local uint64
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
	return r.known == other.known && r.local == other.local && maps.Equal(r.held, other.held) &&
		maps.EqualFunc(r.lessOn, other.lessOn, func(a, b map[string]bool) bool { return maps.Equal(a, b) })
}

// grantOfRights is a line of SHOW GRANTS about global rights, or about a schema that is left out of them. No name of a
// right has a quote or a backtick, so that the words of a name can't be taken for it.
var grantOfRights = regexp.MustCompile("^(GRANT|REVOKE) ([A-Z0-9_, ]+?) ON (\\*|[`\"](.+)[`\"])\\.\\* (?:TO|FROM) ")

// addGrant takes in one line of SHOW GRANTS.
func (r *rights) addGrant(line string) {
	m := grantOfRights.FindStringSubmatch(line)
	if m == nil {
		r.local += uint64(crc32.ChecksumIEEE([]byte(line))) // the order of lines says nothing
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
		r.local += uint64(crc32.ChecksumIEEE([]byte(line)))
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
	err = u.Query(ctx, localRights(grantee), func(row Row) error {
		for i := range 3 {
			n, _ := strconv.ParseUint(string(row.Bytes(i)), 10, 64)
			r.local += n // NULL, of no rights, adds nothing
		}
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

// localRights sums up an account's rights on single schemas, tables and columns in one row, however many there are.
func localRights(grantee string) string {
	sum := func(table, what string) string {
		return "(SELECT SUM(CRC32(CONCAT_WS('.', " + what + ", PRIVILEGE_TYPE))) FROM information_schema." + table + " WHERE GRANTEE = " + quoteText(grantee) + ")"
	}
	return "SELECT " + sum("SCHEMA_PRIVILEGES", "TABLE_SCHEMA") + " AS of_schemas, " + sum("TABLE_PRIVILEGES", "TABLE_SCHEMA, TABLE_NAME") +
		" AS of_tables, " + sum("COLUMN_PRIVILEGES", "TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME") + " AS of_columns"
}

// rightsShare is the part of the time that comparing rights may take: a server writes the rights of all accounts into a
// temporary table to tell us one's. rightsRest bounds how long it rests for that.
const (
	rightsShare = 1000
	rightsRest  = 10 * time.Minute
)

// doubtsRights reports whether the account's rights are to be compared with those of the login in this poll: at each tick
// of the slow schedule, when a collector was denied what it had, and when people ask.
func (p *poll) doubtsRights(now time.Time) bool {
	ps := &p.t.poll
	return p.all || ps.denial || p.slow && now.Sub(ps.rightsAt) >= min(cmp.Or(p.t.p.cfg.rightsShare, rightsShare)*ps.rightsTook, rightsRest)
}

// noteDenial remembers whether a collector was denied a right, and that it was not before.
func (p *poll) noteDenial(c *Collector, denied bool) {
	ps := &p.t.poll
	ps.denial = ps.denial || denied && !ps.denied[c.Name]
	if denied {
		ps.denied[c.Name] = true
	} else {
		delete(ps.denied, c.Name)
	}
}

// renewRights logs in again when the account has other rights than at the login, and has what needs rights read at once: what
// people granted works without anything having to be restarted, and what they took away is said before its turn comes.
func (p *poll) renewRights(ctx context.Context) {
	ps := &p.t.poll
	ps.denial = false
	began := time.Now()
	now, err := ps.session.readRights(ctx, &use{s: ps.session, limit: p.limit})
	ps.rightsAt, ps.rightsTook = began, time.Since(began)
	if err != nil || !now.known || now.equal(ps.session.rights) {
		return
	}
	p.t.p.log.Info("poller: the account's rights changed, logging in again", "server", p.server.Name)
	p.t.disconnect()
	p.dueAll(func(c *Collector) bool { return c.Schedule != monolith.Fast && c.Grant != nil })
	p.snap.Problems = append(p.snap.Problems, p.connectionProblem(ctx)...)
}
