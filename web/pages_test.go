package web

import (
	"net/http"
	"os"
	"testing"
	"time"
)

// TestLookAtPages serves an invented fleet for people (and screenshots) at the address in
// MONOLITH_LOOK, for as long as the test may run.
func TestLookAtPages(t *testing.T) {
	addr := os.Getenv("MONOLITH_LOOK")
	if addr == "" {
		t.Skip("set MONOLITH_LOOK=127.0.0.1:8090 to look at the pages of an invented fleet; with -timeout for how long")
	}
	n := 3
	if os.Getenv("MONOLITH_LOOK_MANY") != "" {
		n = 1000
	}
	if os.Getenv("MONOLITH_LOOK_EMPTY") != "" {
		n = 0
	}
	x := newFleet(t, n, func(c *Config) { c.Now = time.Now })
	go func() {
		for seq := uint64(3); t.Context().Err() == nil; seq++ {
			<-time.After(10 * time.Second)
			for i := range n {
				snap := fleetPoll(x.store.servers[i].ID, i, seq, time.Now().Add(time.Duration(2-seq)*10*time.Second))
				snap.At = time.Now()
				x.poller.take(snap)
				x.Push(t.Context(), snap)
			}
		}
	}()
	server := &http.Server{Addr: addr, Handler: x.Handler(), ReadHeaderTimeout: time.Second}
	t.Log(server.ListenAndServe())
}
