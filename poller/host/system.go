package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// system reads how the operating system is set up; nil where there is no /proc/sys.
func (l *Local) system() *System {
	kernel := filepath.Join(l.proc, "sys")
	if _, err := os.Stat(kernel); err != nil {
		return nil
	}
	s := &System{Swappiness: -1, Overcommit: -1, OOMKills: -1}
	if n, ok := readNumber(kernel, "vm/swappiness"); ok {
		s.Swappiness = int(n)
	}
	if n, ok := readNumber(kernel, "vm/overcommit_memory"); ok {
		s.Overcommit = int(n)
	}
	s.PIDLimit, _ = readNumber(kernel, "kernel/pid_max")
	if b, err := os.ReadFile(filepath.Join(kernel, "fs/file-nr")); err == nil {
		s.FileHandles, s.FileHandleLimit = parseFileNr(string(b))
	}
	if b, err := os.ReadFile(filepath.Join(l.proc, "vmstat")); err == nil {
		s.OOMKills = killsIn(string(b))
	}
	if b, err := os.ReadFile(filepath.Join(l.sys, "kernel/mm/transparent_hugepage/enabled")); err == nil {
		s.HugePages, _ = parseChoice(string(b))
	}
	return s
}

// parseFileNr reads "allocated unused maximum". Since Linux 2.6 none are kept unused.
func parseFileNr(text string) (used, limit uint64) {
	f := strings.Fields(text)
	if len(f) != 3 {
		return 0, 0
	}
	allocated, err1 := strconv.ParseUint(f[0], 10, 64)
	unused, err2 := strconv.ParseUint(f[1], 10, 64)
	limit, err3 := strconv.ParseUint(f[2], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || unused > allocated {
		return 0, 0
	}
	return allocated - unused, limit
}

// killsIn finds the line "oom_kill n", as /proc/vmstat and control groups have it; −1 where there is none.
func killsIn(text string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "oom_kill "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64); err == nil && n >= 0 {
				return n
			}
		}
	}
	return -1
}

// parseChoice reads the kernel's form of a choice, "always [madvise] never": what is in force, and all of them. A single word
// without brackets is in force.
func parseChoice(text string) (now string, all []string) {
	for word := range strings.FieldsSeq(text) {
		if inner, ok := strings.CutPrefix(word, "["); ok {
			word = strings.TrimSuffix(inner, "]")
			now = word
		}
		all = append(all, word)
	}
	if now == "" && len(all) == 1 {
		now = all[0]
	}
	return now, all
}
