package figures

import (
	"os"
	"testing"
	"time"
)

func TestCPUGrowsWithWork(t *testing.T) {
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for began := time.Now(); time.Since(began) < 20*time.Millisecond; sum++ {
	}
	after, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if used := after - before; used <= 0 || used > 10*time.Second {
		t.Errorf("%d rounds of a loop took %v of the processor", sum, used)
	}
	if _, err := CPU(1 << 22); err == nil {
		t.Error("a process that can't exist has a processor time")
	}
}

func TestResidentIsAtMostThePeak(t *testing.T) {
	now, peak, err := Resident(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if now < 1<<20 || now > peak {
		t.Errorf("the memory is %d bytes, the most was %d", now, peak)
	}
}
