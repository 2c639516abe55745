package history

import "encoding/binary"

// cursor reads numbers off bytes; after a failure everything reads as 0 and failed is true. It counts its
// position instead of cutting the slice shorter, which would cost a write barrier a number.
type cursor struct {
	data   []byte
	at     int
	failed bool
}

func (c *cursor) fail() { c.at, c.failed = len(c.data), true }

// left gives how many bytes are not read yet.
func (c *cursor) left() int { return len(c.data) - c.at }

func (c *cursor) uvarint() uint64 {
	if c.at < len(c.data) && c.data[c.at] < 0x80 { // most are one byte
		c.at++
		return uint64(c.data[c.at-1])
	}
	v, n := binary.Uvarint(c.data[c.at:])
	if n <= 0 {
		c.fail()
		return 0
	}
	c.at += n
	return v
}

func (c *cursor) varint() int64 { return unzigzag(c.uvarint()) }

func (c *cursor) byte() byte {
	if c.at == len(c.data) {
		c.fail()
		return 0
	}
	c.at++
	return c.data[c.at-1]
}

func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(c.left()) {
		c.fail()
		return nil
	}
	c.at += int(n)
	return c.data[c.at-int(n) : c.at : c.at]
}
