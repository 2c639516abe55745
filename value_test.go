package monolith

import (
	"math"
	"strconv"
	"testing"
)

func TestParseNum(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Num{
		"0": Uint(0), "1": Uint(1), "18446744073709551615": Uint(math.MaxUint64), "9223372036854775808": Uint(1 << 63),
		"-1": Int(-1), "-9223372036854775808": Int(math.MinInt64), "0.000000": Float(0), "3.5": Float(3.5), "-0.5": Float(-0.5),
		".5": Float(0.5), "1e3": Float(1000), "1.5E-3": Float(0.0015), "007": Uint(7),
		"18446744073709551616": Float(1 << 64), "83505516706205592384": Float(83505516706205592384), "-9223372036854775809": Float(-9223372036854775809),
	} {
		if got, ok := ParseNum([]byte(text)); !ok || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-", "NULL", "ON", "0x10", " 1", "1 ", "1,5", "0/0/0", "NaN", "Inf", "-Inf", "1e999", "1_000",
		"2026-01-01", "10.0.0.1", "1.2.3", "e5", ".", "-.", "1e", "--1"} {
		if got, ok := ParseNum([]byte(text)); ok {
			t.Errorf("%q is taken for the number %v", text, got)
		}
	}
}

func TestNumNoneIsNeverAValue(t *testing.T) {
	t.Parallel()
	var none Num
	if !none.IsNone() || !math.IsNaN(none.Float64()) || none.String() != "" || !Float(math.NaN()).IsNone() || !Float(math.Inf(1)).IsNone() {
		t.Error("no value looks like one")
	}
	if _, _, _, ok := none.Bits(); ok {
		t.Error("no value has bits")
	}
}

func TestNumGaugeUndoesTheDisguise(t *testing.T) {
	t.Parallel()
	if got := Uint(18446744073709551576).Gauge(); got != -40 {
		t.Errorf("18446744073709551576 as a gauge is %v", got)
	}
	if got := Uint(1<<63 - 1).Gauge(); got != float64(1<<63-1) {
		t.Errorf("2^63-1 as a gauge is %v", got)
	}
}

func FuzzParseNum(f *testing.F) {
	for _, s := range []string{"0", "18446744073709551615", "-1", "1.5", "1e5", "NULL", "", "0x1", "1.2.3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, ok := ParseNum(b)
		if !ok {
			if !n.IsNone() {
				t.Fatalf("%q is no number and yet %v", b, n)
			}
			return
		}
		want, err := strconv.ParseFloat(string(b), 64)
		if err != nil || n.Float64() != want {
			t.Fatalf("%q is %v, want %v (%v)", b, n.Float64(), want, err)
		}
		bits, isFloat, negative, ok := n.Bits()
		if back := NumFromBits(bits, isFloat, negative); !ok || back != n {
			t.Fatalf("%q: %v came back as %v", b, n, back)
		}
		if again, ok := ParseNum([]byte(n.String())); !ok || again.Float64() != n.Float64() {
			t.Fatalf("%q printed as %q is %v", b, n.String(), again)
		}
	})
}
