package formula

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComparisons(t *testing.T) {
	t.Parallel()
	scope := &Scope{Locals: map[string]Type{"lag": TypeNumber, "share": TypeNumber, "known": TypeBool, "limit.lag": TypeNumber, "limit.share": TypeNumber, "limit.n": TypeNumber}}
	for text, want := range map[string][]Comparison{
		"lag > limit.lag":                                                   {{"lag", "limit.lag", true}},
		"limit.lag <= lag":                                                  {{"lag", "limit.lag", true}},
		"lag >= limit.lag and share >= limit.share":                         {{"lag", "limit.lag", false}, {"share", "limit.share", false}},
		"lag >= limit.lag or known and share >= limit.share":                {{"lag", "limit.lag", true}, {"share", "limit.share", false}},
		"not (lag < limit.lag)":                                             {{"lag", "limit.lag", false}},
		"known ? lag > limit.lag : status.Threads_running > limit.n":        {{"lag", "limit.lag", false}, {"status.Threads_running", "limit.n", false}},
		"lag >= greatest(limit.lag, limit.share * 2)":                       nil,
		"lag * 2 > limit.lag or lag > 3 or rate(status.Questions) > lag":    nil,
		"status.Threads_running - 1 > limit.n or lag == limit.lag or known": nil,
	} {
		f, err := ParseScope(text, scope)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := f.Comparisons(func(local string) bool { return strings.HasPrefix(local, "limit.") })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
