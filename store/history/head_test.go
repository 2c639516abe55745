package history

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"monolith"
)

// randomHead is what several collectors with schedules of their own read, as sections and as polls.
func randomHead(rng *rand.Rand, n int) (sections [][]Section, polls *memory) {
	polls = randomPolls(rng, n, 40)
	type collector struct {
		ids   []MetricID
		every int
	}
	var collectors []collector
	for ids := range slices.Chunk(polls.ids, 1+rng.IntN(15)) {
		collectors = append(collectors, collector{slices.Clone(ids), 1 + rng.IntN(2)*rng.IntN(9)})
	}
	sections = make([][]Section, n)
	for row := range n {
		for i := range collectors {
			c := &collectors[i]
			if row%c.every != 0 || rng.IntN(20) == 0 { // not due, or failed
				for _, id := range c.ids {
					polls.columns[id][row] = monolith.Num{}
				}
				continue
			}
			switch rng.IntN(40) {
			case 0: // the names came in another order
				c.ids = slices.Clone(c.ids)
				slices.Reverse(c.ids)
			case 1: // an equal list, made anew
				c.ids = slices.Clone(c.ids)
			}
			s := Section{IDs: c.ids}
			for _, id := range c.ids {
				s.Nums = append(s.Nums, polls.columns[id][row])
			}
			sections[row] = append(sections[row], s)
		}
		rng.Shuffle(len(sections[row]), func(i, j int) {
			sections[row][i], sections[row][j] = sections[row][j], sections[row][i]
		})
	}
	return sections, polls.part(0, n)
}

func TestTailGivesBackWhatWasEncoded(t *testing.T) {
	t.Parallel()
	each(t, 40, func(t *testing.T, rng *rand.Rand) {
		n := 1 + rng.IntN(400)
		sections, polls := randomHead(rng, n)
		enc, tail := NewEncoder(), NewTail()
		var want []MetricID
		for _, id := range polls.IDs() {
			if rng.IntN(3) == 0 {
				want = append(want, id)
			}
		}
		want = append(want, 4_000_000_000) // nobody has it
		some := NewTail(want...)
		for i, row := range polls.Rows() {
			if rng.IntN(100) == 0 {
				enc.Reset()
			}
			key := enc.Key()
			payload := enc.Append(nil, row, sections[i])
			if IsKey(payload) != key || enc.Key() {
				t.Fatalf("payload %d: IsKey %v, Key %v before and %v after", i, IsKey(payload), key, enc.Key())
			}
			for _, tl := range []*Tail{tail, some} {
				if err := tl.Append(payload); err != nil {
					t.Fatalf("payload %d: %v", i, err)
				}
			}
		}
		samePolls(t, tail, polls)
		chosen := &memory{rows: polls.rows, columns: polls.columns, ids: want[:len(want)-1]}
		samePolls(t, some, chosen)
	})
}

func TestUnchangedPollTakesFewBytes(t *testing.T) {
	t.Parallel()
	tr := syntheticTrace(2)
	enc := NewEncoder()
	enc.Append(nil, tr.rows[0], []Section{{tr.ids, tr.nums[0]}})
	if b := enc.Append(nil, tr.rows[1], []Section{{tr.ids, tr.nums[0]}}); len(b) > 12 {
		t.Errorf("a poll that changed nothing takes %d bytes", len(b))
	}
	row := tr.rows[1]
	row.Seq, row.At = row.Seq+1, row.At+row.Interval
	if b := enc.Append(nil, row, nil); len(b) > 9 {
		t.Errorf("a poll in which no collector ran takes %d bytes", len(b))
	}
}

func TestAbsentIsNotUnchanged(t *testing.T) {
	t.Parallel()
	ids := []MetricID{7}
	enc, tail := NewEncoder(), NewTail()
	for i, sections := range [][]Section{
		{{ids, []monolith.Num{monolith.Uint(3)}}},
		nil, // the collector did not run
		{{ids, []monolith.Num{monolith.Uint(3)}}},
		{{ids, []monolith.Num{{}}}}, // it ran and there was no value
		{{ids, []monolith.Num{monolith.Uint(3)}}},
	} {
		if err := tail.Append(enc.Append(nil, Row{Seq: uint64(i)}, sections)); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := tail.Column(7, nil)
	three := monolith.Uint(3)
	if want := []monolith.Num{three, {}, three, {}, three}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMetricInSeveralSectionsHasItsLastValue(t *testing.T) {
	t.Parallel()
	enc, tail := NewEncoder(), NewTail()
	a, b := []MetricID{1, 2, 1}, []MetricID{2, 3}
	one := func(v ...uint64) (nums []monolith.Num) {
		for _, x := range v {
			nums = append(nums, monolith.Uint(x))
		}
		return nums
	}
	for range 2 {
		p := enc.Append(nil, Row{}, []Section{{a, one(10, 20, 11)}, {b, one(21, 30)}, {a, one(9, 9, 9)}})
		if err := tail.Append(p); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[MetricID]uint64{1: 11, 2: 21, 3: 30} {
		if got, _ := tail.Column(id, nil); !slices.Equal(got, one(want, want)) {
			t.Errorf("metric %d: got %v, want %d", id, got, want)
		}
	}
}

func TestMissingPayloadIsFound(t *testing.T) {
	t.Parallel()
	tr := syntheticTrace(600)
	payloads := tr.payloads(0, 600)
	tail := NewTail()
	if err := tail.Append(payloads[1]); !errors.Is(err, errMissing) {
		t.Errorf("without a key payload: got the error %v", err)
	}
	for i, p := range payloads {
		if i == 300 {
			continue
		}
		if err := tail.Append(p); i < 300 && err != nil || i > 300 && !errors.Is(err, errMissing) {
			t.Fatalf("payload %d after 300 was lost: got the error %v", i, err)
		}
	}
	if n := len(tail.Rows()); n != 300 {
		t.Errorf("the tail has %d rows", n)
	}
	if err := tail.Append(tr.payloads(300, 301)[0]); err != nil {
		t.Errorf("a key payload after that: %v", err)
	}
}

func TestDamagedPayloadAddsNoRow(t *testing.T) {
	t.Parallel()
	each(t, 300, func(t *testing.T, rng *rand.Rand) {
		sections, polls := randomHead(rng, 40)
		enc, tail := NewEncoder(), NewTail()
		want := &memory{ids: polls.ids, columns: map[MetricID][]monolith.Num{}}
		keep := func(row int) {
			want.rows = append(want.rows, polls.rows[row])
			for _, id := range polls.ids {
				want.columns[id] = append(want.columns[id], polls.columns[id][row])
			}
		}
		lost := false
		for i, row := range polls.Rows() {
			if rng.IntN(6) == 0 {
				enc.Reset()
			}
			key := enc.Key()
			p := enc.Append(nil, row, sections[i])
			lost = lost && !key
			damaged := rng.IntN(10) == 0
			if damaged {
				switch rng.IntN(3) {
				case 0:
					p = append(p[:rng.IntN(min(len(p), 4))], 0xff)
				case 1:
					p = p[:rng.IntN(len(p))]
				case 2: // any bit at all
					p[rng.IntN(len(p))] ^= 1 << rng.IntN(8)
				}
			}
			err := tail.Append(p)
			switch {
			case damaged || lost:
				if err == nil {
					t.Fatalf("payload %d was taken", i)
				}
				lost = true
			case err != nil:
				t.Fatalf("payload %d: %v", i, err)
			default:
				keep(i)
			}
		}
		samePolls(t, tail, want.part(0, len(want.rows)))
	})
}

// Whichever bit of a poll is another one, it is found.
func TestEveryFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	payloads := syntheticTrace(2).payloads(0, 2)
	for i, p := range payloads {
		for bit := range min(8*len(p), 800) {
			tail := NewTail()
			if i == 1 {
				if err := tail.Append(payloads[0]); err != nil {
					t.Fatal(err)
				}
			}
			damaged := slices.Clone(p)
			damaged[bit/8] ^= 1 << (bit % 8)
			if err := tail.Append(damaged); err == nil {
				t.Errorf("payload %d with bit %d flipped is taken", i, bit)
			}
		}
	}
}

// unsummed turns a payload into the form that was written before there were checksums.
func unsummed(payload []byte) []byte {
	return append([]byte{payload[0] &^ headSum, payload[1]}, payload[sumTo:]...)
}

// A store that an earlier version wrote has payloads without a checksum, followed by ones that have it.
func TestPayloadsWithoutChecksumAreRead(t *testing.T) {
	t.Parallel()
	tr := syntheticTrace(40)
	payloads := tr.payloads(0, 40)
	tail := NewTail()
	for i, p := range payloads {
		if i < 25 {
			p = unsummed(p)
		}
		if err := tail.Append(p); err != nil {
			t.Fatalf("payload %d: %v", i, err)
		}
	}
	samePolls(t, tail, tr.tail(t, 0, 40))
}

func TestNamesThatChangeAllTheTimeStartAnew(t *testing.T) {
	t.Parallel()
	enc, tail := NewEncoder(), NewTail()
	for i := range 3 * maxSlots {
		p := enc.Append(nil, Row{Seq: uint64(i)}, []Section{{[]MetricID{MetricID(i)}, []monolith.Num{monolith.Uint(uint64(i))}}})
		if err := tail.Append(p); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(tail.IDs()); n != 3*maxSlots {
		t.Errorf("%d metrics", n)
	}
	if len(enc.slots) > maxSlots {
		t.Errorf("%d slots", len(enc.slots))
	}
}
