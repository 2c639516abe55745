package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// On a real listener: an open live stream gets frames and does not keep the program from ending.
func TestServeAndStop(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "a/1", "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- x.Serve(ctx, l) }()

	resp, err := http.Get(fmt.Sprintf("http://%s/api/v1/live?server=a%%2F1", l.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); kind != eventStream || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %q", resp.StatusCode, kind)
	}
	x.polled(poll(s.ID, 1, 100, nil))
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	if !strings.Contains(lines.Text(), `"server":"a/1"`) {
		t.Errorf("the frame is %q (%v)", lines.Text(), lines.Err())
	}
	stop()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(4 * time.Second): // less than the patience with requests in flight
		t.Fatal("an open stream keeps the server from stopping")
	}
	if rest, err := io.ReadAll(resp.Body); err != nil || strings.Contains(string(rest), "event:") {
		t.Errorf("the stream did not end well: %q, %v", rest, err)
	}
}
