package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// dropProgram takes the pages of the program's own file out of what is resident. Reading rules, the catalogue and settings at
// the start goes through nearly all of them, and a sixth is not needed afterwards. What is needed comes back from the
// system's cache of files, in a few hundred page faults of a microsecond or two.
func dropProgram() error {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("memory: path of the program: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("memory: what is mapped: %w", err)
	}
	for _, s := range unwritten(maps, path) {
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, s.from, s.to-s.from, syscall.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("memory: drop the program's pages: %w", errno)
		}
	}
	return nil
}

// span is a stretch of addresses.
type span struct{ from, to uintptr }

// unwritten finds in the text of /proc/PID/smaps where a file is mapped that can't be written to and never was. Pages that
// were would not come back as they are: those of a program that is linked to be placed anywhere hold what was made of its
// addresses, read-only though they are afterwards.
func unwritten(smaps []byte, path string) []span {
	var found []span
	var at span
	ours := false
	for lines := bufio.NewScanner(bytes.NewReader(smaps)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if !strings.HasSuffix(fields[0], ":") { // a mapping begins: range, rights, offset, device, inode, path
			n, err := fmt.Sscanf(fields[0], "%x-%x", &at.from, &at.to)
			ours = err == nil && n == 2 && len(fields) >= 6 && strings.Join(fields[5:], " ") == path && !strings.Contains(fields[1], "w")
			continue
		}
		if ours && fields[0] == "Anonymous:" && fields[1] == "0" {
			found = append(found, at)
		}
	}
	return found
}
