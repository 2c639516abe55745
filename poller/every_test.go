package poller

import (
	"testing"
	"time"

	"monolith"
)

// TestEveryTellsHowLongAValueStaysGood: at one poll a second the host is read every ten, and its values
// hold until then.
func TestEveryTellsHowLongAValueStaysGood(t *testing.T) {
	p, err := New(Config{Collectors: Collectors()})
	if err != nil {
		t.Fatal(err)
	}
	quick := map[string]string{monolith.Fast: "@every 1s", monolith.Sizes: "@every 24h"}
	p.Apply([]monolith.Server{
		{ID: 1, Name: "quick", Schedules: quick, Endpoint: monolith.Endpoint{Host: "127.0.0.1", Port: 1}},
		{ID: 2, Name: "usual", Endpoint: monolith.Endpoint{Host: "127.0.0.1", Port: 1}},
	}, nil)
	for metric, want := range map[string][2]time.Duration{
		"status.Questions":         {time.Second, 10 * time.Second},
		"replica.lag":              {time.Second, 10 * time.Second},
		"server.up":                {time.Second, 10 * time.Second},
		"host.load1":               {10 * time.Second, 10 * time.Second},
		"innodb.transactions":      {10 * time.Second, 10 * time.Second},
		"variable.max_connections": {time.Minute, time.Minute},
		"schema.data_bytes":        {24 * time.Hour, 6 * time.Hour},
	} {
		for i := range want {
			if got := p.Every(monolith.ServerID(i+1), metric); got != want[i] {
				t.Errorf("server %d: %s is read every %v, want %v", i+1, metric, got, want[i])
			}
		}
	}
	if got := p.Every(3, "status.Questions"); got != 0 {
		t.Errorf("an unknown server is read every %v", got)
	}
}
