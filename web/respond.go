package web

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"hash/maphash"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
)

// format is the form of an answer.
type format uint8

const (
	formatJSON format = iota
	formatXML
)

const xmlHeader = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// formatOf chooses the form: the path's suffix first, then Accept; JSON when neither says anything. Where
// the path ends in a name, its end is no suffix: a server may be called "db.xml".
func formatOf(r *http.Request) format {
	pattern := chi.RouteContext(r.Context()).RoutePattern()
	if !strings.HasSuffix(pattern, "}") || strings.HasSuffix(pattern, "{format}") {
		switch {
		case strings.HasSuffix(r.URL.Path, ".xml"):
			return formatXML
		case strings.HasSuffix(r.URL.Path, ".json"):
			return formatJSON
		}
	}
	var best format
	most := 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				continue
			}
		}
		switch kind {
		case "application/xml", "text/xml", "application/problem+xml":
			// A browser names XML behind HTML; it gets JSON, which it shows better.
			if q > most && !strings.Contains(r.Header.Get("Accept"), "text/html") {
				best, most = formatXML, q
			}
		case "application/json", "application/problem+json", "application/*", "*/*":
			if q > most {
				best, most = formatJSON, q
			}
		}
	}
	return best
}

// respond writes v as JSON or XML; root names the XML document's element. Answers to GET carry an ETag,
// and one that the client has already is not sent again; after a restart all of them are others.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, status int, root string, v any) error {
	body, err := encode(v)
	if err != nil {
		return fmt.Errorf("web: encode %s: %w", root, err)
	}
	kind := "application/json"
	if formatOf(r) == formatXML {
		kind, body = "application/xml; charset=utf-8", append([]byte(xmlHeader), xmlOf(root, "", body)...)
	}
	body = append(body, '\n')
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Add("Vary", "Accept")
	if status == http.StatusOK && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		tag := fmt.Sprintf(`"%016x"`, maphash.Bytes(s.tagSeed, body))
		h.Set("Etag", tag)
		if h.Get("Cache-Control") == "" {
			h.Set("Cache-Control", "no-cache") // keep it, but ask each time
		}
		if tagMatches(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body) // the client is gone when this fails: nothing is left to say to it
	}
	return nil
}

// tagMatches reports whether an If-None-Match header names the tag.
func tagMatches(header, tag string) bool {
	for t := range strings.SplitSeq(header, ",") {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
			return true
		}
	}
	return false
}

// mustJSON encodes what can't fail to encode: structs of texts and numbers.
func mustJSON(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return body
}

// xmlOf turns a JSON text into an XML element, so that both forms always say the same: members become
// elements of their name, a member whose name is no XML name becomes <entry name="…">, list elements
// become <item>, null becomes an empty element with null="true". Characters that XML 1.0 can't hold
// become U+FFFD. body must be valid JSON.
func xmlOf(root, namespace string, body []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // 2^64−1 stays what it is
	x := xmlWriter{dec: dec}
	attr := ""
	if namespace != "" {
		attr = ` xmlns="` + namespace + `"`
	}
	x.element(root, attr)
	return x.out.Bytes()
}

type xmlWriter struct {
	dec *json.Decoder
	out bytes.Buffer
}

// element writes the next JSON value as an element. Errors can't occur on valid JSON and end the text.
func (x *xmlWriter) element(name, attr string) {
	tok, err := x.dec.Token()
	if err != nil {
		return
	}
	tag := name
	if !xmlName(name) {
		tag, attr = "entry", attr+` name="`+xmlText(name)+`"`
	}
	x.out.WriteString("<" + tag + attr)
	switch v := tok.(type) {
	case json.Delim:
		x.out.WriteByte('>')
		for x.dec.More() {
			child := "item"
			if v == '{' {
				key, err := x.dec.Token()
				if err != nil {
					return
				}
				child, _ = key.(string)
			}
			x.element(child, "")
		}
		x.dec.Token() // the closing delimiter
	case nil:
		x.out.WriteString(` null="true"/>`)
		return
	case string:
		x.out.WriteString(">" + xmlText(v))
	default:
		fmt.Fprintf(&x.out, ">%v", v)
	}
	x.out.WriteString("</" + tag + ">")
}

// xmlName reports whether a member's name can be an element's: letters, digits, _ and -, not beginning
// with a digit, a hyphen or "xml".
func xmlName(s string) bool {
	if s == "" || len(s) > 64 || strings.HasPrefix(strings.ToLower(s), "xml") {
		return false
	}
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// xmlText escapes a text and replaces what XML 1.0 can't hold.
func xmlText(s string) string {
	var b strings.Builder
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	xml.EscapeText(&b, []byte(s)) // into memory: never fails
	return b.String()
}
