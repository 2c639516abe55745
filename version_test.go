package monolith

import "testing"

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
	} {
		if id := Identify(c.variables); id.Flavour != c.flavour || id.Version != c.version {
			t.Errorf("%v is %s %v, want %s %v", c.variables, id.Flavour, id.Version, c.flavour, c.version)
		}
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
