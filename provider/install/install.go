package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Options are the options of [Dir.Install].
type Options struct {
	// As in [provider.DownloadOptions].
	Policy   verify.Policy
	Progress func(progress.Event)

	Copy bool // copies pkg.Dir; if false, it is linked if the system permits

	Sync bool // writes the package to the disk; if false, a power failure can leave a damaged one, which an h1 reveals
}

// Install makes sure that d has pkg with content that o.Policy accepts.
//
// An installed package stays if its h1 is in [verify.Policy].Accept or, with AllowUnsigned, stated by a source
// without SHA256SUMS. Otherwise, and always with the zero policy, Install downloads, verifies and unpacks the
// archive. It replaces other content, or a symbolic link but not its target. Files get mode 0755 or 0644, less the
// umask. If Install fails, the installed package stays. When it returns, nothing runs; after the end of ctx, the next
// Install of the package removes the staging directory.
//
// Calls for the same package, in any process, take turns ([progress.Waiting]). On Unix, a call that waited reuses a
// download of the same user if its own policy accepts it.
//
// If pkg.Dir is set, src may be nil, and the policy must accept the h1 or set AllowUnchecked.
//
// Errors are as of [provider.Download] and [Dir.Get], or wrap [failure.ErrArchive] if the archive is damaged or must
// not be unpacked, or [checksum.ErrIrregular] for links or devices in pkg.Dir.
func (d *Dir) Install(ctx context.Context, src provider.Opener, pkg *provider.Package, o Options) (*Installed, error) {
	i := &installation{dir: d, src: src, pkg: pkg, o: o}
	done, err := i.run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = fault.Ended(ctx) // the cause of err
		}
		return nil, failure.Wrap("install", pkg.String(), err)
	}
	kind := progress.Installed
	if done.Reused {
		kind = progress.Reused
	}
	i.event(kind, done.Fetched)
	return done, nil
}

// installation is one call of Install.
type installation struct {
	dir *Dir
	src provider.Opener
	pkg *provider.Package
	o   Options
	at  *location // to install to
}

func (i *installation) run(ctx context.Context) (*Installed, error) {
	if i.pkg == nil {
		return nil, errors.New("the package is nil")
	}
	root, err := i.dir.create()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if i.at, err = locate(root, i.pkg.Provider, i.pkg.Version, i.pkg.Platform); err != nil {
		return nil, err
	}
	before := i.at.readNote()
	// An installed package needs no lock.
	if done, err := i.reuse(ctx, nil); done != nil || err != nil {
		return done, err
	}
	waited := false
	part, done, err := i.at.stage(ctx, func() {
		waited = true
		i.event(progress.Waiting, 0)
	})
	if err != nil {
		return nil, err
	}
	defer done()
	if n := i.at.noteSince(before); waited || n != nil {
		if done, err := i.reuse(ctx, n); done != nil || err != nil {
			return done, err
		}
	}
	if i.pkg.Dir != "" {
		return i.transfer(ctx, part)
	}
	return i.fetch(ctx, part)
}

// create creates the directory if necessary, and opens it.
func (d *Dir) create() (*os.Root, error) {
	if d != nil && d.Path != "" {
		if err := os.MkdirAll(d.Path, 0o755); err != nil {
			return nil, err
		}
	}
	return d.open()
}

// reuse returns the installed package if the policy accepts its h1, or the hashes in the note about
// it. Otherwise it returns nil.
func (i *installation) reuse(ctx context.Context, n *note) (*Installed, error) {
	installed, err := i.at.installed()
	if errors.Is(err, errNotInstalled) || err == nil && n == nil && !i.mayAcceptH1() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h1, at, err := installed.h1(ctx, i.dir, !i.o.Policy.Accept.IsZero())
	if err != nil {
		return nil, ctx.Err() // replace a package that cannot be read
	}
	ev, err := i.evidence(ctx)
	if err != nil {
		return nil, err
	}
	var report *verify.Report
	if n != nil && n.Tree == h1 {
		report, err = i.o.Policy.Judge(ctx, ev, n.Digests)
	} else {
		report, err = i.o.Policy.JudgeDirectory(ev, h1)
	}
	if err != nil || report.Trust < verify.Checked {
		return nil, nil
	}
	report.Believed = at
	return &Installed{Package: *installed, Report: report, Reused: true}, nil
}

// mayAcceptH1 reports whether the policy might accept a directory by its h1 alone, so that hashing
// it is worthwhile.
func (i *installation) mayAcceptH1() bool {
	p := i.o.Policy
	switch {
	case !p.NeedsEvidence():
		return hashlist.Has(p.Accept.Hashes(), checksum.SchemeH1)
	case i.pkg.SumsURL != "":
		return false // SHA256SUMS documents list archives
	}
	return hashlist.Has(i.pkg.Hashes[i.pkg.Platform], checksum.SchemeH1)
}

// evidence returns the evidence that the policy needs.
func (i *installation) evidence(ctx context.Context) (verify.Evidence, error) {
	if !i.o.Policy.NeedsEvidence() || i.src == nil {
		return i.pkg.Evidence(), nil
	}
	return i.src.Evidence(ctx, i.pkg)
}

// transfer installs a package that the source has unpacked.
func (i *installation) transfer(ctx context.Context, part *fsx.PartDir) (*Installed, error) {
	ev, err := i.evidence(ctx)
	if err != nil {
		return nil, err
	}
	limits := i.o.Policy.Limits.Effective()
	finished, h1, err := i.at.transfer(ctx, part, i.pkg.Dir, i.o.Copy, &limits)
	var report *verify.Report
	if err == nil {
		report, err = i.o.Policy.JudgeDirectory(ev, h1)
	}
	if err != nil {
		return nil, failure.Wrap("verify", i.pkg.String(), err)
	}
	done, err := i.publish(ctx, part, finished, h1)
	if err != nil {
		return nil, err
	}
	done.Report = report
	return done, nil
}

// fetch downloads the archive, unpacks it meanwhile, and installs its content if the policy permits.
func (i *installation) fetch(ctx context.Context, part *fsx.PartDir) (*Installed, error) {
	if i.src == nil {
		return nil, errors.New("no source to download it from")
	}
	// Where the system allows it, the file has no name, so that a killed process leaves nothing behind.
	name := filepath.Join(part.Name(), "archive")
	f, err := i.at.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	i.at.root.Remove(name)
	unpacking := newUnpacking(ctx, f, i.at, part, i.o.Policy.Limits)
	defer unpacking.stop()
	got, err := provider.Receive(ctx, i.src, i.pkg, unpacking, provider.ReceiveOptions{Policy: i.o.Policy, Progress: i.o.Progress})
	if err != nil {
		return nil, err
	}
	i.event(progress.Unpacking, got.Size)
	report, n, err := i.examine(ctx, got, unpacking)
	if err != nil {
		return nil, failure.Wrap("verify", i.pkg.String(), err)
	}
	i.event(progress.Verified, got.Size)
	done, err := i.publish(ctx, part, "tree", n.Tree)
	if err != nil {
		return nil, err
	}
	done.Report, done.Fetched = report, got.Size
	_ = i.at.writeNote(part, n) // without a note, waiting calls download the archive
	return done, nil
}

// examine decides about an archive. Unless its zh refutes it, it waits until the archive is unpacked.
func (i *installation) examine(ctx context.Context, got *provider.Received, u *unpacking) (*verify.Report, note, error) {
	n := note{Digests: got.Digests}
	x := i.o.Policy.Examine(got.Evidence)
	if _, err := x.Archive(ctx, got.Digests); err != nil {
		return nil, n, err
	}
	files, err := u.complete(ctx, got.Size)
	if err != nil {
		return nil, n, failure.Wrap("unpack", i.pkg.String(), err)
	}
	packed, err := hashlist.H1(archive.Sums(files, true))
	if err == nil {
		n.Tree, err = hashlist.H1(archive.Sums(files, false))
	}
	if err == nil {
		err = x.H1(ctx, packed, n.Tree)
	}
	if err != nil {
		return nil, n, err
	}
	n.Hashes = append(n.Hashes, packed, n.Tree)
	report, err := x.Report()
	return report, n, err
}

// publish moves a finished package with this h1 to its location, unless a package with the same content
// is there.
func (i *installation) publish(ctx context.Context, part *fsx.PartDir, finished string, h1 checksum.Hash) (*Installed, error) {
	pkg, err := i.at.packageWith(ctx, []checksum.Hash{h1}, "")
	if err != nil {
		return nil, err
	}
	reused := pkg != nil
	if !reused {
		if pkg, err = i.at.publish(ctx, part, finished, i.o.Sync); err != nil {
			return nil, err
		}
	}
	return &Installed{Package: *pkg, Reused: reused}, nil
}

func (i *installation) event(kind progress.Kind, bytes int64) {
	if i.o.Progress != nil {
		i.o.Progress(progress.Event{
			Kind: kind, Provider: i.pkg.Provider, Version: i.pkg.Version, Platform: i.pkg.Platform, Bytes: bytes, Total: bytes,
		})
	}
}
