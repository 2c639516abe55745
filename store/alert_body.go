package store

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"monolith"
)

// keptAlert is what table alert holds as JSON: all that nobody searches for.
type keptAlert struct {
	Title       string                `json:"title"`
	Summary     string                `json:"summary"`
	Text        string                `json:"text"`
	Formula     string                `json:"formula"`
	Values      []monolith.AlertValue `json:"values,omitempty"`
	Remedy      *monolith.Remedy      `json:"remedy,omitempty"`
	Flapping    bool                  `json:"flapping,omitempty"`
	Maintenance bool                  `json:"maintenance,omitempty"`
	Unknown     string                `json:"unknown,omitempty"`
	AckedBy     string                `json:"acked_by,omitempty"`
	AckedAt     time.Time             `json:"acked_at,omitzero"`
	AckNote     string                `json:"ack_note,omitempty"`
	Owner       string                `json:"owner,omitempty"`
	TakenAt     time.Time             `json:"taken_at,omitzero"`
	Silenced    time.Time             `json:"silenced,omitzero"`
}

// Bounds of what one alert may take: hostile texts must not make rows that a server refuses.
const (
	maxLine   = 1000 // characters of a text of one line
	maxValues = 64
	maxRemedy = 64 << 10 // bytes of a remedy as JSON
	maxWho    = 255      // characters of who did something
	maxWord   = 128      // characters of an id that is a word
)

// cutText gives a text that every engine takes: whole UTF-8 of at most n characters.
func cutText(s string, n int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

// alertBody makes the JSON of an alert.
func alertBody(a *monolith.Alert) (string, error) {
	k := keptAlert{
		Title: cutText(a.Title, maxLine), Summary: cutText(a.Summary, maxLine), Text: boundText(a.Text), Formula: boundText(a.Formula),
		Flapping: a.Flapping, Maintenance: a.Maintenance, Unknown: cutText(a.Unknown, maxLine),
		AckedBy: cutText(a.AckedBy, maxWho), AckedAt: keptTime(a.AckedAt), AckNote: boundText(a.AckNote),
		Owner: cutText(a.Owner, maxWho), TakenAt: keptTime(a.TakenAt), Silenced: keptTime(a.Silenced),
	}
	for i, v := range a.Values {
		if i == maxValues {
			break
		}
		v.Num, v.Limit = finite(v.Num), finite(v.Limit)
		v.Name, v.Text, v.Is = cutText(v.Name, maxLine), cutText(v.Text, maxLine), cutText(v.Is, 4*maxLine)
		k.Values = append(k.Values, v)
	}
	if a.Remedy != nil {
		remedy, err := json.Marshal(a.Remedy)
		if err != nil {
			return "", fmt.Errorf("store: remedy of an alert: %w", err)
		}
		if k.Remedy = a.Remedy; len(remedy) > maxRemedy {
			k.Remedy = &monolith.Remedy{Text: boundText(a.Remedy.Text), Restart: a.Remedy.Restart}
		}
	}
	body, err := json.Marshal(&k)
	if err != nil {
		return "", fmt.Errorf("store: body of an alert: %w", err)
	}
	return string(body), nil
}

// finite gives nil for what JSON can't hold: it is no value.
func finite(n *float64) *float64 {
	if n == nil || math.IsNaN(*n) || math.IsInf(*n, 0) {
		return nil
	}
	return n
}

// keptTime gives a time as the store keeps it.
func keptTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// unixMilli gives 0 for the zero time, which unix time can't tell from a moment in the year 1.
func unixMilli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// timeOf is the way back.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// alertRow is a row of table alert with the server's present name and group.
type alertRow struct {
	ID         int64  `db:"id"`
	Server     int64  `db:"server_id"`
	Rule       string `db:"rule_id"`
	Instance   string `db:"instance"`
	Category   string `db:"category"`
	Level      uint8  `db:"level"`
	Peak       uint8  `db:"peak"`
	Opened     int64  `db:"opened_ms"`
	Changed    int64  `db:"changed_ms"`
	Closed     int64  `db:"closed_ms"`
	Reason     string `db:"reason"`
	Parent     int64  `db:"parent_id"`
	Body       []byte `db:"body"`
	ServerName string `db:"server_name"`
	Group      string `db:"server_group"`
}

// alertSelect reads alerts. Those of a server that was deleted, and whose rows are not purged yet, are not there.
const (
	alertSelect = `SELECT a.id AS id, a.server_id AS server_id, a.rule_id AS rule_id, a.instance AS instance, a.category AS category,
		a.level AS level, a.peak AS peak, a.opened_ms AS opened_ms, a.changed_ms AS changed_ms, a.closed_ms AS closed_ms, a.reason AS reason,
		a.parent_id AS parent_id, a.body AS body, COALESCE(s.name, '') AS server_name, COALESCE(s.group_path, '') AS server_group
		FROM alert a LEFT JOIN server s ON s.id = a.server_id`
	alertThere = "(a.server_id = 0 OR s.id IS NOT NULL)"
)

// alert makes the noun of a row.
func (row *alertRow) alert() (monolith.Alert, error) {
	var k keptAlert
	if err := json.Unmarshal(row.Body, &k); err != nil {
		return monolith.Alert{}, fmt.Errorf("store: body of alert %d: %w", row.ID, err)
	}
	return monolith.Alert{
		ID:         monolith.AlertID(row.ID),
		AlertKey:   monolith.AlertKey{Server: monolith.ServerID(row.Server), Rule: row.Rule, Instance: row.Instance},
		ServerName: row.ServerName, Group: row.Group, Title: k.Title, Category: row.Category,
		Level: monolith.Level(row.Level), Peak: monolith.Level(row.Peak),
		Summary: k.Summary, Text: k.Text, Formula: k.Formula, Values: k.Values, Remedy: k.Remedy,
		Opened: timeOf(row.Opened), Changed: timeOf(row.Changed), Closed: timeOf(row.Closed), Reason: monolith.CloseReason(row.Reason),
		Flapping: k.Flapping, Maintenance: k.Maintenance, Parent: monolith.AlertID(row.Parent), Unknown: k.Unknown,
		AckedBy: k.AckedBy, AckedAt: k.AckedAt, AckNote: k.AckNote, Owner: k.Owner, TakenAt: k.TakenAt, Silenced: k.Silenced,
	}, nil
}
