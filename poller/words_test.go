package poller

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

func TestWordsAreSharedWithinBounds(t *testing.T) {
	w := newWords()
	a, b := w.text([]byte("READ-COMMITTED")), w.text([]byte("READ-COMMITTED"))
	if a != "READ-COMMITTED" || unsafe.StringData(a) != unsafe.StringData(b) {
		t.Errorf("%q and %q are not one text", a, b)
	}
	if got := w.text([]byte("a\x01b")); got != printable("a\x01b") || got != w.text([]byte("a\x01b")) {
		t.Errorf("a text with a control character is %q", got)
	}
	long := strings.Repeat("x", maxWord+1)
	if got := w.text([]byte(long)); got != long {
		t.Errorf("a long text is %q", got)
	}
	for i := range 2 * maxWords {
		if got, want := w.text([]byte(fmt.Sprint(i))), fmt.Sprint(i); got != want {
			t.Fatalf("%q is %q", want, got)
		}
	}
	if len(w.known) > maxWords {
		t.Errorf("%d texts are kept for ever", len(w.known))
	}
	if got := (*words)(nil).text([]byte("x")); got != "x" {
		t.Errorf("without sharing it is %q", got)
	}
}
