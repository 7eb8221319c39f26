package regtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"syscall"
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

// A reply is what is sent.
type reply struct {
	status int
	header http.Header
	body   *body
	length int64 // of the body; -1 if not stated
}

// errDropped is the error of a connection that Fault.Drop has dropped, as the operating system
// returns it.
var errDropped error = syscall.ECONNRESET

// reply answers a call. The error is the error of the context, or errDropped.
func (r *Registry) reply(c *call) (*reply, error) {
	r.locate(c)
	q := r.record(c)
	f := Fault{Header: http.Header{}}
	if c.hop.last() {
		f = r.match(c)
	}
	if err := sleep(c.ctx, nil, r.Latency+f.Delay); err != nil {
		return nil, err
	}
	if f.Drop {
		return nil, errDropped
	}
	w := &wire{}
	a := r.answer(c, f)
	r.Caching.setHeader(a)
	a.send(w, c, f.Part == "whole")
	w.falsify(a, f.Part)
	if f.Gzip && c.acceptsGzip() {
		w.compress()
	}
	rep := w.reply(c, f)
	r.updateRecord(func() { q.Status = w.status })
	rep.body.count = func(n int) { r.updateRecord(func() { q.Sent += int64(n) }) }
	return rep, nil
}

// send writes the answer. net/http interprets ranges and validators.
func (a *answer) send(w *wire, c *call, noRange bool) {
	w.header = a.header
	content := io.NewSectionReader(a.body, 0, a.size)
	if a.etag == "" || a.status != http.StatusOK {
		w.header.Set("Content-Length", strconv.FormatInt(a.size, 10))
		w.status = a.status
		w.body, w.size = content, a.size
		return
	}
	modified := a.date()
	if _, set := w.header["Etag"]; !set {
		w.header.Set("Etag", a.etag)
	}
	ask := &http.Request{Method: http.MethodGet, Header: c.header.Clone()}
	// Several ranges would need a multipart answer.
	if noRange || strings.Contains(c.header.Get("Range"), ",") {
		ask.Header.Del("Range")
	}
	http.ServeContent(w, ask, "", modified, content)
	if noRange {
		w.header.Del("Accept-Ranges")
	}
}

// date returns the Last-Modified of the answer, or zero. Ranges depend on it too.
func (a *answer) date() time.Time {
	if _, set := a.header["Last-Modified"]; set {
		date, _ := http.ParseTime(a.header.Get("Last-Modified"))
		return date
	}
	if tags, set := a.header["Etag"]; set && len(tags) == 0 {
		return time.Time{}
	}
	return a.modified
}

// A wire is a response writer that keeps the reader from [http.ServeContent] instead of the
// bytes, so that clients read it without a goroutine.
type wire struct {
	header http.Header
	status int
	body   io.Reader
	size   int64
	text   strings.Builder
}

// Header implements [http.ResponseWriter].
func (w *wire) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *wire) WriteHeader(status int) { w.status = status }

// Write implements [http.ResponseWriter]. It is only called for error texts.
func (w *wire) Write(p []byte) (int, error) { return w.text.Write(p) }

// ReadFrom implements [io.ReaderFrom], which [io.CopyN] uses. It reports that all is read.
func (w *wire) ReadFrom(r io.Reader) (int64, error) {
	part := r.(*io.LimitedReader)
	w.body, w.size = part, part.N
	return part.N, nil
}

// content returns the body, which may be an error text.
func (w *wire) content() (io.Reader, int64) {
	if w.body == nil {
		return strings.NewReader(w.text.String()), int64(w.text.Len())
	}
	return w.body, w.size
}

func (w *wire) reply(c *call, f Fault) *reply {
	w.body, w.size = w.content()
	if w.size <= f.After {
		f.Break = ""
	}
	if f.Break == "short" {
		w.size, f.Break = f.After, ""
	}
	bodiless := w.status == http.StatusNoContent || w.status == http.StatusNotModified
	if w.header.Set("Content-Length", strconv.FormatInt(w.size, 10)); bodiless {
		w.header.Del("Content-Length")
	}
	// Again, because net/http has set some headers.
	maps.Copy(w.header, f.Header)

	rep := &reply{status: w.status, header: w.header, length: -1}
	if n, err := strconv.ParseUint(w.header.Get("Content-Length"), 10, 63); err == nil {
		rep.length, w.size = int64(n), int64(n)
	}
	if bodiless || c.method == http.MethodHead {
		rep.length, w.size = max(rep.length, 0), 0
	}
	rep.body = &body{ctx: c.ctx, src: w.body, left: w.size, how: f, closed: make(chan struct{})}
	return rep
}

// sleep waits until d has passed, the context ends or closed is closed.
func sleep(ctx context.Context, closed <-chan struct{}, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	return wait(ctx, closed, timer.C)
}

// wait waits for what, which may be nil.
func wait(ctx context.Context, closed <-chan struct{}, what <-chan time.Time) error {
	select {
	case <-what:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-closed:
		return http.ErrBodyReadAfterClose
	}
}

// Caching sets headers of successful answers. Files always have entity tags.
type Caching struct {
	Control string // Cache-Control
	Vary    string // Vary
	Tags    bool   // entity tags for documents
}

// mark sets the headers of the answer.
func (c Caching) setHeader(a *answer) {
	if a.status/100 != 2 {
		return
	}
	set := func(name, value string) {
		if _, ok := a.header[name]; !ok && value != "" {
			a.header.Set(name, value)
		}
	}
	set("Cache-Control", c.Control)
	set("Vary", c.Vary)
	if c.Tags && a.etag == "" && a.status == http.StatusOK {
		h := sha256.New()
		copyAll(h, a.body, a.size)
		a.etag = fmt.Sprintf(`"%x"`, h.Sum(nil)[:16])
	}
}
