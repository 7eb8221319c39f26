package install

import (
	"context"
	"errors"
	"iter"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// What a caller branches on, with errors.Is.
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

// Dir is a plugin directory: packages unpacked as HOST/NAMESPACE/TYPE/VERSION/OS_ARCH.
type Dir struct {
	// Path of the directory. It is made when the first package is installed.
	Path string
}

// Package is a package in a Dir.
type Package struct {
	Provider addrs.Provider `json:"provider"`       // that the package is one of
	Version  addrs.Version  `json:"version"`        // of the package
	Platform addrs.Platform `json:"platform"`       // that it is for
	Dir      string         `json:"dir"`            // absolute path of the package's directory, or of the link to it
	Link     string         `json:"link,omitempty"` // what Dir is a symbolic link to; empty: it is none
}

// Executable returns the absolute path of the provider's program.
func (p *Package) Executable() (string, error) { panic("stub") }

// H1 hashes the content.
func (p *Package) H1(ctx context.Context) (verify.Hash, error) { panic("stub") }

// Options for [Dir.Install].
type Options struct {
	Policy   verify.Policy        // decides whether the package is accepted
	Progress func(provider.Event) // nil: nobody is told

	// Link says how a package that its source holds unpacked gets in; the zero
	// LinkMode is Copy here.
	Link LinkMode
}

// Installed is a package whose content has been verified by this process.
type Installed struct {
	Package

	// Report says how far the content is to be trusted. Local holds every hash
	// that is known of it: after a download zh, h1 of the archive and h1 of the
	// tree; otherwise h1 of the tree alone.
	Report *verify.Report

	// Reused tells that the package was there, with this content.
	Reused bool

	// Fetched is the number of bytes that were downloaded.
	Fetched int64
}

// Install downloads pkg, verifies and unpacks it.
func (d *Dir) Install(ctx context.Context, src provider.Fetcher, pkg *provider.Package, o Options) (*Installed, error) {
	panic("stub")
}

// Lookup returns a package whose content matches one of accept.
// ErrNotInstalled (a kind of provider.ErrNotFound); *verify.MismatchError / verify.ErrNotAccepted if the content is another one, or
// accept has no h1.
func (d *Dir) Lookup(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform, accept []verify.Hash) (*Installed, error) {
	panic("stub")
}

// All yields what is there, unverified.
func (d *Dir) All() iter.Seq2[*Package, error] { panic("stub") }

// Prune removes packages for which keep returns false.
func (d *Dir) Prune(ctx context.Context, keep func(*Package) bool) ([]*Package, error) { panic("stub") }

// LinkMode says how a package gets from one directory into another.
type LinkMode string

const (
	Symlink  LinkMode = "symlink"  // an absolute symbolic link, as the CLI does; a copy where links need a privilege
	HardLink LinkMode = "hardlink" // the same files under two names
	Reflink  LinkMode = "reflink"  // shares blocks where the file system can, else copies
	Copy     LinkMode = "copy"     // files of its own
)

// Place puts a package of another directory into d; the zero LinkMode is Symlink here.
func (d *Dir) Place(ctx context.Context, from *Installed, how LinkMode) (*Package, error) {
	panic("stub")
}
