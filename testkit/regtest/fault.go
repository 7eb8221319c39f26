package regtest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
)

// A Fault changes answers to the requests that its first six fields select.
//
// All matching faults apply. The first that sets Status, Redirect and Raw, Instead, Part, Break or a header
// counts for it. If one redirects, the others apply to the target.
type Fault struct {
	Kind  Kind   // requests; if zero, all
	Host  string // as in [Request]; if empty, any
	Path  string // part of it; for "opaque" URLs, of the "absolute" path
	Skip  int    // matching requests
	Every int    // then every n-th; if zero, each
	First int    // maximum number, if not zero

	Delay       time.Duration // of the answer
	Drop        bool          // the connection
	RefuseToken bool          // 400 for an Authorization header
	Status      int           // of an error, the redirect or Raw
	RetryAfter  string        // seconds or HTTP date

	Header http.Header // replaces headers, or removes them if empty; Etag with Last-Modified

	// Redirect is a URL, with Status or 302. To a URL without path, or "/" for the same host, path and query of the
	// request are added, after a prefix such as /redirect-1-of-1.
	Redirect string
	Hops     int // to "/" without Redirect; if zero, 1 with a Redirect; if negative, endless

	Instead string // answered path: replaces Path in the request's, or all if Path is empty
	Raw     []byte // body, if not nil

	// Edit, also called concurrently, changes JSON documents except errors, or at [LoginAuthz] the parameters for
	// the browser.
	Edit func(doc map[string]any)

	Corrupt bool  // flip a bit
	Changed bool  // other bytes, entity tag and date of a file
	PadTo   int64 // append spaces up to this size
	Gzip    bool  // if the client accepts it

	// Part is the answer to range requests: "whole" (200), "overlap" or "gap" (206, up to 1000 bytes too early or too
	// late), "other total" (206, with a total one byte too large), "multipart" (206, multipart/byteranges),
	// "unlabelled" (206 without Content-Range), or "unsatisfiable" (416).
	Part string

	// Break happens after After bytes of the body, if it has more: "cut" loses the connection, "short" ends the body
	// with a true Content-Length, "stall" pauses.
	Break string
	After int64
	Pause time.Duration // if zero, until the client disconnects
	Rate  int64         // maximum bytes per second, if not zero
}

// A fault is a Fault with its counter.
type fault struct {
	Fault
	seen int
}

// AddFault adds a fault.
func (r *Registry) AddFault(f Fault) {
	if f.Status != 0 && (f.Status < 200 || f.Status > 999) {
		panic(fmt.Sprintf("regtest: AddFault: status %d is not between 200 and 999", f.Status))
	}
	mustBeOneOf("AddFault: Break", f.Break, "", "cut", "short", "stall")
	mustBeOneOf("AddFault: Part", f.Part, "", "whole", "overlap", "gap", "other total", "multipart", "unlabelled", "unsatisfiable")
	header := make(http.Header, len(f.Header))
	for name, values := range f.Header {
		header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if f.RetryAfter != "" {
		header.Set("Retry-After", f.RetryAfter)
	}
	f.Header, f.After = header, max(f.After, 0)
	if f.Redirect == "" && f.Hops != 0 {
		f.Redirect = "/"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, &fault{Fault: f})
	if u, err := url.Parse(f.Redirect); err == nil && u.Host != "" && f.Kind.has(Discovery) {
		// The target of the redirect needs the document.
		if host := normalHost(u.Scheme, u.Host); r.hosts[host].IsZero() {
			r.hosts[host] = r.host
		}
	}
}

// ClearFaults removes all faults.
func (r *Registry) ClearFaults() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = nil
	// A target of a redirect is the only host with the registry of another.
	maps.DeleteFunc(r.hosts, func(host string, registry svchost.Hostname) bool { return host != registry.String() })
}

// match returns the sum of the faults that match a request, and counts the request.
func (r *Registry) match(c *call) Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*fault
	decided := false
	for _, f := range r.faults {
		if !f.matches(c) || f.Redirect != "" && !c.hop.first() {
			continue
		}
		if f.active() && !decided {
			if f.Redirect != "" {
				list = []*fault{f}
				break
			}
			decided = f.decides()
		}
		list = append(list, f)
	}
	sum := Fault{Header: http.Header{}}
	for _, f := range list {
		if f.active() {
			sum.add(&f.Fault)
		}
		f.seen++
	}
	return sum
}

func (f *Fault) matches(c *call) bool {
	return f.Kind.has(c.target.kind) && (f.Host == "" || f.Host == c.host) && strings.Contains(c.plain, f.Path)
}

// decides reports whether the fault replaces the answer.
func (f *Fault) decides() bool { return f.Status != 0 || f.Redirect != "" || f.Raw != nil }

// active reports whether the next matching request is affected.
func (f *fault) active() bool {
	i := f.seen - f.Skip
	if n := f.Every; n > 1 && i >= 0 {
		if i%n != n-1 {
			return false
		}
		i /= n
	}
	return i >= 0 && (f.First == 0 || i < f.First)
}

// add adds the effects of other to f.
func (f *Fault) add(other *Fault) {
	f.Delay += other.Delay
	f.Drop = f.Drop || other.Drop
	f.RefuseToken = f.RefuseToken || other.RefuseToken
	f.Corrupt = f.Corrupt || other.Corrupt
	f.Changed = f.Changed || other.Changed
	f.PadTo = max(f.PadTo, other.PadTo)
	f.Gzip = f.Gzip || other.Gzip
	f.Part = cmp.Or(f.Part, other.Part)
	header := maps.Clone(other.Header)
	maps.Copy(header, f.Header)
	f.Header = header
	if !f.decides() {
		f.Status, f.Redirect, f.Hops, f.Raw = other.Status, other.Redirect, other.Hops, other.Raw
	}
	if f.Instead == "" {
		f.Path, f.Instead = other.Path, other.Instead
	}
	if f.Break == "" {
		f.Break, f.After, f.Pause = other.Break, other.After, other.Pause
	}
	if f.Rate <= 0 || 0 < other.Rate && other.Rate < f.Rate {
		f.Rate = other.Rate
	}
	if edit, next := f.Edit, other.Edit; edit == nil {
		f.Edit = next
	} else if next != nil {
		f.Edit = func(doc map[string]any) { edit(doc); next(doc) }
	}
}

// redirect returns a redirect to the hop after h. base is Fault.Redirect; empty means the same
// host.
func (c *call) redirect(base string, h hop, status int) *answer {
	if status == 0 {
		status = http.StatusFound
	}
	if !h.loop {
		h.at++
	}
	a := &answer{status: status, header: http.Header{"Location": {c.location(base, h)}}}
	a.setBody(nil)
	return a
}

func (c *call) location(base string, h hop) string {
	path, _ := cutHop(c.path)
	origin, query := "", c.query
	if base != "" && base != "/" {
		u, err := url.Parse(base)
		if err != nil || u.Scheme == "" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
			return base
		}
		origin = c.origin(u.Scheme + "://" + u.Host)
		query = strings.Trim(query+"&"+u.RawQuery, "&")
	}
	if query != "" {
		query = "?" + query
	}
	return origin + h.prefix() + path + query
}

// partShift is the error of the start of a part in bytes.
const partShift = 1000

// falsify turns a valid partial answer into what Fault.Part says.
func (w *wire) falsify(a *answer, part string) {
	label := w.header.Get("Content-Range")
	var first, last, total int64
	if n, _ := fmt.Sscanf(label, "bytes %d-%d/%d", &first, &last, &total); w.status != http.StatusPartialContent || n != 3 {
		return
	}
	switch part {
	case "overlap":
		w.part(a, max(first-partShift, 0), last, total)
	case "gap":
		w.part(a, min(first+partShift, last), last, total)
	case "other total":
		w.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, total+1))
	case "multipart":
		const boundary = "a-part-of-the-file"
		head := fmt.Sprintf("--%s\r\nContent-Type: %s\r\nContent-Range: %s\r\n\r\n", boundary, w.header.Get("Content-Type"), label)
		tail := "\r\n--" + boundary + "--\r\n"
		w.body = io.MultiReader(strings.NewReader(head), w.body, strings.NewReader(tail))
		w.size += int64(len(head) + len(tail))
		w.header.Set("Content-Type", "multipart/byteranges; boundary="+boundary)
		w.header.Del("Content-Range")
	case "unlabelled":
		w.header.Del("Content-Range")
	case "unsatisfiable":
		w.status = http.StatusRequestedRangeNotSatisfiable
		w.header.Set("Content-Range", fmt.Sprintf("bytes */%d", total))
		w.body, w.size = strings.NewReader(""), 0
	}
}

// part makes the bytes first to last the body.
func (w *wire) part(a *answer, first, last, total int64) {
	w.body, w.size = io.NewSectionReader(a.body, first, last-first+1), last-first+1
	w.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, total))
}

// A body is the body of a reply. It ends with the context of the request, or breaks off as a
// fault says.
type body struct {
	ctx  context.Context
	src  io.Reader
	left int64 // until the end, according to the header
	sent int64

	count func(n int) // is called for sent bytes
	how   Fault       // Break, After, Pause and Rate

	closing sync.Once
	closed  chan struct{}
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	if err := b.ended(); err != nil {
		return 0, err
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	if len(p) > 0 && b.how.Break != "" && b.sent == b.how.After {
		if err := b.breakOff(); err != nil {
			return 0, err
		}
	}
	n, err := b.src.Read(p[:b.window(len(p))])
	if b.how.Rate > 0 {
		d := time.Duration(float64(n) / float64(b.how.Rate) * float64(time.Second))
		if err := sleep(b.ctx, b.closed, d); err != nil {
			return 0, err
		}
	}
	b.sent += int64(n)
	b.count(n)
	b.left -= int64(n)
	if err == io.EOF && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// ended returns an error if the body is closed or the context has ended.
func (b *body) ended() error {
	select {
	case <-b.closed:
		return http.ErrBodyReadAfterClose
	default:
	}
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	return nil
}

// breakOff applies the break.
func (b *body) breakOff() error {
	how := b.how.Break
	switch {
	case how == "cut":
		return io.ErrUnexpectedEOF
	case how == "stall" && b.how.Pause == 0:
		return wait(b.ctx, b.closed, nil)
	}
	b.how.Break = ""
	return sleep(b.ctx, b.closed, b.how.Pause)
}

// window returns how many of n bytes may be read at once.
func (b *body) window(n int) int {
	limit := min(int64(n), b.left)
	if b.how.Break != "" {
		limit = min(limit, b.how.After-b.sent)
	}
	if b.how.Rate > 0 {
		limit = min(limit, b.how.Rate)
	}
	return int(limit)
}

// Close implements [io.Closer]. It ends a waiting Read.
func (b *body) Close() error {
	b.closing.Do(func() { close(b.closed) })
	return nil
}
