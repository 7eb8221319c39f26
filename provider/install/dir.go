package install

import (
	"context"
	"iter"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// Dir is a plugin directory: packages unpacked as HOST/NAMESPACE/TYPE/VERSION/OS_ARCH.
type Dir struct {
	// Path of the directory. It is made when the first package is installed.
	Path string
}

// Package is a package in a Dir.
type Package struct {
	Provider addrs.Provider `json:"provider"`
	Version  addrs.Version  `json:"version"`
	Platform addrs.Platform `json:"platform"`
	Dir      string         `json:"dir"`            // absolute path of the package's directory, or of the link to it
	Link     string         `json:"link,omitempty"` // what Dir is a symbolic link to; empty: it is none
}

// Executable returns the absolute path of the provider's program.
func (p *Package) Executable() (string, error) { panic("stub") }

// H1 hashes the content.
func (p *Package) H1() (verify.Hash, error) { panic("stub") }

// Options for Dir.Install.
type Options struct {
	Policy   verify.Policy
	Progress func(provider.Event)
}

// Installed is what Dir.Install did.
type Installed struct {
	Package
	Report *verify.Report // Local holds every hash computed of these bytes: zh, h1 of archive, h1 of tree
	Reused bool           // the package was there, with this content; nothing was downloaded
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

// LinkMode says how a package gets from a shared directory into another one.
type LinkMode string

const (
	Symlink  LinkMode = "" // an absolute symbolic link, as the CLI does; a copy where links need a privilege
	HardLink LinkMode = "hardlink"
	Reflink  LinkMode = "reflink" // shares blocks where the file system can, else copies
	Copy     LinkMode = "copy"
)

// Place puts a package of another directory into d.
func (d *Dir) Place(ctx context.Context, from *Installed, how LinkMode) (*Package, error) {
	panic("stub")
}
