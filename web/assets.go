package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The style sheets and pictures stand in ui/ as they are served; the script is bundled into dist/ by
// npm. dist/ holds nothing but a placeholder in a tree that was never built with npm: pages then
// carry no script and show graphs drawn by the server.
//
//go:embed ui/css/*.css ui/icon.svg all:dist
var assetFiles embed.FS

// assets serves the files inside the binary under names that hold a hash of their content, so that
// browsers may keep them for ever.
type assets struct {
	byPath map[string]*asset // "app.3f2a9c01.css"
	named  map[string]string // "app.css" → "app.3f2a9c01.css"
}

type asset struct {
	kind   string // content type
	plain  []byte
	packed []byte // gzip; nil where it saves nothing
	etag   string
}

// loadAssets reads the embedded files. The style sheets are joined in the order of their names into
// one, app.css, so that a page needs a single request for its looks.
func loadAssets() (*assets, error) {
	a := &assets{byPath: map[string]*asset{}, named: map[string]string{}}
	sheets, err := fs.Glob(assetFiles, "ui/css/*.css")
	if err != nil {
		return nil, fmt.Errorf("web: assets: %w", err)
	}
	slices.Sort(sheets)
	if _, err := fs.Stat(assetFiles, "dist/app.css"); err == nil {
		sheets = append([]string{"dist/app.css"}, sheets...) // the plot library's; ours may override it
	}
	var css bytes.Buffer
	for _, name := range sheets {
		text, err := assetFiles.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("web: assets: %w", err)
		}
		css.Write(text)
		css.WriteByte('\n')
	}
	a.add("app.css", css.Bytes())
	for _, name := range []string{"ui/icon.svg", "dist/app.js"} {
		text, err := assetFiles.ReadFile(name)
		if err != nil && path.Dir(name) == "dist" {
			continue // not built
		}
		if err != nil {
			return nil, fmt.Errorf("web: assets: %w", err)
		}
		a.add(path.Base(name), text)
	}
	return a, nil
}

// assetKinds are the content types by the ends of names. Package mime would read the system's table of all files, which takes
// half a megabyte and knows another type for scripts here and there.
var assetKinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func (a *assets) add(name string, text []byte) {
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:4])
	ext := path.Ext(name)
	hashed := strings.TrimSuffix(name, ext) + "." + hash + ext
	f := &asset{kind: assetKinds[ext], plain: text, etag: strconv.Quote(hash)}
	var packed bytes.Buffer
	if z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression); err == nil {
		if _, err := z.Write(text); err == nil && z.Close() == nil && packed.Len() < len(text) {
			f.packed = packed.Bytes()
		}
	}
	a.byPath[hashed], a.named[name] = f, hashed
}

// path gives the hashed name of an asset, or "" when it was not built.
func (a *assets) path(name string) string { return a.named[name] }

// ServeHTTP serves the asset that the last part of the path names.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := a.byPath[path.Base(r.URL.Path)]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Etag", f.etag)
	h.Set("Vary", "Accept-Encoding")
	body := f.plain
	if f.packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		h.Set("Etag", strconv.Quote(strings.Trim(f.etag, `"`)+"-gzip"))
		body = f.packed
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
