package monolith

import (
	"slices"
	"strings"
	"time"
)

// passwordPlugins keep a secret on the server that the client must prove to know.
var passwordPlugins = map[string]bool{
	"mysql_native_password": true, "mysql_old_password": true, "sha256_password": true, "caching_sha2_password": true,
	"ed25519": true, "parsec": true,
}

// externalPlugins ask the operating system, a directory or another service.
var externalPlugins = map[string]bool{
	"auth_socket": true, "unix_socket": true, "named_pipe": true, "auth_pam": true, "auth_pam_compat": true, "authentication_pam": true,
	"pam": true, "gssapi": true, "auth_gssapi_client": true, "authentication_windows": true, "authentication_windows_client": true,
	"authentication_ldap_simple": true, "authentication_ldap_sasl": true, "authentication_kerberos": true, "authentication_webauthn": true,
	"authentication_fido": true, "authentication_oci": true, "authentication_openid_connect": true, "AWSAuthenticationPlugin": true,
	"aad_auth": true, noLogin: true,
}

// noLogin lets nobody in: such accounts are for definers of views and routines.
const noLogin = "mysql_no_login"

// ClassOfPlugin sorts an authentication plugin, for a server of the given kind. known is false for a name that Monolith has
// never heard of; that is taken for an external one.
func ClassOfPlugin(plugin string, id Identity) (class PluginClass, known bool) {
	mysqlFrom := func(major, minor, patch int) bool {
		return id.Flavour.IsMySQL() && id.Version.Compare(Version{Major: major, Minor: minor, Patch: patch}) >= 0
	}
	switch {
	case plugin == "" && mysqlFrom(5, 7, 0):
		return PluginDead, true // the server disables accounts without a plugin
	case plugin == "":
		return PluginPassword, true
	case plugin == "mysql_old_password" && mysqlFrom(5, 7, 5), plugin == "mysql_native_password" && mysqlFrom(9, 0, 0):
		return PluginDead, true // it is gone
	case passwordPlugins[plugin]:
		return PluginPassword, true
	case externalPlugins[plugin]:
		return PluginExternal, true
	}
	return PluginExternal, false
}

// ways gives the ways to log in. Alternatives, where there are any, are all of them.
func (a *Account) ways() []AuthWay {
	if len(a.Alternatives) > 0 {
		return a.Alternatives
	}
	return []AuthWay{{Plugin: a.Plugin, AuthEmpty: a.AuthEmpty, AuthLength: a.AuthLength}}
}

// Derive works out what follows from what was read.
func (a *Account) Derive(on AccountFacts) {
	a.deriveLogin(on.Identity)
	a.Anonymous = a.User == "" && !a.IsRole && a.Host != ""
	a.Root = a.User == "root" && !a.IsRole
	host := strings.ToLower(a.Host)
	a.Local = !a.IsRole && (host == "localhost" || host == "127.0.0.1" || host == "::1" ||
		host != "" && (host == strings.ToLower(on.Hostname) || host == strings.ToLower(on.Identity.Hostname)))
	a.Wildcard = !a.IsRole && (host == "" || strings.ContainsAny(host, "%_")) // a blank host is any
	a.KnownAdmin = a.Host == "localhost" && (a.User == "debian-sys-maint" ||
		a.User == "mysql" && on.Identity.Flavour.IsMariaDB() && a.has("unix_socket"))
	a.Own = on.Account != "" && a.User+"@"+a.Host == on.Account
	a.derivePowers(on.Identity)
	a.UsageOnly = !a.IsRole && !a.RightsMissing && len(a.Privileges)+len(a.RolePrivileges) == 0 && !a.GrantGlobal &&
		a.SchemaGrants+a.TableGrants+a.ColumnGrants+a.RoutineGrants+a.Roles+a.Proxies == 0
	a.deriveExpiry(on)
}

func (a *Account) has(plugin string) bool {
	return slices.ContainsFunc(a.ways(), func(w AuthWay) bool { return w.Plugin == plugin })
}

func (a *Account) deriveLogin(id Identity) {
	a.PluginClass, a.UnknownPlugin = PluginDead, ""
	canLogIn, open := false, false
	a.OldPassword = false
	for _, w := range a.ways() {
		class, known := ClassOfPlugin(w.Plugin, id)
		if !known {
			a.UnknownPlugin = w.Plugin
		}
		canLogIn = canLogIn || class != PluginDead && w.Plugin != noLogin
		open = open || class == PluginPassword && w.AuthEmpty
		// The hash of before 4.1 has 16 digits, later ones 41 characters.
		a.OldPassword = a.OldPassword || w.Plugin == "mysql_old_password" && !w.AuthEmpty ||
			w.AuthLength == 16 && (w.Plugin == "" || w.Plugin == "mysql_native_password")
		switch {
		case class == PluginPassword:
			a.PluginClass = PluginPassword
		case class == PluginExternal && a.PluginClass == PluginDead:
			a.PluginClass = PluginExternal
		}
	}
	a.Usable = canLogIn && !a.IsRole && !a.Locked
	a.Passwordless = open && a.Usable && !a.SecondFactor
}

// harmlessPrivileges are the global ones that monitoring, replication and backups need. REFERENCES shows what columns there are, and
// alone lets nobody read or change one.
var harmlessPrivileges = map[string]bool{
	"USAGE": true, "PROCESS": true, "REPLICATION CLIENT": true, "BINLOG MONITOR": true, "REPLICA MONITOR": true, "SLAVE MONITOR": true,
	"REPLICATION SLAVE": true, "SHOW DATABASES": true, "SHOW VIEW": true, "RELOAD": true, "LOCK TABLES": true, "BACKUP_ADMIN": true,
	"SHOW CREATE ROUTINE": true, "SHOW_ROUTINE": true, "REFERENCES": true,
}

// adminPrivileges let their holder administer the server, reach its files or become anybody.
var adminPrivileges = map[string]bool{
	"ALL PRIVILEGES": true, "SUPER": true, "GRANT OPTION": true, "CREATE USER": true, "FILE": true, "SHUTDOWN": true,
	"SET_USER_ID": true, "SET_ANY_DEFINER": true, "SET USER": true, "SYSTEM_VARIABLES_ADMIN": true,
}

func (a *Account) derivePowers(id Identity) {
	all := slices.Concat(a.Privileges, a.RolePrivileges)
	slices.Sort(all)
	a.Powers, a.AdminPowers = []string{}, []string{}
	for _, p := range slices.Compact(all) {
		if harmlessPrivileges[p] {
			continue
		}
		a.Powers = append(a.Powers, p)
		if adminPrivileges[p] {
			a.AdminPowers = append(a.AdminPowers, p)
		}
	}
	a.PowersCount, a.AdminPowersCount = len(a.Powers), len(a.AdminPowers)
	holds := func(p string) bool { return slices.Contains(a.Powers, p) }
	if id.Flavour.IsMariaDB() {
		// SUPER included it up to 10.10.
		a.WritesReadOnly = holds("READ_ONLY ADMIN") || holds("SUPER") && id.Version.Compare(Version{Major: 10, Minor: 11}) < 0
	} else {
		a.WritesReadOnly = holds("SUPER") || holds("CONNECTION_ADMIN")
	}
	a.WritesReadOnly = a.WritesReadOnly && a.Usable
}

const day = 24 * time.Hour

// deriveExpiry works out when the password ends. Only a password does; nobody asks one of a locked account or a role.
func (a *Account) deriveExpiry(on AccountFacts) {
	a.PasswordExpires, a.PasswordDays = nil, nil
	if !a.Usable || a.Reserved || a.PluginClass != PluginPassword {
		return
	}
	lifetime := on.DefaultLifetime
	if a.PasswordLifetime != nil {
		lifetime = *a.PasswordLifetime
	}
	if a.PasswordChanged != nil && lifetime > 0 {
		end := a.PasswordChanged.Add(time.Duration(lifetime) * day)
		days := float64(end.Sub(on.Now)) / float64(day)
		a.PasswordExpires, a.PasswordDays = &end, &days
	}
	if a.Expired && (a.PasswordDays == nil || *a.PasswordDays > 0) {
		a.PasswordExpires, a.PasswordDays = nil, new(0.0) // by hand: PASSWORD EXPIRE
	}
}
