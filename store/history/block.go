package history

import (
	"errors"

	"monolith"
)

var errNotReady = errors.New("history: not ready")

// MaxRows is the most polls that one raw block holds.
const MaxRows = 8192

// ErrCorrupt is inside every error about bytes that are not what this package wrote.
var ErrCorrupt = errors.New("corrupt")

// Marshal packs polls into a raw block. It fails when there are no rows, or more than [MaxRows].
func Marshal(p Polls) ([]byte, error) { return nil, errNotReady }

// Reader reads a raw block. It is safe for concurrent use.
type Reader struct{}

var _ Polls = (*Reader)(nil)

// Open checks a raw block's head and checksum. The reader keeps b, which must not change.
func Open(b []byte) (*Reader, error) { return nil, errNotReady }

// Rows implements [Polls].
func (r *Reader) Rows() []Row { return nil }

// IDs implements [Polls].
func (r *Reader) IDs() []MetricID { return nil }

// Column implements [Polls].
func (r *Reader) Column(id MetricID, dst []monolith.Num) ([]monolith.Num, error) {
	return nil, errNotReady
}
