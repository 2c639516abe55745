package monolith

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestIdentify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variables map[string]string
		flavour   Flavour
		version   Version
	}{
		{map[string]string{"version": "5.5.5-10.11.6-MariaDB-1:10.11.6+maria~ubu2204-log"}, MariaDB, Version{10, 11, 6}},
		{map[string]string{"version": "11.8.5-MariaDB-ubu2404"}, MariaDB, Version{11, 8, 5}},
		{map[string]string{"version": "10.6.12", "version_comment": "MariaDB Server"}, MariaDB, Version{10, 6, 12}},
		{map[string]string{"version": "8.0.36-28", "version_comment": "Percona Server (GPL), Release 28"}, Percona, Version{8, 0, 36}},
		{map[string]string{"version": "8.0.28", "aurora_version": "3.04.0"}, Aurora, Version{8, 0, 28}},
		{map[string]string{"version": "5.5.62-0+deb8u1", "version_comment": "(Debian)"}, MySQL, Version{5, 5, 62}},
		{map[string]string{"version": "26.7.0", "version_comment": "MySQL Community Server - GPL"}, MySQL, Version{26, 7, 0}},
		{map[string]string{"version": "9.5.0-cloud"}, MySQL, Version{9, 5, 0}},
		{map[string]string{"version": "something"}, MySQL, Version{}},
		{map[string]string{"version": "5.0.51a-24+lenny5"}, MySQL, Version{5, 0, 51}},
		{map[string]string{"version": "5.1.61rel13.2-log", "version_comment": "Percona Server with XtraDB (GPL), Release rel13.2"}, Percona, Version{5, 1, 61}},
		{map[string]string{"version": "8.0.34-26.1", "version_comment": "Percona XtraDB Cluster (GPL)"}, Percona, Version{8, 0, 34}},
		{map[string]string{"version": "10.4.34-MariaDB-1:10.4.34+maria~ubu2004"}, MariaDB, Version{10, 4, 34}},
		{map[string]string{"version": "5.7.12-log", "aurora_version": "2.11.2", "innodb_version": "5.7.12"}, Aurora, Version{5, 7, 12}},
		{map[string]string{"version": "8.0.mysql_aurora.3.02.2", "innodb_version": "8.0.23"}, Aurora, Version{8, 0, 23}},
		{map[string]string{"version": "5.7.mysql_aurora.2.11.2"}, Aurora, Version{5, 7, 0}},
		{map[string]string{"version": "5.6.10", "aurora_version": "1.22.2", "innodb_version": "1.2.10"}, Aurora, Version{5, 6, 10}},
		{map[string]string{"version": "8.0.11-TiDB-v7.5.0", "version_comment": "TiDB Server (Apache License 2.0)"}, TiDB, Version{7, 5, 0}},
		{map[string]string{"version": "5.7.25-TiDB-None"}, TiDB, Version{}},
	} {
		if id := Identify(c.variables); id.Flavour != c.flavour || id.Version != c.version {
			t.Errorf("%v is %s %v, want %s %v", c.variables, id.Flavour, id.Version, c.flavour, c.version)
		}
	}
}

func TestIdentitiesInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variables    map[string]string
		words, cloud string
	}{
		{map[string]string{"version": "8.0.mysql_aurora.3.02.2", "innodb_version": "8.0.23", "basedir": "/rdsdbbin/oscar"}, "Aurora MySQL 3.02.2 (8.0.23)", "rds"},
		{map[string]string{"version": "5.7.12-log", "aurora_version": "2.11.2"}, "Aurora MySQL 2.11.2 (5.7.12)", ""},
		{map[string]string{"version": "5.7.25-TiDB-v2.1.11"}, "TiDB 2.1.11", ""},
		{map[string]string{"version": "5.7.25-google", "version_comment": "(Google)"}, "MySQL 5.7.25", "cloudsql"},
		{map[string]string{"version": "8.0.30-cynos-3.1.17.202"}, "MySQL 8.0.30", "tencent"},
		{map[string]string{"version": "8.0.40-31", "version_comment": "Percona Server (GPL), Release '31'"}, "Percona Server 8.0.40", ""},
		{map[string]string{"version": "11.8.5-MariaDB-ubu2404"}, "MariaDB 11.8.5", ""},
	} {
		if id := Identify(c.variables); id.String() != c.words || id.Cloud != c.cloud {
			t.Errorf("%v is %q on %q, want %q on %q", c.variables, id, id.Cloud, c.words, c.cloud)
		}
	}
	if TiDB.IsMySQL() || TiDB.IsMariaDB() {
		t.Error("TiDB is neither")
	}
}

// TestRecordedVersionStrings reads version texts that were seen on servers, with the reading that is right.
func TestRecordedVersionStrings(t *testing.T) {
	t.Parallel()
	root := os.Getenv("MONOLITH_RECORDED")
	if root == "" {
		t.Skip("MONOLITH_RECORDED is not set: version texts of other servers are NOT tested")
	}
	b, err := os.ReadFile(filepath.Join(root, "misc-versions", "version-strings.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	number := regexp.MustCompile(`\d+\.\d+(\.\d+)?`)
	n := 0
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(cells) != 3 || cells[0] == "version" {
			continue
		}
		n++
		right := strings.ReplaceAll(cells[2], "PXC", "Percona Server")
		id := Identify(map[string]string{"version": cells[0], "version_comment": cells[1]})
		flavour := "MySQL"
		for _, word := range []string{"MariaDB", "Percona", "Aurora", "TiDB"} {
			if strings.HasPrefix(right, word) {
				flavour = word
			}
		}
		want := ParseVersion(number.FindString(right))
		if flavour == "Aurora" {
			want = ParseVersion(right[strings.Index(right, "(")+1:])
			if own := number.FindString(right); id.Release != own {
				t.Errorf("%q: the release is %q, want %q", cells[0], id.Release, own)
			}
		} else if strings.HasPrefix(right, "may be") || strings.HasPrefix(right, "Tencent") {
			want = ParseVersion(cells[0])
		}
		if !strings.HasPrefix(id.String(), flavour) || id.Version != want {
			t.Errorf("%q is %s, want %s %s", cells[0], id, flavour, want)
		}
	}
	if n < 20 {
		t.Errorf("only %d version texts", n)
	}
}

func TestVersionsAreComparedAsNumbers(t *testing.T) {
	t.Parallel()
	ordered := []string{"5.0.96", "5.5.62", "5.7.9", "5.7.10", "8.0.3", "8.0.22", "8.4.0", "9.5.0", "10.4.34", "10.11.6", "12.3.1", "26.7.0"}
	for i, a := range ordered {
		for j, b := range ordered {
			got := ParseVersion(a).Compare(ParseVersion(b))
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s against %s is %d", a, b, got)
			}
		}
	}
	if (Version{}).AtLeast(0) || !(Version{8, 0, 22}).AtLeast(8, 0, 22) || (Version{8, 0, 21}).AtLeast(8, 0, 22) || !(Version{8, 0, 22}).AtLeast(8) {
		t.Error("AtLeast is wrong")
	}
}

func FuzzParseVersion(f *testing.F) {
	for _, s := range []string{"8.0.36", "5.5.5-10.11.6-MariaDB", "", "x", "1.2.3.4", "99999999.1", "5.5.5-", "10.", ".1", "8..1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := ParseVersion(s)
		for _, n := range []int{v.Major, v.Minor, v.Patch} {
			if n < 0 || n > 999999 {
				t.Fatalf("%q gave %v", s, v)
			}
		}
		if !v.IsZero() && ParseVersion(v.String()) != v {
			t.Fatalf("%q gave %v, which reads back as %v", s, v, ParseVersion(v.String()))
		}
	})
}
