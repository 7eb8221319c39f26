package regtest

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

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
	a.send(w, c, f.Part == Whole)
	f.Part.falsify(w, a)
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
		f.Break = NoBreak
	}
	if f.Break == Short {
		w.size, f.Break = f.After, NoBreak
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
