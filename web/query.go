package web

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// query reads a request's parameters. The first one that makes no sense is kept in err and ends all
// further reading; handlers look at it once, after the last.
type query struct {
	values url.Values
	now    time.Time
	err    error
}

// query parses the parameters and refuses those that are not in allowed: a misspelt filter must not
// give everything.
func (s *Server) query(r *http.Request, allowed ...string) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values, now: s.now()}
	if err != nil {
		q.err = monolith.Invalid("", "the query can't be read: "+err.Error(), "escape % as %25, and do not use ;")
		return q
	}
	for _, name := range sortedKeys(values) {
		if slices.Contains(allowed, name) {
			continue
		}
		cure := "this address takes no parameters"
		if near := formula.Nearest(name, allowed); near != "" {
			cure = fmt.Sprintf("did you mean %s?", near)
		} else if len(allowed) > 0 {
			cure = "it takes " + strings.Join(allowed, ", ")
		}
		q.err = monolith.Invalid(name, "there is no such parameter", cure)
		return q
	}
	return q
}

// fail keeps the first error.
func (q *query) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// text gives a parameter that may stand once; "" when it is missing.
func (q *query) text(name string) string {
	v := q.values[name]
	if len(v) > 1 {
		q.fail(monolith.Invalid(name, "the parameter stands twice", "give it once"))
	}
	if len(v) == 0 {
		return ""
	}
	return v[0]
}

// texts gives a parameter that may stand several times, without repetitions.
func (q *query) texts(name string, most int) []string {
	var out []string
	for _, v := range q.values[name] {
		if v == "" {
			q.fail(monolith.Invalid(name, "the parameter is empty"))
		}
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	if len(out) > most {
		q.fail(refuseTooMuch(name, fmt.Sprintf("%d values are more than the %d that one request may name", len(out), most)))
	}
	return out
}

// oneOf gives a parameter that has one of a few words; the first is what a missing one means.
func (q *query) oneOf(name string, words ...string) string {
	v := q.text(name)
	if v == "" {
		return words[0]
	}
	if !slices.Contains(words, v) {
		cure := "one of " + strings.Join(words, ", ")
		if near := formula.Nearest(v, words); near != "" {
			cure = fmt.Sprintf("did you mean %s?", near)
		}
		q.fail(monolith.Invalid(name, fmt.Sprintf("%q is not known here", v), cure))
		return words[0]
	}
	return v
}

// flag gives a parameter that is true or false; missing is false.
func (q *query) flag(name string) bool {
	switch v := q.text(name); v {
	case "", "false", "0":
		return false
	case "true", "1":
		return true
	default:
		q.fail(monolith.Invalid(name, fmt.Sprintf("%q is neither true nor false", v), "true or false"))
		return false
	}
}

// number gives a whole number between two bounds.
func (q *query) number(name string, missing, least, most int) int {
	return int(q.long(name, int64(missing), int64(least), int64(most)))
}

// long is number for what may not fit an int everywhere.
func (q *query) long(name string, missing, least, most int64) int64 {
	v := q.text(name)
	if v == "" {
		return missing
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		q.fail(monolith.Invalid(name, fmt.Sprintf("%q is not a whole number from %d to %d", v, least, most)))
		return missing
	}
	return n
}

// time gives a moment; missing stands for it where the parameter is.
func (q *query) time(name string, missing time.Time) time.Time {
	v := q.text(name)
	if v == "" {
		return missing
	}
	t, err := monolith.ParseTime(name, v, q.now)
	if err != nil {
		q.fail(err)
		return missing
	}
	return t
}

// duration gives a length of time: "90s", "1h" or plain seconds.
func (q *query) duration(name string, missing time.Duration) time.Duration {
	v := q.text(name)
	if v == "" {
		return missing
	}
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		v += "s"
	}
	d, err := monolith.ParseDuration(name, v)
	if err != nil {
		q.fail(err)
		return missing
	}
	return d
}

// longestRange bounds how far from and to may lie apart.
const longestRange = 100 * 366 * 24 * time.Hour

// span gives from and to; without them the hour (or so long as given) up to now.
func (q *query) span(usual time.Duration) (from, to time.Time) {
	to = q.time("to", q.now)
	from = q.time("from", to.Add(-usual))
	switch {
	case q.err != nil:
	case !from.Before(to):
		q.fail(monolith.Invalid("from", "the range ends before it begins", "from must be earlier than to"))
	case to.Sub(from) > longestRange:
		q.fail(monolith.Invalid("from", "the range is longer than 100 years"))
	}
	return from, to
}

// refuseTooMuch says that a request asks for more than one answer may hold.
func refuseTooMuch(field, detail string, cure ...string) *problem {
	p := refuse(http.StatusBadRequest, kindTooMuch, detail, "ask in several requests")
	p.Field = field
	if len(cure) > 0 {
		p.Cure = cure[0]
	}
	return p
}

// cut takes one page out of a list that has a stable order. The cursor names the last entry of the page
// before by its key, so that entries added or removed in between shift nothing.
func cut[T any](q *query, items []T, usual int, key func(T) string) (part []T, next string) {
	limit := q.number("limit", usual, 1, 5000)
	start := 0
	if cursor := q.text("cursor"); cursor != "" {
		last, err := base64.RawURLEncoding.DecodeString(cursor)
		i := slices.IndexFunc(items, func(item T) bool { return key(item) == string(last) })
		if err != nil || i < 0 {
			q.fail(monolith.Invalid("cursor", "the list has changed since this cursor was given, or it never was one", "begin without a cursor"))
			return nil, ""
		}
		start = i + 1
	}
	part = items[start:]
	if len(part) > limit {
		part = part[:limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(key(part[limit-1])))
	}
	return part, next
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
