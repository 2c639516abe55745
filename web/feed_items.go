package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gorilla/feeds"

	"monolith"
)

// feedID makes an id that stays the same for ever: a tag URI of this installation.
func (s *Server) feedID(kind, id string) string {
	where := s.cfg.Instance
	if where == "" {
		where = "local"
	}
	return "tag:" + where + ".monolith.invalid,2026:" + kind + ":" + id
}

// alertItem is an alert as an item of a feed.
func (s *Server) alertItem(r *http.Request, a *monolith.Alert) (*feeds.Item, error) {
	where := a.ServerName
	if a.Group != "" && a.ServerName != "" {
		where = a.Group + "/" + a.ServerName
	}
	title := fmt.Sprintf("[%s] %s %s", strings.ToUpper(a.Level.String()), where, a.Title)
	if a.Instance != "" {
		title += " (" + a.Instance + ")"
	}
	if a.Summary != "" {
		title += ": " + a.Summary
	}
	updated := a.Opened
	for _, t := range []time.Time{a.Changed, a.Closed} {
		if t.After(updated) {
			updated = t
		}
	}
	if !a.Open() {
		title = "Closed: " + title
	}
	address := s.absolute(r, s.link("alerts", strconv.FormatInt(int64(a.ID), 10)))
	return s.item("feed_alert", s.feedID("alert", strconv.FormatInt(int64(a.ID), 10)), title, address, a.Opened, updated, feedAlert{Alert: a, Where: where, Address: address})
}

// feedAlert is what the template of an alert's item shows.
type feedAlert struct {
	*monolith.Alert
	Where   string
	Address string
}

// Lasted tells how long a closed alert was open.
func (a feedAlert) Lasted() string {
	return a.Closed.Sub(a.Opened).Round(time.Second).String()
}

// changeItem is a changed variable as an item of a feed.
func (s *Server) changeItem(r *http.Request, server *monolith.Server, c *monolith.Change) (*feeds.Item, error) {
	name := strings.TrimPrefix(c.Name, "variable.")
	title := fmt.Sprintf("%s: %s %s → %s", server.Name, name, shorten(c.From, 60), shorten(c.To, 60))
	if c.Gone {
		title = fmt.Sprintf("%s: %s is gone, it was %s", server.Name, name, shorten(c.From, 60))
	}
	address := s.absolute(r, s.link("servers", server.Name, "changes"))
	return s.item("feed_change", s.feedID("change", strconv.FormatInt(c.ID, 10)), title, address, c.At, c.At, feedChange{Change: c, Server: server, Name: name, Address: address})
}

// feedChange is what the template of a change's item shows.
type feedChange struct {
	*monolith.Change
	Server  *monolith.Server
	Name    string
	Address string
}

// item puts an item together; its content is the template's HTML.
func (s *Server) item(template, id, title, address string, created, updated time.Time, data any) (*feeds.Item, error) {
	var content bytes.Buffer
	if err := feedTemplates().ExecuteTemplate(&content, template, data); err != nil {
		return nil, fmt.Errorf("web: feed: %w", err)
	}
	title = cleanTitle(title)
	return &feeds.Item{
		Id: id, IsPermaLink: "false", Title: title, Link: &feeds.Link{Href: address, Type: "text/html"},
		Description: upright(cleanXML(content.String())), Content: upright(cleanXML(content.String())), Created: created, Updated: updated,
	}, nil
}

// shorten cuts a text for a title.
func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// cleanTitle makes one line of a text.
func cleanTitle(text string) string {
	return upright(strings.Join(strings.Fields(cleanXML(text)), " "))
}

// upright replaces the characters that turn the direction of writing: they would let a text of a server rearrange what
// stands beside it.
func upright(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
