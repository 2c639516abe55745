package history

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"monolith"
)

// sealed gives bytes a right checksum: without it a fuzzer would test nothing else.
func sealed(b []byte) []byte {
	if len(b) >= 8 {
		b = slices.Clone(b)
		binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], castagnoli))
	}
	return b
}

// summed gives a head payload a right checksum.
func summed(payload []byte) []byte {
	if len(payload) >= sumTo {
		payload = slices.Clone(payload)
		payload[0] |= headSum
		binary.LittleEndian.PutUint32(payload[sumFrom:], sumOf(payload))
	}
	return payload
}

// readAll decodes everything there is. Errors are welcome, panics are not.
func readAll(p Polls) {
	var nums []monolith.Num
	for _, id := range p.IDs() {
		nums, _ = p.Column(id, nums)
	}
}

func FuzzOpenRaw(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		f.Add(mustMarshal(f, randomPolls(rng, 1+rng.IntN(40), 10)))
	}
	f.Add([]byte("Mhr\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Open(b)
		r, err := Open(sealed(b))
		if err != nil {
			return
		}
		readAll(r)
		if tier, err := Rollup(r, r, nameByID, 24*time.Hour); err == nil {
			_, _ = MarshalTier(nil, tier)
		}
		g := NewGrid(time.UnixMilli(r.Rows()[0].At), time.UnixMilli(r.Rows()[0].At).Add(time.Hour), time.Minute)
		l := g.Line(untyped, LineOptions{Hold: time.Hour})
		g.Rows(r.Rows())
		for _, id := range r.IDs()[:min(len(r.IDs()), 1)] {
			if nums, err := r.Column(id, nil); err == nil {
				l.Column(nums)
			}
		}
		l.Series()
	})
}

func FuzzOpenTier(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		b, err := MarshalTier(nil, randomTier(rng, 1+rng.IntN(10)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add := randomTier(rng, 3)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = OpenTier(b)
		r, err := OpenTier(sealed(b))
		if err != nil {
			return
		}
		var cells []Cell
		l := NewGrid(time.UnixMilli(traceStart), time.UnixMilli(traceStart).Add(time.Hour), time.Minute).Line(untyped, LineOptions{})
		for _, id := range r.IDs() {
			cells, _ = r.Cells(id, cells)
			l.Cells(r.Step(), cells)
		}
		l.Series()
		_, _ = MarshalTier(r, add)
	})
}

func FuzzHeadDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		sections, polls := randomHead(rng, 2)
		enc := NewEncoder()
		f.Add(enc.Append(nil, polls.rows[0], sections[0]), enc.Append(nil, polls.rows[1], sections[1]))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		tail := NewTail()
		before := 0
		for _, p := range [][]byte{first, second, second, summed(first), summed(second)} {
			if err := tail.Append(p); err == nil {
				before++
			}
		}
		if len(tail.Rows()) != before {
			t.Fatalf("%d rows of %d payloads", len(tail.Rows()), before)
		}
		for _, id := range tail.IDs() {
			if nums, err := tail.Column(id, nil); err != nil || len(nums) != before {
				t.Fatalf("column %d: %d numbers, %v", id, len(nums), err)
			}
		}
		if before > 0 { // what a head says can be packed
			samePolls(t, mustOpen(t, mustMarshal(t, tail)), tail)
		}
	})
}

// FuzzHead encodes what the fuzzer likes and reads it back.
func FuzzHead(f *testing.F) {
	f.Add(uint64(1), uint64(math.MaxUint64), uint8(3), uint8(7))
	f.Add(uint64(1<<63), uint64(0), uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, a, b uint64, forms, at uint8) {
		num := func(bits uint64, form uint8) monolith.Num {
			switch form & 3 {
			case 0:
				return monolith.Num{}
			case 1:
				return monolith.Uint(bits)
			case 2:
				return monolith.Int(int64(bits))
			}
			return monolith.Float(math.Float64frombits(bits))
		}
		ids := []MetricID{MetricID(a), MetricID(b), MetricID(at)}
		if ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] {
			return
		}
		enc, tail := NewEncoder(), NewTail()
		var want [][]monolith.Num
		for i := range 3 {
			nums := []monolith.Num{num(a, forms>>(2*i)), num(b, forms>>i), num(a-b, forms)}
			want = append(want, nums)
			if err := tail.Append(enc.Append(nil, Row{At: int64(a), Elapsed: int64(b), Seq: a, Run: uint32(b), Interval: int64(at)}, []Section{{ids, nums}})); err != nil {
				t.Fatal(err)
			}
		}
		for j, id := range ids {
			got, _ := tail.Column(id, nil)
			for i := range got {
				if got[i] != want[i][j] {
					t.Fatalf("metric %d, row %d: got %v, want %v", j, i, got[i], want[i][j])
				}
			}
		}
	})
}
