package alerts

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"monolith/formula"
)

// template is a text with {formula} in it. {{ and }} stand for braces.
type template struct {
	parts []part
}

type part struct {
	text string
	expr *expr  // nil: text stands as it is
	unit string // of expr
}

// splitTemplate cuts a text into literal parts and formulas, alternately, beginning with a literal. columns holds the
// character at which each formula begins.
func splitTemplate(text string) (parts []string, columns []int, ok bool) {
	var lit strings.Builder
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case (c == '{' || c == '}') && i+1 < len(runes) && runes[i+1] == c:
			lit.WriteRune(c)
			i++
		case c == '{':
			end := closing(runes, i+1)
			if end < 0 {
				return nil, []int{i}, false
			}
			parts = append(parts, lit.String(), string(runes[i+1:end]))
			columns = append(columns, i+1)
			lit.Reset()
			i = end
		case c == '}':
			return nil, []int{i}, false
		default:
			lit.WriteRune(c)
		}
	}
	return append(parts, lit.String()), columns, true
}

// closing gives the place of the brace that ends a formula; braces inside quotes don't count.
func closing(runes []rune, from int) int {
	depth := 0
	var quote rune
	for i := from; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// render fills the template in. What is not known becomes "?".
func (ev *evaluator) render(t *template) string {
	if t == nil {
		return ""
	}
	if len(t.parts) == 1 && t.parts[0].expr == nil {
		return t.parts[0].text
	}
	var b strings.Builder
	number, counted := 0.0, false // the last one, NaN where it is not known
	for _, p := range t.parts {
		if p.expr == nil {
			if counted {
				b.WriteString(agree(p.text, number))
			} else {
				b.WriteString(p.text)
			}
			continue
		}
		s := ev.eval(p.expr)
		if v, ok := s.Float(); ok {
			number, counted = v, true
		} else if s.Lack() != formula.LackNone {
			number, counted = math.NaN(), true
		}
		b.WriteString(formatScalar(s, p.unit))
	}
	return strings.TrimSpace(b.String())
}

// inflected is "(s)" or "(is|are)": what a text says of one thing, and of several.
var inflected = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(s\)|\((\w*)\|(\w*)\)`) })

// agree lets words agree with the number that stands before them. One that is not known is several.
func agree(text string, number float64) string {
	if !strings.Contains(text, "(s)") && !strings.Contains(text, "|") {
		return text
	}
	return inflected().ReplaceAllStringFunc(text, func(word string) string {
		one, many, both := strings.Cut(strings.Trim(word, "()"), "|")
		switch {
		case !both && number == 1:
			return ""
		case !both:
			return "s"
		case number == 1:
			return one
		}
		return many
	})
}

// maxShown is how many characters of one value from a server stand in a text.
const maxShown = 600

// formatScalar writes a value for people.
func formatScalar(s formula.Scalar, unit string) string {
	if text, ok := s.Text(); ok {
		return shorten(text, maxShown)
	}
	if yes, ok := s.Bool(); ok {
		if yes {
			return "yes"
		}
		return "no"
	}
	if v, ok := s.Float(); ok {
		return formatNumber(v, unit)
	}
	return "?"
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := 0
	for i := range s {
		if i > most {
			break
		}
		cut = i
	}
	return s[:cut] + "…"
}

// formatNumber writes a number with its unit, as texts of alerts do: bytes as KiB, MiB and GiB, percentages with two
// decimals, durations in words, everything with separators of thousands.
func formatNumber(v float64, unit string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "?"
	}
	switch base, per, _ := strings.Cut(unit, "/"); {
	case base == "bytes":
		s := formatBytes(v)
		if per != "" {
			s += "/" + per
		}
		return s
	case unit == unitID:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case unit == "%":
		return trimZeros(strconv.FormatFloat(math.Round(v*100)/100+0, 'f', 2, 64)) + " %"
	case unit == "s":
		return formatSeconds(v)
	case unit == "ms":
		if math.Abs(v) >= 1000 {
			return formatSeconds(v / 1000)
		}
		return grouped(v) + " ms"
	case unit == "days":
		if v == 1 {
			return "1 day"
		}
		return grouped(v) + " days"
	case unit == "min":
		return grouped(v) + " min"
	case unit == "h":
		return formatSeconds(v * 3600)
	case unit == "1/s":
		return grouped(v) + "/s"
	case per != "":
		return grouped(v) + " " + unit
	case unit != "" && math.Abs(v) >= 10:
		return grouped(math.Round(v)) // a number of things: growth over a window that begins between two readings has decimals
	}
	return grouped(v)
}

func formatBytes(v float64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for i < len(units)-1 && math.Abs(v) >= 1024 {
		v /= 1024
		i++
	}
	if i == 0 {
		return grouped(math.Round(v)) + " bytes"
	}
	return grouped(v) + " " + units[i]
}

// formatSeconds writes a length of time: "412 s", "25 minutes", "3 days 4 hours".
func formatSeconds(v float64) string {
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	switch {
	case v < 10:
		return sign + grouped(v) + " s"
	case v < 600:
		return sign + grouped(math.Round(v)) + " s"
	case v < 2*3600:
		return sign + grouped(math.Round(v/60)) + " minutes"
	case v < 48*3600:
		h, m := math.Floor(v/3600), math.Floor(math.Mod(v, 3600)/60)
		if m == 0 {
			return sign + grouped(h) + " hours"
		}
		return sign + grouped(h) + " h " + grouped(m) + " min"
	}
	d := math.Floor(v / 86400)
	if h := math.Floor(math.Mod(v, 86400) / 3600); h > 0 && d < 14 {
		return sign + grouped(d) + " days " + grouped(h) + " h"
	}
	return sign + grouped(d) + " days"
}

// grouped writes a number with separators of thousands and no more decimals than mean something.
func grouped(v float64) string {
	digits := 0
	switch a := math.Abs(v); {
	case v == math.Trunc(v):
	case a < 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case a < 1:
		digits = 3
	case a < 100:
		digits = 2
	case a < 10000:
		digits = 1
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		s = trimZeros(s)
	}
	whole, frac, _ := strings.Cut(s, ".")
	neg := strings.HasPrefix(whole, "-")
	whole = strings.TrimPrefix(whole, "-")
	var b strings.Builder
	if neg && strings.Trim(s, "-0.") != "" {
		b.WriteByte('-')
	}
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if frac != "" {
		b.WriteString("." + frac)
	}
	return b.String()
}

func trimZeros(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// inWords writes a window or a hold: "15 minutes", "1 hour", "7 days".
func inWords(d time.Duration) string {
	one := func(n time.Duration, word string) string {
		if n == 1 {
			return "1 " + word
		}
		return strconv.FormatInt(int64(n), 10) + " " + word + "s"
	}
	switch {
	case d <= 0:
		return "0 s"
	case d%(24*time.Hour) == 0 && d > 24*time.Hour:
		return one(d/(24*time.Hour), "day")
	case d%time.Hour == 0:
		return one(d/time.Hour, "hour")
	case d%time.Minute == 0:
		return one(d/time.Minute, "minute")
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " s"
}
