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

// openDir opens a filesystem mirror. One that the configuration does not name need not
// be there.
func openDir(path string, optional bool) (provider.Source, error) {
	m, err := mirrordir.Open(path)
	switch {
	case err == nil:
		return m, nil
	case optional && errors.Is(err, fs.ErrNotExist):
		return &provider.Multi{}, nil // knows no provider
	}
	return nil, err
}

// late is a source that is opened when it is asked: a configuration may name a
// directory that is not there, for providers that nobody uses.
type late struct {
	open func() (provider.Source, error)
}

func (l *late) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	return ask(l, "list versions of", p.String(), func(src provider.Source) (*provider.Versions, error) {
		return src.ProviderVersions(ctx, p)
	})
}

func (l *late) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	return ask(l, "find", p.String(), func(src provider.Source) (*provider.Package, error) {
		return src.ProviderPackage(ctx, p, v, on)
	})
}

func (l *late) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return ask(l, "fetch the evidence about", pkg.String(), func(src provider.Source) (verify.Evidence, error) {
		return src.Evidence(ctx, pkg)
	})
}

func (l *late) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	return ask(l, "open", pkg.String(), func(src provider.Source) (*provider.Body, error) {
		return src.Open(ctx, pkg)
	})
}

// ask calls a method of the source. That there is none is never ErrNotFound, whatever the
// program that was to make it says: nothing stands in for it.
func ask[T any](l *late, op, subject string, call func(provider.Source) (T, error)) (T, error) {
	src, err := l.open()
	if err != nil {
		if errors.Is(err, provider.ErrNotFound) {
			err = failure{err}
		}
		var none T
		return none, &provider.Error{Op: op, Subject: subject, Err: err}
	}
	return call(src)
}

// failure is an error that is not taken for a kind of ErrNotFound, although it is one.
type failure struct{ error }

func (f failure) Is(target error) bool {
	return !errors.Is(target, provider.ErrNotFound) && errors.Is(f.error, target)
}

func (f failure) As(target any) bool { return errors.As(f.error, target) }

// unlessLocal is a source that is not asked for providers that a directory has.
type unlessLocal struct {
	provider.Source
	local []provider.Source
}

func (u *unlessLocal) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if err := u.check(ctx, p); err != nil {
		return nil, err
	}
	return u.Source.ProviderVersions(ctx, p)
}

func (u *unlessLocal) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if err := u.check(ctx, p); err != nil {
		return nil, err
	}
	return u.Source.ProviderPackage(ctx, p, v, on)
}

// check returns a kind of ErrNotFound if a directory has a package of p. A directory
// that cannot be read has none; it fails by itself, as a method before this one.
func (u *unlessLocal) check(ctx context.Context, p addrs.Provider) error {
	for _, src := range u.local {
		versions, err := src.ProviderVersions(ctx, p)
		if err == nil && len(versions.List) > 0 {
			return fmt.Errorf("a directory of this machine has packages of it: %w", provider.ErrExcluded)
		}
	}
	return nil
}
