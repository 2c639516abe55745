package store

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"monolith/internal/mysqltest"
	"monolith/migrations"
)

// reserved holds the words that MySQL 8.0 to 9 or MariaDB 10.5 to 12 reserve; the store sets its own sql_mode, so that Oracle's more do not count. MySQL 8.4 and 9
// reserve some that their information_schema.keywords calls free, such as manual (8.4), external (9.4) and sets (9.6).
const reserved = `accessible add all alter analyze and as asc asensitive before between bigint binary blob both by call cascade case
change char character check collate column condition constraint continue convert create cross cube cume_dist current_date
current_path current_role current_time current_timestamp current_user cursor database databases day_hour day_microsecond day_minute day_second dec
decimal declare default delayed delete delete_domain_id dense_rank desc describe deterministic distinct distinctrow div do_domain_ids double drop dual
each else elseif empty enclosed escaped except exists exit explain external false fetch first_value float float4 float8 for force foreign from
fulltext function general generated get grant group grouping groups having high_priority hour_microsecond hour_minute hour_second if
ignore ignore_domain_ids ignore_server_ids in index infile inner inout insensitive insert int int1 int2 int3 int4 int8 integer intersect interval into
io_after_gtids io_before_gtids is iterate join json_table key keys kill lag last_value lateral lead leading leave left library like limit linear lines load
localtime localtimestamp lock long longblob longtext loop low_priority manual master_bind master_heartbeat_period
master_ssl_verify_server_cert match maxvalue mediumblob mediumint mediumtext middleint minute_microsecond minute_second mod modifies
natural not no_write_to_binlog nth_value ntile null numeric of offset on optimize optimizer_costs option optionally or order out outer
outfile over page_checksum parallel parse_vcol_expr partition percent_rank precision primary procedure purge qualify range rank read reads read_write real
recursive ref_system_id references regexp release rename repeat replace require resignal restrict return returning revoke right
rlike row row_number rows rownum schema schemas second_microsecond select sensitive separator set show signal slow smallint spatial specific
sql sqlexception sqlstate sqlwarning sql_big_result sql_calc_found_rows sql_small_result ssl starting stats_auto_recalc
stats_persistent stats_sample_pages stored straight_join system system_time table tablesample terminated then tinyblob tinyint tinytext to trailing
trigger true undo union unique unlock unsigned update usage use using utc_date utc_time utc_timestamp values varbinary varchar
varcharacter varying versioning virtual when where while window with without write xor year_month zerofill
sets vector`

func reservedWords() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(reserved) {
		words[w] = true
	}
	return words
}

func TestNamesAreNotReservedWords(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		words := reservedWords()
		for table, columns := range tables(t, b) {
			for _, name := range append([]string{table}, columns...) {
				if words[strings.ToLower(name)] || name != strings.ToLower(name) {
					t.Errorf("%s: the name %q is reserved or not lower case", table, name)
				}
			}
		}
	})
}

// tables gives the columns of every table and view.
func tables(t *testing.T, b *bench) map[string][]string {
	t.Helper()
	query := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	if b.config.Path != "" {
		query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
	}
	var names []string
	if err := b.db.r.Select(&names, query); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, n := range names {
		rows, err := b.db.r.Queryx("SELECT * FROM " + n + " WHERE 1 = 0")
		if err != nil {
			t.Fatal(err)
		}
		if all[n], err = rows.Columns(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	return all
}

func TestBothEnginesHaveTheSameSchema(t *testing.T) {
	t.Parallel()
	files := map[string][]string{}
	for _, engine := range []string{"sqlite", "mysql"} {
		entries, err := fs.ReadDir(migrations.FS, engine)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			files[engine] = append(files[engine], e.Name())
			text, err := fs.ReadFile(migrations.FS, engine+"/"+e.Name())
			if err != nil {
				t.Fatal(err)
			}
			if ddl := regexp.MustCompile(`(?m)^(CREATE|ALTER|DROP)`).FindAll(text, -1); engine == "mysql" && len(ddl) != 1 {
				t.Errorf("mysql/%s has %d statements, want one", e.Name(), len(ddl))
			}
		}
	}
	if diff := cmp.Diff(files["sqlite"], files["mysql"]); diff != "" {
		t.Errorf("the folders differ: %s", diff)
	}
	lite := newBench(t, Config{Path: filepath.Join(t.TempDir(), "monolith.db")})
	maria := newBench(t, Config{DSN: mysqltest.Shared(t).NewDatabase(t), Migrate: true})
	a, b := tables(t, lite), tables(t, maria)
	delete(a, "schema_version") // the migration tool's own
	delete(b, "schema_version")
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

func TestHourlyColumnsAreTheTables(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		want := []string{"server_id", "hour_start"}
		for _, c := range hourColumns {
			want = append(want, c.name)
		}
		all := tables(t, b)
		if diff := cmp.Diff(want, all["hourly"]); diff != "" {
			t.Error(diff)
		}
		for _, c := range want[2:] {
			if !slices.Contains(all["v_hourly"], c) {
				t.Errorf("v_hourly lacks %s", c)
			}
		}
	})
}

func TestMigrationGoesOnAfterACrash(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		b.server("a")
		if b.config.DSN == "" {
			return // SQLite's DDL is in the transaction of its number
		}
		// The statement ran and its number was not noted.
		last := count(t, b.db, "SELECT MAX(version_id) FROM schema_version")
		for v := 1; v <= last; v += last - 1 {
			if _, err := b.db.w.Exec(fmt.Sprintf("DELETE FROM schema_version WHERE version_id >= %d", v)); err != nil {
				t.Fatal(err)
			}
			b.kill()
			b.open()
			if n := count(t, b.db, "SELECT MAX(version_id) FROM schema_version"); n != last {
				t.Errorf("the schema is at %d, want %d", n, last)
			}
		}
		if got := names(t, b); len(got) != 1 {
			t.Errorf("servers %v", got)
		}
	})
}

func TestPragmasHoldOnEveryConnection(t *testing.T) {
	b := newBench(t, Config{Path: t.TempDir() + "/monolith.db"})
	for _, pool := range []string{"w", "r"} {
		db := map[string]interface {
			Get(any, string, ...any) error
		}{"w": b.db.w, "r": b.db.r}[pool]
		for _, p := range sqlitePragmas {
			var got string
			if err := db.Get(&got, "PRAGMA "+p.name); err != nil {
				t.Fatal(err)
			}
			want := p.want
			if pool == "r" && p.name == "cache_size" {
				want = readerCache
			}
			if got != want {
				t.Errorf("%s: %s is %q, want %q", pool, p.name, got, want)
			}
		}
	}
	if _, err := b.db.r.Exec("DELETE FROM setting"); err == nil {
		t.Error("the pool for reading writes")
	}
}

// TestHourlyAvailabilityCountsPollsThatWereRead: as the pages do; a server that only answers is not available.
func TestHourlyAvailabilityCountsPollsThatWereRead(t *testing.T) {
	for _, c := range hourColumns {
		if c.name == "availability_percent" && !slices.Equal(c.metrics, []string{"server.polled"}) {
			t.Errorf("availability is made of %v", c.metrics)
		}
	}
}
