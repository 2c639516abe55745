package monolith_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers says which packages of this module a package may import; below it, the same holds for its sub-packages,
// which may import each other. A package that is not listed may not be there.
var layers = map[string][]string{
	"":           {}, // the root: nouns, standard library only
	"formula":    {""},
	"graph":      {"", "formula"},
	"migrations": {},
	// The four below never import each other: cmd/monolith joins them through interfaces that the consumer declares.
	"poller": {"", "formula", "graph"},
	"store":  {"", "formula", "graph", "migrations"},
	"alerts": {"", "formula", "graph"},
	"tuning": {"", "formula", "graph"},
	"web":    {"", "formula", "graph"},
	"cmd":    {"", "formula", "graph", "migrations", "poller", "store", "alerts", "tuning", "web"},
	// Test support: nothing that ships imports it, and it imports nothing that ships but the nouns.
	"internal": {""},
}

// vague are names that say nothing about what a package is for.
var vague = []string{"util", "utils", "common", "helper", "helpers", "model", "models", "misc", "shared", "lib", "base", "core"}

// longest is how many lines a file may have: one that grows beyond it has more than one topic.
const longest = 500

type listed struct {
	ImportPath   string
	Name         string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
	Error        *struct{ Err string }
}

func TestImportsFollowTheLayers(t *testing.T) {
	packages := list(t, "-e", "./...")
	shipped := map[string]bool{}
	for _, p := range packages {
		if p.Error != nil {
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		top := topOf(p.ImportPath)
		allowed, known := layers[top]
		if !known {
			t.Errorf("%s: no layer is said for it here", p.ImportPath)
			continue
		}
		shipped[p.ImportPath] = top != "internal"
		for _, path := range p.Imports {
			if !isOurs(path) {
				if top == "" && !isStandard(path) {
					t.Errorf("%s imports %s; the root knows the standard library only", p.ImportPath, path)
				}
				continue
			}
			if target := topOf(path); target != top && !slices.Contains(allowed, target) {
				t.Errorf("%s imports %s; it may import only itself and %q", p.ImportPath, path, allowed)
			}
			if strings.HasPrefix(path, "monolith/cmd") {
				t.Errorf("%s imports the command %s", p.ImportPath, path)
			}
		}
		// Tests may use test support, and whatever else they need but the other layers' insides.
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			target := topOf(path)
			if isOurs(path) && target != top && target != "internal" && !slices.Contains(allowed, target) {
				t.Errorf("a test of %s imports %s; it may import only itself, internal and %q", p.ImportPath, path, allowed)
			}
		}
		if slices.Contains(vague, p.Name) {
			t.Errorf("%s: the name says nothing", p.ImportPath)
		}
	}
	if len(packages) < 5 {
		t.Errorf("only %d packages were looked at", len(packages))
	}
}

// TestProgramsHoldNoTestSupport looks at all that a program is linked from.
func TestProgramsHoldNoTestSupport(t *testing.T) {
	for _, p := range list(t, "-deps", "./cmd/...") {
		if topOf(p.ImportPath) == "internal" && isOurs(p.ImportPath) || p.ImportPath == "testing" {
			t.Errorf("a program is linked with %s", p.ImportPath)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && path != "." && (name == "node_modules" || strings.HasPrefix(name, ".")) {
			return filepath.SkipDir
		}
		if !slices.Contains([]string{".go", ".ts", ".css"}, filepath.Ext(path)) || entry.IsDir() || strings.HasPrefix(path, filepath.Join("web", "dist")) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if lines := bytes.Count(text, []byte("\n")); lines > longest {
			t.Errorf("%s has %d lines; the most is %d", path, lines, longest)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// list runs "go list -json" with the arguments.
func list(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Name,Standard,Imports,TestImports,XTestImports,Error"}, args...)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaint.Bytes())
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func isOurs(path string) bool { return path == "monolith" || strings.HasPrefix(path, "monolith/") }

// isStandard goes by the rule that a path outside the standard library begins with a domain.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// topOf is a package's folder below the module's root: "poller" for monolith/poller/host, "" for the root.
func topOf(path string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, "monolith"), "/")
	top, _, _ := strings.Cut(rest, "/")
	return top
}
