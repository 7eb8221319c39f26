package cliconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// openDir opens a filesystem mirror. If it is optional and missing, the source is empty.
func openDir(path string, optional bool) (provider.Source, error) {
	m, err := mirrordir.Open(path)
	switch {
	case err == nil:
		return m, nil
	case optional && errors.Is(err, fs.ErrNotExist):
		return &provider.Multi{}, nil
	}
	return nil, err
}

// A lazySource is opened by the first request. A configuration can name missing
// directories for providers that are not used.
type lazySource struct {
	open func() (provider.Source, error)
}

func (l *lazySource) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	return ask(l, "list versions of", p.String(), func(src provider.Source) (*provider.Versions, error) {
		return src.ProviderVersions(ctx, p)
	})
}

func (l *lazySource) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	return ask(l, "find", p.String(), func(src provider.Source) (*provider.Package, error) {
		return src.ProviderPackage(ctx, p, v, on)
	})
}

func (l *lazySource) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return ask(l, "fetch the evidence about", pkg.String(), func(src provider.Source) (verify.Evidence, error) {
		return src.Evidence(ctx, pkg)
	})
}

func (l *lazySource) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	return ask(l, "open", pkg.String(), func(src provider.Source) (*provider.Body, error) {
		return src.Open(ctx, pkg)
	})
}

// ask opens the source and calls one of its methods. A source that cannot be opened is
// never ErrNotFound, so that no other method is tried.
func ask[T any](l *lazySource, op, subject string, call func(provider.Source) (T, error)) (T, error) {
	src, err := l.open()
	if err != nil {
		if errors.Is(err, provider.ErrNotFound) {
			err = openError{err}
		}
		var none T
		return none, &provider.Error{Op: op, Subject: subject, Err: err}
	}
	return call(src)
}

// An openError hides that an error wraps ErrNotFound.
type openError struct{ error }

func (e openError) Is(target error) bool {
	return !errors.Is(target, provider.ErrNotFound) && errors.Is(e.error, target)
}

func (e openError) As(target any) bool { return errors.As(e.error, target) }

// exceptLocal is a source without the providers that one of the local sources has.
type exceptLocal struct {
	provider.Source
	local []provider.Source
}

func (e *exceptLocal) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if err := e.check(ctx, p); err != nil {
		return nil, err
	}
	return e.Source.ProviderVersions(ctx, p)
}

func (e *exceptLocal) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if err := e.check(ctx, p); err != nil {
		return nil, err
	}
	return e.Source.ProviderPackage(ctx, p, v, on)
}

// check returns ErrExcluded if a local source has a package of p. It ignores errors: an
// unreadable source is also a method of its own, which fails.
func (e *exceptLocal) check(ctx context.Context, p addrs.Provider) error {
	for _, src := range e.local {
		versions, err := src.ProviderVersions(ctx, p)
		if err == nil && len(versions.List) > 0 {
			return fmt.Errorf("a local directory has packages of this provider: %w", provider.ErrExcluded)
		}
	}
	return nil
}
