package install

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Errors for errors.Is.
var (
	// ErrNotInstalled: the package is not in the directory. It wraps provider.ErrNotFound.
	ErrNotInstalled = fault.Narrow("package is not installed", fault.ErrNotFound)
	// ErrNoExecutable: the package has no file with the name of the provider's program.
	ErrNoExecutable = errors.New("package has no executable")
	// ErrLinked: a directory above a package is a symbolic link. Only the plugin directory
	// and the package itself may be one.
	ErrLinked = errors.New("symbolic link in place of a directory")
)

// Dir is a plugin directory with unpacked packages at HOST/NAMESPACE/TYPE/VERSION/OS_ARCH, where
// HOST is in Unicode. A Dir can be copied and is safe for concurrent use.
type Dir struct {
	// Path is the directory, or a symbolic link to it. Install creates it if it does not exist.
	Path string
}

// Package is a package in a [Dir].
type Package struct {
	Provider addrs.Provider `json:"provider"` // of the package
	Version  addrs.Version  `json:"version"`  // of the package
	Platform addrs.Platform `json:"platform"` // of the package

	// Dir is the absolute path of the directory with the content, or of a symbolic link to it.
	Dir string `json:"dir"`

	// Link is the target if Dir is a symbolic link, otherwise empty.
	Link string `json:"link,omitempty"`
}

// String returns provider, version and platform.
func (p *Package) String() string {
	if p == nil {
		return "no package"
	}
	return subject(p.Provider, p.Version, p.Platform)
}

func subject(p addrs.Provider, v addrs.Version, on addrs.Platform) string {
	return (&provider.Package{Provider: p, Version: v, Platform: on}).String()
}

// Installed is a package of a [Dir] with verified content.
type Installed struct {
	Package

	// Report says why the content is trusted. Its Local has the h1 of the directory, and the zh and
	// h1 of the archive if this call, or the call that it waited for, downloaded it.
	Report *verify.Report `json:"report"`

	// Reused reports whether the call used a package that was installed.
	Reused bool `json:"reused,omitempty"`

	// Fetched is the number of bytes that the call downloaded.
	Fetched int64 `json:"fetched,omitempty"`
}

// PathOf returns the path of the package below d.Path, installed or not. It is "" if
// p, v or on is zero.
func (d *Dir) PathOf(p addrs.Provider, v addrs.Version, on addrs.Platform) string {
	name := nameOf(p, v, on)
	if name == "" {
		return ""
	}
	return filepath.Join(d.Path, filepath.FromSlash(name))
}

// Find returns an installed package without verifying it as [Dir.Lookup] does. The error is a
// [*provider.Error] and wraps ErrNotInstalled or ErrLinked.
func (d *Dir) Find(p addrs.Provider, v addrs.Version, on addrs.Platform) (*Package, error) {
	pkg, err := d.findPackage(p, v, on)
	if err != nil {
		return nil, failed("find", subject(p, v, on), err)
	}
	return pkg, nil
}

func (d *Dir) findPackage(p addrs.Provider, v addrs.Version, on addrs.Platform) (*Package, error) {
	o, err := d.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotInstalled
	}
	if err != nil {
		return nil, err
	}
	defer o.close()
	l, err := o.locate(p, v, on)
	if err != nil {
		return nil, err
	}
	return l.installedPackage()
}

// Lookup returns an installed package if its content has one of the accepted hashes, for example
// those of a lock file. It reads and hashes all of the content, takes no lock and writes nothing.
// Only an h1 can match: if accept is nil or has no h1, Lookup accepts no package.
//
// The error is a [*provider.Error]. It wraps ErrNotInstalled, ErrLinked, [checksum.ErrIrregular]
// for links or devices in the package, or [verify.ErrNotAccepted] and a [*checksum.MismatchError]
// for other content.
func (d *Dir) Lookup(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform, accept []checksum.Hash) (*Installed, error) {
	// A nil Accept would disable the check, so it must not be nil.
	found, err := d.lookUp(ctx, p, v, on, verify.Policy{Accept: append([]checksum.Hash{}, accept...)})
	if err != nil {
		return nil, failed("look up", subject(p, v, on), err)
	}
	return found, nil
}

func (d *Dir) lookUp(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform, policy verify.Policy) (*Installed, error) {
	pkg, err := d.findPackage(p, v, on)
	if err != nil {
		return nil, err
	}
	var local []checksum.Hash
	if policy.Accept == nil || checksum.HasScheme(policy.Accept, checksum.SchemeH1) {
		h1, err := pkg.H1(ctx)
		if err != nil {
			return nil, err
		}
		local = []checksum.Hash{h1}
	}
	report, err := policy.Judge(verify.Evidence{}, -1, local)
	if err != nil {
		return nil, err
	}
	return &Installed{Package: *pkg, Report: report, Reused: true}, nil
}

// failed wraps err in a [*provider.Error] unless it is one.
func failed(op, subject string, err error) error {
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	return &provider.Error{Op: op, Subject: subject, Err: err}
}
