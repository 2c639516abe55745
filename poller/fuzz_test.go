package poller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// hostileVersions are servers whose answers the collectors read differently.
var hostileVersions = []monolith.Identity{
	server("5.0.96-log", "MySQL Community Server (GPL)"), server("5.6.24-log", "MySQL Community Server (GPL)"),
	server("5.7.44", "Percona Server (GPL), Release 48"), server("8.0.36", "MySQL Community Server - GPL"),
	server("9.4.0", "MySQL Community Server - GPL"), server("5.5.68-MariaDB", "MariaDB Server"),
	server("10.4.32-MariaDB-log", "Source distribution"), server("11.8.3-MariaDB", "mariadb.org binary distribution"),
}

// FuzzCollectors lets a server of any version give the same table, of any columns and rows, as the answer to every
// statement of a collector. None stumbles, whatever stands there, and what it makes of it is text that can be shown.
func FuzzCollectors(f *testing.F) {
	all := Collectors()
	index := map[string]byte{}
	for i, c := range all {
		index[c.Name] = byte(i)
	}
	rows := func(lines ...string) string { return strings.Join(lines, "\n") }
	add := func(name string, version byte, table string) { f.Add(index[name], version, table) }
	add("status", 3, rows("Variable_name|Value", "Uptime|18446744073709551615", "Questions|-1", "Com_select|\x00NULL", "\xff\xfe|1e999", "|", "Uptime|7"))
	add("variables", 7, rows("Variable_name|Value", "version|10.11.6-MariaDB", "max_connections|", "wsrep_sst_auth|root:secret"))
	add("replication", 1, rows("Slave_IO_State|Master_Host|Master_Port|Slave_IO_Running|Slave_SQL_Running|Seconds_Behind_Master|Exec_Master_Log_Pos|Master_Log_File|Relay_Master_Log_File|Last_SQL_Error|Retrieved_Gtid_Set|Executed_Gtid_Set",
		"x|h|-1|Connecting|No|18446744073709551615|9223372036854775808|binlog.|binlog.999999999999999999|Duplicate entry 'secret' for key|3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5|3e11fa47:"))
	add("replication", 4, rows("Channel_Name|Replica_IO_Running|Replica_SQL_Running|Seconds_Behind_Source|Source_Host", "\x00NULL|Yes|Yes|\x00NULL|", "a|Yes|No|0|\xc3\x28"))
	add("replication", 6, rows("Connection_name|Slave_SQL_State|Gtid_IO_Pos|Slave_IO_Running|SQL_Delay|SQL_Remaining_Delay", "'|x|0-1-,0-2-18446744073709551616|Yes|5|-3"))
	add("innodb", 2, rows("Type|Name|Status", "InnoDB||=====\nTRANSACTIONS\n------------\nTrx id counter 99999999999999999999\nHistory list length -1"))
	add("processes", 5, rows("ID|USER|HOST|DB|COMMAND|TIME|STATE|INFO|TIME_MS", "1|system user||\x00NULL|Slave_SQL|-5|\x00NULL|SELECT 'secret|x|", "18446744073709551615|event_scheduler|[::1]:5|db|Query|4294967295||/*|1e9"))
	add("accounts", 3, rows("Host|User|plugin|authentication_string|account_locked|password_expired|Select_priv|Super_priv", "%||mysql_native_password||N|N|Y|Y", "\xff|root|x|*|Y|Y||"))
	add("accounts", 7, rows("Host|User|Priv", `%|root|{"access":18446744073709551615,"plugin":"","authentication_string":""}`, "%|x|{", "%|y|[]"))
	add("binlogs", 3, rows("Log_name|File_size|Encrypted", "binlog.000001|-1|No", "\x00NULL|18446744073709551615|"))
	add("sizes", 3, rows("TABLE_SCHEMA|TABLE_NAME|ENGINE|TABLE_ROWS|DATA_LENGTH|INDEX_LENGTH|DATA_FREE|n", "a|b|InnoDB|18446744073709551615|18446744073709551615|1|-1|1"))
	add("certificate", 3, rows("Variable_name|Value", "Ssl_server_not_after|Feb 30 25:61:61 99999 GMT"))
	add("group", 4, rows("MEMBER_ID|MEMBER_HOST|MEMBER_PORT|MEMBER_STATE|MEMBER_ROLE|CHANNEL_NAME", "u|h|99999|ONLINE|PRIMARY|"))
	for i := range all {
		f.Add(byte(i), byte(i), rows("Variable_name|Value|ID|NAME|COUNT_STAR", "a|1|2|b|3"))
		f.Add(byte(i), byte(i+4), "")
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	f.Fuzz(func(t *testing.T, which, version byte, table string) {
		c := all[int(which)%len(all)]
		if c.Host || len(table) > 1<<16 {
			return
		}
		p := &Poller{log: quiet}
		fake := &anyAnswer{answer: hostileTable(table)}
		r := &result{collector: c, snap: &monolith.Snapshot{At: time.Unix(1_800_000_000, 0), Interval: 10 * time.Second}}
		g := &Gather{
			Session: fake, Server: &monolith.Server{Name: "fake", ScanSizes: true}, Account: "monolith@%", Now: r.snap.At,
			Identity: hostileVersions[int(version)%len(hostileVersions)], snapshot: r.snap, collector: c, memory: new(memory),
			Variables: variablesOf(map[string]string{"innodb_stats_on_metadata": "OFF", "performance_schema": "ON", "log_bin": "ON"}),
		}
		for range 2 { // the second run compares with the first
			p.gather(t.Context(), g, r, time.Minute)
			if errors.Is(r.err, errPanic) {
				t.Fatalf("%s on %s: %v\n%q", c.Name, g.Identity, r.err, table)
			}
			if fake.sent > 5000 {
				t.Fatalf("%s on %s sent %d statements", c.Name, g.Identity, fake.sent)
			}
			checkWords(t, c.Name, g.snapshot)
		}
	})
}

// checkWords checks what people read of a snapshot, and what is stored of it.
func checkWords(t *testing.T, collector string, snap *monolith.Snapshot) {
	t.Helper()
	for _, p := range snap.Problems {
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Cure) {
			t.Errorf("%s: the problem %q (%q) is no text", collector, p.Text, p.Cure)
		}
	}
	for i := range snap.Sections {
		s := &snap.Sections[i]
		if s.NumNames.Len() != len(s.Nums) || s.TextNames.Len() != len(s.Texts) {
			t.Errorf("%s: %d names for %d numbers, %d for %d texts", collector, s.NumNames.Len(), len(s.Nums), s.TextNames.Len(), len(s.Texts))
		}
		for _, names := range []*monolith.Names{s.NumNames, s.TextNames} {
			for j := range names.Len() {
				checkTexts(t, collector, reflect.ValueOf(names.At(j)))
			}
		}
		checkTexts(t, collector, reflect.ValueOf(s.Texts))
	}
	checkTexts(t, collector, reflect.ValueOf(snap.Rows))
}

// checkTexts checks every text in a value: pages, feeds and files take it for text without control characters.
func checkTexts(t *testing.T, where string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); s != printable(s) {
			t.Errorf("%s holds %q", where, s)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			checkTexts(t, where, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkTexts(t, where, v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			checkTexts(t, where, it.Key())
			checkTexts(t, where, it.Value())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				checkTexts(t, where+"."+f.Name, v.Field(i))
			}
		}
	}
}

// spoiledSession answers every statement with the columns that it names, in which there are texts that nobody should see as they are.
type spoiledSession struct{ anyAnswer }

var (
	alias = regexp.MustCompile(`(?i)\bAS ([a-z_0-9]+)\b`)
	shown = strings.Fields(`Variable_name Value Type Name Status Log_name File_size Id User Host db Command Time State Info Field Plugin Grants Privilege Channel_Name
		Connection_name Source_Host Master_Host Source_User Master_User Replica_IO_Running Slave_IO_Running Replica_SQL_Running Slave_SQL_Running Replica_IO_State
		Slave_IO_State Source_Log_File Master_Log_File Relay_Source_Log_File Relay_Master_Log_File Relay_Log_File Until_Condition Source_UUID Master_UUID Last_IO_Error
		Last_SQL_Error Last_Error Replica_SQL_Running_State Slave_SQL_Running_State Retrieved_Gtid_Set Executed_Gtid_Set Gtid_IO_Pos Gtid_Slave_Pos Using_Gtid
		Replicate_Do_DB Replicate_Wild_Ignore_Table File Position Executed_Gtid_Set Library License`)
)

func (s *spoiledSession) Query(ctx context.Context, statement string, row func(Row) error) error {
	const spoiled = "x\x00\x08\x1b[2J\xff\u202e\uFFFE<b>]]>"
	a := answer{columns: slices.Clone(shown)}
	for _, m := range alias.FindAllStringSubmatch(statement, -1) {
		if !slices.ContainsFunc(a.columns, func(c string) bool { return strings.EqualFold(c, m[1]) }) {
			a.columns = append(a.columns, strings.ToLower(m[1]))
		}
	}
	if !strings.HasPrefix(statement, "SHOW") {
		a.columns = slices.DeleteFunc(a.columns, func(c string) bool {
			return slices.Contains(shown, c) && !slices.ContainsFunc(alias.FindAllStringSubmatch(statement, -1), func(m []string) bool { return strings.EqualFold(m[1], c) })
		})
	}
	for kind := range 3 { // all texts; then every other one a number
		cells := make([]string, len(a.columns))
		for i := range cells {
			if cells[i] = spoiled; kind > 0 && i%2 == kind-1 {
				cells[i] = "7"
			}
		}
		a.rows = append(a.rows, cells)
	}
	s.answer = a
	return s.anyAnswer.Query(ctx, statement, row)
}

func (s *spoiledSession) Exec(ctx context.Context, statement string) error { return nil }

func (s *spoiledSession) Either(ctx context.Context, row func(Row) error, statements ...string) error {
	return s.Query(ctx, statements[0], row)
}

// TestTextsOfEveryCollector: whatever column it stands in, nothing that a server says reaches people as control characters or as
// bytes that are no text, and no collector stumbles over it.
func TestTextsOfEveryCollector(t *testing.T) {
	t.Parallel()
	p := &Poller{log: slog.New(slog.DiscardHandler)}
	kept := 0
	for _, c := range Collectors() {
		for _, id := range hostileVersions {
			if c.Host {
				continue
			}
			r := &result{collector: c, snap: &monolith.Snapshot{At: time.Unix(1_800_000_000, 0), Interval: 10 * time.Second}}
			g := &Gather{
				Session: &spoiledSession{}, Server: &monolith.Server{Name: "fake", ScanSizes: true, KeepTexts: true, HeartbeatTable: "a.b"}, Account: "monolith@%", Now: r.snap.At,
				Identity: id, snapshot: r.snap, collector: c, memory: new(memory), rights: rights{known: true, held: map[string]bool{"SELECT": true, "PROCESS": true, "SHOW VIEW": true}},
				Variables: variablesOf(map[string]string{"innodb_stats_on_metadata": "OFF", "performance_schema": "ON", "log_bin": "ON"}),
			}
			p.gather(t.Context(), g, r, time.Minute)
			if errors.Is(r.err, errPanic) {
				t.Fatalf("%s on %s: %v", c.Name, id, r.err)
			}
			checkWords(t, c.Name, g.snapshot)
			kept += strings.Count(fmt.Sprintf("%+v", g.snapshot.Rows), "<b>]]>")
		}
	}
	if kept < 100 {
		t.Errorf("only %d of the texts were kept at all", kept)
	}
}

// hostileTable reads a table: a line a row, | between cells, the first line the columns' names.
func hostileTable(text string) (a answer) {
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		if i == 0 {
			a.columns = cells
			continue
		}
		for len(cells) < len(a.columns) {
			cells = append(cells, null)
		}
		a.rows = append(a.rows, cells[:len(a.columns)])
	}
	return a
}

// anyAnswer gives the same answer to every statement.
type anyAnswer struct {
	answer answer
	sent   int
}

func (s *anyAnswer) Query(ctx context.Context, statement string, row func(Row) error) error {
	s.sent++
	one := &fakeSession{answers: map[string]answer{statement: s.answer}}
	return one.Query(ctx, statement, row)
}

func (s *anyAnswer) Exec(ctx context.Context, statement string) error {
	return s.Query(ctx, statement, func(Row) error { return nil })
}

func (s *anyAnswer) Either(ctx context.Context, row func(Row) error, statements ...string) error {
	return s.Query(ctx, statements[0], row)
}

func (s *anyAnswer) ConnectionID() uint64 { return 42 }

// FuzzExplain puts what a server says when it refuses into words: they are text, and the password is not among them.
func FuzzExplain(f *testing.F) {
	f.Add(uint16(1045), "Access denied for user 'u'@'h' (using password: YES)", "5.6.24")
	f.Add(uint16(1062), "Duplicate entry 'secret' for key 'PRIMARY'", "10.11.6-MariaDB")
	f.Add(uint16(1130), "Host '\xff' is not allowed to connect to this MySQL server", "8.0.36")
	f.Add(uint16(0), "\x00\x1b[31m", "")
	f.Add(uint16(1227), "Access denied; you need (at least one of) the PROCESS privilege(s) for this operation", "9.1.0")
	f.Fuzz(func(t *testing.T, number uint16, text, version string) {
		const password = "zq-canary-7"
		endpoint := monolith.Endpoint{Host: "h", User: "u", Password: password}
		at := scene{endpoint: endpoint, identity: server(version, ""), account: "'u'@'%'", grant: "GRANT PROCESS ON *.* TO 'u'@'%'"}
		refused := &mysql.MySQLError{Number: number, Message: text + password}
		for _, err := range []error{refused, &connectError{err: refused, endpoint: endpoint, dialed: &dialed{}}} {
			p, _ := explain(err, at)
			if p.Text == "" || !utf8.ValidString(p.Text) || !utf8.ValidString(p.Cure) || strings.ContainsAny(p.Text, "\x00\x1b") {
				t.Errorf("error %d %q is told as %q (%q)", number, text, p.Text, p.Cure)
			}
			if strings.Contains(p.Text+p.Cure, password) {
				t.Errorf("the password stands in %q (%q)", p.Text, p.Cure)
			}
		}
	})
}
