package monolith

import "testing"

const (
	sourceA = "1eef6886-e592-11e4-a12f-84a6c8c6729e"
	sourceB = "2eef6886-e592-11e4-a12f-84a6c8c6729e"
)

func gtids(t *testing.T, s string) GTIDSet {
	t.Helper()
	set, ok := ParseGTIDSet(s)
	if !ok {
		t.Fatalf("%q can't be read", s)
	}
	return set
}

func TestGTIDBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		retrieved, executed string
		want                uint64
	}{
		{sourceA + ":1-100", sourceA + ":1-100", 0},
		{sourceA + ":1-100", sourceA + ":1-90," + sourceB + ":1-7", 10},
		{sourceA + ":50-100:200", sourceA + ":1-49:60-70", 41},
		{sourceA + ":1-10," + sourceB + ":1-5", "", 15},
		{"", sourceA + ":1-10", 0},
		{sourceA + ":tag:1-5:x:1-2," + sourceA + ":1-3", sourceA + ":tag:1-4", 6},
		{sourceA + ":1-5:3-9", sourceA + ":1-2", 7},
		{"0-1-105,7-2-50", "0-1-100,7-2-50", 5},
		{"0-1-100", "0-1-105", 0},
		{"0-2-105", "0-1-100", 5},
		{"3-1-9", "0-1-105", 9},
	} {
		if got := gtids(t, c.executed).Behind(gtids(t, c.retrieved)); got != c.want {
			t.Errorf("%q behind %q: %d, want %d", c.executed, c.retrieved, got, c.want)
		}
	}
}

func TestGTIDMinusAndGaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, minus, gaps string }{
		{sourceA + ":1-100," + sourceB + ":1-3", sourceA + ":1-120", sourceB + ":1-3", ""},
		{sourceA + ":1-100", sourceA + ":1-120", "", ""},
		{sourceA + ":1-100:tag1:1-5", sourceA + ":1-100:tag1:1-5", "", ""},
		{sourceA + ":1-50:52-90", sourceA + ":10-20:60", sourceA + ":1-9:21-50:52-59:61-90", sourceA + ":51"},
		{sourceA + ":1-5:6-9", "", sourceA + ":1-9", ""},
		{sourceA + ":20-30", "", sourceA + ":20-30", ""},
		{"0-1-105,0-2-3", "0-1-120", "0-2-3", ""},
		{"0-1-105", "0-1-100", "0-1-105", ""},
	} {
		if got := gtids(t, c.a).Minus(gtids(t, c.b)).String(); got != c.minus {
			t.Errorf("%q minus %q: %q, want %q", c.a, c.b, got, c.minus)
		}
		if got := gtids(t, c.a).Gaps().String(); got != c.gaps {
			t.Errorf("gaps of %q: %q, want %q", c.a, got, c.gaps)
		}
	}
}

func TestGTIDSetCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, s := range []string{sourceA + ":1-", sourceA + ":0-5", sourceA + ":5-1", sourceA + ":1-5…", "0-1", "x", ":", "a:1,b"} {
		if set, ok := ParseGTIDSet(s); ok {
			t.Errorf("%q was read as %q", s, set)
		}
	}
}

func FuzzGTIDSet(f *testing.F) {
	f.Add("u:1-5:7,v:tag:2", "u:1-3")
	f.Add("0-1-5", "0-1-3,2-1-1")
	f.Add("u:1-18446744073709551615", "u:")
	f.Fuzz(func(t *testing.T, one, other string) {
		a, ok := ParseGTIDSet(one)
		if !ok {
			return
		}
		if again, ok := ParseGTIDSet(a.String()); !ok || again.String() != a.String() {
			t.Fatalf("%q is written as %q, which is read as %q, %v", one, a, again, ok)
		}
		if n := a.Behind(a); n != 0 {
			t.Fatalf("%q is %d behind itself", one, n)
		}
		if !a.Minus(a).Empty() {
			t.Fatalf("%q minus itself is %q", one, a.Minus(a))
		}
		b, ok := ParseGTIDSet(other)
		if !ok {
			return
		}
		rest := a.Minus(b)
		if rest.Count() > a.Count() || b.Behind(a) > a.Count() {
			t.Fatalf("%q minus %q is %q", one, other, rest)
		}
		if !rest.Minus(a).Empty() {
			t.Fatalf("%q minus %q is %q, which is not in it", one, other, rest)
		}
	})
}
