package store

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"monolith/internal/mysqltest"
	"monolith/internal/sqltext"
)

// sent is what all tests of this run sent to a MariaDB through [listen].
var sent struct {
	mu         sync.Mutex
	statements map[string]mysqltest.Said
}

// listened gives a new database of the shared MariaDB whose statements are noted.
func listened(t *testing.T) (dsn string) {
	t.Helper()
	server := mysqltest.Shared(t)
	dsn = server.NewDatabase(t)
	return listen(t, server).DSN(t, dsn)
}

// listen gives an address before a MariaDB; the statements that go through it are noted.
func listen(t *testing.T, server *mysqltest.Server) *mysqltest.Relay {
	t.Helper()
	relay := mysqltest.NewRelay(t, server, sqltext.Normal)
	t.Cleanup(func() {
		sent.mu.Lock()
		defer sent.mu.Unlock()
		if sent.statements == nil {
			sent.statements = map[string]mysqltest.Said{}
		}
		for text, said := range relay.Statements() {
			before := sent.statements[text]
			before.Times += said.Times
			if said.Refused != 0 {
				before.Refused, before.Why = said.Refused, said.Why
			}
			sent.statements[text] = before
		}
	})
	return relay
}

// wrongText are the errors of a statement that the server does not understand, whatever is in its tables.
var wrongText = map[uint16]bool{1052: true, 1054: true, 1055: true, 1064: true, 1140: true, 1146: true, 1176: true, 1247: true, 1248: true, 1305: true, 1366: true}

// everyText turns the exit code of a run of all tests into a failure when SQL stands in the source that no test sent to the
// real MariaDB, or that it did not understand, or that names something by a word that MySQL or MariaDB reserve. A run of
// some tests sends only some statements and judges nothing.
func everyText(code int) int {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return code
		}
	}
	if code != 0 || testing.Short() || sent.statements == nil {
		return code
	}
	texts, err := sqltext.Source(".", "dialect_sqlite.go")
	if err != nil {
		fmt.Fprintln(os.Stderr, "the source can't be read:", err)
		return 1
	}
	statements := slices.Sorted(maps.Keys(sent.statements))
	wrong := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "--- FAIL: every SQL text: "+format+"\n", args...)
		code = 1
	}
	for _, text := range texts {
		if !text.Sent(statements) {
			wrong("%s: no test sends %q to MariaDB", text.Where, text.SQL)
		}
	}
	words := reservedWords()
	for _, statement := range statements {
		if said := sent.statements[statement]; wrongText[said.Refused] {
			wrong("error %d, %s: %s", said.Refused, said.Why, statement)
		}
		for _, name := range sqltext.Aliases(statement) {
			if words[name] && !strings.Contains(statement, "CAST(") && !strings.Contains(statement, "CREATE ") {
				wrong("the name %s is reserved: %s", name, statement)
			}
		}
	}
	return code
}
