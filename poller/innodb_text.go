package poller

import (
	"strconv"
	"strings"

	"monolith"
)

// innodbText is what can be read from the text of SHOW ENGINE INNODB STATUS. The text was made for people
// and changes its shape with each version: whatever is not found has no value.
type innodbText struct {
	History    monolith.Num // history list length
	LSN        monolith.Num // log sequence number
	Flushed    monolith.Num // log flushed up to
	Checkpoint monolith.Num // last checkpoint at
	// Of the open transactions that the text lists; no value where it has no list. A server whose text would be
	// longer than 64 KiB or 1 MiB leaves out the middle, of which this list is the most: then nobody knows how many
	// there are, but the oldest, which stands last, is there.
	Transactions, Waiting, Oldest monolith.Num
}

// parseInnoDBText reads the text. It never fails.
func parseInnoDBText(text string) innodbText {
	var t innodbText
	listed, cut, open, waiting, oldest := false, false, uint64(0), uint64(0), uint64(0)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "History list length"):
			t.History = leadingNumber(line[len("History list length"):])
		case strings.HasPrefix(line, "Log sequence number"):
			t.LSN = logPosition(line[len("Log sequence number"):])
		case strings.HasPrefix(line, "Log flushed up to"):
			t.Flushed = logPosition(line[len("Log flushed up to"):])
		case strings.HasPrefix(line, "Last checkpoint at"):
			t.Checkpoint = logPosition(line[len("Last checkpoint at"):])
		case strings.HasPrefix(line, "LIST OF TRANSACTIONS FOR EACH SESSION"):
			// What came before belongs to the section about the latest deadlock.
			listed, open, waiting, oldest = true, 0, 0, 0
		case line == "... truncated...":
			cut = true
		case strings.HasPrefix(line, "---TRANSACTION") && (listed || cut):
			if _, rest, ok := strings.Cut(line, "ACTIVE"); ok {
				open++
				if age := leadingNumber(strings.TrimPrefix(rest, " (PREPARED)")); !age.IsNone() {
					n, _, _, _ := age.Bits()
					oldest = max(oldest, n)
				}
			}
		case strings.HasPrefix(line, "LOCK WAIT") && listed:
			waiting++
		}
	}
	switch {
	case cut && open > 0:
		t.Oldest = monolith.Uint(oldest)
	case listed && !cut:
		t.Transactions, t.Waiting, t.Oldest = monolith.Uint(open), monolith.Uint(waiting), monolith.Uint(oldest)
	}
	return t
}

// CheckpointAge is the redo log between the last checkpoint and now, in bytes.
func (t innodbText) CheckpointAge() monolith.Num {
	lsn, _, _, ok1 := t.LSN.Bits()
	at, _, _, ok2 := t.Checkpoint.Bits()
	if !ok1 || !ok2 || at > lsn {
		return monolith.Num{}
	}
	return monolith.Uint(lsn - at)
}

// leadingNumber reads the unsigned number that a text begins with.
func leadingNumber(s string) monolith.Num {
	s = strings.TrimLeft(s, " \t:")
	end := 0
	for end < len(s) && isDigit(s[end]) {
		end++
	}
	n, err := strconv.ParseUint(s[:end], 10, 64)
	if err != nil {
		return monolith.Num{}
	}
	return monolith.Uint(n)
}

// logPosition reads a log sequence number: one number since 5.1's plugin, before it the upper and the
// lower 32 bits apart.
func logPosition(s string) monolith.Num {
	parts := strings.Fields(s)
	var n [2]uint64
	for i, p := range parts {
		var err error
		if i > 1 {
			break
		}
		if n[i], err = strconv.ParseUint(p, 10, 64); err != nil {
			return monolith.Num{}
		}
	}
	switch {
	case len(parts) == 1:
		return monolith.Uint(n[0])
	case len(parts) == 2 && n[0] < 1<<32 && n[1] < 1<<32:
		return monolith.Uint(n[0]<<32 | n[1])
	}
	return monolith.Num{}
}
