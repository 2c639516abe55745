package replay

import (
	"encoding/binary"
	"io"
	"strconv"
)

// The protocol's numbers. Nothing else of it is used.
const (
	typeText     = 0xfd // VAR_STRING
	typeBigint   = 8
	statusAuto   = 2 // autocommit
	charsetUTF8  = 33
	maxPacket    = 1<<24 - 1
	headerOK     = 0
	headerMore   = 1 // more data of an authentication
	headerLocal  = 0xfb
	headerEOF    = 0xfe // also: use another authentication plug-in
	headerError  = 0xff
	commandQuit  = 1
	commandDB    = 2
	commandQuery = 3
	commandPing  = 14
)

// appendPacket adds a packet, in pieces of 16 MiB where it is larger, and gives the next sequence number.
func appendPacket(b []byte, seq byte, payload []byte) ([]byte, byte) {
	for {
		n := min(len(payload), maxPacket)
		b = append(b, byte(n), byte(n>>8), byte(n>>16), seq)
		b = append(b, payload[:n]...)
		payload = payload[n:]
		seq++
		if n < maxPacket {
			return b, seq
		}
	}
}

// readPacket reads one packet of at most 1 MiB: no statement of a monitor is larger.
func readPacket(r io.Reader) (payload []byte, seq byte, err error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, 0, err
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if n > 1<<20 {
		return nil, 0, io.ErrShortBuffer
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	return payload, head[3], err
}

func appendLength(b []byte, n uint64) []byte {
	switch {
	case n < 251:
		return append(b, byte(n))
	case n < 1<<16:
		return append(b, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(b, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(b, 0xfe), n)
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(appendLength(b, uint64(len(s))), s...)
}

// cutLength reads a length as a client writes it.
func cutLength(b []byte) (n int, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	switch size := map[byte]int{0xfc: 2, 0xfd: 3}[b[0]]; {
	case b[0] < 251:
		return int(b[0]), b[1:], true
	case size > 0 && len(b) > size:
		for i := size; i > 0; i-- {
			n = n<<8 | int(b[i])
		}
		return n, b[1+size:], true
	}
	return 0, nil, false
}

func okPayload() []byte { return []byte{headerOK, 0, 0, statusAuto, 0, 0, 0} }

func eofPayload() []byte { return []byte{headerEOF, 0, 0, statusAuto, 0} }

func (e *Error) payload() []byte {
	b := []byte{headerError, byte(e.Code), byte(e.Code >> 8)}
	if e.State != "" {
		b = append(append(b, '#'), e.State...)
	}
	return append(b, e.Text...)
}

// encoded is an answer as it goes over the wire, with the place where its rows begin.
type encoded struct {
	bytes []byte
	rows  int // where the first row begins; 0 without rows
	first int // where the first row ends
}

// encode writes an answer. A result without columns is an OK.
func encode(r *Result) encoded {
	switch {
	case r.Err != nil:
		b, _ := appendPacket(nil, 1, r.Err.payload())
		return encoded{bytes: b}
	case len(r.Columns) == 0:
		b, _ := appendPacket(nil, 1, okPayload())
		return encoded{bytes: b}
	}
	size := 64 + 64*len(r.Columns)
	for _, row := range r.Rows {
		size += 8
		for _, cell := range row {
			size += 4 + len(cell)
		}
	}
	var e encoded
	b, seq := appendPacket(make([]byte, 0, size), 1, appendLength(nil, uint64(len(r.Columns))))
	for _, c := range r.Columns {
		b, seq = appendPacket(b, seq, appendColumn(nil, c))
	}
	b, seq = appendPacket(b, seq, eofPayload())
	for i, row := range r.Rows {
		if i == 0 {
			e.rows = len(b)
		}
		b, seq = appendRowPacket(b, seq, row)
		if i == 0 {
			e.first = len(b)
		}
	}
	e.bytes, _ = appendPacket(b, seq, eofPayload())
	return e
}

// appendRowPacket writes a row in its place and its length afterwards: most of what is sent are short rows.
func appendRowPacket(b []byte, seq byte, row Row) ([]byte, byte) {
	from := len(b)
	b = appendRow(append(b, 0, 0, 0, seq), row)
	n := len(b) - from - 4
	if n >= maxPacket {
		return appendPacket(b[:from], seq, appendRow(nil, row))
	}
	b[from], b[from+1], b[from+2] = byte(n), byte(n>>8), byte(n>>16)
	return b, seq + 1
}

func appendColumn(b []byte, c Column) []byte {
	kind := c.Type
	if kind == 0 {
		kind = typeText
	}
	b = appendText(b, "def")
	for range 3 { // schema, table, table in the database
		b = appendText(b, "")
	}
	b = appendText(b, c.Name)
	b = appendText(b, "")
	b = append(b, 0x0c, charsetUTF8, 0)
	b = binary.LittleEndian.AppendUint32(b, 1<<24)
	return append(b, kind, 0, 0, 0, 0, 0)
}

func appendRow(b []byte, row Row) []byte {
	for _, v := range row {
		if v == nil {
			b = append(b, headerLocal)
			continue
		}
		b = appendText(b, v)
	}
	return b
}

// text makes a row of texts.
func text(values ...string) Row {
	row := make(Row, len(values))
	for i, v := range values {
		row[i] = []byte(v)
	}
	return row
}

func number(n uint64) []byte { return strconv.AppendUint(nil, n, 10) }
