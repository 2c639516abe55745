package monolith

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func identityOf(flavour Flavour, version string) Identity {
	return Identity{Flavour: flavour, Version: ParseVersion(version), VersionText: version, Hostname: "db7"}
}

// TestPasswordless holds who can log in without a secret, and above all who can not.
func TestPasswordless(t *testing.T) {
	native, socket := AuthWay{Plugin: "mysql_native_password", AuthEmpty: true}, AuthWay{Plugin: "unix_socket", AuthEmpty: true}
	mariadb, mysql8, mysql56, mysql57, mysql9 := identityOf(MariaDB, "10.11.6-MariaDB"), identityOf(MySQL, "8.0.36"),
		identityOf(MySQL, "5.6.51"), identityOf(Percona, "5.7.44"), identityOf(MySQL, "9.1.0")
	for _, c := range []struct {
		name    string
		id      Identity
		a       Account
		open    bool
		class   PluginClass
		usable  bool
		unknown string
	}{
		{"empty native", mysql8, Account{Plugin: "mysql_native_password", AuthEmpty: true}, true, PluginPassword, true, ""},
		{"empty sha2", mysql8, Account{Plugin: "caching_sha2_password", AuthEmpty: true}, true, PluginPassword, true, ""},
		{"with password", mysql8, Account{Plugin: "caching_sha2_password", AuthLength: 70}, false, PluginPassword, true, ""},
		{"second factor", mysql8, Account{Plugin: "caching_sha2_password", AuthEmpty: true, SecondFactor: true}, false, PluginPassword, true, ""},
		{"locked", mysql8, Account{Plugin: "mysql_native_password", AuthEmpty: true, Locked: true}, false, PluginPassword, false, ""},
		{"expired", mysql8, Account{Plugin: "mysql_native_password", AuthEmpty: true, Expired: true}, true, PluginPassword, true, ""},
		{"role", mariadb, Account{AuthEmpty: true, IsRole: true}, false, PluginPassword, false, ""},
		{"socket of Ubuntu", mysql8, Account{Plugin: "auth_socket", AuthEmpty: true}, false, PluginExternal, true, ""},
		{"socket of MariaDB", mariadb, Account{Plugin: "unix_socket", AuthEmpty: true}, false, PluginExternal, true, ""},
		{"no login", mysql8, Account{Plugin: "mysql_no_login", AuthEmpty: true}, false, PluginExternal, false, ""},
		{"unknown", mysql8, Account{Plugin: "corp_sso", AuthEmpty: true}, false, PluginExternal, true, "corp_sso"},
		{"no plugin, 5.6", mysql56, Account{AuthEmpty: true}, true, PluginPassword, true, ""},
		{"no plugin, MariaDB", mariadb, Account{AuthEmpty: true}, true, PluginPassword, true, ""},
		{"no plugin, 5.7", mysql57, Account{AuthEmpty: true}, false, PluginDead, false, ""},
		{"native on 9", mysql9, Account{Plugin: "mysql_native_password", AuthEmpty: true}, false, PluginDead, false, ""},
		{"old on 5.7", mysql57, Account{Plugin: "mysql_old_password", AuthLength: 16}, false, PluginDead, false, ""},
		// What MariaDB makes of root when it is installed: no password fits the text "invalid".
		{"bootstrap root", mariadb, Account{Plugin: "mysql_native_password", AuthLength: 7,
			Alternatives: []AuthWay{{Plugin: "mysql_native_password", AuthLength: 7}, socket}}, false, PluginPassword, true, ""},
		{"socket or nothing", mariadb, Account{Plugin: "unix_socket", AuthEmpty: true, Alternatives: []AuthWay{socket, native}}, true, PluginPassword, true, ""},
	} {
		c.a.Derive(AccountFacts{Identity: c.id})
		if c.a.Passwordless != c.open || c.a.PluginClass != c.class || c.a.Usable != c.usable || c.a.UnknownPlugin != c.unknown {
			t.Errorf("%s: passwordless %v, class %s, usable %v, unknown %q", c.name, c.a.Passwordless, c.a.PluginClass, c.a.Usable, c.a.UnknownPlugin)
		}
	}
}

func TestAccountHosts(t *testing.T) {
	for host, want := range map[string]struct{ local, wildcard bool }{
		"localhost": {true, false}, "127.0.0.1": {true, false}, "::1": {true, false}, "DB7": {true, false}, "db8": {}, "10.0.0.5": {},
		"%": {false, true}, "10.0.%": {false, true}, "db_": {false, true}, "": {false, true}, "other.example": {},
	} {
		a := Account{User: "root", Host: host}
		a.Derive(AccountFacts{Identity: identityOf(MySQL, "5.6.51"), Hostname: "db7", Account: "root@" + host})
		if a.Local != want.local || a.Wildcard != want.wildcard || !a.Root || !a.Own {
			t.Errorf("%q: local %v, wildcard %v, %+v", host, a.Local, a.Wildcard, a)
		}
	}
	role := Account{User: "PUBLIC", IsRole: true}
	role.Derive(AccountFacts{Identity: identityOf(MariaDB, "10.11.6")})
	if role.Wildcard || role.Anonymous || role.Local || role.UsageOnly {
		t.Errorf("PUBLIC is taken for an account: %+v", role)
	}
	blank := Account{Host: "localhost"}
	blank.Derive(AccountFacts{Identity: identityOf(MariaDB, "10.11.6")})
	if !blank.Anonymous || blank.Root || blank.Own {
		t.Errorf("blank user: %+v", blank)
	}
}

func TestAccountPowers(t *testing.T) {
	on := func(f Flavour, version string, a Account) Account {
		a.Plugin, a.AuthLength = "mysql_native_password", 41
		a.Derive(AccountFacts{Identity: identityOf(f, version)})
		return a
	}
	monitor := on(MariaDB, "10.11.6", Account{User: "mon", Host: "%", Privileges: []string{"BINLOG MONITOR", "PROCESS", "REFERENCES", "SHOW VIEW", "SLAVE MONITOR"}})
	if monitor.PowersCount != 0 || monitor.UsageOnly || monitor.Powers == nil {
		t.Errorf("a monitoring account has powers: %+v", monitor)
	}
	app := on(MySQL, "8.0.36", Account{Privileges: []string{"SELECT"}, RolePrivileges: []string{"SUPER", "SELECT"}})
	if !slices.Equal(app.Powers, []string{"SELECT", "SUPER"}) || !slices.Equal(app.AdminPowers, []string{"SUPER"}) || !app.WritesReadOnly {
		t.Errorf("a role's powers are missing: %+v", app)
	}
	for _, c := range []struct {
		flavour Flavour
		version string
		right   string
		want    bool
	}{
		{MySQL, "5.6.51", "SUPER", true}, {MySQL, "8.0.36", "CONNECTION_ADMIN", true}, {MySQL, "8.0.36", "SELECT", false},
		{MariaDB, "10.4.30", "SUPER", true}, {MariaDB, "10.11.6", "SUPER", false}, {MariaDB, "10.11.6", "READ_ONLY ADMIN", true},
	} {
		if a := on(c.flavour, c.version, Account{Privileges: []string{c.right}}); a.WritesReadOnly != c.want {
			t.Errorf("%s %s with %s writes while read_only=ON: %v", c.flavour, c.version, c.right, a.WritesReadOnly)
		}
	}
	if a := on(MariaDB, "10.11.6", Account{Privileges: []string{"READ_ONLY ADMIN"}, Locked: true}); a.WritesReadOnly {
		t.Error("a locked account writes")
	}
	for name, a := range map[string]Account{
		"schema": {SchemaGrants: 1}, "table": {TableGrants: 1}, "column": {ColumnGrants: 1}, "routine": {RoutineGrants: 1}, "role": {Roles: 1},
		"proxy": {Proxies: 1}, "global": {Privileges: []string{"SELECT"}}, "role itself": {IsRole: true}, "unread": {RightsMissing: true},
	} {
		if on(MySQL, "8.0.36", a).UsageOnly {
			t.Errorf("%s: has no right at all", name)
		}
	}
	if !on(MySQL, "8.0.36", Account{}).UsageOnly {
		t.Error("an account without rights has some")
	}
}

func TestKnownAdmins(t *testing.T) {
	for _, c := range []struct {
		id   Identity
		a    Account
		want bool
	}{
		{identityOf(MySQL, "8.0.36"), Account{User: "debian-sys-maint", Host: "localhost", Plugin: "caching_sha2_password"}, true},
		{identityOf(MySQL, "8.0.36"), Account{User: "debian-sys-maint", Host: "%", Plugin: "caching_sha2_password"}, false},
		{identityOf(MariaDB, "10.11.6"), Account{User: "mysql", Host: "localhost", Alternatives: []AuthWay{{Plugin: "unix_socket"}}}, true},
		{identityOf(MariaDB, "10.11.6"), Account{User: "mysql", Host: "localhost", Plugin: "mysql_native_password"}, false},
		{identityOf(MySQL, "8.0.36"), Account{User: "mysql", Host: "localhost", Plugin: "unix_socket"}, false},
	} {
		if c.a.Derive(AccountFacts{Identity: c.id}); c.a.KnownAdmin != c.want {
			t.Errorf("%+v", c.a)
		}
	}
}

func TestOldPasswords(t *testing.T) {
	for _, c := range []struct {
		plugin string
		length int
		want   bool
	}{{"", 16, true}, {"mysql_native_password", 16, true}, {"mysql_native_password", 41, false}, {"mysql_old_password", 16, true},
		{"mysql_old_password", 0, false}, {"caching_sha2_password", 16, false}, {"", 0, false}} {
		a := Account{Plugin: c.plugin, AuthLength: c.length, AuthEmpty: c.length == 0}
		if a.Derive(AccountFacts{Identity: identityOf(MariaDB, "10.11.6")}); a.OldPassword != c.want {
			t.Errorf("%q with %d characters: %v", c.plugin, c.length, a.OldPassword)
		}
	}
}

func TestPasswordExpiry(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	changed := now.Add(-85 * day)
	for _, c := range []struct {
		name    string
		a       Account
		dflt    int
		want    float64
		unknown bool
	}{
		{"default of 90 days", Account{PasswordChanged: &changed}, 90, 5, false},
		{"own of 80 days", Account{PasswordChanged: &changed, PasswordLifetime: new(80)}, 90, -5, false},
		{"never", Account{PasswordChanged: &changed, PasswordLifetime: new(0)}, 90, 0, true},
		{"no default", Account{PasswordChanged: &changed}, 0, 0, true},
		{"expired by hand", Account{PasswordChanged: &changed, Expired: true}, 0, 0, false},
		{"expired by hand before its end", Account{PasswordChanged: &changed, Expired: true}, 360, 0, false},
		{"unknown change", Account{}, 90, 0, true},
		{"locked", Account{PasswordChanged: &changed, Locked: true, Expired: true}, 90, 0, true},
		{"role", Account{PasswordChanged: &changed, IsRole: true}, 90, 0, true},
		{"reserved", Account{PasswordChanged: &changed, Reserved: true, Expired: true}, 90, 0, true},
	} {
		c.a.Plugin, c.a.AuthLength = "mysql_native_password", 41
		c.a.Derive(AccountFacts{Identity: identityOf(MySQL, "8.0.36"), Now: now, DefaultLifetime: c.dflt})
		switch got := c.a.PasswordDays; {
		case (got == nil) != c.unknown:
			t.Errorf("%s: %v", c.name, got)
		case got != nil && *got != c.want:
			t.Errorf("%s: %v days, want %v", c.name, *got, c.want)
		}
	}
	socket := Account{Plugin: "unix_socket", PasswordChanged: &changed}
	if socket.Derive(AccountFacts{Identity: identityOf(MariaDB, "10.11.6"), Now: now, DefaultLifetime: 90}); socket.PasswordDays != nil {
		t.Error("a socket login has no password that expires")
	}
}

// FuzzDerive holds what must be true of every account, whatever a server calls its plugins.
func FuzzDerive(f *testing.F) {
	f.Add("mysql_native_password", true, 0, "unix_socket", false, "root", "%")
	f.Add("", false, 16, "", true, "", "localhost")
	f.Add("mysql_old_password", true, 0, "mysql_no_login", false, "a_b", "")
	f.Fuzz(func(t *testing.T, plugin string, empty bool, length int, other string, locked bool, user, host string) {
		for _, id := range []Identity{identityOf(MySQL, "5.5.62"), identityOf(MySQL, "9.1.0"), identityOf(MariaDB, "11.8.5-MariaDB"), {}} {
			a := Account{User: user, Host: host, Plugin: plugin, AuthEmpty: empty, AuthLength: length, Locked: locked}
			if other != "" {
				a.Alternatives = []AuthWay{{Plugin: plugin, AuthEmpty: empty}, {Plugin: other}}
			}
			a.Derive(AccountFacts{Identity: id})
			again := a
			again.Derive(AccountFacts{Identity: id})
			switch {
			case a.Passwordless && (!a.Usable || a.Locked || a.PluginClass != PluginPassword):
				t.Errorf("nobody can log in, and without a password: %+v", a)
			case a.Usable && a.PluginClass == PluginDead, a.PluginClass == "":
				t.Errorf("usable %v by a %q plugin", a.Usable, a.PluginClass)
			case a.Local && a.Wildcard && !strings.ContainsAny(id.Hostname, "%_"):
				t.Errorf("%q is here and anywhere", host)
			case len(a.Powers) != 0 || a.Powers == nil || again.Passwordless != a.Passwordless || again.PluginClass != a.PluginClass:
				t.Errorf("%+v, and again %+v", a, again)
			}
		}
	})
}
