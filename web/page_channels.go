package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"monolith"
)

// channelsPage lists the ways to reach people.
type channelsPage struct {
	pageBase
	Tab      string
	Channels []channelLine
	Kinds    []monolith.ChannelKind
}

// channelLine is a channel with what is known of it.
type channelLine struct {
	monolith.Channel
	KindTitle string
	Leads     string   // where it leads, as far as that is no secret
	Users     []string // subscriptions that use it
}

// look is how a state is shown: its word, its look and why.
type look struct{ Look, Word, Why string }

// State says how a channel is.
func (c channelLine) State() look {
	switch {
	case !c.Enabled:
		return look{"off", "switched off", ""}
	case c.Failing != "":
		return look{"bad", "fails", c.Failing}
	case c.LastSent.IsZero():
		return look{"wait", "never used", ""}
	}
	return look{"up", "works", ""}
}

func (s *Server) channelsPage(w http.ResponseWriter, r *http.Request) error {
	d := channelsPage{pageBase: s.pageBase(r, "Channels", "settings"), Tab: "channels", Kinds: s.cfg.Telling.ChannelKinds()}
	channels, err := s.cfg.Telling.Channels(r.Context())
	if err = d.unread(err, "the channels"); err != nil {
		return err
	}
	subscriptions, err := s.cfg.Telling.Subscriptions(r.Context())
	if err = d.unread(err, "the subscriptions"); err != nil {
		return err
	}
	for i := range channels {
		d.Channels = append(d.Channels, viewChannel(&channels[i], d.Kinds, subscriptions))
	}
	return s.render(w, r, "channels", &d)
}

func viewChannel(c *monolith.Channel, kinds []monolith.ChannelKind, subscriptions []monolith.Subscription) channelLine {
	line := channelLine{Channel: *c, KindTitle: c.Kind}
	for i := range kinds {
		if kinds[i].Name == c.Kind {
			line.KindTitle = kinds[i].Title
		}
	}
	line.Leads = strings.Join(strings.Fields(cmp.Or(c.Config["to"], c.Config["url"], c.Config["host"])), " ")
	for i := range subscriptions {
		if subscriptions[i].Channel == c.ID {
			line.Users = append(line.Users, subscriptions[i].Name)
		}
	}
	return line
}

// channelForm makes or changes a channel.
type channelForm struct {
	pageBase
	tellForm
	Tab   string
	Kinds []monolith.ChannelKind // to choose from; nil: Kind is chosen
	Kind  monolith.ChannelKind
	Line  channelLine // as it is kept; ID 0: a new one
	Test  *monolith.ChannelTest
}

// Value gives what stands in the field of a setting.
func (d *channelForm) Value(f monolith.ChannelField) string {
	switch {
	case d.Sent != nil:
		return d.Sent.Get("config." + f.Name)
	case d.Line.ID == 0:
		return f.Default
	}
	return cmp.Or(d.Line.Config[f.Name], f.Default)
}

// Name gives what stands in the field of the name.
func (d *channelForm) Name() string {
	if d.Sent != nil {
		return d.Sent.Get("name")
	}
	return d.Line.Name
}

// On reports whether the box of a channel that is used is ticked.
func (d *channelForm) On() bool {
	if d.Sent != nil {
		return d.Sent.Get("enabled") != ""
	}
	return d.Line.ID == 0 || d.Line.Enabled
}

// Kept reports whether a secret is set.
func (d *channelForm) Kept(f monolith.ChannelField) bool { return d.Line.Secrets[f.Name] != "" }

// Typed reports whether a secret was sent with the form: it is not written back into the page.
func (d *channelForm) Typed() bool {
	return slices.ContainsFunc(d.Kind.Fields, func(f monolith.ChannelField) bool { return f.Secret && d.Sent.Get("secrets."+f.Name) != "" })
}

// Seldom reports whether a setting is needed so seldom that it stands folded away: a long text that nobody has to give.
func (d *channelForm) Seldom(f monolith.ChannelField) bool { return f.Lines && !f.Required }

// Rare reports whether there are settings that are seldom needed.
func (d *channelForm) Rare() bool { return slices.ContainsFunc(d.Kind.Fields, d.Seldom) }

// RareSet reports whether one of them is set or wrong.
func (d *channelForm) RareSet() bool {
	return slices.ContainsFunc(d.Kind.Fields, func(f monolith.ChannelField) bool {
		return d.Seldom(f) && (d.ErrorAt("config."+f.Name) != "" || d.Value(f) != f.Default)
	})
}

// OtherError gives what is wrong with no field of the form.
func (d *channelForm) OtherError() string {
	fields := []string{"name"}
	for _, f := range d.Kind.Fields {
		if f.Secret {
			fields = append(fields, "secrets."+f.Name)
		} else {
			fields = append(fields, "config."+f.Name)
		}
	}
	return d.otherError(fields)
}

// Dialogue cuts what went to and fro into lines.
func (d *channelForm) Dialogue() []string {
	return strings.Split(strings.TrimSpace(d.Test.Dialogue), "\n")
}

// channelFormOf reads which channel a form is about.
func (s *Server) channelFormOf(r *http.Request) (*channelForm, error) {
	id, err := numberedPath(r, "channel")
	if err != nil {
		return nil, err
	}
	d := &channelForm{Tab: "channels"}
	kinds := s.cfg.Telling.ChannelKinds()
	wanted := r.FormValue("kind")
	if id != 0 {
		c, err := s.cfg.Telling.Channel(r.Context(), id)
		if err != nil {
			return nil, gone(err, "channel", id)
		}
		subscriptions, err := s.cfg.Telling.Subscriptions(r.Context())
		if err != nil {
			return nil, err
		}
		d.Line, wanted = viewChannel(&c, kinds, subscriptions), c.Kind
	}
	i := slices.IndexFunc(kinds, func(k monolith.ChannelKind) bool { return k.Name == wanted })
	switch {
	case i >= 0:
		d.Kind = kinds[i]
	case id == 0 && wanted == "":
		d.Kinds = kinds
	default:
		d.Kind = monolith.ChannelKind{Name: wanted, Title: wanted}
		d.Problem = notFound("kind of channel", wanted, "this version has no such kind any more: remove the channel, or make another one")
	}
	title := "New channel"
	if id != 0 {
		title = d.Line.Name
	}
	d.pageBase = s.pageBase(r, title, "settings")
	return d, nil
}

func (s *Server) editChannelPage(w http.ResponseWriter, r *http.Request) error {
	d, err := s.channelFormOf(r)
	if err != nil {
		return err
	}
	if d.Line.ID == 0 && d.Problem != nil {
		return d.Problem
	}
	return s.render(w, r, "channel", d)
}

// readChannel reads a channel of its form. A secret that is empty stays as it is, unless it is to be removed.
func readChannel(r *http.Request, d *channelForm) monolith.Channel {
	c := monolith.Channel{ID: d.Line.ID, Kind: d.Kind.Name, Name: strings.TrimSpace(r.PostFormValue("name")), Enabled: r.PostFormValue("enabled") != "",
		Config: map[string]string{}, Secrets: map[string]monolith.Secret{}}
	for _, f := range d.Kind.Fields {
		switch {
		case !f.Secret:
			if v := formLines(r, "config."+f.Name); v != "" {
				c.Config[f.Name] = v
			}
		case r.PostFormValue("secrets."+f.Name) != "":
			c.Secrets[f.Name] = monolith.Secret(r.PostFormValue("secrets." + f.Name))
		case r.PostFormValue("forget."+f.Name) != "":
			c.Secrets[f.Name] = ""
		}
	}
	return c
}

// saveChannelForm keeps a channel, or sends a test over it as the form has it.
func (s *Server) saveChannelForm(w http.ResponseWriter, r *http.Request) error {
	d, err := s.channelFormOf(r)
	if err != nil {
		return err
	}
	if d.Problem != nil || d.Kinds != nil {
		return cmp.Or(d.Problem, notFound("kind of channel", r.PostFormValue("kind"), "/channels/new lists them"))
	}
	c := readChannel(r, d)
	status := http.StatusOK
	if r.PostFormValue("action") == "test" {
		var test monolith.ChannelTest
		if test, err = s.cfg.Telling.TestChannel(unhurried(r.Context()), &c); err == nil {
			d.Test, d.Sent = &test, r.PostForm
		}
	} else if err = s.cfg.Telling.PutChannel(r.Context(), &c); err == nil {
		s.back(w, r, s.link("channels", strconv.FormatInt(c.ID, 10)), "channel-saved")
		return nil
	} else if errors.Is(err, monolith.ErrConflict) {
		taken := refuse(http.StatusConflict, kindConflict, "another channel has this name", "")
		taken.Field, err = "name", taken
	}
	if err != nil {
		if status, err = s.refused(r, &d.tellForm, gone(err, "channel", c.ID)); err != nil {
			return err
		}
	}
	return s.show(w, r, status, "channel", "frame", d)
}

// deleteChannelForm removes a channel that no subscription uses.
func (s *Server) deleteChannelForm(w http.ResponseWriter, r *http.Request) error {
	d, err := s.channelFormOf(r)
	if err != nil {
		return err
	}
	err = s.cfg.Telling.DeleteChannel(r.Context(), d.Line.ID)
	if errors.Is(err, monolith.ErrConflict) {
		err = refuse(http.StatusConflict, kindConflict, "the channel is used by "+strings.Join(d.Line.Users, ", "), "remove these subscriptions, or let them use another channel, first")
	}
	if err == nil || errors.Is(err, monolith.ErrNotFound) {
		s.back(w, r, s.link("channels"), "deleted")
		return nil
	}
	status, err := s.refused(r, &d.tellForm, err)
	if err != nil {
		return err
	}
	d.Sent = nil // the form was not it
	return s.show(w, r, status, "channel", "frame", d)
}
