package doccache

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// maxFresh is how long an answer is used unasked at most, and then instead of an error,
// whatever the server states: one that was taken over for an hour must not rule the answers
// of a year.
const maxFresh = 24 * time.Hour

// lifetime is how long the server lets its answer be used unasked (section 4.2.1). There
// is no guessing: without a statement it is zero.
func (e *entry) lifetime() time.Duration {
	var d time.Duration
	if e.control.maxAge != absent {
		d = e.control.maxAge
	} else if v := e.header.Get("Expires"); v != "" {
		if at, err := http.ParseTime(v); err == nil {
			d = at.Sub(e.date())
		}
	}
	return min(max(d, 0), maxFresh)
}

// date is when the answer was made.
func (e *entry) date() time.Time {
	if at, err := http.ParseTime(e.header.Get("Date")); err == nil {
		return at
	}
	return e.received
}

// age is how old the answer is (section 4.2.3). If the clock has been put back, nobody
// knows.
func (e *entry) age(now time.Time) time.Duration {
	if now.Before(e.received) {
		return forever
	}
	apparent := max(0, e.received.Sub(e.date()))
	corrected := seconds(e.header.Get("Age")) + max(0, e.received.Sub(e.requested))
	age := max(apparent, corrected) + now.Sub(e.received)
	if age < 0 {
		return forever // an overflow
	}
	return age
}

// usable reports whether e may be used without asking (section 4).
func (x *exchange) usable(e *entry, now time.Time) bool {
	if x.t.Refresh && !x.t.Offline || e.control.noCache || x.wantsNewer(e, now) {
		return false
	}
	kept := now.Sub(e.received)
	return e.age(now) < e.lifetime() || kept >= 0 && kept < x.freshFor(e)
}

// wantsNewer reports whether the request asks for something newer than e (section 5.2.1).
func (x *exchange) wantsNewer(e *entry, now time.Time) bool {
	return x.asks.noCache || x.asks.maxAge != absent && e.age(now) > x.asks.maxAge
}

// freshFor is FreshFor for e. A redirect for the time being may lead to a page about
// maintenance, which ends in a minute.
func (x *exchange) freshFor(e *entry) time.Duration {
	switch e.status {
	case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
		return 0
	}
	return x.t.FreshFor
}

// mayBeStale reports whether e may be used although it should have been asked about and
// could not be (section 4.2.4 and RFC 5861).
func (x *exchange) mayBeStale(e *entry, now time.Time) bool {
	if e == nil || e.control.mustRevalidate || e.control.noCache || x.asks.noCache {
		return false
	}
	window := max(x.t.StaleIfError, min(e.control.staleIfError, maxFresh))
	age := e.age(now)
	// What FreshFor made fresh counts from its end.
	life := max(e.lifetime(), min(x.freshFor(e), forever-window))
	return window > 0 && age != forever && age-life < window
}

// isOutage reports whether a status says that the server could not answer.
func isOutage(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// left reports whether the caller has gone, as opposed to a server that was too slow for
// a deadline.
func left(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](context.Cause(ctx))
	return !ok || !timeout.Timeout()
}

// supersedes reports whether an answer that cannot be kept says that what is kept is not
// the answer any more.
func supersedes(status int) bool {
	return status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}
