package web

import (
	"encoding/json"
	"strconv"

	"monolith"
	"monolith/graph"
)

// appender is an answer of many numbers, which writes its own JSON: encoding/json would look at every
// byte of the rows twice, and that is what a dashboard waits for. Each writes its small members with
// encoding/json, so that members added to a type appear by themselves, and the rows behind them.
type appender interface {
	appendJSON(out []byte) ([]byte, error)
	size() int // about how many bytes that will be
}

// What parts of an answer take: a value in a row, with its comma, and the rest of a line.
const (
	rowSize  = 8
	lineSize = 400
)

// encode gives v as JSON.
func encode(v any) ([]byte, error) {
	if a, ok := v.(appender); ok {
		return a.appendJSON(make([]byte, 0, a.size()+4<<10))
	}
	return json.Marshal(v)
}

// hidden stands for a member that is left out: it shadows the one of the embedded struct.
type hidden = *struct{}

// open appends an object without its closing brace. v has at least one member.
func open(out []byte, v any) ([]byte, error) {
	head, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(out, head[:len(head)-1]...), nil
}

func appendInts(out []byte, list []int64) []byte {
	out = append(out, '[')
	for i, n := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, n, 10)
	}
	return append(out, ']')
}

// appendRow appends a member that is a row of values; an optional one is left out when it is nil.
func appendRow(out []byte, name string, row monolith.Floats, optional bool) []byte {
	if row == nil && optional {
		return out
	}
	out = append(out, `,"`+name+`":`...)
	return row.AppendJSON(out)
}

// appendAll appends a list member.
func appendAll[T any](out []byte, name string, list []T, each func(out []byte, item *T) ([]byte, error)) ([]byte, error) {
	out = append(out, `"`+name+`":[`...)
	for i := range list {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = each(out, &list[i]); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

func (a *seriesAnswer) appendJSON(out []byte) ([]byte, error) {
	out, err := open(out, struct {
		Step  int64      `json:"step"`
		Tier  string     `json:"tier"`
		Marks []markView `json:"marks"`
	}{a.Step, a.Tier, a.Marks})
	if err != nil {
		return nil, err
	}
	out = appendInts(append(out, `,"t":`...), a.T)
	out, err = appendAll(append(out, ','), "series", a.Series, func(out []byte, v *seriesView) ([]byte, error) {
		out, err := open(out, struct {
			*seriesView
			V   hidden `json:"v,omitempty"`
			Min hidden `json:"min,omitempty"`
			Max hidden `json:"max,omitempty"`
		}{seriesView: v})
		if err != nil {
			return nil, err
		}
		out = appendRow(out, "v", v.V, false)
		out = appendRow(out, "min", v.Min, true)
		out = appendRow(out, "max", v.Max, true)
		return append(out, '}'), nil
	})
	return append(out, '}'), err
}

// drawingsAnswer is a list of drawings.
type drawingsAnswer []*graph.Drawing

func (a drawingsAnswer) appendJSON(out []byte) ([]byte, error) {
	out, err := appendAll(append(out, '{'), "drawings", a, func(out []byte, d **graph.Drawing) ([]byte, error) {
		return drawingAnswer{*d}.appendJSON(out)
	})
	return append(out, '}'), err
}

// drawingAnswer is one drawing.
type drawingAnswer struct{ *graph.Drawing }

func (d drawingAnswer) appendJSON(out []byte) ([]byte, error) {
	out, err := open(out, struct {
		*graph.Drawing
		Times  hidden `json:"t,omitempty"`
		Panels hidden `json:"panels,omitempty"`
	}{Drawing: d.Drawing})
	if err != nil {
		return nil, err
	}
	out = appendInts(append(out, `,"t":`...), d.Times)
	out, err = appendAll(append(out, ','), "panels", d.Panels, appendPanel)
	return append(out, '}'), err
}

func appendPanel(out []byte, p *graph.PanelDrawing) ([]byte, error) {
	out, err := open(out, struct {
		*graph.PanelDrawing
		Lines hidden `json:"lines,omitempty"`
	}{PanelDrawing: p})
	if err != nil {
		return nil, err
	}
	out, err = appendAll(append(out, ','), "lines", p.Lines, func(out []byte, l *graph.Line) ([]byte, error) {
		out, err := open(out, struct {
			*graph.Line
			V   hidden `json:"v,omitempty"`
			Min hidden `json:"min,omitempty"`
			Max hidden `json:"max,omitempty"`
			Ago hidden `json:"ago,omitempty"`
		}{Line: l})
		if err != nil {
			return nil, err
		}
		out = appendRow(out, "v", l.V, false)
		out = appendRow(out, "min", l.Min, true)
		out = appendRow(out, "max", l.Max, true)
		out = appendRow(out, "ago", l.Ago, true)
		return append(out, '}'), nil
	})
	return append(out, '}'), err
}
