package history

import "monolith"

// Encoder writes the head payloads of one server. It is not safe for concurrent use.
type Encoder struct{}

// NewEncoder makes an encoder whose first payload is a key payload: it needs nothing before it.
func NewEncoder() *Encoder { return &Encoder{} }

// Append appends the payload of a poll to dst: what changed since the payload before. When an id stands in several sections
// the last one counts. The encoder keeps the IDs slices; they must not change afterwards.
func (e *Encoder) Append(dst []byte, row Row, sections []Section) []byte { return dst }

// Reset makes the next payload a key payload. Call it where a new block begins, so that the rows
// before can be deleted, and whenever a payload was made and not stored.
func (e *Encoder) Reset() {}

// Key reports whether the next payload will be a key payload.
func (e *Encoder) Key() bool { return true }

// IsKey reports whether a payload needs no other before it.
func IsKey(payload []byte) bool { return false }

// Tail replays head payloads into columns. It is not safe for concurrent use while payloads are appended.
type Tail struct{}

var _ Polls = (*Tail)(nil)

// NewTail makes an empty tail. With ids only these metrics are kept, which is what a graph wants;
// without, all are.
func NewTail(want ...MetricID) *Tail { return &Tail{} }

// Append replays the next payload. The first one must be a key payload; later ones may be (they begin anew
// without losing the rows before). On an error the tail is as it was.
func (t *Tail) Append(payload []byte) error { return errNotReady }

// Rows implements [Polls].
func (t *Tail) Rows() []Row { return nil }

// IDs implements [Polls].
func (t *Tail) IDs() []MetricID { return nil }

// Column implements [Polls]. It gives no error.
func (t *Tail) Column(id MetricID, dst []monolith.Num) ([]monolith.Num, error) {
	return nil, errNotReady
}
