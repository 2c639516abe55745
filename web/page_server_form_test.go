package web

import (
	"net/http"
	"strings"
	"testing"
)

// An empty form lacks a host, after which the server would be named.
func TestEmptyServerFormAsksForTheHost(t *testing.T) {
	x := newSite(t)
	for _, action := range []string{"save", "test"} {
		got := x.do(t, http.MethodPost, "/servers/new", "name=&endpoint.host=&endpoint.user=monolith&tags=shop&action="+action, "Accept", "text/html",
			"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
		field := func(id string) string { return cutBetween(t, got.body, `<input id="`+id+`"`, "</div>") }
		if host := field("endpoint.host"); got.Code != http.StatusBadRequest || !strings.Contains(host, `aria-invalid="true"`) || !strings.Contains(host, "neither a host nor a socket") {
			t.Errorf("%s: %d, and the host says %s", action, got.Code, host)
		}
		if !strings.Contains(got.body, `name="tags" value="shop"`) {
			t.Errorf("%s: what was typed elsewhere is gone", action)
		}
		if name := field("name"); strings.Contains(name, "aria-invalid") {
			t.Errorf("%s: the name says %s", action, name)
		}
	}
}
