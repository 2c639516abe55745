package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"monolith"
)

func TestTimelineSaysOfWhatThereIsNothing(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	const ever, kind = "Nothing has changed since Monolith watches", "Nothing of this kind"
	if body := x.html(t, "/servers/db1/changes").body; !strings.Contains(body, ever) {
		t.Error("a server of which nothing is known to have changed")
	}
	x.store.changes = []monolith.Change{{ID: 1, Server: s.ID, At: noon, Name: "variable.max_connections", From: "151", To: "500"}}
	for _, k := range []string{"texts", "notes", "restarts"} {
		if body := x.html(t, "/servers/db1/changes?kind="+k).body; !strings.Contains(body, kind) || strings.Contains(body, ever) {
			t.Errorf("a variable was changed, and of %s the page says that nothing ever was", k)
		}
	}
	if body := x.html(t, "/servers/db1/changes?kind=variables").body; strings.Contains(body, kind) || strings.Contains(body, ever) || !strings.Contains(body, "max_connections") {
		t.Error("there is a change of that kind")
	}
	x.store.changes = nil
	if body := x.html(t, "/servers/db1/changes?before=-1h").body; !strings.Contains(body, "Nothing older") || strings.Contains(body, ever) {
		t.Error("nothing older is not nothing ever")
	}
}

func TestMarksSayOnceWhatTheyAre(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "b", "")
	x.store.marks = []monolith.Mark{
		{ID: 1, Server: s.ID, At: noon.Add(-2 * time.Minute), Kind: monolith.MarkRename, Text: "renamed: a → b"},
		{ID: 2, Server: s.ID, At: noon.Add(-time.Minute), Kind: monolith.MarkRestart, Text: "the server was restarted"},
		{ID: 3, Server: s.ID, At: noon, Kind: monolith.MarkAlert, Text: "critical: Server unreachable: no answer for 60 s"},
	}
	body := tags.ReplaceAllString(x.html(t, "/servers/b/changes").body, "")
	if !strings.Contains(body, "Renamed: a → b") || strings.Contains(body, "Rename renamed") || !strings.Contains(body, "Restart the server was restarted") ||
		!strings.Contains(body, "Alert critical: Server unreachable: no answer for 60 s") {
		t.Errorf("the timeline says %s", body[strings.Index(body, "everything"):])
	}
}

// A note that could not be kept is not said to stand because one before it does.
func TestNoteThatIsRefused(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	form := []string{"Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}
	good := x.do(t, http.MethodPost, "/servers/db1/changes", "text=deploy&at=-5m&scope=server", form...)
	to := good.Header().Get("Location")
	if good.Code != http.StatusSeeOther || !strings.Contains(x.html(t, to).body, "The note stands") {
		t.Fatalf("a good note: %d, and %s does not say that it stands", good.Code, to)
	}
	bad := x.do(t, http.MethodPost, to, "text=deploy&at=yesteryear&scope=server", form...)
	if bad.Code != http.StatusUnprocessableEntity || !strings.Contains(bad.body, `role="alert"`) || !strings.Contains(bad.body, `value="yesteryear"`) {
		t.Errorf("a bad time: %d", bad.Code)
	}
	if strings.Contains(bad.body, "The note stands") {
		t.Error("the page says of a note that was refused that it stands")
	}
}
