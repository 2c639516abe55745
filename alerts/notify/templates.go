package notify

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	texttemplate "text/template"

	"monolith"
	"monolith/graph"
)

//go:embed templates
var templateFiles embed.FS

// TemplateNames are the templates that people may change: the subject and both bodies of a mail, the text for chats, and
// the pager's line.
var TemplateNames = []string{"subject", "text", "html", "chat", "pager"}

// mostText bounds what a template may write.
const mostText = 200_000

// BuiltIn gives the text of a built-in template; "" for an unknown name.
func BuiltIn(name string) string {
	body, err := templateFiles.ReadFile("templates/" + name + ".tmpl")
	if err != nil {
		return ""
	}
	return string(body)
}

// view is what templates see: the notice, and what is worked out of it.
type view struct {
	*Notice
	Options *Options `json:"-"`
	Picture string   // the content id of the graph; "": there is none
}

// The methods of view are the words of templates.

// Title is the line that says all.
func (v view) Title() string { return title(v.Notice) }

// What is the alert in words.
func (v view) What() string {
	if v.Alert == nil {
		return ""
	}
	return what(v.Alert)
}

// Worst is the alert of a digest that a single line names; nil for other notices.
func (v view) Worst() *monolith.Alert { return worst(v.Notice) }

// Link is the address of the alert's page; "" without a base.
func (v view) Link() string { return alertLink(v.Options, v.Notice) }

// GraphLink is the address of the server's graphs at that time.
func (v view) GraphLink() string { return graphLink(v.Options, v.Notice) }

// RuleLink is the address of the rule's page, where its limits are changed.
func (v view) RuleLink() string { return ruleLink(v.Options, v.Notice) }

// Duration is how long it lasted, of a recovery.
func (v view) Duration() string { return lasted(v.Lasted) }

// Checks are the first three checks.
func (v view) Checks() []string {
	if v.Alert == nil || v.Alert.Remedy == nil {
		return nil
	}
	return v.Alert.Remedy.Checks[:min(3, len(v.Alert.Remedy.Checks))]
}

// Helps reports whether checks and remedies are of use: what is over, or in somebody's hands, needs none.
func (v view) Helps() bool {
	return v.Kind != monolith.NoticeRecovery && v.Kind != monolith.NoticeAcknowledged
}

// List are the alerts of a digest, or the others of the same cause.
func (v view) List() []monolith.Alert { return v.Others }

// functions are those that templates may call besides Go's own. None of them reads or writes anything.
var functions = map[string]any{
	"moment":  moment,
	"lasted":  lasted,
	"oneline": func(text string) string { return oneLine(text, 300) },
	"indent":  func(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") },
	"short":   func(l monolith.Level) string { return short[l] },
	"upper":   strings.ToUpper,
	"limit": func(v monolith.AlertValue) string {
		if v.Limit == nil {
			return ""
		}
		return graph.Format(*v.Limit, v.Unit)
	},
	"what":  func(a monolith.Alert) string { return what(&a) },
	"where": func(a monolith.Alert) string { return where(&a) },
}

// visibleLines keeps lines apart and replaces what can't be seen.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = visible(strings.TrimRight(lines[i], "\r"))
	}
	return strings.Join(lines, "\n")
}

// executor is a template of either kind.
type executor interface {
	Execute(w io.Writer, data any) error
}

// parseTemplate reads a template. One that is wrong is an [monolith.InvalidError] with its line.
func parseTemplate(name, body string) (t executor, err error) {
	if len(body) > mostText {
		return nil, monolith.Invalid("source", fmt.Sprintf("the template is longer than %d characters", mostText))
	}
	if name == "html" {
		t, err = htmltemplate.New(name).Funcs(functions).Option("missingkey=error").Parse(body)
	} else {
		t, err = texttemplate.New(name).Funcs(functions).Option("missingkey=error").Parse(body)
	}
	if err != nil {
		return nil, templateError(err)
	}
	return t, nil
}

// place is how template errors begin: "template: html:3:7: ".
var place = regexp.MustCompile(`^(?:html/)?template: ?[a-z]*:(\d+)(?::(\d+))?: `)

// templateError says where a template is wrong, in our words.
func templateError(err error) error {
	bad := &monolith.InvalidError{Field: "source", Reason: err.Error(), Cure: "docs/notifications.md lists what templates may say"}
	if m := place.FindStringSubmatch(bad.Reason); m != nil {
		bad.Reason = "line " + m[1] + ": " + bad.Reason[len(m[0]):]
		if m[2] != "" {
			bad.Column, _ = strconv.Atoi(m[2])
		}
	}
	return bad
}

// CheckTemplate tries a template on notices of every kind, so that none is kept that fails at three in the morning.
func CheckTemplate(name, body string) error {
	if BuiltIn(name) == "" {
		return monolith.Invalid("name", fmt.Sprintf("there is no template %q", name), "one of "+strings.Join(TemplateNames, ", "))
	}
	t, err := parseTemplate(name, body)
	if err != nil {
		return err
	}
	o := &Options{Base: "https://monolith.example"}
	for _, n := range Examples() {
		if _, err := render(t, view{Notice: n, Options: o, Picture: "graph"}); err != nil {
			return templateError(err)
		}
	}
	return nil
}

// Preview writes a notice with a template as it would be sent; body "" stands for the built-in one.
func Preview(name, body string, n *Notice, o *Options) (string, error) {
	if body == "" && name == "pager" { // the built-in line is not cut, but put together so that it fits
		builtIn := *o
		builtIn.Template = nil
		return pagerLine(&builtIn, n), nil
	}
	if body == "" {
		body = BuiltIn(name)
	}
	t, err := parseTemplate(name, body)
	if err != nil {
		return "", err
	}
	text, err := render(t, view{Notice: brief(n), Options: o})
	if err != nil {
		return "", templateError(err)
	}
	switch text = visibleLines(text); name {
	case "subject":
		return oneLine(text, mostSubject), nil
	case "pager":
		return cutASCII(text, pagerLength), nil
	}
	return text, nil
}

var errTooLong = errors.New("the text becomes too long")

// bounded refuses to grow beyond a size: a template may hold a loop.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > mostText {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

func render(t executor, v view) (string, error) {
	var b bounded
	if err := t.Execute(&b, v); err != nil {
		return "", err
	}
	return b.String(), nil
}

var builtIn = sync.OnceValue(func() map[string]executor {
	all := map[string]executor{}
	for _, name := range TemplateNames {
		t, err := parseTemplate(name, BuiltIn(name))
		if err != nil {
			panic(fmt.Sprintf("notify: template %s: %v", name, err)) // embedded: a test reads them all
		}
		all[name] = t
	}
	return all
})

// written writes a notice with the user's template, or with the built-in one when there is none or it fails: a mistake in a
// template must not keep an alert from anybody. What can't be seen is replaced, whoever wrote it.
func written(o *Options, name string, n *Notice, picture string) string {
	v := view{Notice: brief(n), Options: o, Picture: picture}
	if o.Template != nil {
		if body := o.Template(name); body != "" {
			if t, err := parseTemplate(name, body); err == nil {
				if text, err := render(t, v); err == nil {
					return visibleLines(text)
				}
			}
			o.Record.say("*", "the template %s can't be used, the built-in one is", name)
		}
	}
	text, err := render(builtIn()[name], v)
	if err != nil {
		return htmltemplate.HTMLEscapeString(title(n)) // can't be: what is shown is bounded
	}
	return visibleLines(text)
}

// chatText is the notice for chats and programs.
func chatText(o *Options, n *Notice) string { return strings.TrimSpace(written(o, "chat", n, "")) }
