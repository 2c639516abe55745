package figures

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the processor time that a process has used since its start, user and system, of all its threads.
func CPU(pid int) (time.Duration, error) {
	// The clock of another process, as clock_getcpuclockid gives it; /proc/PID/stat counts in hundredths of a second.
	const scheduled = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); err != nil {
		return 0, fmt.Errorf("figures: processor time of %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// Resident is the memory that a process has now and the most that it ever had, in bytes, shared pages included.
func Resident(pid int) (now, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("figures: memory of %d: %w", pid, err)
	}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseInt(string(fields[1]), 10, 64) // other lines hold words
		switch string(fields[0]) {
		case "VmRSS:":
			now = kilobytes << 10
		case "VmHWM:":
			peak = kilobytes << 10
		}
	}
	if now == 0 || peak == 0 {
		return 0, 0, fmt.Errorf("figures: memory of %d: the kernel does not say", pid)
	}
	return now, peak, nil
}
