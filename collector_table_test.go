package monolith

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestCollectorOf(t *testing.T) {
	for metric, want := range map[string]string{
		"status.Questions": "status", "server.group_members": "group", "server.group_primaries": "members", "server.up": "server",
		"self.poll_seconds": "self", "schema.data_bytes": "sizes", "schema.auto_increment_ratio": "keys", "schema.tables": "sizes",
		"schema.large_tables_without_key": "keys", "server.open_grants": "accounts", "server.digests": "digests", "nothing.known": "server",
	} {
		if got := CollectorOf(metric); got != want {
			t.Errorf("%s comes from %s, want %s", metric, got, want)
		}
	}
}

func TestSourcesAreUnambiguous(t *testing.T) {
	seen := map[string]string{}
	for _, s := range sources {
		for _, what := range slices.Concat([]string{"collector " + s.collector}, s.metrics, s.rows) {
			if seen[what] != "" {
				t.Errorf("%s comes from %s and from %s", what, seen[what], s.collector)
			}
			seen[what] = s.collector
		}
		if s.schedule != "" && !slices.Contains(ScheduleNames, s.schedule) {
			t.Errorf("%s is on %q", s.collector, s.schedule)
		}
	}
	rows := reflect.TypeFor[Rows]()
	for i := range rows.NumField() {
		list, _, _ := strings.Cut(rows.Field(i).Tag.Get("json"), ",")
		if c := CollectorOfRows(list); c == "" || CollectorSchedule(c) == "" {
			t.Errorf("the list %s comes from %q, which runs on %q", list, c, CollectorSchedule(c))
		}
	}
	if CollectorOfRows("nothing") != "" || CollectorSchedule("nothing") != "" {
		t.Error("what is not there comes from somewhere")
	}
}
