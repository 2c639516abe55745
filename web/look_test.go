package web

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"time"

	"monolith/internal/browsertest"
)

// TestShots takes pictures of the pages for people to look at: of an invented fleet with
// MONOLITH_LOOK=shots, of a Monolith that runs with MONOLITH_LOOK=http://… and MONOLITH_LOOK_SERVER.
// MONOLITH_SHOTS names the folder.
func TestShots(t *testing.T) {
	look := os.Getenv("MONOLITH_LOOK")
	if look != "shots" && !strings.HasPrefix(look, "http") {
		t.Skip("set MONOLITH_LOOK=shots, and MONOLITH_SHOTS to a folder, to get pictures of the pages")
	}
	server := cmp.Or(os.Getenv("MONOLITH_LOOK_SERVER"), "db1")
	for _, way := range []struct {
		name string
		opts []browsertest.Option
	}{
		{"dark-wide", []browsertest.Option{browsertest.Dark(), browsertest.Width(1440)}},
		{"light-wide", []browsertest.Option{browsertest.Light(), browsertest.Width(1440)}},
		{"light-1280", []browsertest.Option{browsertest.Light(), browsertest.Width(1280)}},
		{"dark-1024", []browsertest.Option{browsertest.Dark(), browsertest.Width(1024)}},
		{"dark-narrow", []browsertest.Option{browsertest.Dark(), browsertest.Width(390)}},
		{"light-narrow", []browsertest.Option{browsertest.Light(), browsertest.Width(390)}},
	} {
		t.Run(way.name, func(t *testing.T) {
			var b *browsertest.Browser
			url := look
			if look == "shots" {
				_, b, url = openFleet(t, 60, way.opts...)
			} else {
				b = browsertest.New(t, way.opts...)
			}
			for name, path := range map[string]string{
				"first": "/", "overview": "/servers/" + server, "graphs": "/servers/" + server + "/graphs", "graph": "/servers/" + server + "/graphs/query-rate?ago=1",
				"editor": "/graphs/new?server=" + server + "&expr=rate(status.Questions)", "replication": "/servers/" + server + "/replication",
				"processes": "/servers/" + server + "/processes", "status": "/servers/" + server + "/status", "variables": "/servers/" + server + "/variables",
				"monitoring": "/servers/" + server + "/monitoring", "changes": "/servers/" + server + "/changes", "schemas": "/servers/" + server + "/schemas",
				"accounts": "/servers/" + server + "/accounts", "settings": "/settings", "form": "/servers/" + server + "/edit",
			} {
				b.Open(url + path)
				if name == "overview" || name == "graph" || name == "editor" || name == "graphs" {
					b.Wait(".graph canvas")
					b.Eval("window.scrollTo(0, document.body.scrollHeight)", nil)
					b.Until("performance.now() > 2500", 5*time.Second)
					b.Eval("window.scrollTo(0, 0)", nil)
					b.Until("performance.now() > 3500", 5*time.Second)
				}
				if name == "first" {
					b.Wait(".spark svg")
				}
				b.Screenshot(name + "-" + way.name)
			}
		})
	}
}
