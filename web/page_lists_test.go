package web

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// The process list is read less often than the status: the page says how old the list is, and reads it on demand.
func TestProcessListSaysHowOldItIs(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	snap := poll(s.ID, 1, 100, nil)
	snap.Processes = &monolith.ProcessList{Taken: noon.Add(10 * time.Second), Total: 3}
	x.poller.take(snap)
	x.poller.take(poll(s.ID, 6, 600, nil))
	x.clock = noon.Add(63 * time.Second)
	page := x.html(t, "/servers/db1/processes?q=shop&idle=1").body
	text := tags.ReplaceAllString(page, "")
	if !strings.Contains(text, "list read 53 s ago") || !strings.Contains(text, "last poll 3 s ago") || strings.Contains(text, "values from 3 s ago") {
		t.Error("the page does not say that the list is 53 s old, or says that it is 3 s old")
	}
	form := cutBetween(t, page, `action="/servers/db1/do/poll"`, "</form>")
	for _, part := range []string{`name="back" value="processes"`, `name="q" value="shop"`, `name="idle" value="1"`, ">Read now<"} {
		if !strings.Contains(form, part) {
			t.Errorf("the form that reads the list lacks %s: %s", part, form)
		}
	}
	got := x.do(t, http.MethodPost, "/servers/db1/do/poll", "back=processes&q=shop&idle=1", "Accept", "text/html",
		"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	to := got.Header().Get("Location")
	if got.Code != http.StatusSeeOther || to != "/servers/db1/processes?idle=1&q=shop&done=reading" || !slices.Contains(x.poller.polled, s.ID) {
		t.Errorf("%d, and the browser goes to %q; polled: %v", got.Code, to, x.poller.polled)
	}
	if again := x.html(t, to).body; !strings.Contains(again, "is being read") || !strings.Contains(again, `value="shop"`) {
		t.Error("the page shown then is not the one left")
	}
	// Other forms go where they went.
	got = x.do(t, http.MethodPost, "/servers/db1/do/poll", "back=//evil.example", "Accept", "text/html",
		"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	if to := got.Header().Get("Location"); to != "/servers/db1?done=polled" {
		t.Errorf("the browser goes to %q", to)
	}
	x.store.servers[0].Paused = true
	if strings.Contains(x.html(t, "/servers/db1/processes").body, "Read now") {
		t.Error("a server that is paused is not read")
	}
}
