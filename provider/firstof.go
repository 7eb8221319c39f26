package provider

import (
	"context"
	"errors"
	"io"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/verify"
)

// FirstOf is a [Source] of sources that stand in for each other, such as two mirrors
// with the same content. They are asked one after the other until one answers.
//
// The next one is asked only after a fault, see [IsFault]. All else is an answer, and the search ends with it. That a provider
// is not there (ErrNotFound and its kinds) is one, since otherwise whoever is last in
// the list could add to what the first one has. That a token is missing or wrong
// (ErrUnauthorized) is one, since it will not pass by itself. So are an insecure URL, a
// document that is too large or makes no sense, and a token that cannot be found. When
// the caller's context has ended, nobody else is asked.
//
// Only finding fails over. Evidence and archive are fetched from the source that
// answered, see [Package.Via], and what a policy refuses stays refused.
//
// A source that repeats its requests holds up the others: let all but the last have few
// Retries or none. Nothing is kept between calls. A FirstOf is safe for concurrent use if
// its sources are; its fields must not be changed meanwhile.
type FirstOf struct {
	// Methods are asked in this order. Those whose patterns leave a provider out
	// are not asked for it.
	Methods []Method

	// Passed, if not nil, is told of each method that was passed over, and why.
	// Calls of concurrent searches may overlap.
	Passed func(method string, err error)
}

var _ Source = (*FirstOf)(nil)

// ProviderVersions returns the list of the first method that answers.
//
// The error is an [*Error]. It wraps the [*MethodError] of the method that ended the
// search, or a [*NoMethodError] if there was none.
func (f *FirstOf) ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error) {
	s := &search{op: "list versions of", subject: p.String(), report: f.Passed}
	return firstOf(ctx, s, f.Methods, p, IsFault, func(m *Method) (*Versions, error) { return listFrom(ctx, m.Source, p) })
}

// ProviderPackage returns the package that the first method answers with. Its errors are
// like those of [FirstOf.ProviderVersions].
func (f *FirstOf) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	s := findSearch(p, v, platform, f.Passed)
	return firstOf(ctx, s, f.Methods, p, IsFault, func(m *Method) (*Package, error) { return m.find(ctx, p, v, platform) })
}

// Evidence asks the method that [Package.Via] names. A name that is not among the
// methods is an [*Error].
func (f *FirstOf) Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	return evidence(ctx, f.Methods, pkg)
}

// Open asks the method that [Package.Via] names. A name that is not among the methods
// is an [*Error].
func (f *FirstOf) Open(ctx context.Context, pkg *Package) (*Body, error) {
	return open(ctx, f.Methods, pkg)
}

// firstOf asks one method after the other, as long as their errors are among those to pass over.
func firstOf[T any](ctx context.Context, s *search, methods []Method, p addrs.Provider, over func(error) bool, ask func(*Method) (*T, error)) (*T, error) {
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
			if ctx.Err() != nil || !over(err) {
				return nil, s.failed(m.Name, err)
			}
		}
		s.pass(m.Name, err)
	}
	return nil, s.none()
}

// IsFault reports whether err leaves open what a source has: the connection failed, an
// answer took too long or broke off, or its status is 408, 429 or 5xx. That something is
// not there, that a token is missing or wrong, or that an answer makes no sense is none,
// and neither is nil.
func IsFault(err error) bool {
	for _, answer := range []error{ErrNotFound, ErrUnauthorized, ErrInsecure, ErrTooLarge, ErrProtocol} {
		if errors.Is(err, answer) {
			return false
		}
	}
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		const timeout, tooMany, server = 408, 429, 500
		switch {
		case e.Status == timeout, e.Status == tooMany, e.Status >= server:
			return true
		case e.Status == 0 && e.Attempts > 0:
			return true // nobody answered
		case e.Attempts == 0:
			return false // the request was not even made
		}
	}
	// What the network and the operating system report has this method.
	_, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok || errors.Is(err, io.ErrUnexpectedEOF)
}
