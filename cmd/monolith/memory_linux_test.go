package main

import (
	"os"
	"slices"
	"testing"

	"monolith/internal/figures"
)

const mapped = `00400000-01343000 r-xp 00000000 fe:00 10265233                           /opt/a program
Size:              15628 kB
Anonymous:             0 kB
01343000-0230c000 r--p 00f43000 fe:00 10265233                           /opt/a program
Anonymous:             0 kB
VmFlags: rd mr mw me sd
0230c000-02310000 r--p 01f0c000 fe:00 10265233                           /opt/a program
Anonymous:            16 kB
02310000-023b8000 rw-p 01f10000 fe:00 10265233                           /opt/a program
Anonymous:             0 kB
023b8000-04412000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 77                         /usr/lib/other
Anonymous:             0 kB
`

// TestOnlyWhatWasNeverWrittenIsDropped: a page that was written would come back as it is in the file.
func TestOnlyWhatWasNeverWrittenIsDropped(t *testing.T) {
	t.Parallel()
	if got, want := unwritten([]byte(mapped), "/opt/a program"), []span{{0x400000, 0x1343000}, {0x1343000, 0x230c000}}; !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	if got := unwritten([]byte(mapped), "/opt/program"); got != nil {
		t.Errorf("another program's: %x", got)
	}
}

// TestProgramIsDropped drops the pages of this very test, which must go on. How many come back at once is the kernel's choice.
func TestProgramIsDropped(t *testing.T) {
	before, _, err := figures.Resident(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := dropProgram(); err != nil {
			t.Fatal(err)
		}
	}
	after, _, err := figures.Resident(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if after >= before {
		t.Errorf("%d bytes are resident, %d were", after, before)
	}
}
