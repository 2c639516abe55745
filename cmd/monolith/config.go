package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"

	"monolith"
)

// loadConfig reads a configuration file: YAML with the long names of the flags as keys. A key that is
// no flag is an error, so that a typing mistake never silently leaves a default in force.
func loadConfig(r io.Reader) (kong.Resolver, error) {
	text, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("config: %s", withoutValues(yaml.FormatError(err, false, false)))
	}
	if f, ok := r.(*os.File); ok && (values["store"] != nil || values["server"] != nil) {
		if err := private("config", f.Name()); err != nil {
			return nil, err
		}
	}
	return &configFile{values}, nil
}

// withoutValues leaves of a complaint about the file the place and what kind of mistake it is: lines of the file, and
// the values that some complaints quote, may be passwords.
func withoutValues(text string) string {
	place, rest, ok := strings.Cut(text, "] ")
	if !ok || !strings.HasPrefix(place, "[") {
		return "it can't be read"
	}
	if i := strings.IndexAny(rest, ":\"'`\n<"); i >= 0 {
		rest = rest[:i]
	}
	return place + "] " + strings.TrimSpace(rest)
}

// configFile answers kong's question for a flag from the file.
type configFile struct{ values map[string]any }

// Validate refuses keys that no flag of the chosen program has.
func (c *configFile) Validate(app *kong.Application) error {
	known := map[string]bool{}
	var names []string
	for _, command := range app.Children {
		for _, flag := range command.Flags {
			if !known[flag.Name] {
				names = append(names, flag.Name)
			}
			known[flag.Name] = true
		}
	}
	for key := range c.values {
		if !known[key] {
			return monolith.Invalid("config", fmt.Sprintf("unknown key %q", key), "one of "+strings.Join(names, ", "))
		}
	}
	return nil
}

// Resolve gives a flag's value in the file, or nil. What is neither a word nor a list of words is refused
// here, by its key only: the value may hold a password.
func (c *configFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value := c.values[flag.Name]
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	} else if !flag.IsCumulative() {
		return nil, monolith.Invalid("config."+flag.Name, "a list was given where one value is wanted")
	}
	for _, v := range list {
		switch v.(type) {
		case nil, string, bool, int64, uint64, float64:
		default:
			return nil, monolith.Invalid("config."+flag.Name, "the value is neither a word nor a list of words", "quote it")
		}
	}
	return value, nil
}
