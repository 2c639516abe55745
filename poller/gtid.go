package poller

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// gtidBacklog counts the transactions that a replica has received and not applied. ok is false where a
// set can't be read or has been cut.
func gtidBacklog(retrieved, executed string) (n uint64, ok bool) {
	if strings.Contains(retrieved, ":") || strings.Contains(executed, ":") {
		return mysqlBacklog(retrieved, executed)
	}
	return mariadbBacklog(retrieved, executed)
}

// interval is a row of transaction numbers, both ends included.
type interval struct{ from, to uint64 }

// mysqlBacklog works on sets of the form uuid:1-5:7,uuid:tag:1-3; tags exist since MySQL 8.3.
func mysqlBacklog(retrieved, executed string) (n uint64, ok bool) {
	got, ok1 := parseGTIDSet(retrieved)
	done, ok2 := parseGTIDSet(executed)
	if !ok1 || !ok2 {
		return 0, false
	}
	for source, intervals := range got {
		for _, i := range intervals {
			n += i.to - i.from + 1 - covered(i, done[source])
		}
	}
	return n, true
}

// covered counts how much of an interval a sorted list without overlaps covers.
func covered(i interval, list []interval) (n uint64) {
	for _, l := range list {
		from, to := max(i.from, l.from), min(i.to, l.to)
		if from <= to {
			n += to - from + 1
		}
	}
	return n
}

// parseGTIDSet reads MySQL's form into sorted intervals without overlaps, by source and tag.
func parseGTIDSet(s string) (map[string][]interval, bool) {
	set := map[string][]interval{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		pieces := strings.Split(part, ":")
		if len(pieces) < 2 {
			return nil, false
		}
		uuid := strings.ToLower(strings.TrimSpace(pieces[0]))
		key := uuid
		for _, piece := range pieces[1:] {
			piece = strings.TrimSpace(piece)
			if piece == "" {
				return nil, false
			}
			if !isDigit(piece[0]) {
				key = uuid + ":" + strings.ToLower(piece) // what follows belongs to the tag
				continue
			}
			first, last, isRange := strings.Cut(piece, "-")
			if !isRange {
				last = first
			}
			from, err1 := strconv.ParseUint(first, 10, 63)
			to, err2 := strconv.ParseUint(last, 10, 63)
			if err1 != nil || err2 != nil || from == 0 || to < from {
				return nil, false
			}
			set[key] = append(set[key], interval{from, to})
		}
	}
	for key, list := range set {
		set[key] = merged(list)
	}
	return set, true
}

// merged sorts intervals and joins those that overlap.
func merged(list []interval) []interval {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	out := list[:1]
	for _, i := range list[1:] {
		if last := &out[len(out)-1]; i.from <= last.to {
			last.to = max(last.to, i.to)
		} else {
			out = append(out, i)
		}
	}
	return out
}

// mariadbBacklog works on positions of the form domain-server-sequence, one per domain.
func mariadbBacklog(retrieved, executed string) (n uint64, ok bool) {
	got, ok1 := parsePositions(retrieved)
	done, ok2 := parsePositions(executed)
	if !ok1 || !ok2 {
		return 0, false
	}
	for domain, sequence := range got {
		if at := done[domain]; sequence > at {
			n += sequence - at
		}
	}
	return n, true
}

func parsePositions(s string) (map[uint64]uint64, bool) {
	positions := map[uint64]uint64{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		pieces := strings.Split(part, "-")
		if len(pieces) != 3 {
			return nil, false
		}
		domain, err1 := strconv.ParseUint(pieces[0], 10, 32)
		sequence, err2 := strconv.ParseUint(pieces[2], 10, 63)
		if err1 != nil || err2 != nil {
			return nil, false
		}
		positions[domain] = sequence
	}
	return positions, true
}
