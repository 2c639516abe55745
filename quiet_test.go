package monolith

import (
	"errors"
	"testing"
	"time"
)

// Everything that a page, the API or the engine takes for a quiet time goes through one check.
func TestQuietTimesAreChecked(t *testing.T) {
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	silence := func(change func(*Silence)) error {
		s := Silence{Server: 1, From: now, To: now.Add(time.Hour)}
		change(&s)
		return s.Validate(now)
	}
	window := func(change func(*MaintenanceWindow)) error {
		w := MaintenanceWindow{Title: "backup", Start: now, Duration: time.Hour, Zone: "Europe/Berlin"}
		change(&w)
		return w.Validate()
	}
	for field, errs := range map[string][]error{
		"": {
			silence(func(*Silence) {}),
			silence(func(s *Silence) { s.From = time.Time{} }),
			silence(func(s *Silence) { s.From = now.Add(-48 * time.Hour) }), // one that runs is changed
			silence(func(s *Silence) { s.Server, s.Alert, s.To = 0, 7, time.Time{} }),
			silence(func(s *Silence) { s.Server, s.Reason = 0, "the building has no power" }),
			window(func(*MaintenanceWindow) {}),
			window(func(w *MaintenanceWindow) { w.Zone = "" }),
			window(func(w *MaintenanceWindow) {
				w.Every, w.Weekdays, w.Until = "week", []time.Weekday{time.Monday}, now.AddDate(1, 0, 0)
			}),
		},
		"alert":    {silence(func(s *Silence) { s.Alert = 7 })},
		"group":    {silence(func(s *Silence) { s.Group = "acme" }), window(func(w *MaintenanceWindow) { w.Server, w.Group = 1, "acme" })},
		"reason":   {silence(func(s *Silence) { s.Server = 0 })},
		"to":       {silence(func(s *Silence) { s.To = time.Time{} }), silence(func(s *Silence) { s.To = s.From }), silence(func(s *Silence) { s.From, s.To = now.Add(-2*time.Hour), now.Add(-time.Hour) }), silence(func(s *Silence) { s.To = now.AddDate(2, 0, 0) })},
		"title":    {window(func(w *MaintenanceWindow) { w.Title = " " })},
		"start":    {window(func(w *MaintenanceWindow) { w.Start = time.Time{} })},
		"duration": {window(func(w *MaintenanceWindow) { w.Duration = time.Second }), window(func(w *MaintenanceWindow) { w.Every, w.Duration = "day", 24*time.Hour })},
		"every":    {window(func(w *MaintenanceWindow) { w.Every = "year" })},
		"weekdays": {window(func(w *MaintenanceWindow) { w.Weekdays = []time.Weekday{1} }), window(func(w *MaintenanceWindow) { w.Every, w.Weekdays = "week", []time.Weekday{7} })},
		"until":    {window(func(w *MaintenanceWindow) { w.Until = now.AddDate(1, 0, 0) }), window(func(w *MaintenanceWindow) { w.Every, w.Until = "day", now.AddDate(-1, 0, 0) })},
		"zone":     {window(func(w *MaintenanceWindow) { w.Zone = "Local" }), window(func(w *MaintenanceWindow) { w.Zone = "Mars/Olympus" })},
	} {
		for i, err := range errs {
			bad, _ := errors.AsType[*InvalidError](err)
			if field == "" && err != nil || field != "" && (bad == nil || bad.Field != field) {
				t.Errorf("%q %d: %v", field, i, err)
			}
		}
	}
}

func TestWeekdayWords(t *testing.T) {
	for day, word := range WeekdayWords() {
		if got, known := ParseWeekday(word); !known || got != time.Weekday(day) || WeekdayWord(got) != word {
			t.Errorf("%s is %v", word, got)
		}
	}
	if _, known := ParseWeekday("day"); known {
		t.Error("day is a day of the week")
	}
}
