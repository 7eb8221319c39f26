package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
)

// CheckAnswers returns a Source like src that makes sure that src answers what it is asked:
// a nil answer, or a package other than the one that was asked for, becomes an error. The
// functions of this package check answers by themselves.
func CheckAnswers(src Source) Source { return checkedSource{src} }

type checkedSource struct{ Source }

// ProviderVersions implements [Lister].
func (s checkedSource) ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error) {
	return listFrom(ctx, s.Source, p)
}

// ProviderPackage implements [Lister].
func (s checkedSource) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	return findIn(ctx, s.Source, p, v, platform)
}

// listFrom asks a source for versions.
func listFrom(ctx context.Context, src Lister, p addrs.Provider) (*Versions, error) {
	versions, err := src.ProviderVersions(ctx, p)
	if err != nil {
		return nil, err
	}
	if versions == nil {
		return nil, &Error{Op: "list versions of", Subject: p.String(), Err: errors.New("the source returned neither versions nor an error")}
	}
	return versions, nil
}

// findIn asks a source for a package.
func findIn(ctx context.Context, src Lister, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	pkg, err := src.ProviderPackage(ctx, p, v, platform)
	if err != nil {
		return nil, err
	}
	if err := pkg.is(p, v, platform); err != nil {
		return nil, failed("find", &Package{Provider: p, Version: v, Platform: platform}, err)
	}
	return pkg, nil
}

// is returns an error unless p is the package that was asked for.
func (p *Package) is(wanted addrs.Provider, v addrs.Version, platform addrs.Platform) error {
	switch {
	case p == nil:
		return errors.New("the source returned neither a package nor an error")
	case p.Provider != wanted || p.Version != v || p.Platform != platform:
		return fmt.Errorf("the source returned the package %s", p)
	}
	return nil
}
