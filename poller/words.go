package poller

import "sync"

// words lets the servers of a fleet share their short texts: most settings are ON, OFF, 0 or what they are on every other
// server, and each text of its own takes 16 bytes at least, on each server hundreds of times. A nil *words shares nothing.
type words struct {
	mu    sync.Mutex
	known map[string]string
}

// What is shared is bounded, as the texts come from foreign servers; who comes later has texts of its own.
const (
	maxWord  = 48 // bytes
	maxWords = 4096
)

func newWords() *words { return &words{known: map[string]string{}} }

// text gives the bytes as a text that can be kept.
func (w *words) text(b []byte) string {
	if w == nil || len(b) > maxWord {
		return printable(string(b))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.known[string(b)]; ok {
		return s
	}
	s := printable(string(b))
	if len(w.known) < maxWords {
		w.known[string(b)] = s
	}
	return s
}
