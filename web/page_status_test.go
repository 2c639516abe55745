package web

import (
	"math"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"monolith"
)

// cellsOf gives the texts of the cells of a table's row.
func cellsOf(t *testing.T, body, name string) []string {
	t.Helper()
	row := cutBetween(t, body, `<tr data-name="`+name+` "`, "</tr>")
	var cells []string
	for _, m := range regexp.MustCompile(`(?s)<td[^>]*>(.*?)</td>`).FindAllStringSubmatch(row, -1) {
		cells = append(cells, strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], "")))
	}
	return cells
}

func TestStatusIsComparedWithAnotherServer(t *testing.T) {
	x := newSite(t)
	a, b := x.add(t, "db1", ""), x.add(t, "db2", "")
	for seq, questions := range []uint64{1000, 2000} {
		x.poller.take(poll(a.ID, uint64(seq+1), 3*questions, nil))
		x.poller.take(poll(b.ID, uint64(seq+1), questions, nil))
	}
	body := x.html(t, "/servers/db1/status?against=db2").body
	if got := cellsOf(t, body, "Questions"); len(got) < 5 || strings.Join(got[:5], "|") != "6000|300/s|2000|100/s|× 3" {
		t.Errorf("Questions: %q", got)
	}
	if got := cellsOf(t, body, "Threads_running"); len(got) < 5 || strings.Join(got[:5], "|") != "7||7||same" {
		t.Errorf("Threads_running: %q", got)
	}
	if got := cellsOf(t, body, "Ssl_cipher"); len(got) < 5 || got[4] != "same" {
		t.Errorf("a text: %q", got)
	}
	if body := x.html(t, "/servers/db1/status").body; strings.Contains(body, ">Ratio<") {
		t.Error("nothing is compared, and there are columns for it")
	}
	for _, tab := range []string{"status", "variables"} {
		got := x.html(t, "/servers/db1/"+tab+"?against=db3")
		if got.Code != http.StatusOK || !strings.Contains(got.body, "There is no server &#34;db3&#34;. Did you mean") {
			t.Errorf("%s beside a server that is not there: %d", tab, got.Code)
		}
	}
}

// A page gauge of −40 comes as 2^64−40 from some servers. It is shown as what it is, and no such number anywhere else.
func TestSmallNegativesAreShownAsSuch(t *testing.T) {
	x := newSite(t)
	a := x.add(t, "db1", "")
	snap := poll(a.ID, 1, 1000, nil)
	snap.Sections[0].Nums[1], snap.Sections[0].Nums[2] = monolith.Uint(math.MaxUint64), monolith.Uint(math.MaxUint64-39)
	x.poller.take(snap)
	if got := cellsOf(t, x.html(t, "/servers/db1/status").body, "Innodb_buffer_pool_pages_misc"); got[0] != "-40" {
		t.Errorf("on the page: %q", got)
	}
	if got := x.get(t, "/api/v1/servers/db1/status?name=Innodb_buffer_pool_pages_misc&name=Threads_running").body; !strings.Contains(got, `"value":-40,"said":"18446744073709551576"`) ||
		!strings.Contains(got, `"name":"Threads_running","value":18446744073709551615,"kind"`) {
		t.Errorf("in the API: %s", got)
	}
	if got := x.get(t, "/api/v1/export.json?fields=status.Innodb_buffer_pool_pages_misc,status.Threads_running").body; !strings.Contains(got, `_misc":-40`) ||
		!strings.Contains(got, `_running":18446744073709551615`) {
		t.Errorf("in an export: %s", got)
	}
}

func TestStatusIsComparedWithAnotherMoment(t *testing.T) {
	x := newSite(t)
	a := x.add(t, "db1", "")
	for seq, questions := range []uint64{1000, 1200} {
		x.poller.take(poll(a.ID, uint64(seq+1), questions, nil))
	}
	// History has 10 questions a second, and of Threads_running the minute of the hour.
	body := x.html(t, "/servers/db1/status?against_at=2026-03-14+09:15").body
	if got := cellsOf(t, body, "Questions"); len(got) < 5 || strings.Join(got[:5], "|") != "1200|20/s||10/s|× 2" {
		t.Errorf("Questions: %q", got)
	}
	if got := cellsOf(t, body, "Threads_running"); len(got) < 5 || strings.Join(got[:5], "|") != "7||14||× 0.5" {
		t.Errorf("Threads_running: %q", got)
	}
	if got := cellsOf(t, body, "Open_files"); got[2] != "not there" {
		t.Errorf("what history does not have: %q", got)
	}
	if got := x.html(t, "/servers/db1/status?against_at=yesterday"); !strings.Contains(got.body, `role="alert"`) {
		t.Error("what is no moment is not said")
	}
	x.poller.states = map[monolith.ServerID]*monolith.State{}
	x.poller.take(&monolith.Snapshot{Server: a.ID, Seq: 1, At: noon, Taken: noon, Interval: 10 * time.Second, Up: true, Polled: true, Sections: []monolith.Section{
		{Collector: "status", NumNames: monolith.NewNames([]monolith.Metric{{Name: "status.Open_files"}}), Nums: []monolith.Num{monolith.Uint(3)}}}})
	if got := x.html(t, "/servers/db1/status?against_at=-1d"); !strings.Contains(got.body, "History has no values of db1") {
		t.Error("an empty history is not said")
	}
	x.store.texts = nil
	if got := x.html(t, "/servers/db1/variables?against_at=-1d"); !strings.Contains(got.body, "History has no variables of db1 at that moment") {
		t.Error("an empty history of variables is not said")
	}
	x.store.broken = monolith.ErrUnavailable
	if got := x.html(t, "/servers/db1/status?against_at=-1d"); got.Code != http.StatusOK || !strings.Contains(got.body, "could not tell the values of that moment") {
		t.Errorf("without the store: %d", got.Code)
	}
}
