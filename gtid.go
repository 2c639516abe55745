package monolith

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// GTIDSet is a set of transactions. MySQL writes it as uuid:1-5:7,uuid:tag:1-3 (tags since 8.3), one part a
// source and tag. MariaDB writes positions, domain-server-sequence, and means all that came before them too.
type GTIDSet struct {
	parts     map[string][]interval // MySQL: by source and tag; sorted, without overlaps
	positions map[position]uint64   // MariaDB: the sequence by domain and server
}

// interval is a row of transaction numbers, both ends included.
type interval struct{ from, to uint64 }

// position names where MariaDB's sequence numbers grow.
type position struct{ domain, server uint64 }

// ParseGTIDSet reads either form. ok is false where a part can't be read, as when the text was cut. The
// empty text is the empty set.
func ParseGTIDSet(s string) (set GTIDSet, ok bool) {
	if strings.Contains(s, ":") {
		set.parts, ok = parseParts(s)
	} else {
		set.positions, ok = parsePositions(s)
	}
	return set, ok
}

// Empty reports whether the set holds nothing.
func (s GTIDSet) Empty() bool { return len(s.parts) == 0 && len(s.positions) == 0 }

// Count gives the number of transactions. Of MariaDB's positions it is the sum of the sequence numbers.
func (s GTIDSet) Count() (n uint64) {
	for _, list := range s.parts {
		for _, i := range list {
			n += i.to - i.from + 1
		}
	}
	for _, sequence := range s.positions {
		n += sequence
	}
	return n
}

// Behind counts what of got is not in s: what a replica that has executed s still has to do when it has
// received got. In MariaDB a domain's highest sequence counts, whichever server wrote it.
func (s GTIDSet) Behind(got GTIDSet) (n uint64) {
	n = got.Minus(GTIDSet{parts: s.parts}).partCount()
	done := s.domains()
	for domain, sequence := range got.domains() {
		if at := done[domain]; sequence > at {
			n += sequence - at
		}
	}
	return n
}

func (s GTIDSet) partCount() uint64 { return GTIDSet{parts: s.parts}.Count() }

func (s GTIDSet) domains() map[uint64]uint64 {
	out := make(map[uint64]uint64, len(s.positions))
	for p, sequence := range s.positions {
		out[p.domain] = max(out[p.domain], sequence)
	}
	return out
}

// Minus gives what is in s and not in o. Of MariaDB's positions those stay whose server wrote more in the
// domain than o knows.
func (s GTIDSet) Minus(o GTIDSet) GTIDSet {
	out := GTIDSet{parts: map[string][]interval{}, positions: map[position]uint64{}}
	for source, list := range s.parts {
		var left []interval
		for _, i := range list {
			left = append(left, i.minus(o.parts[source])...)
		}
		if len(left) > 0 {
			out.parts[source] = left
		}
	}
	for p, sequence := range s.positions {
		if sequence > o.positions[p] {
			out.positions[p] = sequence
		}
	}
	return out
}

// minus cuts a sorted list without overlaps out of the interval.
func (i interval) minus(list []interval) (out []interval) {
	for _, l := range list {
		if l.to < i.from {
			continue
		}
		if l.from > i.to {
			break
		}
		if l.from > i.from {
			out = append(out, interval{i.from, l.from - 1})
		}
		if l.to >= i.to {
			return out
		}
		i.from = l.to + 1
	}
	return append(out, i)
}

// Gaps gives the transactions that are missing between the first and the last of a source and tag. What lies
// before the first is not a gap. MariaDB's positions have none.
func (s GTIDSet) Gaps() GTIDSet {
	out := GTIDSet{parts: map[string][]interval{}}
	for source, list := range s.parts {
		for k := 1; k < len(list); k++ {
			if list[k].from > list[k-1].to+1 {
				out.parts[source] = append(out.parts[source], interval{list[k-1].to + 1, list[k].from - 1})
			}
		}
	}
	return out
}

// String writes the set in the server's form, sources in order.
func (s GTIDSet) String() string {
	var b strings.Builder
	for _, source := range slices.Sorted(maps.Keys(s.parts)) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(source)
		for _, i := range s.parts[source] {
			b.WriteString(":" + strconv.FormatUint(i.from, 10))
			if i.to > i.from {
				b.WriteString("-" + strconv.FormatUint(i.to, 10))
			}
		}
	}
	byDomain := func(a, b position) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), cmp.Compare(a.server, b.server))
	}
	for _, p := range slices.SortedFunc(maps.Keys(s.positions), byDomain) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		for _, n := range []uint64{p.domain, p.server} {
			b.WriteString(strconv.FormatUint(n, 10) + "-")
		}
		b.WriteString(strconv.FormatUint(s.positions[p], 10))
	}
	return b.String()
}

// parseParts reads MySQL's form.
func parseParts(s string) (map[string][]interval, bool) {
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
			if piece[0] < '0' || piece[0] > '9' {
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

// merged sorts intervals and joins those that overlap or touch.
func merged(list []interval) []interval {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	out := list[:1]
	for _, i := range list[1:] {
		if last := &out[len(out)-1]; i.from <= last.to+1 {
			last.to = max(last.to, i.to)
		} else {
			out = append(out, i)
		}
	}
	return out
}

// parsePositions reads MariaDB's form.
func parsePositions(s string) (map[position]uint64, bool) {
	positions := map[position]uint64{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		pieces := strings.Split(part, "-")
		if len(pieces) != 3 {
			return nil, false
		}
		domain, err1 := strconv.ParseUint(pieces[0], 10, 32)
		server, err2 := strconv.ParseUint(pieces[1], 10, 32)
		sequence, err3 := strconv.ParseUint(pieces[2], 10, 63)
		if err1 != nil || err2 != nil || err3 != nil {
			return nil, false
		}
		p := position{domain, server}
		positions[p] = max(positions[p], sequence)
	}
	return positions, true
}
