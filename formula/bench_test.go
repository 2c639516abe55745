package formula

import (
	"context"
	"fmt"
	"testing"
	"time"

	"monolith"
)

// answered is a Source whose answer costs nothing.
type answered struct{ rng *monolith.Range }

func (a answered) Read(context.Context, monolith.Query) (*monolith.Range, error) { return a.rng, nil }

// BenchmarkDashboard evaluates 20 series of 720 points.
func BenchmarkDashboard(b *testing.B) {
	const n = 720
	rng := &monolith.Range{Start: noon, Step: 10 * time.Second, N: n, Tier: "raw"}
	var formulas []*Formula
	row := func(k int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64((i*k)%97 + 1)
		}
		return v
	}
	for i := range 20 {
		x, y := fmt.Sprintf("status.A%d", i), fmt.Sprintf("status.B%d", i)
		for _, name := range []string{x, y} {
			rng.Series = append(rng.Series, monolith.Series{Metric: monolith.Metric{Name: name}, Kind: monolith.Counter,
				Increase: row(i), Seconds: row(7), RateMin: row(3), RateMax: row(5)})
		}
		text := []string{"rate(%s)", "rate(%s) / rate(%s)", "percent(delta(%s), delta(%[1]s) + delta(%s))", `rate(%s, "5m")`,
			"greatest(0, rate(%s) - (rate(%s) ?? 0))"}[i%5]
		if text == "rate(%s)" || text == `rate(%s, "5m")` {
			text = fmt.Sprintf(text, x)
		} else {
			text = fmt.Sprintf(text, x, y)
		}
		f, err := ParseWith(text, anyName)
		if err != nil {
			b.Fatal(err)
		}
		formulas = append(formulas, f)
	}
	req := Request{Server: 1, From: noon, To: noon.Add(n * 10 * time.Second), Step: 10 * time.Second}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Series(context.Background(), answered{rng}, req, formulas...); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("percent(rate(status.Created_tmp_disk_tables), rate(status.Created_tmp_tables))"); err != nil {
			b.Fatal(err)
		}
	}
}
