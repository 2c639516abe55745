package alerts

import (
	"fmt"
	"strings"

	"monolith"
)

// account makes a row of an account as vectors write it: near to mysql.user and mysql.global_priv. What follows from it
// is worked out as for accounts that were read. The first account's flavour and version are the server's.
func (b *vectorBuilder) account(v any) (map[string]any, error) {
	in, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v is not an account", v)
	}
	text := func(key string) string {
		s, _ := in[key].(string)
		return s
	}
	count := func(key string) int {
		n, _ := number(in[key])
		return int(n)
	}
	yes := func(key string) bool { return in[key] == true }
	out := map[string]any{
		"user": text("user"), "host": text("host"), "plugin": text("plugin"), "auth_empty": text("auth") == "", "auth_length": len(text("auth")),
		"locked": yes("locked"), "expired": yes("expired"), "is_role": yes("is_role"), "grant_global": yes("grant_global"),
		"grant_below": yes("grant_db"), "schema_grants": count("db_rows"), "table_grants": count("tbl_rows"),
		"column_grants": count("col_rows"), "routine_grants": count("proc_rows"), "roles": count("roles"), "proxies": count("proxies"),
	}
	privileges := []any{}
	if list, ok := in["global"].([]any); ok {
		privileges = append(privileges, list...)
	}
	out["privileges"] = privileges
	if list, ok := in["auth_or"].([]any); ok {
		ways := []any{}
		for _, w := range list {
			way, _ := w.(map[string]any)
			plugin, auth := text("plugin"), text("auth")
			if len(way) > 0 { // an empty one stands for the account's own
				plugin, _ = way["plugin"].(string)
				auth, _ = way["authentication_string"].(string)
			}
			ways = append(ways, map[string]any{"plugin": plugin, "auth_empty": auth == "", "auth_length": len(auth)})
		}
		out["alternatives"] = ways
	}
	out["reserved"] = monolith.ReservedAccount(&monolith.Account{User: text("user"), Host: text("host"), IsRole: yes("is_role")})
	s := &b.entry.Phase.Server
	if f := text("flavour"); f != "" {
		s.Flavour = strings.ToLower(f)
	}
	if in["ver"] != nil {
		s.Version = newest(written(in["ver"]))
	}
	return out, nil
}

// newest makes a version of two parts the newest of its series.
func newest(version string) string {
	switch strings.Count(version, ".") {
	case 0:
		return version + ".0.99"
	case 1:
		return version + ".99"
	}
	return version
}

// grantRow makes a row of open_grants of a line of mysql.db, as its collector does: those of the anonymous user and of
// PUBLIC; nil for others.
func grantRow(v any) map[string]any {
	in, _ := v.(map[string]any)
	user, _ := in["user"].(string)
	schema, _ := in["db"].(string)
	if user != "" && user != "PUBLIC" {
		return nil
	}
	plain := strings.ReplaceAll(schema, `\_`, "_")
	return map[string]any{"user": user, "host": "%", "schema": schema, "test": plain == "test" || plain == "test_%"}
}
