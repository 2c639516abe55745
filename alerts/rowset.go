package alerts

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"monolith"
	"monolith/formula"
)

// rowSet is one of the lists that collectors read, as formulas see it. The names of lists and fields are those of the
// JSON of package monolith, so that a rule, the API and the documentation call a thing the same.
type rowSet struct {
	name      string
	collector string
	schema    map[string]formula.Type
	fields    []rowField // in the order of [formula.Fields]
	// list gives the slice, and false when it was never read.
	list func(*evaluator) (reflect.Value, bool)
	// given reports whether what a poll read holds the list; nil: no collector gives it as it is.
	given func(*monolith.Rows) bool
}

// rowField reads one field of a row.
type rowField struct {
	name  string
	index []int
	how   fieldKind
	get   func(*row) formula.Scalar // of one that is worked out
}

type fieldKind uint8

const (
	fieldPlain  fieldKind = iota
	fieldCount            // of a list: its length
	fieldJoined           // of a list: its elements, with commas
	fieldUnix             // of a time: unix seconds
	fieldAge              // of a time: seconds until the moment of the evaluation
	fieldMade             // worked out
)

// rowSets gives all lists, by name. Nobody changes it.
var rowSets = sync.OnceValue(func() []*rowSet {
	var all []*rowSet
	t := reflect.TypeFor[monolith.Rows]()
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		first := len(all)
		switch {
		case f.Type.Kind() == reflect.Slice:
			all = append(all, newRowSet(name, f.Type.Elem(), func(ev *evaluator) (reflect.Value, bool) {
				v := reflect.ValueOf(&ev.state.Rows).Elem().Field(i)
				return v, !v.IsNil()
			}))
		case f.Type == reflect.TypeFor[*monolith.ProcessList]():
			inner := func(field string) func(ev *evaluator) (reflect.Value, bool) {
				return func(ev *evaluator) (reflect.Value, bool) {
					if ev.state.Processes == nil {
						return reflect.Value{}, false
					}
					return reflect.ValueOf(ev.state.Processes).Elem().FieldByName(field), true
				}
			}
			all = append(all, newRowSet(name, reflect.TypeFor[monolith.Process](), inner("Rows")),
				newRowSet("processes_by_user", reflect.TypeFor[monolith.Count](), inner("ByUser")),
				newRowSet("processes_by_host", reflect.TypeFor[monolith.Count](), inner("ByHost")),
				newRowSet("processes_by_state", reflect.TypeFor[monolith.Count](), inner("ByState")))
		case f.Type == reflect.TypeFor[*monolith.SchemaSizes]():
			inner := func(field string) func(ev *evaluator) (reflect.Value, bool) {
				return func(ev *evaluator) (reflect.Value, bool) {
					if ev.state.Schemas == nil {
						return reflect.Value{}, false
					}
					return reflect.ValueOf(ev.state.Schemas).Elem().FieldByName(field), true
				}
			}
			all = append(all, newRowSet(name, reflect.TypeFor[monolith.SchemaSize](), inner("Schemas")),
				newRowSet("tables", reflect.TypeFor[monolith.TableSize](), inner("Largest")))
		case f.Type.Kind() == reflect.Pointer:
			// One thing is a list of one row.
			elem := f.Type.Elem()
			all = append(all, newRowSet(name, elem, func(ev *evaluator) (reflect.Value, bool) {
				v := reflect.ValueOf(&ev.state.Rows).Elem().Field(i)
				if v.IsNil() {
					return reflect.Value{}, false
				}
				one := reflect.MakeSlice(reflect.SliceOf(elem), 1, 1)
				one.Index(0).Set(v.Elem())
				return one, true
			}))
		}
		for _, s := range all[first:] {
			// The latest deadlock is given when it is another than the one before.
			s.given = func(r *monolith.Rows) bool { return name == "deadlock" || !reflect.ValueOf(r).Elem().Field(i).IsNil() }
		}
	}
	all = append(all, ownRowSets()...)
	slices.SortFunc(all, func(a, b *rowSet) int { return strings.Compare(a.name, b.name) })
	return all
})

func rowSetIndex(name string) int {
	return slices.IndexFunc(rowSets(), func(s *rowSet) bool { return s.name == name })
}

func newRowSet(name string, row reflect.Type, list func(*evaluator) (reflect.Value, bool)) *rowSet {
	s := &rowSet{name: name, collector: monolith.CollectorOfRows(name), schema: map[string]formula.Type{}, list: list}
	found := map[string]rowField{}
	add := func(name string, t formula.Type, f rowField) {
		f.name = name
		s.schema[name], found[name] = t, f
	}
	for i := range row.NumField() {
		f := row.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		t := f.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		at := rowField{index: f.Index}
		switch {
		case t == reflect.TypeFor[time.Time]():
			at.how = fieldUnix
			add(name, formula.TypeNumber, at)
			at.how = fieldAge
			add(name+"_age", formula.TypeNumber, at)
		case t.Kind() == reflect.String:
			add(name, formula.TypeText, at)
		case t.Kind() == reflect.Bool:
			add(name, formula.TypeBool, at)
		case t.Kind() == reflect.Slice:
			at.how = fieldCount
			add(name+"_count", formula.TypeNumber, at)
			switch t.Elem().Kind() {
			case reflect.String, reflect.Int64, reflect.Uint64, reflect.Int:
				at.how = fieldJoined
				add(name, formula.TypeText, at)
			}
		case t.ConvertibleTo(reflect.TypeFor[float64]()):
			add(name, formula.TypeNumber, at)
		}
	}
	for _, m := range madeFields(name) {
		add(m.name, m.kind, rowField{how: fieldMade, get: m.get})
	}
	for _, name := range formula.Fields(s.schema) {
		s.fields = append(s.fields, found[name])
	}
	return s
}

// row is one row of a set. It implements formula.Row.
type row struct {
	set     *rowSet
	value   reflect.Value // the struct
	missing []string      // fields whose column was not sent
	index   int           // in the list
	ev      *evaluator
}

// Field implements formula.Row.
func (r *row) Field(i int) formula.Scalar {
	f := &r.set.fields[i]
	if len(r.missing) > 0 && slices.Contains(r.missing, f.name) {
		return formula.Nothing(formula.LackFailed, "the server did not send the column of "+f.name)
	}
	if f.how == fieldMade {
		if v, ok := r.ev.srv.given[givenField{r.set.name, r.index, f.name}]; ok {
			return v
		}
		return f.get(r)
	}
	v := r.value.FieldByIndex(f.index)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return formula.Nothing(formula.LackNull, f.name+" is NULL")
		}
		v = v.Elem()
	}
	switch f.how {
	case fieldCount:
		return formula.Number(float64(v.Len()))
	case fieldJoined:
		return formula.Text(joined(v))
	case fieldUnix, fieldAge:
		t := v.Interface().(time.Time)
		if t.IsZero() {
			return formula.Nothing(formula.LackNull, f.name+" is not known")
		}
		if f.how == fieldAge {
			return formula.Number(r.ev.at.Sub(t).Seconds())
		}
		return formula.Number(float64(t.Unix()))
	}
	switch v.Kind() {
	case reflect.String:
		return formula.Text(v.String())
	case reflect.Bool:
		return formula.Truth(v.Bool())
	case reflect.Float64, reflect.Float32:
		return formula.Number(v.Float())
	case reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8, reflect.Uint:
		return formula.Number(float64(v.Uint()))
	}
	return formula.Number(float64(v.Int()))
}

func joined(v reflect.Value) string {
	var b strings.Builder
	for i := range v.Len() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(scalarText(v.Index(i)))
	}
	return b.String()
}

// scalarText writes one element of a list.
func scalarText(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	}
	return strconv.FormatInt(v.Int(), 10)
}
