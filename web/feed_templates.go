package web

import (
	"html/template"
	"sync"
	"time"
)

// feedTemplates make the content of items. They are apart from the pages' templates: an item stands on a foreign page, so it has
// neither styles nor scripts.
var feedTemplates = sync.OnceValue(func() *template.Template {
	t := template.New("feeds").Funcs(template.FuncMap{
		"moment": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	})
	template.Must(t.New("feed_alert").Parse(`<p>{{.Text}}</p>
<p>{{.Level}} on {{or .Where "the monitor"}}{{with .Instance}}, {{.}}{{end}}, since {{moment .Opened}}.{{if not .Open}} Closed {{moment .Closed}} after {{.Lasted}}.{{end}}{{with .Owner}} Taken by {{.}}.{{end}}{{with .AckNote}} Acknowledged: {{.}}.{{end}}</p>
{{with .Values}}<table>{{range .}}<tr><td>{{.Name}}</td><td>{{.Text}}</td></tr>{{end}}</table>
{{end}}{{with .Remedy}}<p>{{.Text}}</p>{{range .Settings}}<pre>{{.Variable}} = {{.To}}</pre>{{end}}
{{end}}<p><a href="{{.Address}}">The alert</a></p>`))
	template.Must(t.New("feed_change").Parse(`<p>{{.Server.Name}}: {{.Name}}</p>
<p>{{if .Gone}}It is gone; it was{{else}}It was{{end}} <code>{{.From}}</code>{{if not .Gone}}, it is <code>{{.To}}</code>{{end}}, since {{moment .At}}.</p>
<p><a href="{{.Address}}">All changes of this server</a></p>`))
	return t
})
