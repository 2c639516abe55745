package graph

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Format writes a value in human units, as on axes, legends and tiles: bytes and bytes/s 1,024-based,
// times in the largest unit that keeps the number above 1, counts with k, M, G from 10,000 on. NaN,
// which is "no value", becomes "–".
func Format(v float64, unit string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	switch base, per, _ := strings.Cut(unit, "/"); {
	case base == "bytes":
		s := scaled(v, 1024, []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB"})
		if per != "" {
			s += "/" + per
		}
		return s
	case unit == "%":
		v = math.Round(v*100)/100 + 0 // -0 becomes 0
		return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".") + " %"
	case unit == "s":
		return seconds(v)
	case unit == "ms":
		return seconds(v / 1000)
	case unit == "days":
		return seconds(v * 86400)
	case per == "s":
		return counted(v) + "/s"
	case per == "h":
		return counted(v) + "/h"
	}
	return counted(v)
}

// counted writes a count; small ones are left alone.
func counted(v float64) string {
	if math.Abs(v) < 10000 {
		return number(v)
	}
	return scaled(v, 1000, []string{"", " k", " M", " G", " T", " P"})
}

func scaled(v, base float64, units []string) string {
	i := 0
	for i < len(units)-1 && math.Abs(v) >= base {
		v /= base
		i++
	}
	if i == 0 && base == 1024 && math.Abs(v) >= 10 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64) + units[0]
	}
	return number(v) + units[i]
}

// number keeps three significant digits below 1,000 and whole numbers above.
func number(v float64) string {
	a := math.Abs(v)
	digits := 0
	switch {
	case v == 0:
		return "0"
	case a < 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case a < 1:
		digits = 3
	case a < 10:
		digits = 2
	case a < 100:
		digits = 1
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func seconds(v float64) string {
	a := math.Abs(v)
	switch {
	case v == 0:
		return "0 s"
	case a < 1e-3:
		return number(v*1e6) + " µs"
	case a < 1:
		return number(v*1e3) + " ms"
	case a < 120:
		return number(v) + " s"
	case a < 7200:
		return number(v/60) + " min"
	case a < 172800:
		return number(v/3600) + " h"
	}
	return number(v/86400) + " d"
}

// Age writes how long ago something was, in at most two units: "12 s", "3 min", "5 h 20 min", "12 d".
func Age(d time.Duration) string {
	d = d.Abs()
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 24*time.Hour:
		h, m := int(d.Hours()), int(d.Minutes())%60
		if m == 0 {
			return strconv.Itoa(h) + " h"
		}
		return strconv.Itoa(h) + " h " + strconv.Itoa(m) + " min"
	case d < 14*24*time.Hour:
		days, h := int(d.Hours())/24, int(d.Hours())%24
		if h == 0 {
			return strconv.Itoa(days) + " d"
		}
		return strconv.Itoa(days) + " d " + strconv.Itoa(h) + " h"
	}
	return strconv.Itoa(int(d.Hours())/24) + " d"
}
