package poller

import (
	"strconv"
	"testing"
)

func TestGTIDBacklog(t *testing.T) {
	t.Parallel()
	const a, b = "1eef6886-e592-11e4-a12f-84a6c8c6729e", "2eef6886-e592-11e4-a12f-84a6c8c6729e"
	for _, c := range []struct {
		retrieved, executed string
		want                uint64
		ok                  bool
	}{
		{a + ":1-100", a + ":1-100", 0, true},
		{a + ":1-100", a + ":1-90," + b + ":1-7", 10, true},
		{a + ":50-100:200", a + ":1-49:60-70", 41, true},
		{a + ":1-10," + b + ":1-5", "", 15, true},
		{"", a + ":1-10", 0, true},
		{a + ":tag:1-5:x:1-2," + a + ":1-3", a + ":tag:1-4", 6, true},
		{a + ":1-5:3-9", a + ":1-2", 7, true},
		{a + ":1-", a + ":1", 0, false},
		{a + ":0-5", "", 0, false},
		{a + ":5-1", "", 0, false},
		{a + ":1-5…", a + ":1", 0, false}, // cut off
		{"0-1-105,7-2-50", "0-1-100,7-2-50", 5, true},
		{"0-1-100", "0-1-105", 0, true},
		{"3-1-9", "0-1-105", 9, true},
		{"0-1", "", 0, false},
	} {
		if got, ok := gtidBacklog(c.retrieved, c.executed); got != c.want || ok != c.ok {
			t.Errorf("%q − %q is %d, %v; want %d, %v", c.retrieved, c.executed, got, ok, c.want, c.ok)
		}
	}
}

func FuzzGTIDBacklog(f *testing.F) {
	f.Add("u:1-5:7,v:tag:2", "u:1-3")
	f.Add("0-1-5", "0-1-3,2-1-1")
	f.Add("u:1-18446744073709551615", "u:")
	f.Fuzz(func(t *testing.T, retrieved, executed string) {
		all, ok := gtidBacklog(retrieved, "")
		if !ok {
			return
		}
		if n, ok := gtidBacklog(retrieved, executed); ok && n > all {
			t.Fatalf("%q − %q is %d, more than %d", retrieved, executed, n, all)
		}
		if n, ok := gtidBacklog(retrieved, retrieved); ok && n != 0 {
			t.Fatalf("%q − itself is %s", retrieved, strconv.FormatUint(n, 10))
		}
	})
}
