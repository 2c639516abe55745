package figures

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"monolith"
)

// reading is what the counter is at each second.
func reading(second int) uint64 { return uint64(512 * (second*second + second/10%2)) }

// recorded writes a trace as it is recorded, with a counter in steps of 512, a gauge and a text.
func recorded(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.tsv.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	fmt.Fprintln(z, "#ts_ms\tquery_us\tCom_select\tThreads_running\tRpl_status\tCom_never")
	for i := range 100 {
		fmt.Fprintf(z, "%d\t100\t%d\t%d\tAUTH_MASTER\t7\n", i*1000, reading(i), 1+i%3)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadRepeatsWhatWasRecorded(t *testing.T) {
	trace, err := Read(recorded(t), "recorded")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"status.Com_select", "status.Threads_running", "status.Com_never"}; !slices.Equal(trace.Names, want) {
		t.Fatalf("the names are %q, want %q", trace.Names, want)
	}
	if !slices.Equal(trace.Moving, []int{0}) {
		t.Errorf("what moves is at %v, want the first alone", trace.Moving)
	}
	last := uint64(0)
	for i, nums := range trace.Polls(50) { // five times what was recorded
		bits, _, _, _ := nums[0].Bits()
		if bits < last || bits%512 != 0 {
			t.Fatalf("poll %d: the counter goes from %d to %d", i, last, bits)
		}
		if k := i % 9; i > 0 {
			was := float64(reading(10*k+10) - reading(10*k))
			if by := float64(bits - last); by < 0.79*was || by > 1.21*was {
				t.Errorf("poll %d: the counter grows by %v, recorded was %v", i, by, was)
			}
		}
		if g := nums[1].Float64(); g != float64(1+(i%10*10)%3) {
			t.Errorf("poll %d: the gauge is %v", i, g)
		}
		last = bits
	}
}

func TestTracesAreTheSameEachTime(t *testing.T) {
	trace, err := Read(recorded(t), "recorded")
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range []*Trace{trace, OLTP([]string{"status.Com_select", "status.Threads_running", "status.Bytes_sent"}, Busy)} {
		var first, second [][]monolith.Num
		for _, nums := range tr.Polls(100) {
			first = append(first, nums)
		}
		for _, nums := range tr.Polls(100) {
			second = append(second, nums)
		}
		if len(first) != 100 || !slices.EqualFunc(first, second, slices.Equal[[]monolith.Num]) {
			t.Errorf("%s: two readings differ", tr.Title)
		}
		few := tr.Only([]int{1})
		for i, nums := range few.Polls(10) {
			if len(nums) != 1 || nums[0] != first[i][1] {
				t.Errorf("%s: only the second is %v, want %v", tr.Title, nums, first[i][1])
			}
		}
	}
}

func TestMostOfABusyServerMoves(t *testing.T) {
	var names []string
	for i := range 400 {
		names = append(names, fmt.Sprintf("status.Com_%03d", i))
	}
	busy, steady := OLTP(names, Busy), OLTP(names, Steady)
	if share := float64(len(busy.Moving)) / 400; share < 0.4 || share > 0.65 {
		t.Errorf("%.0f %% of a busy server moves", 100*share)
	}
	if len(steady.Moving) >= len(busy.Moving)/2 {
		t.Errorf("%d values of a steady server move, %d of a busy one", len(steady.Moving), len(busy.Moving))
	}
	var before []monolith.Num
	for i, nums := range busy.Polls(1000) {
		for j := range before {
			if nums[j].Float64() < before[j].Float64() {
				t.Fatalf("poll %d: counter %d falls", i, j)
			}
		}
		before = nums
	}
}
