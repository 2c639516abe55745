package monolith

import "time"

// Account is one account in normalised form. No hash is ever read into it: only whether the
// authentication text is empty, and how long it is. What stands below Derived is worked out of the rest by
// [Account.Derive].
type Account struct {
	User            string     `json:"user"`
	Host            string     `json:"host"`
	Plugin          string     `json:"plugin"`
	AuthEmpty       bool       `json:"auth_empty"`
	AuthLength      int        `json:"auth_length"`
	Alternatives    []AuthWay  `json:"alternatives,omitempty"`  // MariaDB's auth_or
	SecondFactor    bool       `json:"second_factor,omitempty"` // MySQL ≥ 8.0.27: a password alone is not enough
	Locked          bool       `json:"locked"`
	Expired         bool       `json:"expired"`
	IsRole          bool       `json:"is_role"`
	Reserved        bool       `json:"reserved"`   // made by the server or the cloud: never reported
	Privileges      []string   `json:"privileges"` // global ones, upper case, sorted
	GrantGlobal     bool       `json:"grant_global"`
	GrantBelow      bool       `json:"grant_below"` // GRANT OPTION on a schema, table or routine
	SchemaGrants    int        `json:"schema_grants"`
	TableGrants     int        `json:"table_grants"`
	ColumnGrants    int        `json:"column_grants"`
	RoutineGrants   int        `json:"routine_grants"`
	Roles           int        `json:"roles"`
	Proxies         int        `json:"proxies"`
	PasswordChanged *time.Time `json:"password_changed,omitempty"`
	// PasswordLifetime is the account's own, in days; 0: never expires; nil: the server's default holds.
	PasswordLifetime *int `json:"password_lifetime,omitempty"`
	// SSLType is what the account demands of a connection: "" nothing, ANY, X509 or SPECIFIED.
	SSLType string `json:"ssl_type"`
	// RoleAdmin: it may hand on a role that it has (WITH ADMIN OPTION).
	RoleAdmin bool `json:"role_admin,omitempty"`
	// RolePrivileges are the global ones of the roles that are active from the login on, as far as they are known.
	RolePrivileges []string `json:"role_privileges,omitempty"`
	// RightsMissing: not all tables of rights could be read, so it may have more than is listed.
	RightsMissing bool `json:"rights_missing,omitempty"`

	// Derived.

	// PluginClass is that of the way to log in that asks for least: a password way before an external one before a dead one.
	PluginClass PluginClass `json:"plugin_class"`
	// UnknownPlugin names a plugin that Monolith does not know; it is taken for an external one.
	UnknownPlugin string `json:"unknown_plugin,omitempty"`
	Usable        bool   `json:"usable"`       // somebody can log in: no role, not locked, not dead
	Passwordless  bool   `json:"passwordless"` // without any secret
	OldPassword   bool   `json:"old_password"` // stored in the form of before 4.1
	Anonymous     bool   `json:"anonymous"`    // a blank user name, not a role
	Root          bool   `json:"root"`         // the user name is root
	Local         bool   `json:"local"`        // its host is this machine: localhost, a loopback address, the server's own name
	Wildcard      bool   `json:"wildcard"`     // its host has a % or _
	// KnownAdmin: made by the distribution for its own upkeep (debian-sys-maint, mysql by socket).
	KnownAdmin bool `json:"known_admin"`
	Own        bool `json:"own"` // Monolith's own account
	// Powers are the global privileges, those of roles included, that go beyond monitoring, replication and backup.
	Powers []string `json:"powers"`
	// AdminPowers are those of them with which one may administer the server or become anybody.
	AdminPowers      []string `json:"admin_powers"`
	PowersCount      int      `json:"powers_count"`
	AdminPowersCount int      `json:"admin_powers_count"`
	// WritesReadOnly: may change data while read_only=ON.
	WritesReadOnly bool `json:"writes_read_only"`
	// UsageOnly: no right of any kind, no role, no proxy. False where RightsMissing.
	UsageOnly bool `json:"usage_only"`
	// PasswordExpires is when the password expires; nil: never, or not known. An expired one may lie in the past.
	PasswordExpires *time.Time `json:"password_expires,omitempty"`
	// PasswordDays is the days left until then; negative: it has expired. nil like PasswordExpires.
	PasswordDays *float64 `json:"password_days,omitempty"`
}

// AuthWay is one of several ways in which an account may log in.
type AuthWay struct {
	Plugin     string `json:"plugin"`
	AuthEmpty  bool   `json:"auth_empty"`
	AuthLength int    `json:"auth_length"`
}

// PluginClass sorts authentication plugins by what they ask for.
type PluginClass string

// The classes.
const (
	PluginPassword PluginClass = "password" // a secret that the server keeps; an empty one opens the account
	PluginExternal PluginClass = "external" // somebody else vouches: an empty text is harmless
	PluginDead     PluginClass = "dead"     // nobody can log in with it
	PluginUnknown  PluginClass = "unknown"  // not read
)

// AccountFacts is what [Account.Derive] must know of the server.
type AccountFacts struct {
	Identity Identity
	Now      time.Time
	Hostname string // variable hostname
	Account  string // user@host that Monolith is logged in as
	// DefaultLifetime is the variable default_password_lifetime in days; 0: passwords never expire.
	DefaultLifetime int
}
