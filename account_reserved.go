package monolith

import "strings"

// reservedUsers are made by a cloud for itself.
var reservedUsers = map[string]bool{
	"rdsadmin": true, "rdsrepladmin": true, "rdstopmgr": true, "rdsproxyadmin": true, "rds_superuser_role": true,
	"azure_superuser": true, "cloudsqladmin": true, "cloudsqlsuperuser": true,
}

// ReservedAccount reports whether an account was made by the server or by a cloud for itself. Such accounts are never
// reported.
func ReservedAccount(a *Account) bool {
	switch a.User {
	case "mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys":
		return a.Host == "localhost"
	case "PUBLIC":
		return a.IsRole
	}
	return reservedUsers[a.User] || strings.HasPrefix(a.User, "AWS_")
}
