package graph

import (
	"io"
	"testing"
	"time"

	"monolith"
)

// BenchmarkPicture draws two hours of the graph of the data transferred, from numbers in memory to the bytes of a picture.
func BenchmarkPicture(b *testing.B) {
	src := history{"status.Bytes_received": 1e6, "status.Bytes_sent": 5e6}
	target := Target{ID: 1, Name: "db1", State: state(monolith.MariaDB, "10.11.6", nil)}
	req := Request{From: start, To: start.Add(2 * time.Hour), Step: 10 * time.Second}
	for _, as := range []struct {
		name  string
		write func(*Drawing, io.Writer, Picture) error
	}{{"svg", (*Drawing).SVG}, {"png", (*Drawing).PNG}} {
		b.Run(as.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				drawings, err := Draw(b.Context(), src, target, req, Find("data-transfer"))
				if err != nil {
					b.Fatal(err)
				}
				if drawings[0].Note != "" {
					b.Fatal(drawings[0].Note)
				}
				if err := as.write(drawings[0], io.Discard, Picture{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
