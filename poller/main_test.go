package poller

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// TestMain runs more tests beside each other than there are cores, unless it is told how many: most of the time they wait
// for the next poll.
func TestMain(m *testing.M) {
	flag.Parse()
	const together = 5
	if f := flag.Lookup("test.parallel"); runtime.GOMAXPROCS(0) < together && f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := f.Value.Set(strconv.Itoa(together)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
