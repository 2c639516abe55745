package poller

import (
	"bytes"
	"context"
	"regexp"
)

// variablesCollector reads all global variables. They are texts, whatever they look like, since
// history keeps them as changes.
func variablesCollector() *Collector {
	return &Collector{
		Name:    "variables",
		Title:   "Global variables",
		Help:    "All variables of SHOW GLOBAL VARIABLES; those that hold secrets only as set or not set.",
		Collect: collectVariables,
	}
}

func collectVariables(ctx context.Context, g *Gather) error {
	rec := g.Recorder("variable")
	err := g.Session.Query(ctx, "SHOW GLOBAL VARIABLES", func(row Row) error {
		if row.Len() < 2 {
			return errNoValues
		}
		name := bytes.ToLower(row.Bytes(0))
		if !volatileVariables[string(name)] {
			rec.Text(name, hideSecret(name, row.Bytes(1)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	section, _ := rec.Done()
	g.Variables = &Variables{section.TextNames, section.Texts}
	return nil
}

// volatileVariables change by themselves all the time, or belong to a session. Kept as changes they would
// fill history and hide what people changed; positions and GTID sets stand in the replication rows.
var volatileVariables = map[string]bool{
	"timestamp": true, "identity": true, "last_insert_id": true, "insert_id": true, "rand_seed1": true, "rand_seed2": true,
	"pseudo_thread_id": true, "pseudo_slave_mode": true, "pseudo_replica_mode": true, "error_count": true, "warning_count": true,
	"in_transaction": true, "last_gtid": true, "gtid_next": true, "gtid_owned": true, "gtid_seq_no": true,
	"gtid_executed": true, "gtid_purged": true, "gtid_binlog_pos": true, "gtid_binlog_state": true,
	"gtid_current_pos": true, "gtid_slave_pos": true, "wsrep_last_seen_gtid": true, "proxy_user": true, "external_user": true,
	"statement_id": true, "original_commit_timestamp": true, "immediate_server_version": true, "original_server_version": true,
}

// secretVariables hold passwords, keys or statements with passwords in them.
var secretVariables = map[string]bool{
	"wsrep_sst_auth": true, "init_connect": true, "init_slave": true, "init_replica": true,
	"report_password": true, "old_passwords": false,
}

// secretName matches other names of secrets: plugins bring their own variables.
var secretName = regexp.MustCompile(`(pwd|passwd|passphrase|secret|secret_key|secret_id|filekey|access_key|access_key_id|api_key|token|password|sst_auth|credentials?|auth_string)$`)

// harmlessName matches names that look like secrets and are settings about passwords.
var harmlessName = regexp.MustCompile(`^(validate_password|password_(history|require|reuse|error)|default_password|old_passwords|strict_password|secure_auth|disconnect_on_expired|.*_plugin$|.*_(file|path|dir|length|count|days|time|interval|lifetime|policy)$)`)

// What the value of a variable that holds a secret is replaced by.
const (
	secretSet    = "(set)"
	secretNotSet = "(not set)"
)

// hideSecret gives the value as it may be kept. The name is lower case.
func hideSecret(name, value []byte) []byte {
	secret, known := secretVariables[string(name)]
	if !known && mayBeSecret(name) {
		secret = secretName.Match(name) && !harmlessName.Match(name)
	}
	switch {
	case secret && len(value) == 0:
		return []byte(secretNotSet)
	case secret:
		return []byte(secretSet)
	case bytes.HasSuffix(name, []byte("_options")):
		return optionSecrets.ReplaceAll(value, []byte("${1}"+secretSet))
	}
	return value
}

// mayBeSecret spares most names the regular expressions.
func mayBeSecret(name []byte) bool {
	for _, part := range [][]byte{[]byte("pass"), []byte("pwd"), []byte("secret"), []byte("token"), []byte("key"), []byte("auth"), []byte("cred")} {
		if bytes.Contains(name, part) {
			return true
		}
	}
	return false
}

// optionSecrets finds passwords in lists of the form "socket.ssl_password = x; …".
var optionSecrets = regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|pwd)\s*=\s*)[^;]+`)
