package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/stamp"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// errNotInstalled means that the package is not in the directory.
var errNotInstalled = fault.Narrow("package is not installed", failure.ErrNotFound)

// Dir is a plugin directory, with Unicode host names in paths. It is safe for concurrent use and must not be copied
// after first use.
type Dir struct {
	Path string // required; may be a symbolic link; Install and Place create it

	// Stamps, if not empty, is a directory, created if missing, where Install and Ensure keep each h1 until the next boot
	// for later processes of the user. Files that other users can access are ignored. An [Installer] with a Cache uses
	// only the Stamps of the Cache.
	Stamps string

	memory stamp.Memory // the h1 of packages, for this process; Stamps keeps them for others, and a note what no h1 tells
}

// Package is a package in a [Dir].
type Package struct {
	// Of the package.
	Provider addrs.Provider `json:"provider"`
	Version  addrs.Version  `json:"version"`
	Platform addrs.Platform `json:"platform"` // of the package

	Dir  string `json:"dir"`            // absolute path of the content, or of a symbolic link to it
	Link string `json:"link,omitempty"` // text of the link if Dir is one
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

// Executable returns the absolute path of the program: a file terraform-provider-TYPE, perhaps with more after _ or a
// dot. Without one, the error wraps [fs.ErrNotExist].
func (p *Package) Executable() (string, error) {
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return "", failure.Wrap("find the executable of", p.String(), err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && isProgram(e.Name(), p.Provider) {
			return filepath.Join(p.Dir, e.Name()), nil
		}
	}
	return "", failure.Wrap("find the executable of", p.String(), fault.Narrow(fmt.Sprintf("package has no executable: %s has no file terraform-provider-%s", p.Dir, p.Provider.Type()), fs.ErrNotExist))
}

// isProgram reports whether a file with this slash-separated name is a program of the provider.
func isProgram(name string, of addrs.Provider) bool {
	rest, ok := strings.CutPrefix(name, "terraform-provider-"+of.Type())
	return ok && (rest == "" || rest[0] == '_' || rest[0] == '.') && !strings.Contains(rest, "/")
}

// h1 returns the h1 of the directory of the package, and the time of its computation if that was an
// earlier call that the Dir remembers. If by is nil, it reads the files. The error wraps
// [checksum.ErrIrregular] for anything but files and directories.
func (p *Package) h1(ctx context.Context, by *Dir, stamps bool) (h1 checksum.Hash, since time.Time, err error) {
	root, err := fsx.OpenRoot(p.Dir)
	if err != nil {
		return h1, since, err
	}
	defer root.Close()
	if by == nil {
		h1, err = checksum.H1Dir(ctx, fsx.Tree(ctx, root))
		return h1, since, err
	}
	dir := ""
	if stamps {
		dir = by.Stamps
	}
	return by.memory.Hash(ctx, root, dir, checksum.H1Dir)
}

// Installed is a package of a [Dir] with verified content.
type Installed struct {
	Package

	// Report.Local has the h1 of the directory, and after a download the zh and h1 of the archive.
	Report *verify.Report `json:"report"`

	Reused  bool  `json:"reused,omitempty"`  // the content was installed before, even if downloaded again
	Fetched int64 `json:"fetched,omitempty"` // bytes downloaded by the call
}

// PathOf returns the path of the package, installed or not, or "" if p, v or on is zero.
func (d *Dir) PathOf(p addrs.Provider, v addrs.Version, on addrs.Platform) string {
	name := nameOf(p, v, on)
	if name == "" {
		return ""
	}
	return filepath.Join(d.Path, filepath.FromSlash(name))
}

// Get returns an installed package, unverified. The error wraps [failure.ErrNotFound] if it is missing, or
// [checksum.ErrIrregular] if a directory between d.Path and the package is a symbolic link.
func (d *Dir) Get(p addrs.Provider, v addrs.Version, on addrs.Platform) (*Package, error) {
	pkg, err := d.get(p, v, on)
	return pkg, failure.Wrap("find", subject(p, v, on), err)
}

func (d *Dir) get(p addrs.Provider, v addrs.Version, on addrs.Platform) (*Package, error) {
	root, err := d.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNotInstalled
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	at, err := locate(root, p, v, on)
	if err != nil {
		return nil, err
	}
	return at.installed()
}

// Lookup returns an installed package if its content, always hashed anew, has an h1 in accept, for example from a lock
// file. Without an h1, as with the zero Set, it accepts no package. It takes no lock and writes nothing.
//
// The error is as of [Dir.Get], or wraps [checksum.ErrIrregular] for links or devices in the package, or
// [verify.ErrNotAccepted] for other content.
func (d *Dir) Lookup(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform, accept checksum.Set) (*Installed, error) {
	accept = checksum.NewSet(accept.Hashes()...) // also a zero one is a rule here
	found, err := d.lookUp(ctx, nil, p, v, on, verify.Policy{Accept: accept})
	return found, failure.Wrap("look up", subject(p, v, on), err)
}

func (d *Dir) lookUp(ctx context.Context, by *Dir, p addrs.Provider, v addrs.Version, on addrs.Platform, policy verify.Policy) (*Installed, error) {
	pkg, err := d.get(p, v, on)
	if err != nil {
		return nil, err
	}
	var h1 checksum.Hash
	var since time.Time
	if policy.Accept.IsZero() || hashlist.Has(policy.Accept.Hashes(), checksum.SchemeH1) {
		if h1, since, err = pkg.h1(ctx, by, !policy.Accept.IsZero()); err != nil {
			return nil, err
		}
	}
	report, err := policy.JudgeDirectory(verify.Evidence{}, h1)
	if err != nil {
		return nil, err
	}
	report.Believed = since
	return &Installed{Package: *pkg, Report: report, Reused: true}, nil
}

// All yields the packages, sorted by path, unverified. It ignores names that Install does not use, and symbolic links
// except to a package. After an error it continues.
func (d *Dir) All() iter.Seq2[*Package, error] { return d.all(context.Background()) }

// all is All until ctx ends. Then it yields its error.
func (d *Dir) all(ctx context.Context) iter.Seq2[*Package, error] {
	return func(yield func(*Package, error) bool) {
		root, err := d.open()
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, failure.Wrap("list", d.subject(), err))
			return
		}
		defer root.Close()
		walk(ctx, root, ".", 4, func(name string, err error) bool {
			if err != nil {
				return yield(nil, failure.Wrap("list", d.subject(), err))
			}
			parts := strings.Split(name, "/")
			p, _ := addrs.ParseProvider(strings.Join(parts[:3], "/"))
			v, _ := addrs.ParseVersion(parts[3])
			on, _ := addrs.ParsePlatform(parts[4])
			at, err := locate(root, p, v, on) // an error if one of them is zero
			if err != nil || at.name != name {
				return true
			}
			pkg, err := at.installed()
			return err != nil || yield(pkg, nil) // on an error it is gone, or not a package
		})
	}
}

func (d *Dir) subject() string { return "plugin directory " + d.Path }

// walk calls found for each name that is levels below dir. It returns false if found does.
func walk(ctx context.Context, root *os.Root, dir string, levels int, found func(name string, err error) bool) bool {
	entries, err := fs.ReadDir(fsx.Tree(ctx, root), dir) // sorted
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found("", err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case ctx.Err() != nil:
			return found("", fault.Ended(ctx))
		case dir == "." && strings.HasPrefix(name, "."), !fs.ValidPath(name):
		case levels == 0:
			if !found(name, nil) {
				return false
			}
		case isDir(root, name) == nil:
			if !walk(ctx, root, name, levels-1, found) {
				return false
			}
		}
	}
	return true
}

// Prune removes and returns the packages for which keep returns false, none if keep is nil. It also removes staging
// directories of dead processes. Lock files, empty directories and targets of symbolic links stay. The error joins all
// failures. Call Prune while no CLI uses the directory.
func (d *Dir) Prune(ctx context.Context, keep func(*Package) bool) ([]*Package, error) {
	root, err := d.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failure.Wrap("prune", d.subject(), err)
	}
	defer root.Close()
	var removed []*Package
	err = d.each(ctx, root, func(pkg *Package) error {
		if keep == nil || keep(pkg) {
			return nil
		}
		gone, err := remove(ctx, root, pkg, func() bool { return true })
		if gone {
			removed = append(removed, pkg)
		}
		return err
	})
	return removed, err
}

// each calls do for each package to prune it, and clears staging directories of dead processes. The error joins all failures.
func (d *Dir) each(ctx context.Context, root *os.Root, do func(*Package) error) error {
	var problems []error
	for pkg, err := range d.all(ctx) {
		subject := d.subject()
		if err == nil {
			subject, err = pkg.String(), do(pkg)
		}
		if ctx.Err() != nil {
			return fault.Join(append(problems, failure.Wrap("prune", d.subject(), fault.Ended(ctx)))...)
		}
		if err != nil {
			problems = append(problems, failure.Wrap("prune", subject, err))
		}
	}
	fsx.SweepPartsIn(ctx, root, private)
	return fault.Join(problems...)
}

// remove removes a package from the directory if still says so while the package is locked.
func remove(ctx context.Context, root *os.Root, pkg *Package, still func() bool) (removed bool, err error) {
	at, err := locate(root, pkg.Provider, pkg.Version, pkg.Platform)
	if err != nil {
		return false, err
	}
	part, done, err := at.stage(ctx, func() {})
	if err != nil {
		return false, err
	}
	defer done()
	if !still() {
		return false, nil
	}
	err = root.Rename(at.name, filepath.Join(part.Name(), "old"))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = root.Remove(at.noteName())
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err == nil, err
}

// open opens the directory, within which all access stays, even if another process creates symbolic
// links. It does not create it. The root is named by its absolute path.
func (d *Dir) open() (*os.Root, error) {
	if d == nil || d.Path == "" {
		return nil, errors.New("Dir.Path is empty")
	}
	base, err := filepath.Abs(d.Path)
	if err != nil {
		return nil, err
	}
	return fsx.OpenRoot(base)
}

// private is the directory for unfinished packages and notes. The CLI ignores it, as it is not a
// hostname.
const private = ".tofureg"

// newTree creates the directory for the content of the package.
func newTree(root *os.Root, part *fsx.PartDir) (*os.Root, error) {
	name := filepath.Join(part.Name(), "tree")
	if err := root.Mkdir(name, 0o755); err != nil {
		return nil, err
	}
	return fsx.OpenRootIn(root, name)
}

// location is the location of a package in a plugin directory, whether the package exists or not.
type location struct {
	root *os.Root
	pkg  Package // without Link
	name string  // HOST/NAMESPACE/TYPE/VERSION/OS_ARCH
}

// nameOf returns HOST/NAMESPACE/TYPE/VERSION/OS_ARCH, or "" if one of them is missing.
func nameOf(p addrs.Provider, v addrs.Version, on addrs.Platform) string {
	if p.IsZero() || v.IsZero() || on.IsZero() {
		return ""
	}
	return path.Join(p.Host().Display(), p.Namespace(), p.Type(), v.String(), on.String())
}

func locate(root *os.Root, p addrs.Provider, v addrs.Version, on addrs.Platform) (*location, error) {
	name := nameOf(p, v, on)
	if name == "" {
		return nil, errors.New("provider, version or platform is missing")
	}
	if !filepath.IsLocal(name) { // on Windows: a host with a port
		return nil, fmt.Errorf("this system permits no directory %q: %w", name, errors.ErrUnsupported)
	}
	dir := filepath.Join(root.Name(), filepath.FromSlash(name))
	return &location{root: root, name: name, pkg: Package{Provider: p, Version: v, Platform: on, Dir: dir}}, nil
}

// parents returns the directories above the package, the top one first.
func (at *location) parents() []string {
	var list []string
	for i, c := range at.name {
		if c == '/' {
			list = append(list, at.name[:i])
		}
	}
	return list
}

// installed returns the package at the location, unverified. A symbolic link that cannot be followed is
// not a package and can be replaced.
func (at *location) installed() (*Package, error) {
	pkg := at.pkg
	var info fs.FileInfo
	var err error
	for _, dir := range at.parents() {
		if err = isDir(at.root, dir); err != nil {
			break
		}
	}
	if err == nil {
		info, err = at.root.Lstat(at.name)
	}
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		pkg.Link, err = at.root.Readlink(at.name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNotInstalled
	case err != nil:
		return nil, err
	case pkg.Link != "":
		if info, err = os.Stat(pkg.Dir); err != nil { // links of the CLI lead out of the root
			return nil, fmt.Errorf("%w: %w", errNotInstalled, err)
		}
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is not a directory", errNotInstalled, pkg.Dir)
	}
	return &pkg, nil
}

// stage locks the package, creates a staging directory for it, and removes those of dead processes. It calls
// waiting if another holder has the lock. The caller must call done. Others may read the directory: a CLI of
// another user that scans the plugin directory fails if it cannot.
func (at *location) stage(ctx context.Context, waiting func()) (part *fsx.PartDir, done func(), err error) {
	lock, err := at.acquire(ctx, waiting)
	if err != nil {
		return nil, nil, err
	}
	if err = mkdir(at.root, private); err == nil {
		fsx.SweepPartsIn(ctx, at.root, private)
		part, err = fsx.CreatePartDirIn(at.root, private, 0o755)
	}
	if err != nil {
		lock.Release()
		return nil, nil, err
	}
	done = func() {
		part.Discard(ctx)
		lock.Release()
	}
	return part, done, nil
}

// acquire locks the package and creates its parent directories. It calls waiting if another holder
// has the lock.
//
// The lock file, which the CLI uses as well, stays when the lock is released. A waiting CLI has the file
// open and does not check that it still has its name: with a new file, two processes would hold the lock.
func (at *location) acquire(ctx context.Context, waiting func()) (*fsx.Lock, error) {
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	for _, dir := range at.parents() {
		if err := mkdir(at.root, dir); err != nil {
			return nil, err
		}
	}
	l, err := fsx.TryLockIn(at.root, at.name+".lock")
	if l != nil || err != nil {
		return l, err
	}
	waiting()
	return fsx.AcquireLockIn(ctx, at.root, at.name+".lock")
}

// packageWith returns the package at the location if its content has one of the hashes, or if it is
// the directory dir. Otherwise it returns nil.
func (at *location) packageWith(ctx context.Context, hashes []checksum.Hash, dir string) (*Package, error) {
	pkg, err := at.installed()
	if errors.Is(err, errNotInstalled) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if here, err := os.Stat(pkg.Dir); err == nil && dir != "" {
		if there, err := os.Stat(dir); err == nil && os.SameFile(here, there) {
			return pkg, nil
		}
	}
	h1, _, err := pkg.h1(ctx, nil, false)
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	if err != nil || !slices.Contains(hashes, h1) {
		return nil, nil
	}
	return pkg, nil
}

// publish moves a finished package from the staging directory to its location. The caller holds the
// lock. Anything at the location is exchanged with the package as a whole, and never followed or
// written to.
//
// If sync is set, the package is synced before, and a replacement before the old content is removed.
// A new name is not synced: if the power fails, the package is missing and is installed again.
func (at *location) publish(ctx context.Context, part *fsx.PartDir, finished string, sync bool) (*Package, error) {
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	if sync && finished == "tree" {
		if err := syncTree(ctx, at.root, path.Join(part.Name(), finished)); err != nil {
			return nil, err
		}
	}
	replaced, err := part.Put(finished, at.name, nil)
	if err == nil && replaced && sync {
		err = fsx.SyncDirIn(at.root, path.Dir(at.name))
	}
	if err != nil {
		return nil, err
	}
	return at.installed()
}

func syncTree(ctx context.Context, root *os.Root, name string) error {
	tree, err := fsx.OpenRootIn(root, name)
	if err != nil {
		return err
	}
	defer tree.Close() // Windows cannot rename an open directory
	return fsx.SyncTree(ctx, tree)
}

// isDir returns an error unless name is a directory. It refuses symbolic links, as the CLI does.
func isDir(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	shown := filepath.Join(root.Name(), filepath.FromSlash(name))
	switch {
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return fmt.Errorf("%w: %s is a symbolic link in place of a directory", checksum.ErrIrregular, shown)
	case !info.IsDir():
		return &fs.PathError{Op: "open", Path: shown, Err: errors.New("not a directory")}
	}
	return nil
}

// mkdir creates a directory if it does not exist.
func mkdir(root *os.Root, name string) error {
	err := root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return isDir(root, name)
	}
	return err
}
