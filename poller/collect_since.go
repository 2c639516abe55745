package poller

import (
	"strings"

	"monolith"
)

// since names the versions from which on something exists. A zero version: never.
type since struct{ mysql, mariadb monolith.Version }

// v makes a version of one to three numbers.
func v(parts ...int) monolith.Version {
	var p [3]int
	copy(p[:], parts)
	return monolith.Version{Major: p[0], Minor: p[1], Patch: p[2]}
}

// has reports whether a server has something. A server of unknown version has nothing: what it can do is
// found by asking. Neither has TiDB, whose versions are not MySQL's.
func has(id monolith.Identity, s since) bool {
	var from monolith.Version
	switch {
	case id.Flavour.IsMariaDB():
		from = s.mariadb
	case id.Flavour.IsMySQL():
		from = s.mysql
	}
	return !from.IsZero() && !id.Version.IsZero() && id.Version.Compare(from) >= 0
}

// grantGlobal gives the statement that grants a global right.
func grantGlobal(right, account string) string {
	return "GRANT " + right + " ON *.* TO " + quoteAccount(account) + ";"
}

// quoteAccount writes user@host as 'user'@'host'. The host stands behind the last @.
func quoteAccount(account string) string {
	if strings.HasPrefix(account, "'") || strings.HasPrefix(account, "`") {
		return account
	}
	user, host := account, "%"
	if i := strings.LastIndexByte(account, '@'); i >= 0 {
		user, host = account[:i], account[i+1:]
	}
	return "'" + accountQuotes.Replace(user) + "'@'" + accountQuotes.Replace(host) + "'"
}

// accountQuotes is made once: at each poll every collector's account is quoted.
var accountQuotes = strings.NewReplacer(`\`, `\\`, "'", "''")
