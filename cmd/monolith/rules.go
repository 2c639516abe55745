package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"monolith/alerts"
)

// rulesCommand shows and tests the rules.
type rulesCommand struct {
	List rulesListCommand `cmd:"" help:"List the built-in rules."`
	Test rulesTestCommand `cmd:"" help:"Run the tests of the built-in rules, or those of a rule file of yours."`
	Docs rulesDocsCommand `cmd:"" help:"Print the catalogue of rules as Markdown."`
}

type rulesListCommand struct {
	Format string `default:"table" enum:"table,json" help:"table or json."`
}

// Run lists the rules.
func (c *rulesListCommand) Run(con console) error {
	cat, err := alerts.Builtin()
	if err != nil {
		return err
	}
	if c.Format == "json" {
		infos := []any{}
		for _, r := range cat.Rules() {
			infos = append(infos, r.Info())
		}
		e := json.NewEncoder(con.out)
		e.SetIndent("", "  ")
		return e.Encode(infos)
	}
	w := tabwriter.NewWriter(con.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tPLAN\tCATEGORY\tEACH\tTITLE")
	for _, r := range cat.Rules() {
		i := r.Info()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.ID, strings.Join(i.Plan, " "), i.Category, i.Each, i.Title)
	}
	return w.Flush()
}

type rulesTestCommand struct {
	File    string `arg:"" optional:"" placeholder:"FILE" help:"Rule file of yours. Without it: the built-in rules."`
	Vectors string `placeholder:"FILE" help:"Worked values (JSON) to be judged by the rules instead."`
	Inputs  string `placeholder:"FILE" help:"Table that says what the inputs of worked values are (default: the built-in one)."`
	Verbose bool   `short:"v" help:"Print every test, not only those that fail."`
}

// errTests says that tests failed; which was printed.
var errTests = errors.New("tests failed")

// Run runs tests of rules.
func (c *rulesTestCommand) Run(con console) error {
	cat, err := c.catalogue()
	if err != nil {
		return err
	}
	var results []alerts.TestResult
	if c.Vectors != "" {
		if results, err = c.vectors(cat); err != nil {
			return err
		}
	} else {
		for _, r := range cat.Rules() {
			if c.File == "" || r.Info().Own {
				results = append(results, alerts.RunTests(cat, r)...)
			}
		}
	}
	failed := 0
	for _, r := range results {
		switch {
		case r.Err != nil:
			failed++
			fmt.Fprintf(con.out, "FAIL %s: %s: %v\n", r.Rule, r.Name, r.Err)
		case c.Verbose:
			fmt.Fprintf(con.out, "ok   %s: %s: %s %s  %s\n", r.Rule, r.Name, r.State, r.Level, r.Summary)
		}
	}
	fmt.Fprintf(con.out, "%d tests, %d failed\n", len(results), failed)
	if len(results) == 0 {
		fmt.Fprintln(con.out, "The rules are well written, but none has a test.") // a file without rules was refused
	}
	if failed > 0 {
		return errTests
	}
	return nil
}

// catalogue gives the built-in rules, with those of the file.
func (c *rulesTestCommand) catalogue() (*alerts.Catalogue, error) {
	if c.File == "" {
		return alerts.Builtin()
	}
	text, err := os.ReadFile(c.File)
	if err != nil {
		return nil, fmt.Errorf("rule file: %w", err)
	}
	return alerts.LoadOwn(alerts.File{Name: c.File, Text: text})
}

func (c *rulesTestCommand) vectors(cat *alerts.Catalogue) ([]alerts.TestResult, error) {
	text, err := os.ReadFile(c.Vectors)
	if err != nil {
		return nil, fmt.Errorf("worked values: %w", err)
	}
	list, err := alerts.ReadVectors(text)
	if err != nil {
		return nil, fmt.Errorf("worked values: %s: %w", c.Vectors, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("worked values: %s: there are none in it", c.Vectors)
	}
	table, err := alerts.BuiltinVectorTable()
	if c.Inputs != "" {
		var inputs []byte
		if inputs, err = os.ReadFile(c.Inputs); err == nil {
			table, err = alerts.ReadVectorTable(c.Inputs, inputs)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("table of inputs: %w", err)
	}
	results := make([]alerts.TestResult, 0, len(list))
	for i := range list {
		results = append(results, alerts.RunVector(cat, table, &list[i]))
	}
	return results, nil
}

type rulesDocsCommand struct{}

// Run prints the catalogue of rules.
func (c *rulesDocsCommand) Run(con console) error {
	cat, err := alerts.Builtin()
	if err != nil {
		return err
	}
	return cat.WriteDocs(con.out)
}
