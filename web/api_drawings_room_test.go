package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
)

func TestRoomIsBoundedAndFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom()
		enter := func(lines int) (leave func()) {
			leave, err := r.enter(t.Context(), lines, 99*time.Second, time.Second) // 100 values a line
			if err != nil {
				t.Error(err)
				return func() {}
			}
			return leave
		}
		var mu sync.Mutex
		var order []string
		later := func(name string, lines int) {
			go func() {
				leave := enter(lines)
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				leave()
			}()
			synctest.Wait()
		}
		inside := enter(1500)
		later("small", 500)
		small := len(order)
		later("huge", 1_000_000) // as large as the room, at most
		later("late", 1)         // there is room, but it is not its turn
		if small != 1 || len(order) != 1 {
			t.Fatalf("while one is inside, %v got in", order)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := r.enter(impatient, 1, time.Second, time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for a minute gives %v", err)
		}
		inside()
		synctest.Wait()
		if len(order) != 3 || order[1] != "huge" || order[2] != "late" {
			t.Errorf("they got in as %v", order)
		}
		enter(2000)() // all of it is free again
	})
}

// slowReads is a store whose reads wait, and are counted.
type slowReads struct {
	Store
	goOn     chan struct{}
	began    chan struct{}
	mu       sync.Mutex
	now, top int
}

func (s *slowReads) Read(ctx context.Context, q monolith.Query) (*monolith.Range, error) {
	s.mu.Lock()
	s.now++
	s.top = max(s.top, s.now)
	s.mu.Unlock()
	s.began <- struct{}{}
	defer func() {
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
	}()
	select {
	case <-s.goOn:
		return s.Store.Read(ctx, q)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestManyPagesOfGraphsAreDrawnAFewAtATime asks for all graphs eight times at once.
func TestManyPagesOfGraphsAreDrawnAFewAtATime(t *testing.T) {
	slow := &slowReads{goOn: make(chan struct{}), began: make(chan struct{}, 100)}
	x := newSite(t, func(c *Config) { slow.Store, c.Store = c.Store, slow })
	x.add(t, "a", "")
	ctx, leave := context.WithCancel(t.Context())
	answers := make(chan int, 8)
	for range 8 {
		go func() {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/drawings?server=a&from=-2h", nil)
			x.Handler().ServeHTTP(w, r)
			answers <- w.Body.Len()
		}()
	}
	<-slow.began
	<-slow.began
	go func() {
		for range 6 {
			slow.goOn <- struct{}{}
		}
	}()
	for range 6 {
		if <-answers < 1000 {
			t.Fatal("there are no drawings in an answer")
		}
	}
	leave() // the last two go away
	for range 2 {
		if <-answers > 0 {
			t.Error("who went away got an answer")
		}
	}
	if slow.top != 2 {
		t.Errorf("%d pages were drawn at one time, want 2", slow.top)
	}
	if room, err := x.room.enter(t.Context(), 1_000_000, time.Hour, time.Second); err != nil {
		t.Error(err)
	} else {
		room()
	}
}
