package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"monolith"
	"monolith/formula"
)

// decode reads a JSON body into v, a pointer to a struct. Members that v does not have are refused
// with the nearest name, wherever they stand. Members that are missing leave v as it is and null sets the
// zero value, so that decoding over the present values is a merge patch (RFC 7396).
func decode(r *http.Request, v any) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	return decodeJSON(body, v)
}

// readForm reads the fields of a form that a page sent.
func readForm(r *http.Request) error {
	err := r.ParseForm()
	if _, large := errors.AsType[*http.MaxBytesError](err); err == nil || large {
		return err
	}
	return refuse(http.StatusBadRequest, kindInvalid, "the form can't be read: "+err.Error(), "escape % as %25 and ; as %3B")
}

// readBody gives the body of a request that carries JSON.
func readBody(r *http.Request) ([]byte, error) {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		parsed, _, err := mime.ParseMediaType(kind)
		if err != nil || parsed != "application/json" && parsed != "application/merge-patch+json" {
			return nil, refuse(http.StatusUnsupportedMediaType, kindMediaType,
				fmt.Sprintf("the body is %q, which is not read here", kind), "send application/json")
		}
	}
	body, err := io.ReadAll(r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, err
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, kindInvalid, "the body broke off: "+err.Error(), "send it whole")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, monolith.Invalid("", "the request has no body", "send a JSON object")
	}
	return body, nil
}

func decodeJSON(body []byte, v any) error {
	if err := checkMembers("", body, reflect.TypeOf(v).Elem()); err != nil {
		return err
	}
	clearNulls(body, reflect.ValueOf(v).Elem())
	return explainJSON(json.Unmarshal(body, v))
}

// explainJSON turns the decoder's errors into what is wrong and where.
func explainJSON(err error) error {
	if err == nil || errors.Is(err, monolith.ErrInvalid) {
		return err
	}
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return monolith.Invalid(bad.Field, misfit(bad), "give "+jsonWord(bad.Type))
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &monolith.InvalidError{Column: int(bad.Offset), Reason: "the body is not JSON: " + bad.Error()}
	}
	return monolith.Invalid("", "the body is not JSON: "+err.Error())
}

// misfit names the kind of the value only: numbers come with their digits, which may be a password's.
func misfit(bad *json.UnmarshalTypeError) string {
	kind, _, _ := strings.Cut(bad.Value, " ")
	return "a value of the kind " + kind + " does not fit here"
}

func jsonWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return jsonWord(t.Elem())
	}
	return "a whole number"
}

// checkMembers walks a JSON value beside the type that it will be read into.
func checkMembers(path string, raw json.RawMessage, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
				return monolith.Invalid(path, misfit(bad), "give an object")
			}
			return explainJSON(err)
		}
		fields := jsonFields(t)
		for _, name := range sortedKeys(members) {
			full := strings.TrimPrefix(path+"."+name, ".")
			index, known := fields[name]
			if !known {
				names := sortedKeys(fields)
				cure := "known are " + strings.Join(names, ", ")
				if near := formula.Nearest(name, names); near != "" {
					cure = fmt.Sprintf("did you mean %s?", near)
				}
				return monolith.Invalid(full, "there is no such member", cure)
			}
			if err := checkMembers(full, members[name], t.Field(index).Type); err != nil {
				return err
			}
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Struct {
			return nil
		}
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return nil // the decoder says it better
		}
		for i, item := range items {
			if err := checkMembers(fmt.Sprintf("%s[%d]", path, i), item, t.Elem()); err != nil {
				return err
			}
		}
	}
	return nil
}

// clearNulls sets the zero value wherever the JSON text says null: the decoder would leave it alone. In
// maps null removes the entry.
func clearNulls(raw json.RawMessage, v reflect.Value) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return
	}
	isNull := func(m json.RawMessage) bool { return string(bytes.TrimSpace(m)) == "null" }
	switch v.Kind() {
	case reflect.Struct:
		for name, index := range jsonFields(v.Type()) {
			if m, ok := members[name]; ok && isNull(m) {
				v.Field(index).SetZero()
			} else if ok {
				clearNulls(m, v.Field(index))
			}
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		// The decoder writes into the map that is there, which others may hold.
		fresh := reflect.MakeMap(v.Type())
		for _, key := range v.MapKeys() {
			if m, ok := members[key.String()]; !ok || !isNull(m) {
				fresh.SetMapIndex(key, v.MapIndex(key))
			}
		}
		v.Set(fresh)
	}
}

// jsonFields gives the places of a struct's fields by their JSON names. Embedding is not used in bodies.
func jsonFields(t reflect.Type) map[string]int {
	fields := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = i
		}
	}
	return fields
}
