package regtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Fault makes answers differ from the plain ones: some are failures, others
// are merely unusual. The first six fields say which answers, the others how
// they differ. Fields that are zero have no effect.
//
// All faults that match a request take effect together, in the order in which
// they were added. Of those with a Status, a Redirect or Raw the first decides.
// If that is a redirect it comes alone: the others affect, and count, the
// request that it leads to.
//
//	// The first two archives break off after 1000 bytes.
//	reg.AddFault(regtest.Fault{Kind: regtest.Archive, First: 2, Break: regtest.Cut, After: 1000})
//
//	// The registry is busy once, and says for how long.
//	reg.AddFault(regtest.Fault{Kind: regtest.Versions, First: 1, Status: 503, RetryAfter: "30"})
//
//	// Version 2.0.0 is what was published, and signed, as 1.0.0.
//	reg.AddFault(regtest.Fault{Kind: regtest.Package, Path: "/2.0.0/", Instead: "/1.0.0/"})
//
//	// The metadata is of another platform.
//	reg.AddFault(regtest.Fault{Kind: regtest.Package, Edit: func(doc map[string]any) {
//		doc["arch"] = "riscv64"
//	}})
type Fault struct {
	// Kind is what is asked for; a set of kinds matches each of them, zero
	// matches all.
	Kind Kind
	// Host is the host that is asked, with the port unless it is the one of
	// the scheme. Empty means any.
	Host string
	// Path is a part of the path. The path of a file is that of the Absolute
	// form, however it was asked for, except that archives with the forms
	// FileName and InDownload have paths of their own at a mirror.
	Path string
	// Skip is how many requests that match are answered plainly first.
	Skip int
	// Every is of how many requests, after these, one is affected: with 10 the
	// tenth, the twentieth and so on. Zero means that each is.
	Every int
	// First is how many requests the fault then affects. Zero means all.
	First int

	// Delay is how much later the answer comes.
	Delay time.Duration
	// Drop loses the connection instead of answering.
	Drop bool
	// RefuseToken answers 400 to a request with an Authorization header, as
	// object stores do that find another one in a presigned URL.
	RefuseToken bool
	// Status is the status of the answer, which is then an error document. With
	// Raw it is the status of that, and with Redirect that of the redirect.
	Status int
	// RetryAfter is the Retry-After header: seconds or an HTTP date.
	RetryAfter string
	// Header is added to the answer in place of what it has. A name with no
	// values removes a header: "Content-Type" leaves the media type out,
	// "Content-Length" the size, "Etag" the validators of a file, of which
	// "Last-Modified" with a value brings the date back.
	Header http.Header

	// Redirect answers with a redirect, by default 302. A scheme and host, as
	// in "https://files.example.com", lead to the same thing there; a query
	// behind them is added. "/" leads to the same thing on the same host. Any
	// other URL stands as it is.
	Redirect string
	// Hops is how many redirects lead to the answer. Zero means one. Less than
	// zero means that there is no end to them. A number of hops without a
	// Redirect stays on the same host.
	Hops int

	// Instead answers as if the path had Instead in place of Path, or were
	// Instead if there is no Path.
	Instead string
	// Raw, if not nil, is the body.
	Raw []byte
	// Edit changes a JSON document before it is sent, or, at LoginAuthz, the
	// parameters with which the browser is sent back. It is not called for
	// errors, nor for files. It may be called by several goroutines.
	Edit func(doc map[string]any)
	// Corrupt changes one bit in the middle of the body.
	Corrupt bool
	// Changed makes the file another one, with other bytes, another entity tag
	// and another date. With Skip it changes between two requests.
	Changed bool
	// PadTo puts spaces behind a body that has fewer bytes, until it has so many.
	// They leave a JSON document what it is.
	PadTo int64
	// Gzip compresses the body for clients that accept it, as most do for documents
	// without knowing: net/http asks for it, and undoes it. Together with PadTo it
	// makes a bomb, of which a thousandth goes over the wire.
	Gzip bool
	// Part is what a request for a part of a file gets.
	Part Part

	// Break is what happens to the body after After bytes of this answer.
	Break Break
	After int64
	// Pause is how long the body stalls before it goes on. Zero means that it
	// never does.
	Pause time.Duration
	// Rate is the speed of the body in bytes a second. Zero means no limit.
	Rate int64
}

// A Break is a way for a body to break off.
type Break int

// The breaks. A body that is no longer than Fault.After does not break.
const (
	NoBreak Break = iota
	Cut           // the connection is lost: [io.ErrUnexpectedEOF] for the reader
	Short         // the body ends there, and its stated size is that of what was sent
	Stall         // nothing more comes, for the time of Fault.Pause or until the client leaves
)

// A fault is a Fault with its counter.
type fault struct {
	Fault
	seen int
}

// AddFault adds a fault. It panics if the status is not one of a final answer,
// from 200 to 999.
func (r *Registry) AddFault(f Fault) {
	if f.Status != 0 && (f.Status < 200 || f.Status > 999) {
		panic(fmt.Sprintf("regtest: AddFault: status %d is not between 200 and 999", f.Status))
	}
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
		// The host that is redirected to has to know the document.
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
}

// match returns what the faults make of one request, and counts it.
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

// active reports whether the next request that matches is affected.
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

// add makes f do what other does too.
func (f *Fault) add(other *Fault) {
	f.Delay += other.Delay
	f.Drop = f.Drop || other.Drop
	f.RefuseToken = f.RefuseToken || other.RefuseToken
	f.Corrupt = f.Corrupt || other.Corrupt
	f.Changed = f.Changed || other.Changed
	f.PadTo = max(f.PadTo, other.PadTo)
	f.Gzip = f.Gzip || other.Gzip
	f.Part = cmp.Or(f.Part, other.Part)
	maps.Copy(f.Header, other.Header)
	if !f.decides() {
		f.Status, f.Redirect, f.Hops, f.Raw = other.Status, other.Redirect, other.Hops, other.Raw
	}
	if f.Instead == "" {
		f.Path, f.Instead = other.Path, other.Instead
	}
	if f.Break == NoBreak {
		f.Break, f.After, f.Pause = other.Break, other.After, other.Pause
	}
	f.Rate = max(f.Rate, other.Rate)
	if edit, next := f.Edit, other.Edit; edit == nil {
		f.Edit = next
	} else if next != nil {
		f.Edit = func(doc map[string]any) { edit(doc); next(doc) }
	}
}
