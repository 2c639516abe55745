package web

import (
	"os"
	"testing"
	"time"

	"monolith/internal/browsertest"
)

// TestShots takes pictures of the pages for people to look at: set MONOLITH_SHOTS to a folder.
func TestShots(t *testing.T) {
	if os.Getenv("MONOLITH_SHOTS") == "" {
		t.Skip("set MONOLITH_SHOTS to a folder to get pictures of the pages")
	}
	for _, look := range []struct {
		name string
		opts []browsertest.Option
	}{
		{"dark-wide", []browsertest.Option{browsertest.Dark(), browsertest.Width(1440)}},
		{"light-wide", []browsertest.Option{browsertest.Light(), browsertest.Width(1440)}},
		{"dark-narrow", []browsertest.Option{browsertest.Dark(), browsertest.Width(390)}},
		{"light-narrow", []browsertest.Option{browsertest.Light(), browsertest.Width(390)}},
	} {
		t.Run(look.name, func(t *testing.T) {
			_, b, url := openFleet(t, 60, look.opts...)
			for name, path := range map[string]string{
				"first": "/", "overview": "/servers/db1", "graph": "/servers/db1/graphs/query-rate?ago=1", "editor": "/graphs/new?server=db1&expr=rate(status.Questions)",
				"replication": "/servers/db32/replication", "processes": "/servers/db1/processes", "status": "/servers/db1/status", "variables": "/servers/db1/variables",
				"monitoring": "/servers/db1/monitoring", "changes": "/servers/db1/changes", "settings": "/settings", "form": "/servers/db1/edit", "down": "/servers/db14",
			} {
				b.Open(url + path)
				if name == "overview" || name == "graph" || name == "editor" {
					b.Wait(".graph canvas")
					b.Until("document.querySelectorAll('.graph canvas').length > 0 && performance.now() > 1500", 5*time.Second)
				}
				if name == "first" {
					b.Wait(".spark svg")
				}
				b.Screenshot(name + "-" + look.name)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		_, b, url := openFleet(t, 0, browsertest.Light(), browsertest.Width(1440))
		b.Open(url + "/")
		b.Screenshot("empty-light-wide")
	})
}
