package regtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"
)

// An answer is the answer to a request, before ranges and transport.
type answer struct {
	status int
	header http.Header
	doc    any                              // body is the JSON of doc, unless doc is nil
	remake func(doc map[string]any) *answer // after an edit of doc; nil for a JSON document
	body   io.ReaderAt
	size   int64
	etag   string // empty if the answer is not a file

	modified time.Time // zero for documents
}

// document returns an answer with a JSON document.
func document(doc any) *answer {
	a := &answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, doc: doc}
	data, err := json.Marshal(doc)
	if err != nil {
		return failure(http.StatusInternalServerError)
	}
	a.setBody(data)
	return a
}

// failure returns an answer with an error document.
func failure(status int) *answer {
	a := document(map[string]any{"errors": []string{http.StatusText(status)}})
	a.status, a.doc = status, nil
	return a
}

// finalStatus returns status, or usual if status is not valid for an answer.
func finalStatus(status, usual int) int {
	if status < 200 || status > 999 {
		return usual
	}
	return status
}

// file returns an answer with a file.
func file(mediaType string, body io.ReaderAt, size int64, sum [sha256.Size]byte) *answer {
	return &answer{
		status: http.StatusOK, header: http.Header{"Content-Type": {mediaType}},
		body: body, size: size, etag: fmt.Sprintf(`"%x"`, sum[:16]), modified: published,
	}
}

// text returns an answer with a small file.
func text(mediaType string, data []byte) *answer {
	return file(mediaType, bytes.NewReader(data), int64(len(data)), sha256.Sum256(data))
}

func (a *answer) setBody(data []byte) { a.body, a.size = bytes.NewReader(data), int64(len(data)) }

// content returns the answer without faults.
func (r *Registry) content(c *call, t target) *answer {
	switch t.kind {
	case Discovery:
		return r.discovery(c)
	case Versions:
		return r.versions(t)
	case Package:
		return r.metadata(c, t)
	case Sums, Signature, Archive:
		return r.file(t)
	case ModuleVersions:
		return r.moduleVersions(c, t)
	case ModuleLocation:
		return r.moduleLocation(c, t)
	case ModulePage:
		return r.modulePage(c, t)
	case ModulePackage:
		return r.modulePackage(t)
	case MirrorIndex:
		return r.mirrorIndex(t)
	case MirrorVersion:
		return r.mirrorVersion(c, t)
	case LoginAuthz:
		return r.authorization(c)
	case LoginToken:
		return r.exchange(c)
	}
	return failure(http.StatusNotFound)
}

// answer returns the answer with the faults f.
func (r *Registry) answer(c *call, f Fault) *answer {
	var a *answer
	refusal := r.authorize(c)
	switch {
	case c.method == http.MethodHead:
		a = failure(http.StatusNotFound)
	case c.method != c.target.kind.method():
		a = failure(http.StatusMethodNotAllowed)
	case !c.hop.last():
		a = c.redirect("", c.hop, 0)
	case f.RefuseToken && c.header.Get("Authorization") != "":
		a = failure(http.StatusBadRequest)
	case f.Status != 0 && f.Raw == nil && f.Redirect == "":
		a = failure(f.Status)
	case refusal != nil:
		a = refusal
	case f.Redirect != "":
		a = c.redirect(f.Redirect, hop{of: max(f.Hops, 1), loop: f.Hops < 0}, f.Status)
	default:
		a = r.alteredContent(c, f)
	}
	f.alter(a)
	return a
}

// authorize returns the refusal of a call without the required token, or nil.
func (r *Registry) authorize(c *call) *answer {
	r.mu.Lock()
	token := r.tokens[c.target.kind]
	r.mu.Unlock()
	switch got := c.header.Get("Authorization"); {
	case token == "" || !c.hop.first() || got == "Bearer "+token:
		return nil
	case got == "":
		return failure(http.StatusUnauthorized)
	}
	return failure(http.StatusForbidden)
}

// alteredContent returns content that f changes.
func (r *Registry) alteredContent(c *call, f Fault) *answer {
	t := c.target
	if f.Instead != "" {
		path := f.Instead
		if f.Path != "" {
			path = strings.Replace(c.plain, f.Path, f.Instead, 1)
		}
		t = r.route(c, path)
	}
	if f.Raw != nil {
		return f.raw(t)
	}
	a := r.content(c, t)
	if f.Edit != nil && a.doc != nil {
		a.edit(f.Edit)
	}
	return a
}

// raw returns an answer with the body of the fault and the usual media type.
func (f *Fault) raw(t target) *answer {
	var a *answer
	switch t.kind {
	case Sums:
		a = text("text/plain; charset=utf-8", f.Raw)
	case Signature:
		a = text("application/octet-stream", f.Raw)
	case Archive:
		a = text("application/zip", f.Raw)
	case ModulePage:
		a = text("text/html; charset=utf-8", f.Raw)
	case ModulePackage:
		a = text("application/octet-stream", f.Raw)
	default:
		a = document(nil)
		a.setBody(f.Raw)
	}
	if f.Status != 0 {
		a.status = f.Status
	}
	return a
}

// edit calls change with a copy of the JSON object.
func (a *answer) edit(change func(map[string]any)) {
	data, err := json.Marshal(a.doc)
	if err != nil {
		return
	}
	var doc map[string]any
	if json.Unmarshal(data, &doc) != nil || doc == nil {
		return
	}
	change(doc)
	if a.remake != nil {
		*a = *a.remake(doc)
		return
	}
	edited := document(doc)
	if edited.status == http.StatusOK {
		edited.status, edited.header = a.status, a.header
	}
	*a = *edited
}

// alter applies the changes that are possible for every answer.
func (f *Fault) alter(a *answer) {
	a.pad(f.PadTo)
	if f.Changed && a.etag != "" {
		a.body = flipped{a.body, a.size / 3}
		a.etag = `"changed-` + a.etag[1:]
		a.modified = a.modified.Add(time.Hour)
	}
	if f.Corrupt {
		a.body = flipped{a.body, a.size / 2}
	}
	maps.Copy(a.header, f.Header)
}

// flipped is a file with one flipped bit.
type flipped struct {
	io.ReaderAt
	at int64
}

// ReadAt implements [io.ReaderAt].
func (f flipped) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, off)
	if i := f.at - off; i >= 0 && i < int64(n) {
		p[i] ^= 1
	}
	return n, err
}

// published is the Last-Modified of files, which is in the past in a test bubble too.
var published = time.Date(1999, time.December, 31, 1, 0, 0, 0, time.UTC)
