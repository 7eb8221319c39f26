package disco

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/weburl"
)

// Causes that the errors of this package may wrap. They are the same values as
// those of these names in package provider.
var (
	// ErrUnauthorized means that the host wants a token, or another one
	// (status 401 or 403).
	ErrUnauthorized = fault.ErrUnauthorized
	// ErrInsecure means that a URL is http and that [Client.AllowHTTP] is not
	// set.
	ErrInsecure = fault.ErrInsecure
	// ErrTooLarge means that a document exceeds a limit.
	ErrTooLarge = fault.ErrTooLarge
)

// An Error says that discovery failed, so that the services of the host are not
// known. That a host has none is no Error. [ParseServices], which makes no
// request, sets Host, URL and Err.
type Error struct {
	Host       svchost.Hostname // that was asked
	URL        string           // asked last, without user information and query
	Status     int              // of the last answer; 0 if there was none
	RetryAfter time.Duration    // how long the server asked to wait; 0 if it did not
	HadToken   bool             // whether a token went along
	Attempts   int              // requests made, redirects not counted
	Err        error            // the cause, never nil
}

// Error returns a sentence of host, URL, status and cause.
func (e *Error) Error() string {
	text := "discover services of " + e.Host.Display() + ": "
	if request, ok := e.Err.(*httpx.Error); ok {
		return text + request.Error() // which has the rest in it
	}
	if e.URL != "" {
		text += e.URL + ": "
	}
	if e.Status != 0 && e.Status != http.StatusOK {
		text += fmt.Sprintf("status %d: ", e.Status)
	}
	return text + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// requestError makes an *Error about host of what a request returned.
func requestError(host svchost.Hostname, err error) *Error {
	e, ok := errors.AsType[*httpx.Error](err)
	if !ok {
		return &Error{Host: host, URL: weburl.Redact(wellKnown(host)), Err: err}
	}
	return &Error{
		Host: host, URL: e.URL, Status: e.Status, RetryAfter: e.RetryAfter,
		HadToken: e.HadToken, Attempts: e.Attempts, Err: e,
	}
}

// relabel makes an *Error about host of an error about its alias target, which
// may be host itself. Whoever shares a request gets an *Error of its own.
func relabel(host, target svchost.Hostname, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok { // the caller's own context has ended
		e = requestError(target, err)
	}
	about := *e
	about.Host = host
	return &about
}
