package notify

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"monolith"
)

// What a receiver says is kept with the message and shown: it must not hold what only the two of them know.
func TestAnswersHoldNoSecrets(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusUnauthorized, http.StatusInternalServerError} {
		r := newReceiver(t)
		r.status, r.answer = status, `you sent "Authorization: Bearer bearer-secret", signed with hush-hush-key`
		s := sender(t, &monolith.Channel{Kind: "webhook", Config: map[string]string{"url": r.URL}, Secrets: map[string]monolith.Secret{"key": "hush-hush-key", "token": "bearer-secret"}}, Options{})
		said, err := s.Send(t.Context(), Examples()[0])
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, "you sent") || strings.Contains(said, "bearer-secret") || strings.Contains(said, "hush-hush-key") {
			t.Errorf("%d: %s", status, said)
		}
	}
}

// The path of a receiver is often its secret; its host says where to look.
func TestErrorsNameTheHostOnly(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := sender(t, &monolith.Channel{Kind: "webhook", Config: map[string]string{"url": gone.URL + "/hooks/T0KEN?key=T0KEN"}}, Options{})
	_, err := s.Send(t.Context(), Examples()[0])
	if err == nil || strings.Contains(err.Error(), "T0KEN") || !strings.Contains(err.Error(), strings.TrimPrefix(gone.URL, "http://")) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	said := errors.New("no")
	if err := within(t.Context(), func() error { return said }); !errors.Is(err, said) {
		t.Errorf("an error: %v", err)
	}
	if err := within(t.Context(), func() error { panic("index out of range") }); err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("a panic: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hangs := make(chan struct{})
	defer close(hangs)
	cancel()
	if err := within(ctx, func() error { <-hangs; return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that hangs: %v", err)
	}
}
