package web

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// fakeExports keeps profiles in memory.
type fakeExports struct{ list []monolith.ExportProfile }

func (f *fakeExports) ExportProfiles(context.Context) ([]monolith.ExportProfile, error) {
	return slices.Clone(f.list), nil
}

func (f *fakeExports) PutExportProfile(_ context.Context, p *monolith.ExportProfile) error {
	for i := range f.list {
		if f.list[i].ID == p.ID {
			f.list[i] = *p
			return nil
		}
	}
	p.ID = int64(len(f.list) + 1)
	f.list = append(f.list, *p)
	return nil
}

func (f *fakeExports) DeleteExportProfile(_ context.Context, name string) error {
	f.list = slices.DeleteFunc(f.list, func(p monolith.ExportProfile) bool { return p.Name == name })
	return nil
}

// exportSite is a site with two servers of which one was polled.
func exportSite(t *testing.T) *site {
	t.Helper()
	x := newSite(t, func(c *Config) { c.Exports = &fakeExports{} })
	db1, _ := x.add(t, "db1 <&\x01\xff]]>", "acme/prod"), x.add(t, "=db2", "acme/dev")
	lag := int64(90)
	x.poller.states[db1.ID] = (*monolith.State)(nil).With(poll(db1.ID, 1, 18446744073709551615, &lag))
	x.alerts.open(db1, "lag", monolith.LevelWarn, noon)
	return x
}

// validateXML holds an answer against the schema with a validator that is not ours.
func validateXML(t *testing.T, body string) {
	t.Helper()
	schema := filepath.Join(t.TempDir(), "export.xsd")
	if err := os.WriteFile(schema, exportSchema, 0o600); err != nil {
		t.Fatal(err)
	}
	lint := exec.CommandContext(t.Context(), "xmllint", "--noout", "--schema", schema, "-")
	lint.Stdin = strings.NewReader(body)
	if out, err := lint.CombinedOutput(); err != nil {
		t.Errorf("xmllint: %v\n%s\n%s", err, out, body)
	}
}

const someFields = "server,version,up,alerts.warn,status.Questions,status.Threads_running,status.Threads_running%20%2B%201,status%5B%22Questions%22%5D,rate(status.Questions),variable.max_connections,avg_over(status.Threads_running,%20%2210m%22)"

func TestExportXML(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	w := x.get(t, "/api/v1/export.xml?fields="+someFields)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.body)
	}
	validateXML(t, w.body)
	var doc struct {
		Servers []struct {
			Name   string `xml:"name,attr"`
			Fields []struct {
				Name    string `xml:"name,attr"`
				Unit    string `xml:"unit,attr"`
				Missing string `xml:"missing,attr"`
				Text    string `xml:",chardata"`
			} `xml:"field"`
		} `xml:"server"`
	}
	if err := xml.Unmarshal([]byte(w.body), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Servers) != 2 {
		t.Fatalf("%d servers", len(doc.Servers))
	}
	for _, server := range doc.Servers {
		values := map[string]string{}
		for _, f := range server.Fields {
			values[f.Name] = f.Text
			if f.Text == "" && f.Missing == "" {
				t.Errorf("%s: %s has neither a value nor a reason", server.Name, f.Name)
			}
		}
		if strings.HasPrefix(server.Name, "db1") {
			want := map[string]string{"server": "db1 <&\uFFFD\uFFFD]]>", "version": "10.11.6-MariaDB", "up": "1", "alerts.warn": "1",
				"status.Questions": "18446744073709551615", `status["Questions"]`: "18446744073709551615", "variable.max_connections": "151"}
			for name, text := range want {
				if values[name] != text {
					t.Errorf("%s is %q, want %q", name, values[name], text)
				}
			}
		} else if values["version"] != "" || values["alerts.warn"] != "0" {
			t.Errorf("a server that was never polled: %v", values)
		}
	}
}

// A fact that nobody gave says so, and a group gives its servers an environment.
func TestExportFactsThatAreNotThere(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	if err := x.store.PutGroup(t.Context(), monolith.Group{Path: "acme/prod", Environment: "prod"}); err != nil {
		t.Fatal(err)
	}
	got := x.get(t, "/api/v1/export.json?fields=environment,role,tags,server_uuid")
	for _, want := range []string{`"environment":"prod"`, `"environment":"neither the server nor its group has one"`, `"role":null`, `"role":"no role is expected of the server"`,
		`"tags":"the server has no tags"`, `"server_uuid":"the server says none"`, `"server_uuid":"the server has not been polled yet"`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%s is not in %s", want, got.body)
		}
	}
	validateXML(t, x.get(t, "/api/v1/export.xml?fields=environment,role,tags,server_uuid").body)
	tag := got.Header().Get("Etag")
	if err := x.store.PutGroup(t.Context(), monolith.Group{Path: "acme/prod", Environment: "stage"}); err != nil {
		t.Fatal(err)
	}
	if again := x.get(t, "/api/v1/export.json?fields=environment,role,tags,server_uuid", "If-None-Match", tag); again.Code != http.StatusOK {
		t.Errorf("the group has another environment: %d", again.Code)
	}
}

func TestExportJSONAndCSV(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	w := x.get(t, "/api/v1/export.json?group=acme&fields="+someFields)
	var doc struct {
		Servers []struct {
			Name    string                     `json:"name"`
			Fields  map[string]json.RawMessage `json:"fields"`
			Missing map[string]string          `json:"missing"`
		} `json:"servers"`
	}
	if err := json.Unmarshal([]byte(w.body), &doc); err != nil {
		t.Fatalf("%v\n%s", err, w.body)
	}
	for _, server := range doc.Servers {
		for name, v := range server.Fields {
			if (string(v) == "null") != (server.Missing[name] != "") {
				t.Errorf("%s: %s is %s, missing because of %q", server.Name, name, v, server.Missing[name])
			}
		}
		if strings.HasPrefix(server.Name, "db1") && string(server.Fields["status.Questions"]) != "18446744073709551615" {
			t.Errorf("Questions is %s", server.Fields["status.Questions"])
		}
	}
	w = x.get(t, "/api/v1/export.csv?fields=server,version,status.Questions")
	lines, err := csv.NewReader(strings.NewReader(w.body)).ReadAll()
	if err != nil || len(lines) != 3 {
		t.Fatalf("%v: %q", err, w.body)
	}
	for _, line := range lines[1:] {
		for _, cell := range line {
			if strings.HasPrefix(cell, "=") {
				t.Errorf("a spreadsheet would take %q for a formula", cell)
			}
		}
	}
}

// What is NULL now has no value, whatever it was a minute before: a replica that stands still is not 0 s behind.
func TestExportNull(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	db1 := slices.Sorted(maps.Keys(x.poller.states))[0] // the only one that was polled
	names := monolith.NewNames([]monolith.Metric{{Name: "replica.lag", Instance: "eu"}, {Name: "replica.lag", Instance: "us"}})
	for _, c := range []struct {
		us   monolith.Num
		want string
	}{
		{monolith.Num{}, `"replica.lag":null},"missing":{"replica.lag":"the server gives no value for replica.lag now"}`},
		{monolith.Uint(4), `"replica.lag":{"eu":null,"us":4}}`},
	} {
		snap := poll(db1, 2, 10, nil)
		snap.Sections = append(snap.Sections, monolith.Section{Collector: "replication", NumNames: names, Nums: []monolith.Num{{}, c.us},
			TextNames: monolith.NewNames(nil)})
		x.poller.states[db1] = (*monolith.State)(nil).With(snap)
		if w := x.get(t, "/api/v1/export.json?group=acme%2Fprod&fields=replica.lag"); !strings.Contains(w.body, c.want) {
			t.Errorf("got %s, want %s", w.body, c.want)
		}
	}
}

func TestExportRange(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	const path = "?fields=server,status.Threads_running,rate(status.Questions)&from=2026-03-14T11:00:00Z&to=2026-03-14T12:00:00Z&step=60s"
	w := x.get(t, "/api/v1/export.xml"+path)
	if w.Code != http.StatusOK || strings.Count(w.body, "<point ") < 200 {
		t.Fatalf("%d with %d points", w.Code, strings.Count(w.body, "<point "))
	}
	validateXML(t, w.body)
	w = x.get(t, "/api/v1/export.json"+path)
	var doc struct {
		Servers []struct {
			T      []int64                    `json:"t"`
			Fields map[string]json.RawMessage `json:"fields"`
		} `json:"servers"`
	}
	if err := json.Unmarshal([]byte(w.body), &doc); err != nil {
		t.Fatal(err)
	}
	var points []*float64
	if err := json.Unmarshal(doc.Servers[0].Fields["rate(status.Questions)"], &points); err != nil || len(points) != len(doc.Servers[0].T) || len(points) != 60 {
		t.Errorf("%d points at %d moments, %v", len(points), len(doc.Servers[0].T), err)
	}
	w = x.get(t, "/api/v1/export.csv"+path)
	if lines := strings.Count(w.body, "\n"); lines != 1+2*60 {
		t.Errorf("%d lines", lines)
	}
}

func TestExportConditional(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	const path = "/api/v1/export.json?fields=server,status.Questions"
	tag := x.get(t, path).Header().Get("Etag")
	if w := x.get(t, path, "If-None-Match", tag); w.Code != http.StatusNotModified || w.body != "" {
		t.Fatalf("%d %q", w.Code, w.body)
	}
	id := x.store.servers[0].ID
	x.poller.states[id] = x.poller.states[id].With(poll(id, 2, 5, nil))
	if w := x.get(t, path, "If-None-Match", tag); w.Code != http.StatusOK {
		t.Errorf("after a poll: %d", w.Code)
	}
}

func TestExportRefusals(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	for path, want := range map[string]string{
		"xml": "fields", "xml?fields=": "fields", "xml?fields=server,": "fields[1]", "xml?fields=verson": "did you mean version", "xml?fields=server,status.Threads_runing": "Threads_running",
		"xml?fields=rate(": "fields[0]", "xml?fields=server&at=-1h&from=-2h": "both a moment and a range", "xml?fields=version&from=-1h": "not over a range",
		"xml?fields=status.Questions&from=-90000h&step=1s": "steps", "xml?fields=server&server=nobody": "nobody", "xml?fields=server&group=nowhere": "nowhere",
		"xml?profile=none": "none", "pdf?fields=server": "xml, json or csv",
		"xml?fields=alerts.criticl": "did you mean alerts.critical", "json?fields=server,version,server": "stands twice", "xml?fields=1%2B": "ends too early", "xml?fields=server&feilds=x": "fields", "json?fields=" + strings.Repeat("server,", 100) + "server": "101 fields",
	} {
		w := x.get(t, "/api/v1/export."+path)
		if w.Code < 400 || w.Code >= 500 || !strings.Contains(w.body, want) {
			t.Errorf("%s: %d %s", path, w.Code, w.body)
		}
	}
	x.store.broken = monolith.ErrUnavailable
	if w := x.get(t, "/api/v1/export.xml?fields=rate(status.Questions)"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("without a store: %d", w.Code)
	}
}

func TestExportProfiles(t *testing.T) {
	t.Parallel()
	x := exportSite(t)
	put := func(name, body string) answer {
		return x.do(t, http.MethodPut, "/api/v1/exports/"+name, body, "Content-Type", "application/json")
	}
	if w := put("board", `{"fields":["server","rate(status.Questions)"],"groups":["acme/dev"]}`); w.Code != http.StatusCreated {
		t.Fatalf("%d %s", w.Code, w.body)
	}
	if w := put("board", `{"fields":["server","rate(status.Questions)"],"servers":["=db2"],"from":"-1h"}`); w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.body)
	}
	for body, want := range map[string]string{`{"fields":["rate(status.Nonsense)"]}`: "Nonsense", `{"fields":[]}`: "fields", `{"fields":["server"],"from":"yesterday"}`: "from",
		`{"fields":["server"],"servers":["nobody"]}`: "nobody", `{"feilds":["server"]}`: "feilds"} {
		if w := put("bad", body); w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound || !strings.Contains(w.body, want) {
			t.Errorf("%s: %d %s", body, w.Code, w.body)
		}
	}
	// A name is one part of an address, escaped.
	if w := put("wall%2Fboard%20%C3%A9", `{"fields":["server"]}`); w.Code != http.StatusCreated || !strings.Contains(w.body, `"wall/board é"`) {
		t.Errorf("%d %s", w.Code, w.body)
	}
	for _, path := range []string{"exports/wall%2Fboard%20%C3%A9", "export.json?profile=wall/board+%C3%A9"} {
		if w := x.get(t, "/api/v1/"+path); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.body)
		}
	}
	if w := x.do(t, http.MethodDelete, "/api/v1/exports/wall%2Fboard%20%C3%A9", ""); w.Code != http.StatusNoContent {
		t.Errorf("delete: %d %s", w.Code, w.body)
	}
	for _, name := range []string{"a%0D%0Ab", "%20", "a%E2%80%AEb"} {
		if w := put(name, `{"fields":["server"]}`); w.Code != http.StatusBadRequest || !strings.Contains(w.body, `"field":"name"`) {
			t.Errorf("%s: %d %s", name, w.Code, w.body)
		}
	}
	w := x.get(t, "/api/v1/export.xml?profile=board")
	if w.Code != http.StatusOK || strings.Count(w.body, "<server ") != 1 || !strings.Contains(w.body, "<point ") {
		t.Errorf("%d %s", w.Code, w.body)
	}
	validateXML(t, w.body)
	if w := x.get(t, "/api/v1/export.json?profile=board&fields=server&at=now"); !strings.Contains(w.body, `"server":"=db2"`) {
		t.Errorf("the request goes before the profile: %s", w.body)
	}
	if w := x.get(t, "/api/v1/exports"); !strings.Contains(w.body, `"board"`) {
		t.Errorf("list: %s", w.body)
	}
	if w := x.do(t, http.MethodDelete, "/api/v1/exports/board", ""); w.Code != http.StatusNoContent {
		t.Errorf("delete: %d", w.Code)
	}
	if w := x.get(t, "/api/v1/export.xml?profile=board"); w.Code != http.StatusNotFound {
		t.Errorf("deleted: %d", w.Code)
	}
}

func TestSplitFields(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{
		"a,b": {"a", "b"}, `avg_over(a, "1h"),b`: {`avg_over(a, "1h")`, "b"}, `status["a,b"],c`: {`status["a,b"]`, "c"}, "": {""}, "a,": {"a", ""}, `")",(`: {`")"`, "("},
	} {
		if got := splitFields(list); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}

func FuzzSplitFields(f *testing.F) {
	f.Add(`a,"b,c",d(e,f)`)
	f.Fuzz(func(t *testing.T, list string) {
		if got := strings.Join(splitFields(list), ","); got != list {
			t.Fatalf("%q became %q", list, got)
		}
	})
}

// TestExportOrder holds that many servers come in their order, each whole.
func TestExportOrder(t *testing.T) {
	t.Parallel()
	x := newSite(t)
	for i := range 150 {
		x.add(t, fmt.Sprintf("db%03d", i), "")
	}
	w := x.get(t, "/api/v1/export.csv?fields=rate(status.Questions),server&at="+noon.Format(time.RFC3339))
	lines := strings.Split(strings.TrimSpace(w.body), "\n")
	if len(lines) != 151 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines[1:] {
		if name := fmt.Sprintf("db%03d", i); !strings.HasPrefix(line, name+",") || !strings.HasSuffix(strings.TrimSpace(line), ","+name) {
			t.Fatalf("line %d: %q", i, line)
		}
	}
}

// brokenHistory panics when it is read.
type brokenHistory struct{ *fakeStore }

func (brokenHistory) Read(context.Context, monolith.Query) (*monolith.Range, error) {
	panic("a damaged block")
}

// TestExportPanics holds that a panic while a server is worked out is an answer, and not the end of the program.
func TestExportPanics(t *testing.T) {
	t.Parallel()
	x := newSite(t, func(c *Config) { c.Store = brokenHistory{c.Store.(*fakeStore)} })
	for i := range 20 {
		x.add(t, fmt.Sprintf("db%02d", i), "")
	}
	w := x.get(t, "/api/v1/export.json?fields=rate(status.Questions)&at="+noon.Add(-time.Hour).Format(time.RFC3339))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.body, "damaged") {
		t.Errorf("%d %s", w.Code, w.body)
	}
	if !strings.Contains(x.log.String(), "a damaged block") {
		t.Errorf("the log does not say what happened: %s", x.log)
	}
}
