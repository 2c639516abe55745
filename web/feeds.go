package web

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
	"github.com/gorilla/feeds"

	"monolith"
)

// FeedSource gives what feeds tell. *store.DB has it.
type FeedSource interface {
	// NewestEvents gives events, newest first.
	NewestEvents(ctx context.Context, q monolith.AlertEventQuery) ([]monolith.AlertEvent, error)
	// AlertsByID gives those alerts of the ids that there are.
	AlertsByID(ctx context.Context, ids []monolith.AlertID) (map[monolith.AlertID]monolith.Alert, error)
}

// feedItems is how many items a feed has at most.
const feedItems = 100

// feedRoutes are the addresses of feeds.
func (s *Server) feedRoutes(r chi.Router) {
	r.Get("/feeds/{feed}.{format}", s.handle(s.serveFeed))
	r.Get("/feeds/maintenance.ics", s.handle(s.judged(s.maintenanceCalendar)))
}

// serveFeed answers with the feed of a level, or with that of changes.
func (s *Server) serveFeed(w http.ResponseWriter, r *http.Request) error {
	name, format := chi.URLParam(r, "feed"), chi.URLParam(r, "format")
	level, levelErr := monolith.ParseLevel(name)
	if name != "changes" && (levelErr != nil || level == monolith.LevelOK) {
		return notFound("feed", name, "info, warn, critical or changes")
	}
	write, known := feedFormats[format]
	if !known {
		return notFound("form of a feed", format, "rss, atom or json")
	}
	q := s.query(r, "server", "group")
	names, group := q.texts("server", maxServers), strings.Trim(q.text("group"), "/")
	if q.err != nil {
		return q.err
	}
	servers, err := s.feedServers(r.Context(), names, group)
	if err != nil {
		return err
	}
	// Whichever name this server is reached by, and however the address is written, it is one feed.
	narrow := url.Values{"server": names}
	if group != "" {
		narrow.Set("group", group)
	}
	f := &feed{self: s.absolute(r, r.URL.RequestURI()), home: s.feedHome(r, name, narrow)}
	f.Id = s.feedID("feed", name) + question(narrow)
	kept := feedKey{self: f.self}
	if name == "changes" {
		err = s.changeFeed(r, f, servers, group)
	} else {
		ask := monolith.AlertEventQuery{Levels: []monolith.Level{level}, Servers: servers, Group: group}
		if kept.newest, err = s.newestEvent(r.Context(), ask); err == nil {
			if was, ok := s.feeds.get(kept, s.now()); ok {
				return was.answer(w, r)
			}
			err = s.alertFeed(r, f, level, ask)
		}
	}
	if err != nil {
		return err
	}
	f.Title = cleanTitle(f.Title + narrowed(names, group))
	body, kind, err := write(f)
	if err != nil {
		return fmt.Errorf("web: feed %s: %w", name, err)
	}
	made := writtenFeed{body: body, kind: kind, updated: f.Updated, at: s.now()}
	if name != "changes" {
		s.feeds.put(kept, made)
	}
	return made.answer(w, r)
}

// answer sends the feed, or says that it is the one that the reader has.
func (f *writtenFeed) answer(w http.ResponseWriter, r *http.Request) error {
	sum := fnv.New64a()
	sum.Write(f.body)
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Etag", fmt.Sprintf(`"%016x"`, sum.Sum64()))
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", f.updated, bytes.NewReader(f.body))
	return nil
}

// newestEvent gives the id of the newest event that a feed would tell of, or that changed what it tells; 0: there is none.
func (s *Server) newestEvent(ctx context.Context, q monolith.AlertEventQuery) (int64, error) {
	if s.cfg.Feeds == nil {
		return 0, refuse(http.StatusNotFound, kindNotFound, "no rules are evaluated here", "")
	}
	q.Limit = 1
	events, err := s.newestEvents(ctx, q)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return events[0].ID, nil
}

// newestEvents gives events, and an error rather than fewer while the store does not answer: so does [Server.alertsByID].
func (s *Server) newestEvents(ctx context.Context, q monolith.AlertEventQuery) ([]monolith.AlertEvent, error) {
	return asked(ctx, s.inventory, func(ctx context.Context) ([]monolith.AlertEvent, error) { return s.cfg.Feeds.NewestEvents(ctx, q) })
}

func (s *Server) alertsByID(ctx context.Context, ids []monolith.AlertID) (map[monolith.AlertID]monolith.Alert, error) {
	return asked(ctx, s.inventory, func(ctx context.Context) (map[monolith.AlertID]monolith.Alert, error) {
		return s.cfg.Feeds.AlertsByID(ctx, ids)
	})
}

// feed is a feed with the addresses that gorilla's has no place for.
type feed struct {
	feeds.Feed
	self string // the feed's own address
	home string // the page with the same things
}

// question writes parameters as they stand in an address; "" without any.
func question(q url.Values) string {
	if text := q.Encode(); text != "" {
		return "?" + text
	}
	return ""
}

// feedHome gives the address of the page that shows what a feed tells, as far as pages can be narrowed to it.
func (s *Server) feedHome(r *http.Request, name string, narrow url.Values) string {
	servers := narrow["server"]
	if name == "changes" {
		if len(servers) == 1 {
			return s.absolute(r, s.link("servers", servers[0], "changes"))
		}
		return s.absolute(r, s.link()+question(url.Values{"group": narrow["group"]}))
	}
	q := url.Values{"level": {name}, "group": narrow["group"]}
	if len(servers) == 1 {
		q["server"] = servers
	}
	return s.absolute(r, s.link("alerts")+question(q))
}

// narrowed says in a title what a feed is narrowed to.
func narrowed(servers []string, group string) string {
	parts := slices.Clone(servers)
	if group != "" {
		parts = append(parts, group)
	}
	if len(parts) == 0 {
		return ""
	}
	return " of " + strings.Join(parts, ", ")
}

// feedServers gives the servers that a feed is narrowed to by name; nil: it is not.
func (s *Server) feedServers(ctx context.Context, names []string, group string) ([]monolith.ServerID, error) {
	if group != "" {
		if err := s.groupThere(ctx, "group", group); err != nil {
			return nil, err
		}
	}
	var ids []monolith.ServerID
	for _, name := range names {
		server, err := s.serverNamed(ctx, "server", name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, server.ID)
	}
	return ids, nil
}

// alertFeed fills a feed with the alerts that had a level, the one that changed last first. An alert is one
// item with one id from its opening to its closing, and is updated when something happens to it.
func (s *Server) alertFeed(r *http.Request, f *feed, level monolith.Level, q monolith.AlertEventQuery) error {
	q.Kinds = []monolith.AlertEventKind{monolith.EventOpened, monolith.EventRaised, monolith.EventLowered, monolith.EventClosed}
	q.Limit = 4 * feedItems
	events, err := s.newestEvents(r.Context(), q)
	if err != nil {
		return err
	}
	var ids []monolith.AlertID
	for _, e := range events {
		if !slices.Contains(ids, e.Alert) && len(ids) < feedItems {
			ids = append(ids, e.Alert)
		}
	}
	alerts, err := s.alertsByID(r.Context(), ids)
	if err != nil {
		return err
	}
	f.Title = "Monolith: " + level.String()
	f.Description = "Alerts of the level " + level.String() + ": one entry each, updated when it changes and closes."
	for _, id := range ids {
		a, there := alerts[id]
		if !there {
			continue
		}
		item, err := s.alertItem(r, &a)
		if err != nil {
			return err
		}
		f.Items = append(f.Items, item)
	}
	f.finish()
	return nil
}

// changeFeed fills a feed with changed variables.
func (s *Server) changeFeed(r *http.Request, f *feed, servers []monolith.ServerID, group string) error {
	all, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	byID := make(map[monolith.ServerID]*monolith.Server, len(all))
	for i := range all {
		if wanted := monolith.InGroup(all[i].Group, group) && (len(servers) == 0 || slices.Contains(servers, all[i].ID)); wanted {
			byID[all[i].ID] = &all[i]
		}
	}
	// The store chooses: among the newest changes of all servers there may be none of those that are asked for.
	ask := monolith.ChangeQuery{Name: "variable.", Limit: feedItems}
	if len(byID) < len(all) {
		ask.Servers = slices.Sorted(maps.Keys(byID))
	}
	var changes []monolith.Change
	if len(byID) > 0 {
		if changes, err = s.store.Changes(r.Context(), ask); err != nil {
			return err
		}
	}
	f.Title = "Monolith: changes"
	f.Description = "Variables of the watched servers that were changed."
	for i := range changes {
		server := byID[changes[i].Server]
		if server == nil {
			continue // added since
		}
		item, err := s.changeItem(r, server, &changes[i])
		if err != nil {
			return err
		}
		f.Items = append(f.Items, item)
	}
	f.finish()
	return nil
}

// finish takes over what all kinds of feed have: links, and the moment of the newest item. An empty feed has one
// that never changes, or nobody could keep it.
func (f *feed) finish() {
	f.Link = &feeds.Link{Href: f.home}
	f.Updated = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, item := range f.Items {
		if item.Updated.After(f.Updated) {
			f.Updated = item.Updated
		}
	}
	f.Created = f.Updated
}

// feedFormats write a feed in each form, with its media type.
var feedFormats = map[string]func(*feed) (body []byte, kind string, err error){
	"rss":  writeRSS,
	"atom": writeAtom,
	"json": writeJSONFeed,
}

// rssDocument is gorilla's channel with the link to the feed itself, which validators ask for.
type rssDocument struct {
	XMLName xml.Name   `xml:"rss"`
	Version string     `xml:"version,attr"`
	Content string     `xml:"xmlns:content,attr"`
	Atom    string     `xml:"xmlns:atom,attr"`
	Channel rssChannel `xml:"channel"`
}

type rssChannel struct {
	Title         string           `xml:"title"`
	Link          string           `xml:"link"`
	Self          feedLink         `xml:"atom:link"`
	Description   string           `xml:"description"`
	LastBuildDate string           `xml:"lastBuildDate"`
	Items         []*feeds.RssItem `xml:"item"`
}

type feedLink struct {
	Href string `xml:"href,attr"`
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
}

func writeRSS(f *feed) ([]byte, string, error) {
	const kind = "application/rss+xml"
	channel := (&feeds.Rss{Feed: &f.Feed}).RssFeed()
	for i, item := range channel.Items {
		// RSS has no date of an update: the entry's own is that of its last change, so that readers see it.
		item.PubDate = f.Items[i].Updated.UTC().Format(time.RFC1123Z)
	}
	doc := rssDocument{Version: "2.0", Content: "http://purl.org/rss/1.0/modules/content/", Atom: "http://www.w3.org/2005/Atom",
		Channel: rssChannel{Title: channel.Title, Link: channel.Link, Self: feedLink{f.self, "self", kind}, Description: channel.Description,
			LastBuildDate: f.Updated.UTC().Format(time.RFC1123Z), Items: channel.Items}}
	body, err := xml.Marshal(doc)
	return append([]byte(xmlHeader), body...), kind + "; charset=utf-8", err
}

// atomDocument is gorilla's feed with an id of its own and the links that belong to one.
type atomDocument struct {
	XMLName  xml.Name           `xml:"feed"`
	Space    string             `xml:"xmlns,attr"`
	Title    string             `xml:"title"`
	ID       string             `xml:"id"`
	Updated  string             `xml:"updated"`
	Subtitle string             `xml:"subtitle"`
	Links    []feedLink         `xml:"link"`
	Author   string             `xml:"author>name"`
	Entries  []*feeds.AtomEntry `xml:"entry"`
}

func writeAtom(f *feed) ([]byte, string, error) {
	const kind = "application/atom+xml"
	atom := (&feeds.Atom{Feed: &f.Feed}).AtomFeed()
	for i, entry := range atom.Entries {
		entry.Published = f.Items[i].Created.UTC().Format(time.RFC3339)
		entry.Updated = f.Items[i].Updated.UTC().Format(time.RFC3339)
		entry.Summary = nil // the content says it all
	}
	doc := atomDocument{Space: "http://www.w3.org/2005/Atom", Title: atom.Title, ID: f.Id, Updated: f.Updated.UTC().Format(time.RFC3339),
		Subtitle: atom.Subtitle, Author: "Monolith", Entries: atom.Entries,
		Links: []feedLink{{f.self, "self", kind}, {f.home, "alternate", "text/html"}}}
	body, err := xml.Marshal(doc)
	return append([]byte(xmlHeader), body...), kind + "; charset=utf-8", err
}

func writeJSONFeed(f *feed) ([]byte, string, error) {
	doc := (&feeds.JSON{Feed: &f.Feed}).JSONFeed()
	doc.FeedUrl, doc.HomePageUrl = f.self, f.home
	for i, item := range doc.Items {
		created, updated := f.Items[i].Created.UTC(), f.Items[i].Updated.UTC()
		item.PublishedDate, item.ModifiedDate = &created, &updated
	}
	if doc.Items == nil {
		// The list must be there, gorilla leaves an empty one out.
		body, err := json.Marshal(struct {
			*feeds.JSONFeed
			Items []string `json:"items"`
		}{doc, []string{}})
		return body, "application/feed+json", err
	}
	body, err := json.Marshal(doc)
	return body, "application/feed+json", err
}

// absolute gives the whole address of a path on this server, as the client reached it.
func (s *Server) absolute(r *http.Request, path string) string {
	scheme := "http"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	u, err := url.Parse(path)
	if err != nil {
		return scheme + "://" + r.Host + s.link()
	}
	u.Scheme, u.Host = scheme, r.Host
	return u.String()
}

// cleanXML replaces what XML 1.0 can't hold, so that no text of a monitored server breaks a document.
func cleanXML(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r',
			r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r >= 0x10000 && r <= 0x10FFFF:
			return r
		}
		return '\uFFFD'
	}, text)
}
