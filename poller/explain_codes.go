package poller

import (
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// explainServer is for errors that the server itself sent: it is up.
func explainServer(e *mysql.MySQLError, at scene) monolith.Problem {
	kind, text, cure := wordsFor(e, at)
	return monolith.Problem{Kind: kind, Code: int(e.Number), Text: text, Cure: cure}
}

func wordsFor(e *mysql.MySQLError, at scene) (kind monolith.ProblemKind, text, cure string) {
	said := cut(e.Message, 300)
	switch e.Number {
	case 1040:
		return monolith.ProblemRefused, "the server is up and full: all max_connections are in use, so nobody gets in",
			"find who holds them (SHOW PROCESSLIST by an administrator, who has one connection more), end idle ones, raise max_connections; " +
				"extra_port (MariaDB) or admin_port (MySQL ≥ 8.0.14) let Monolith in even then"
	case 1203, 1226:
		return monolith.ProblemRefused, "the monitoring account has used up a limit: " + said,
			"raise its limits: Monolith holds one connection (MAX_USER_CONNECTIONS 5 is plenty), and no limit per hour fits a monitor"
	case 1045, 1698:
		return monolith.ProblemRefused, "the server turned the login away: " + said, loginCure(said, at)
	case 1044, 1142, 1143, 1227, 1370:
		cure = at.grant
		switch {
		case cure != "":
		case isAnonymous(at.account, at.endpoint.User):
			cure = anonymousCure(at.endpoint.User, at.account)
		default:
			cure = "give the monitoring account the privilege that the message names"
		}
		return monolith.ProblemPrivilege, "a privilege is missing: " + said, cure
	case 1129:
		return monolith.ProblemRefused, "the server blocks the host that Monolith runs on: too many connections from it were broken off",
			"on the server: TRUNCATE TABLE performance_schema.host_cache (MySQL ≥ 5.6) or FLUSH HOSTS (gone in MySQL 8.3), " +
				"then find what breaks connections off and raise max_connect_errors"
	case 1130:
		return monolith.ProblemRefused, "no account may connect from here: " + said,
			"CREATE USER for the host or address in the message; localhost, 127.0.0.1 and ::1 are three different ones"
	case 1049:
		return monolith.ProblemRefused, "the schema that the connection asks for does not exist", "none is needed: leave it out"
	case 1251, 1275, 2059, 2061:
		return monolith.ProblemRefused, "the account's way of logging in is not supported: " + said, "give it caching_sha2_password or mysql_native_password"
	case 1820, 1862:
		return monolith.ProblemRefused, "the monitoring account's password has expired",
			"ALTER USER " + orAccount(at.account) + " IDENTIFIED BY '…' PASSWORD EXPIRE NEVER, and give Monolith the new one"
	case 3118, 4151:
		return monolith.ProblemRefused, "the monitoring account is locked", "ALTER USER " + orAccount(at.account) + " ACCOUNT UNLOCK"
	case 3032:
		return monolith.ProblemRefused, "the server is in offline mode and lets only administrators in",
			"SET GLOBAL offline_mode=OFF when the work on it is done, or give the monitoring account CONNECTION_ADMIN (SUPER before 8.0)"
	case 3159:
		return monolith.ProblemRefused, "the server accepts encrypted connections only (require_secure_transport)", "choose the TLS mode required"
	case 1047:
		return monolith.ProblemRefused, "the Galera node is not part of a working cluster and answers no queries",
			"look at wsrep_cluster_status and wsrep_local_state_comment"
	case 1053, 1077, 1079:
		return monolith.ProblemUnreachable, "the server is shutting down", ""
	case 1927, 4031, 3169:
		return monolith.ProblemUnreachable, "Monolith's connection was ended by the server: " + said, "it is made again at the next poll"
	case 1205:
		return monolith.ProblemTimeout, "the statement waited two seconds for a lock and gave up", "find the transaction or DDL that holds it; Monolith waits no longer so as not to make a queue"
	case 3024, 1969:
		return monolith.ProblemTimeout, "the server ended the statement because it took too long", "it is asked less often until it works again"
	case 1317, 1028:
		return monolith.ProblemTimeout, "the statement was ended by somebody: " + said, ""
	case 1064, 1193, 1109, 1146, 1054, 1235, 1286, 1305:
		return monolith.ProblemUnsupported, "this server does not know what it was asked: " + said, ""
	case 1290, 1836:
		return monolith.ProblemRefused, "a server option forbids it: " + said, ""
	case 1041, 1037, 1038:
		return monolith.ProblemRefused, "the server is out of memory: " + said, "lower its buffers or give the host more"
	}
	return monolith.ProblemAnswer, fmt.Sprintf("error %d: %s", e.Number, said), ""
}

func orAccount(account string) string {
	if account == "" {
		return "the account"
	}
	return account
}

// loginCure reads the account as the server sees it out of its message.
func loginCure(said string, at scene) string {
	if strings.Contains(said, "using password: NO") {
		cure := "no password was given: set it, unless the account logs in by its socket"
		return joinSentences(cure, addressCure(said, at))
	}
	cure := joinSentences("check user and password, and that there is an account for exactly this user@host", addressCure(said, at))
	if host := localHost(said); host != "" {
		cure = joinSentences(cure, "or an anonymous account is in the way: "+anonymousCure(at.endpoint.User, "@"+host))
	}
	return cure
}

// addressCure says by which of its names or addresses the server may know the client.
func addressCure(said string, at scene) string {
	switch {
	case localHost(said) != "":
		return "localhost, 127.0.0.1 and ::1 are three different accounts, and with skip_name_resolve an account for 'localhost' is only reached by the socket"
	case at.skipsNames:
		return "the server runs with skip_name_resolve: the account must be made for the address, not the name"
	}
	return ""
}

// localHost gives the host in a message about a client on the server's own machine; "" for another.
func localHost(said string) string {
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		if strings.Contains(said, "'"+host+"'") {
			return host
		}
	}
	return ""
}

// isAnonymous reports whether the server took somebody who gave a user's name for nobody: its accounts are
// searched from the most exact host on, and one without a name fits everyone.
func isAnonymous(account, user string) bool {
	return user != "" && (strings.HasPrefix(account, "@") || strings.HasPrefix(account, "''@"))
}

// anonymousCure says how user gets past an anonymous account, which MySQL up to 5.6 and MariaDB up to 10.3 bring along.
func anonymousCure(user, anonymous string) string {
	anonymous = quoteAccount(anonymous)
	_, host, _ := strings.Cut(anonymous, "@")
	named, _, _ := strings.Cut(quoteAccount(user+"@%"), "@'%'")
	return anonymous + " comes before " + named + "@'%', since its host is more exact: DROP USER " + anonymous + ", or CREATE USER " + named + "@" + host
}
