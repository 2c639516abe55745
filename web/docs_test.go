package web

import (
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"monolith"
)

// Every route stands in docs/api.md, and nothing stands there that is no route.
func TestDocumentation(t *testing.T) {
	x := newSite(t)
	var routes []string
	err := chi.Walk(x.root, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		api := strings.HasPrefix(route, "/api/") || slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, route)
		if api && !strings.HasSuffix(route, ".json") && !strings.HasSuffix(route, ".xml") {
			routes = append(routes, method+" "+route)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	sections := regexp.MustCompile("(?m)^### `([A-Z]+ [^`]+)`$").FindAllSubmatchIndex(text, -1)
	for i, at := range sections {
		documented = append(documented, string(text[at[2]:at[3]]))
		end := len(text)
		if i+1 < len(sections) {
			end = sections[i+1][0]
		}
		if !strings.Contains(string(text[at[1]:end]), "```") {
			t.Errorf("%s has no example", text[at[2]:at[3]])
		}
	}
	slices.Sort(routes)
	slices.Sort(documented)
	if diff := cmp.Diff(routes, documented); diff != "" {
		t.Errorf("routes (-) and docs/api.md (+) differ:\n%s", diff)
	}
}

// Every example of docs/api.md is sent, in order, to a site that holds what they name; each must work.
func TestDocumentedExamples(t *testing.T) {
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	x := newSite(t)
	x.add(t, "eu/db 1", "acme/prod")
	x.add(t, "db2", "acme/prod")
	for _, path := range []string{"acme/prod", "acme/stage", "acme/dev", "acme/old"} {
		x.store.groups = append(x.store.groups, monolith.Group{Path: path})
	}
	x.store.graphs = []monolith.SavedGraph{{ID: 3, Title: "Writes", Definition: ownDefinition}}
	x.store.marks = []monolith.Mark{{ID: 9, At: noon, Kind: monolith.MarkNote, Text: "x"}}
	x.alerts.lag = "replica-lag"
	x.alerts.alerts = []monolith.Alert{{ID: 42, AlertKey: monolith.AlertKey{Server: x.store.servers[0].ID, Rule: "replica-lag"}, Level: monolith.LevelCritical, Opened: noon}}
	x.alerts.silences = []monolith.Silence{{ID: 7, Rule: "replica-lag", From: noon, To: noon.Add(time.Hour)}}
	x.alerts.windows = []monolith.MaintenanceWindow{{ID: 3, Start: noon, Duration: time.Hour}}
	x.tell.channels = []monolith.Channel{{ID: 4, Name: "operations", Kind: "mail", Enabled: true, Config: map[string]string{"host": "mail.example", "to": "ops@example.com"}}}
	x.tell.subs = []monolith.Subscription{{ID: 5, Name: "night shift", Channel: 4, Enabled: true}}
	x.tell.deliveries = []monolith.Delivery{{ID: 812, Channel: 4, Subscription: 5, Kind: monolith.NoticeProblem, Alerts: []monolith.AlertID{42}, State: monolith.DeliveryFailed, Payload: []byte("{}")}}
	made := false
	// What one example removes, the next one may need.
	again := func() {
		names := make([]string, len(x.store.servers))
		for i := range names {
			names[i] = x.store.servers[i].Name
		}
		if made = made || slices.Contains(names, "db1"); made && !slices.Contains(names, "db1") && !slices.Contains(names, "db1-old") {
			x.add(t, "db1", "acme/prod")
		}
		if len(x.tell.channels) == 0 || x.tell.channels[0].ID != 4 {
			x.tell.channels = append([]monolith.Channel{{ID: 4, Name: "operations", Kind: "mail", Config: map[string]string{"host": "mail.example", "to": "ops@example.com"}}}, x.tell.channels...)
		}
		if len(x.store.graphs) == 0 {
			x.store.graphs = []monolith.SavedGraph{{ID: 3, Title: "Writes", Definition: ownDefinition}}
		}
	}
	sent := 0
	for _, command := range commands(string(text)) {
		r, err := parseCurl(command)
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		if strings.HasPrefix(r.target, "/api/v1/live") {
			continue // endless; see the live tests
		}
		if got := x.do(t, r.method, r.target, r.body); got.Code >= 400 {
			t.Errorf("%s\n%s %s gives %d: %s", command, r.method, r.target, got.Code, got.body)
		}
		sent++
		again()
	}
	if sent < 45 {
		t.Errorf("only %d examples were found", sent)
	}
}

// commands gives the curl commands of the shell examples, each on one line.
func commands(text string) (all []string) {
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for _, c := range strings.Split("\n"+block[1], "\ncurl ")[1:] {
			all = append(all, "curl "+strings.TrimSpace(regexp.MustCompile(`\n\s*`).ReplaceAllString(c, " ")))
		}
	}
	return all
}

type curl struct{ method, target, body string }

// parseCurl reads a command with the few options that the documentation uses.
func parseCurl(command string) (r curl, err error) {
	var words []string
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`).FindAllStringSubmatch(command, -1) {
		words = append(words, m[1]+m[2]+m[3])
	}
	r.method = http.MethodGet
	query := url.Values{}
	for i := 1; i < len(words); i++ {
		next := func() string { i++; return words[min(i, len(words)-1)] }
		switch words[i] {
		case "-G", "-N":
		case "-o":
			next()
		case "-X":
			r.method = next()
		case "-d", "--data-urlencode":
			name, value, _ := strings.Cut(next(), "=")
			query.Add(name, value)
		case "--json":
			if r.body = next(); r.method == http.MethodGet {
				r.method = http.MethodPost
			}
		default:
			r.target = strings.Replace(words[i], "$M", "/api/v1", 1)
			r.target = strings.TrimPrefix(r.target, "http://127.0.0.1:8080")
		}
	}
	if len(query) > 0 {
		r.target += "?" + query.Encode()
	}
	_, err = url.Parse(r.target)
	return r, err
}
