package monolith

import (
	"errors"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzParseTime reads moments as people and programs give them.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"now", "-2h", "-", "-1e300w", "253402300799", "253402300800", "-9223372036854775808", "2026-03-10T12:00:00.999999999+14:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59Z", ""} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseTime("from", s, now)
		if err != nil {
			if !errors.Is(err, ErrInvalid) || !utf8.ValidString(err.Error()) {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if year := at.UTC().Year(); year < -1 || year > 10000 {
			t.Errorf("%q is %v", s, at)
		}
	})
}

// FuzzIdentify tells from variables who a server is.
func FuzzIdentify(f *testing.F) {
	f.Add("10.11.6-MariaDB-log", "MariaDB Server", "", "")
	f.Add("5.5.5-10.4.32-MariaDB", "Source distribution", "", "ON")
	f.Add("8.0.mysql_aurora.3.04.0", "MySQL Community Server", "3.04.0", "")
	f.Add("99999999999999999999.1.1", "\xff\x00", "x", "1")
	f.Add("5.7.25-TiDB-v7.5.0", "TiDB Server (Apache License 2.0) Community Edition", "", "")
	f.Fuzz(func(t *testing.T, version, comment, aurora, wsrep string) {
		id := Identify(map[string]string{"version": version, "version_comment": comment, "aurora_version": aurora, "wsrep_on": wsrep, "server_id": version, "port": comment})
		if id.VersionText != version && utf8.ValidString(version) {
			t.Errorf("the version %q is told as %q", version, id.VersionText)
		}
		if id.Version.Compare(id.Version) != 0 {
			t.Errorf("%q is not itself", version)
		}
		_ = id.String()
	})
}
