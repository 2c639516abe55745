package web

import (
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"monolith"
)

// templatesPage shows a text of messages: the built-in one, the one that people put in its place, and what comes of it.
type templatesPage struct {
	pageBase
	tellForm
	Tab      string
	All      []monolith.TemplateText
	Text     monolith.TemplateText
	Kind     monolith.NoticeKind
	Previews []templateExample // of a text; none of HTML, which stands in a frame
	Line     int               // of what was sent that is wrong; 0: none
}

// templateExample is what comes of a template for one kind of notice.
type templateExample struct {
	Kind monolith.NoticeKind
	Text string
	Bad  string
}

// Length counts the characters of an example.
func (e templateExample) Length() int { return utf8.RuneCountInString(e.Text) }

// noticeKinds are the kinds of notice in the order of pages.
var noticeKinds = []monolith.NoticeKind{monolith.NoticeProblem, monolith.NoticeReminder, monolith.NoticeLowered, monolith.NoticeRecovery,
	monolith.NoticeAcknowledged, monolith.NoticeDigest, monolith.NoticeQuiet, monolith.NoticeTest}

// templateTitles say what the templates are.
var templateTitles = map[string]string{"subject": "Subject of mails", "text": "Text of mails", "html": "HTML of mails", "chat": "Chats", "pager": "Pager"}

// TitleOf says what a template is.
func (d *templatesPage) TitleOf(name string) string {
	if t := templateTitles[name]; t != "" {
		return t
	}
	return name
}

// Kinds lists the kinds of notice.
func (d *templatesPage) Kinds() []monolith.NoticeKind { return noticeKinds }

// WordOf gives the word of a kind of notice.
func (d *templatesPage) WordOf(k monolith.NoticeKind) string { return noticeWords[k] }

// Source gives what stands in the field.
func (d *templatesPage) Source() string {
	switch {
	case d.Sent != nil:
		return d.Sent.Get("source")
	case d.Text.Source != "":
		return d.Text.Source
	}
	return d.Text.BuiltIn
}

// Rows is how many lines the field has.
func (d *templatesPage) Rows() int { return min(30, max(3, strings.Count(d.Text.BuiltIn, "\n")+2)) }

// WrongLine gives the line of what was sent that is wrong, or "".
func (d *templatesPage) WrongLine() string {
	lines := strings.Split(strings.ReplaceAll(d.Sent.Get("source"), "\r\n", "\n"), "\n")
	if d.Line < 1 || d.Line > len(lines) {
		return ""
	}
	return short(200, lines[d.Line-1])
}

// OtherError gives what is wrong with the template.
func (d *templatesPage) OtherError() string { return d.otherError(nil) }

// kindOfNotice reads for which kind of notice a preview is.
func kindOfNotice(r *http.Request) (monolith.NoticeKind, error) {
	kind := monolith.NoticeKind(r.FormValue("kind"))
	if kind == "" {
		return monolith.NoticeProblem, nil
	}
	if !slices.Contains(noticeKinds, kind) {
		return "", notFound("kind of notice", string(kind), "")
	}
	return kind, nil
}

// templateOf reads which template a request is about.
func (s *Server) templateOf(r *http.Request) (*templatesPage, error) {
	d := &templatesPage{Tab: "templates"}
	var err error
	if d.Kind, err = kindOfNotice(r); err != nil {
		return nil, err
	}
	if d.All, err = s.cfg.Telling.Templates(r.Context()); err != nil {
		return nil, err
	}
	name := pathValue(r, "name")
	if name == "" && len(d.All) > 0 {
		name = d.All[0].Name
	}
	i := slices.IndexFunc(d.All, func(t monolith.TemplateText) bool { return t.Name == name })
	if i < 0 {
		return nil, notFound("template", name, "")
	}
	d.Text = d.All[i]
	d.pageBase = s.pageBase(r, "Texts of messages", "settings")
	return d, nil
}

func (s *Server) templatesPage(w http.ResponseWriter, r *http.Request) error {
	d, err := s.templateOf(r)
	if err != nil {
		return err
	}
	return s.showTemplatePage(w, r, http.StatusOK, d)
}

// showTemplatePage writes the examples. Short texts are shown for every kind of notice at once.
func (s *Server) showTemplatePage(w http.ResponseWriter, r *http.Request, status int, d *templatesPage) error {
	kinds := noticeKinds
	switch d.Text.Name {
	case "html":
		kinds = nil
	case "text":
		kinds = []monolith.NoticeKind{d.Kind}
	}
	source := ""
	if d.Sent != nil && d.Problem == nil {
		source = d.Sent.Get("source")
	}
	for _, kind := range kinds {
		one := templateExample{Kind: kind}
		var err error
		if one.Text, err = s.cfg.Telling.PreviewTemplate(r.Context(), d.Text.Name, source, kind); err != nil {
			p := s.problemOf(r, err)
			if p.Status >= http.StatusInternalServerError {
				return p
			}
			one.Bad = errorText(p)
			if d.Problem == nil && source != "" {
				d.Problem, status = p, p.Status
			}
		}
		d.Previews = append(d.Previews, one)
	}
	if d.Problem != nil {
		d.Line = lineOf(d.Problem.Detail)
	}
	return s.show(w, r, status, "templates", "frame", d)
}

// lineOf finds the line in what is wrong with a template: "line 3: …".
func lineOf(detail string) int {
	rest, ok := strings.CutPrefix(detail, "line ")
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(rest, ":")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// saveTemplateForm keeps a text, shows what comes of it, or brings the built-in one back.
func (s *Server) saveTemplateForm(w http.ResponseWriter, r *http.Request) error {
	d, err := s.templateOf(r)
	if err != nil {
		return err
	}
	by := s.by(w, r)
	source := strings.ReplaceAll(r.PostFormValue("source"), "\r\n", "\n")
	r.PostForm.Set("source", source)
	done := "text-saved"
	switch r.PostFormValue("action") {
	case "preview":
		d.Sent = r.PostForm
		return s.showTemplatePage(w, r, http.StatusOK, d)
	case "reset":
		done, err = "text-reset", s.cfg.Telling.DeleteTemplate(r.Context(), d.Text.Name)
	default:
		if strings.TrimSpace(source) == "" {
			err = monolith.Invalid("source", "the text is empty", "to have the built-in one again, choose so below")
		} else if err = checkSaid("by", by, 128); err == nil {
			err = s.cfg.Telling.PutTemplate(r.Context(), d.Text.Name, source, by)
		}
	}
	if err != nil {
		status, err := s.refused(r, &d.tellForm, err)
		if err != nil {
			return err
		}
		return s.showTemplatePage(w, r, status, d)
	}
	to := s.link("templates", d.Text.Name)
	if d.Kind != monolith.NoticeProblem {
		to += "?" + encodeQuery("kind", string(d.Kind))
	}
	s.back(w, r, to, done)
	return nil
}

// previewPolicy is that of the document in which a mail is shown: it may have a look and nothing else, wherever it is opened.
const previewPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

// previewRefused is the document that says why there is no example.
var previewRefused = template.Must(template.New("refused").Parse(`<!doctype html><meta charset="utf-8"><title>Wrong</title><body style="font: 14px/1.5 system-ui, sans-serif; margin: 16px; color: #bf2630; background: #fff"><p>✖ {{.}}</p>`))

// templatePreview answers with an example of the HTML of mails as a document of its own, for a frame. What a template writes is
// as strange to the pages as a mail is.
func (s *Server) templatePreview(w http.ResponseWriter, r *http.Request) error {
	kind, err := kindOfNotice(r)
	if err != nil {
		return err
	}
	if pathValue(r, "name") != "html" {
		return notFound("template that is HTML", pathValue(r, "name"), "")
	}
	h := w.Header()
	h.Set("Content-Security-Policy", previewPolicy)
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	text, err := s.cfg.Telling.PreviewTemplate(r.Context(), "html", strings.ReplaceAll(r.PostFormValue("source"), "\r\n", "\n"), kind)
	if err != nil {
		p := s.problemOf(r, err)
		w.WriteHeader(p.Status)
		return previewRefused.Execute(w, errorText(p))
	}
	w.Write([]byte(text)) // the reader is gone when this fails
	return nil
}
