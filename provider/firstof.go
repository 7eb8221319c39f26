package provider

import (
	"context"
	"errors"
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify"
)

// FirstOf is a [Source] that asks one source after the other until one answers. It is for
// sources with the same content, such as two mirrors. It is safe for concurrent use if its
// sources are.
//
// The next source is asked only after a fault; see [IsFault]. Any other error ends the
// search, so a later source cannot add versions to an earlier one. Retries delay the next
// source: set [github.com/tofureg/tofureg/transport.Client.Retries] low for all sources except
// the last.
type FirstOf struct {
	// Methods are asked in this order.
	Methods []Method

	// Skipped, if not nil, is called for each skipped method, with the reason. Calls of
	// concurrent searches may overlap.
	Skipped func(method string, err error)
}

var _ Source = (*FirstOf)(nil)

// ProviderVersions returns the list of the first method that answers. The error wraps the
// [*MethodError] that ended the search, or a [*NoMethodError].
func (f *FirstOf) ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error) {
	s := &search{op: "list versions of", subject: p.String(), report: f.Skipped}
	return firstOf(ctx, s, f.Methods, p, IsFault, func(m *Method) (*Versions, error) { return listFrom(ctx, m.Source, p) })
}

// ProviderPackage returns the package of the first method that answers.
func (f *FirstOf) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	s := findSearch(p, v, platform, f.Skipped)
	return firstOf(ctx, s, f.Methods, p, IsFault, func(m *Method) (*Package, error) { return m.find(ctx, p, v, platform) })
}

// Evidence calls the method that [Package.Via] names.
func (f *FirstOf) Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	return evidence(ctx, f.Methods, pkg)
}

// Open calls the method that [Package.Via] names.
func (f *FirstOf) Open(ctx context.Context, pkg *Package) (*Body, error) {
	return open(ctx, f.Methods, pkg)
}

// firstOf asks one method after the other. It skips errors for which skip returns true.
func firstOf[T any](ctx context.Context, s *search, methods []Method, p addrs.Provider, skip func(error) bool, ask func(*Method) (*T, error)) (*T, error) {
	if err := s.checkMethods(methods); err != nil {
		return nil, err
	}
	for i := range methods {
		m := &methods[i]
		err := m.accepts(p)
		if err == nil {
			var got *T
			if got, err = ask(m); err == nil {
				return got, nil
			}
			if ctx.Err() != nil || !skip(err) {
				return nil, s.failed(m.Name, err)
			}
		}
		s.skip(m.Name, err)
	}
	return nil, s.none()
}

// IsFault reports whether another source or a later attempt may succeed: the connection
// failed, the answer timed out or broke off, or its status is 408, 429 or 5xx.
func IsFault(err error) bool {
	for _, kind := range []error{ErrNotFound, ErrUnauthorized, ErrInsecure, fault.ErrTooLarge, ErrProtocol} {
		if errors.Is(err, kind) {
			return false
		}
	}
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		const timeout, tooMany, server = 408, 429, 500
		switch {
		case e.Status == timeout, e.Status == tooMany, e.Status >= server:
			return true
		case e.Status == 0 && e.Attempts > 0:
			return true // no answer
		case e.Attempts == 0:
			return false // the request was not even made
		}
	}
	// Errors of the network and of the operating system have this method.
	_, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok || errors.Is(err, io.ErrUnexpectedEOF)
}
