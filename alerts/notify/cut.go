package notify

import (
	"slices"

	"monolith"
)

// bounded sizes of what a message shows: a server may say megabytes.
const (
	mostLine   = 300
	mostBody   = 4_000
	mostListed = 30
)

// brief gives the notice with every text and list cut to what a message can show. The notice itself is not changed.
func brief(n *Notice) *Notice {
	b := *n
	b.About, b.By, b.Note = clip(n.About, mostBody), clip(n.By, mostLine), clip(n.Note, mostBody)
	if n.Alert != nil {
		a := briefAlert(n.Alert)
		b.Alert = &a
	}
	if len(n.Others) > mostListed {
		b.More += len(n.Others) - mostListed
	}
	b.Others = nil
	for i := range n.Others[:min(len(n.Others), mostListed)] {
		b.Others = append(b.Others, briefAlert(&n.Others[i]))
	}
	if n.Server != nil {
		s := *n.Server
		for _, text := range []*string{&s.Name, &s.Group, &s.Environment, &s.Role, &s.Version, &s.Address} {
			*text = clip(*text, mostLine)
		}
		b.Server = &s
	}
	b.Changes = slices.Clone(n.Changes[:min(len(n.Changes), mostListed)])
	for i := range b.Changes {
		b.Changes[i].Text = clip(b.Changes[i].Text, mostLine)
	}
	return &b
}

func briefAlert(from *monolith.Alert) monolith.Alert {
	a := *from
	for _, text := range []*string{&a.Rule, &a.Instance, &a.ServerName, &a.Group, &a.Title, &a.Summary} {
		*text = clip(*text, mostLine)
	}
	a.Text, a.Formula = clip(a.Text, mostBody), clip(a.Formula, mostBody)
	a.Values = slices.Clone(a.Values[:min(len(a.Values), mostListed)])
	for i := range a.Values {
		a.Values[i].Name, a.Values[i].Text = clip(a.Values[i].Name, mostLine), clip(a.Values[i].Text, mostLine)
	}
	if a.Remedy != nil {
		r := *a.Remedy
		r.Text = clip(r.Text, mostBody)
		r.Settings = slices.Clone(r.Settings[:min(len(r.Settings), mostListed)])
		for i := range r.Settings {
			r.Settings[i].Variable, r.Settings[i].To = clip(r.Settings[i].Variable, mostLine), clip(r.Settings[i].To, mostLine)
		}
		r.Checks = slices.Clone(r.Checks[:min(len(r.Checks), mostListed)])
		for i := range r.Checks {
			r.Checks[i] = clip(r.Checks[i], mostBody)
		}
		a.Remedy = &r
	}
	return a
}

// clip cuts a text to so many characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
