package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/tofureg/tofureg/addrs"
)

// CheckAnswers returns a Source that returns an error if src answers with nil or with a package
// that was not requested. The functions of this package check answers themselves.
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

// listFrom lists the versions of p and checks the answer.
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

// findIn returns the package that src has, and checks the answer.
func findIn(ctx context.Context, src Lister, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	pkg, err := src.ProviderPackage(ctx, p, v, platform)
	if err != nil {
		return nil, err
	}
	if err := pkg.checkIs(p, v, platform); err != nil {
		return nil, failed("find", &Package{Provider: p, Version: v, Platform: platform}, err)
	}
	return pkg, nil
}

// checkIs returns an error unless p is the requested package.
func (p *Package) checkIs(wanted addrs.Provider, v addrs.Version, platform addrs.Platform) error {
	switch {
	case p == nil:
		return errors.New("the source returned neither a package nor an error")
	case p.Provider != wanted || p.Version != v || p.Platform != platform:
		return fmt.Errorf("the source returned the package %s", p)
	}
	return nil
}
