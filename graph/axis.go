package graph

import (
	"math"
	"strconv"
	"strings"
)

// measure is a unit in which the labels of an axis can stand, in terms of the smallest one.
type measure struct {
	size float64
	name string
}

// measures gives the units that an axis can have, from small to large, and by how much its values are multiplied before;
// nil where labels are [Format]'s own.
func measures(unit string) (list []measure, times float64) {
	switch base, _, _ := strings.Cut(unit, "/"); {
	case base == "bytes":
		return []measure{{1, " B"}, {1 << 10, " KiB"}, {1 << 20, " MiB"}, {1 << 30, " GiB"}, {1 << 40, " TiB"}, {1 << 50, " PiB"}}, 1
	case unit == "%":
		return nil, 1
	case unit == "s", unit == "ms", unit == "days":
		return []measure{{1e-6, " µs"}, {1e-3, " ms"}, {1, " s"}, {60, " min"}, {3600, " h"}, {86400, " d"}},
			map[string]float64{"s": 1, "ms": 1e-3, "days": 86400}[unit]
	}
	return []measure{{1, ""}, {1e3, " k"}, {1e6, " M"}, {1e9, " G"}, {1e12, " T"}, {1e15, " P"}}, 1
}

// axisLabels names the ticks of an axis, all in one unit: the largest that the highest of them reaches and in which all
// have at most two decimals. The word of [axisUnit] stands once beside them.
func axisLabels(ticks []float64, unit string) []string {
	labels := make([]string, len(ticks))
	list, times := measures(unit)
	highest := 0.0
	for _, v := range ticks {
		highest = max(highest, math.Abs(v*times))
	}
	chosen := 0
	for i, m := range list {
		least := m.size
		if m.name == " k" { // four digits are as short
			least = 10 * m.size
		}
		if highest >= least*(1-1e-9) && twoDecimals(ticks, times/m.size) {
			chosen = i
		}
	}
	for i, v := range ticks {
		if list == nil || highest == 0 {
			labels[i] = tickLabel(v, unit)
		} else {
			labels[i] = tickNumber(v*times/list[chosen].size) + list[chosen].name
		}
	}
	return labels
}

// tickNumber keeps three digits that count below 1, and three decimals above.
func tickNumber(v float64) string {
	if a := math.Abs(v); a > 0 && a < 1 {
		power := math.Pow(10, 2-math.Floor(math.Log10(a)))
		return strconv.FormatFloat(math.Round(v*power)/power, 'f', -1, 64)
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 3, 64), "0"), ".")
}

func twoDecimals(ticks []float64, times float64) bool {
	for _, v := range ticks {
		if x := v * times * 100; math.Abs(x-math.Round(x)) > 1e-6*max(1, math.Abs(x)) {
			return false
		}
	}
	return true
}

// tickLabel is [Format] without what the word beside the axis says.
func tickLabel(v float64, unit string) string {
	s, _, _ := strings.Cut(Format(v, unit), "/")
	return s
}

// axisUnit is the word that stands once above an axis; "" where the labels carry it.
func axisUnit(unit string) string {
	switch unit {
	case "bytes", "s", "ms", "%", "days":
		return ""
	case "1/s":
		return "per second"
	case "1/h":
		return "per hour"
	}
	return unit
}

// rightWord is that of the right axis; "" where nothing is drawn on it.
func (pd *PanelDrawing) rightWord() string {
	if !pd.hasRight() {
		return ""
	}
	return axisUnit(pd.Right)
}

// tickDistance rounds a distance of ticks up to one that reads well in the unit.
func tickDistance(raw float64, unit string) float64 {
	if strings.HasPrefix(unit, "bytes") && raw > 1 {
		return math.Pow(2, math.Ceil(math.Log2(raw)))
	}
	if _, times := measures(unit); unit == "s" || unit == "ms" || unit == "days" {
		for _, s := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400} {
			if raw*times > 0.5 && raw*times <= s*(1+1e-9) {
				return s / times
			}
		}
		if raw*times > 86400 {
			return niceStep(raw*times/86400) * 86400 / times
		}
		return niceStep(raw*times) / times
	}
	return niceStep(raw)
}
