package addrs

import (
	"errors"

	goversion "github.com/hashicorp/go-version"

	"github.com/apparentlymart/go-versions/versions"
)

func isRelease(v Version) bool { return v.ok && !v.IsPrerelease() }

// allowsNone is the matcher of a constraint that allows no version.
func allowsNone(Version) bool { return false }

// join returns the canonical form of the terms of both texts.
func join(a, b string, canonical func(string) (string, error)) string {
	switch {
	case b == "" || a == b:
		return a
	case a == "":
		return b
	}
	both := a + ", " + b
	if text, err := canonical(both); err == nil {
		return text
	}
	return both
}

// forProviders converts v for the library that the CLI uses for providers. It returns false
// if v cannot be the version of a provider.
func (v Version) forProviders() (versions.Version, bool) {
	e := versions.Version{Major: v.major, Minor: v.minor, Patch: v.patch}
	if v.tail == "" {
		return e, v.ok
	}
	more, pre, meta := v.cut()
	e.Prerelease, e.Metadata = versions.VersionExtra(pre), versions.VersionExtra(meta)
	return e, more == "" && consists("."+pre+meta, maxVersion, isExtra)
}

// forModules converts v for the library that the CLI uses for modules. It returns false if v
// cannot be the version of a module.
func (v Version) forModules() (*goversion.Version, bool) {
	if !v.ok {
		return nil, false
	}
	e, err := goversion.NewVersion(v.String())
	return e, err == nil
}

// guard calls a parser of go-versions, which panics on numbers above 2^64-1.
func guard[T any](parse func(string) (T, error), s string) (v T, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a number is larger than 2^64-1")
		}
	}()
	return parse(s)
}
