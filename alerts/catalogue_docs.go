package alerts

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"monolith"
)

// WriteDocs writes the catalogue of rules as Markdown: docs/rules-catalogue.md is what it gives for the built-in ones.
func (c *Catalogue) WriteDocs(w io.Writer) error {
	d := &docs{}
	d.line("# The catalogue of rules")
	d.line("")
	d.line("Written by `monolith rules docs`; [rules.md](rules.md) explains the words. Each rule's limits can be changed for all servers, a")
	d.line("group or a server, and each rule can be switched off there.")
	byCategory := map[string][]*Rule{}
	for _, r := range c.rules {
		byCategory[r.info.Category] = append(byCategory[r.info.Category], r)
	}
	var categories []string
	for name := range byCategory {
		categories = append(categories, name)
	}
	slices.Sort(categories)
	d.line("")
	for _, name := range categories {
		d.line("## " + strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):])
		d.line("")
		list := byCategory[name]
		slices.SortStableFunc(list, func(a, b *Rule) int { return cmp.Compare(a.id, b.id) })
		for _, r := range list {
			d.rule(r)
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(d.b.String(), "\n")+"\n")
	return err
}

type docs struct{ b strings.Builder }

func (d *docs) line(s string) { d.b.WriteString(s + "\n") }

func (d *docs) rule(r *Rule) {
	i := &r.info
	d.line(fmt.Sprintf("### %s", i.Title))
	d.line("")
	facts := []string{"`" + i.ID + "`"}
	if len(i.Plan) > 0 {
		facts = append(facts, strings.Join(i.Plan, ", "))
	}
	if i.Each != "server" {
		facts = append(facts, "for each "+i.Each)
	}
	if i.Window > 0 {
		facts = append(facts, "over "+inWords(i.Window))
	}
	if i.Warmup > 0 {
		facts = append(facts, "after "+inWords(i.Warmup)+" of uptime")
	}
	if i.Every == "poll" {
		facts = append(facts, "judged at each poll")
	}
	d.line(strings.Join(facts, " · "))
	d.line("")
	for line := range strings.Lines(i.About) {
		d.line(strings.TrimSpace(line))
	}
	d.line("")
	if len(i.Needs) > 0 {
		d.line("Needs: " + code(i.Needs) + ".")
		d.line("")
	}
	if len(i.Let) > 0 {
		d.line("| quantity | is | unit |")
		d.line("|---|---|---|")
		for _, q := range i.Let {
			d.line(fmt.Sprintf("| %s | `%s` | %s |", q.Name, cell(q.Is), q.Unit))
		}
		d.line("")
	}
	if r.gate != nil {
		d.line("Only where `" + r.gate.f.String() + "`.")
		d.line("")
	}
	for k, c := range i.When {
		d.condition(&c, r.conditions[k])
	}
	d.line("")
	d.line("> " + strings.Join(strings.Fields(i.Says), " "))
	d.line("")
	if i.Remedy != "" {
		d.line("Remedy: " + strings.Join(strings.Fields(i.Remedy), " "))
		d.line("")
	}
}

func (d *docs) condition(c *monolith.RuleCondition, compiled *condition) {
	parts := []string{"- `" + strings.Join(strings.Fields(c.If), " ") + "`"}
	if c.Level != "" {
		parts = append(parts, "gives "+levelWords(c.Level))
	}
	d.b.WriteString(strings.Join(parts, " "))
	for _, l := range monolith.Levels {
		limits := c.Limits[l.String()]
		if limits == nil {
			continue
		}
		var names []string
		for name := range limits {
			names = append(names, name)
		}
		slices.Sort(names)
		for k, name := range names {
			names[k] = name + " " + grouped(limits[name])
		}
		d.b.WriteString(fmt.Sprintf("; %s: %s", l, strings.Join(names, ", ")))
	}
	var holds []string
	for _, l := range monolith.Levels {
		if text := c.For[l.String()]; text != "" && !slices.Contains(holds, text) {
			holds = append(holds, text)
		}
	}
	if len(holds) > 0 {
		d.b.WriteString("; for " + strings.Join(holds, " / "))
	}
	d.line(". Over " + clearWords(compiled) + ".")
}

func levelWords(level string) string {
	if _, err := monolith.ParseLevel(level); err == nil {
		return level
	}
	return "`" + strings.Join(strings.Fields(level), " ") + "`"
}

func code(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = "`" + strings.Join(strings.Fields(s), " ") + "`"
	}
	return strings.Join(out, ", ")
}

// cell keeps a text inside one cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}
