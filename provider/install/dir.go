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
	// ErrNotInstalled: the directory has no such package. It is a kind of
	// [provider.ErrNotFound].
	ErrNotInstalled = fault.Narrow("package is not installed", fault.ErrNotFound)
	// ErrNoExecutable: the package has no file that could be the provider's program.
	ErrNoExecutable = errors.New("package has no executable")
	// ErrLinked: one of the directories that lead to a package is a symbolic link.
	// Only the plugin directory itself and a package may be one.
	ErrLinked = errors.New("symbolic link in place of a directory")
)

// Dir is a plugin directory: packages unpacked as HOST/NAMESPACE/TYPE/VERSION/OS_ARCH,
// with the host in Unicode, as the CLI has it. The CLI can use it as TF_PLUGIN_CACHE_DIR and
// as a filesystem_mirror.
//
// Goroutines and processes may share a directory; see the package comment. A Dir can be
// copied.
type Dir struct {
	// Path is the directory, or a symbolic link to it. It is made when the first package is
	// installed.
	Path string
}

// Package is a package in a [Dir].
type Package struct {
	Provider addrs.Provider `json:"provider"` // that the package is one of
	Version  addrs.Version  `json:"version"`  // of the package
	Platform addrs.Platform `json:"platform"` // that it is for

	// Dir is the absolute path of the directory with the content, or of a symbolic
	// link to it.
	Dir string `json:"dir"`

	// Link is what Dir is a symbolic link to; empty: it is none.
	Link string `json:"link,omitempty"`
}

// String returns the provider, the version and the platform, for people.
func (p *Package) String() string {
	if p == nil {
		return "no package"
	}
	return subject(p.Provider, p.Version, p.Platform)
}

func subject(p addrs.Provider, v addrs.Version, on addrs.Platform) string {
	return (&provider.Package{Provider: p, Version: v, Platform: on}).String()
}

// Installed is a package of a [Dir] whose content has been verified.
type Installed struct {
	Package

	// Report says what the trust in the content rests on. Its Local has the h1 of the
	// directory, and the zh and h1 of the archive if this call or the one that it waited
	// for has downloaded the archive.
	Report *verify.Report `json:"report"`

	// Reused tells that the package was there already, with this content.
	Reused bool `json:"reused,omitempty"`

	// Fetched is the number of bytes that this call has downloaded.
	Fetched int64 `json:"fetched,omitempty"`
}

// PathOf returns the path that the package of p in version v for a platform has in the
// directory, or would have. The path starts with d.Path. PathOf does not look at the disk.
// It returns "" if p, v or on is zero.
func (d *Dir) PathOf(p addrs.Provider, v addrs.Version, on addrs.Platform) string {
	name := nameOf(p, v, on)
	if name == "" {
		return ""
	}
	return filepath.Join(d.Path, filepath.FromSlash(name))
}

// Find returns the package of p in version v for a platform without looking at its content,
// as [Dir.All] yields it: it may be incomplete, or not what it claims to be. [Dir.Lookup]
// verifies it. The error is a [*provider.Error] that wraps ErrNotInstalled if there is no
// such package, or ErrLinked.
func (d *Dir) Find(p addrs.Provider, v addrs.Version, on addrs.Platform) (*Package, error) {
	pkg, err := d.find(p, v, on)
	if err != nil {
		return nil, failed("find", subject(p, v, on), err)
	}
	return pkg, nil
}

func (d *Dir) find(p addrs.Provider, v addrs.Version, on addrs.Platform) (*Package, error) {
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
	return l.look()
}

// Lookup returns the package of p in version v for a platform if its content has one of the
// accepted hashes, which come from a lock file. Each call reads and hashes all of the
// content: a CLI that was killed while it unpacked leaves something that looks like a
// package. Lookup takes no lock and writes nothing.
//
// The hash of an archive says nothing about a directory. Without an h1 among the accepted
// hashes, no package matches. Nil accepts nothing: if it meant any hash, a list that was
// forgotten would disable the verification. [Dir.Find] does not verify.
//
// The error is a [*provider.Error]. It wraps ErrNotInstalled if there is no such package,
// [verify.ErrNotAccepted] and a [*checksum.MismatchError] if it is another package,
// [checksum.ErrIrregular] if it has symbolic links or devices in it, or ErrLinked.
func (d *Dir) Lookup(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform, accept []checksum.Hash) (*Installed, error) {
	// Not nil: then one of them must match.
	found, err := d.lookup(ctx, p, v, on, verify.Policy{Accept: append([]checksum.Hash{}, accept...)})
	if err != nil {
		return nil, failed("look up", subject(p, v, on), err)
	}
	return found, nil
}

func (d *Dir) lookup(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform, policy verify.Policy) (*Installed, error) {
	pkg, err := d.find(p, v, on)
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

// failed makes a *provider.Error of err, if it is not one yet.
func failed(op, subject string, err error) error {
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	return &provider.Error{Op: op, Subject: subject, Err: err}
}
