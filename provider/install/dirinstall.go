package install

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Options are the options of [Dir.Install]. The zero value demands a signature.
type Options struct {
	// Policy decides whether a package is accepted; see [provider.Options].
	Policy verify.Policy

	// Progress, if not nil, is called for each step. Calls never overlap, and Install waits for
	// them.
	Progress func(provider.Event)

	// Link is used if pkg.Dir is set. If empty, it is [Symlink].
	Link LinkMode
}

// Install makes sure that pkg is in the directory with content that o.Policy accepts.
//
// An installed package stays if the policy accepts its h1. Otherwise Install downloads, verifies
// and unpacks the archive. It replaces a package with other content or a symbolic link, but not the
// target of the link. Files get the mode 0755 or 0644, less the umask.
//
// [checksum.Limits] bound sizes and counts. The error wraps [checksum.ErrArchive] for an archive
// with unsafe or duplicate names, links or devices. Other errors are those of [provider.Download],
// and ErrLinked.
//
// Of several calls for the same package, in any process, one downloads it. The others wait
// ([provider.EventWaiting]) and judge the installed package by their own policies, with the hashes
// that a process of the same user has computed.
//
// If pkg.Dir is set, Install copies or links this directory and judges its h1. Then src may be nil
// if the policy needs no evidence.
func (d *Dir) Install(ctx context.Context, src provider.Fetcher, pkg *provider.Package, o Options) (*Installed, error) {
	if pkg == nil {
		return nil, failed("install", pkg.String(), errors.New("the package is nil"))
	}
	dir, err := d.create()
	if err != nil {
		return nil, failed("install", pkg.String(), err)
	}
	defer dir.close()
	s, err := dir.locate(pkg.Provider, pkg.Version, pkg.Platform)
	if err != nil {
		return nil, failed("install", pkg.String(), err)
	}
	i := &installation{location: s, src: src, from: pkg, o: o, before: s.readNote()}
	done, err := i.run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = fault.Ended(ctx) // the cause of err
		}
		return nil, failed("install", pkg.String(), err)
	}
	e := provider.Event{Kind: provider.EventInstalled, Bytes: done.Fetched, Total: done.Fetched}
	if done.Reused {
		e.Kind = provider.EventReused
	}
	i.send(e)
	return done, nil
}

// installation is one call of Install.
type installation struct {
	*location
	src    provider.Fetcher
	from   *provider.Package
	o      Options
	before []byte // the note that existed when the call began
}

func (i *installation) run(ctx context.Context) (*Installed, error) {
	// An installed package needs no lock.
	if done, err := i.reuse(ctx, nil); done != nil || err != nil {
		return done, err
	}
	waited := false
	l, err := i.acquire(ctx, func() {
		waited = true
		i.send(provider.Event{Kind: provider.EventWaiting})
	})
	if err != nil {
		return nil, err
	}
	defer l.Release()
	n := i.noteSince(i.before)
	if waited || n != nil {
		if done, err := i.reuse(ctx, n); done != nil || err != nil {
			return done, err
		}
	}
	st, err := i.stage(ctx)
	if err != nil {
		return nil, err
	}
	defer st.part.Discard(ctx)
	if i.from.Dir != "" {
		return i.installUnpacked(ctx, st)
	}
	return i.fetch(ctx, st)
}

// fetch downloads the archive and installs its content.
func (i *installation) fetch(ctx context.Context, st *staging) (*Installed, error) {
	if i.src == nil {
		return nil, errors.New("no source to download it from")
	}
	f, err := st.archiveFile()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpacking, stop, err := st.startUnpacking(ctx, f, i.o.Policy.Limits)
	if err != nil {
		return nil, err
	}
	defer stop()
	got, err := provider.Receive(ctx, i.src, i.from, f, provider.ReceiveOptions{Policy: i.o.Policy, Progress: i.o.Progress, Arrived: unpacking.received})
	if err != nil {
		return nil, err
	}
	unpacking.finish(io.EOF)
	e := provider.Event{Kind: provider.EventUnpacking, Bytes: got.Size, Total: got.Size}
	i.send(e)
	report, n, err := i.unpack(ctx, unpacking, f, got)
	if err != nil {
		return nil, err
	}
	e.Kind = provider.EventVerified
	i.send(e)
	done, err := i.publishUnlessPresent(ctx, st, st.tree(), n.Tree)
	if err != nil {
		return nil, err
	}
	done.Report, done.Fetched = report, got.Size
	_ = i.writeNote(st, *n) // without a note, waiting calls download the archive
	return done, nil
}

// unpack judges the received archive. It completes the unpacking if the policy permits.
func (i *installation) unpack(ctx context.Context, unpacking *unpacker, f *os.File, got *provider.Received) (*verify.Report, *note, error) {
	n := &note{Size: got.Size, ZH: got.ZH}
	report, err := i.o.Policy.JudgeArchive(ctx, got.Evidence, verify.Archive{
		Size: got.Size, ZH: got.ZH, AlwaysH1: true,
		H1: func(ctx context.Context) (packed, tree checksum.Hash, err error) {
			n.Packed, n.Tree, err = i.unpackAll(ctx, unpacking, f, got.Size)
			return n.Packed, n.Tree, err
		},
	})
	if err != nil {
		return nil, nil, failed("verify", i.from.String(), err)
	}
	return report, n, nil
}

// unpackAll completes the unpacking and returns the h1 hashes of the archive and of the tree.
func (i *installation) unpackAll(ctx context.Context, unpacking *unpacker, f *os.File, size int64) (packed, tree checksum.Hash, err error) {
	var files []archive.File
	z, err := archive.OpenZip(ctx, f, size, archive.Limits(i.o.Policy.Limits))
	if err == nil {
		files, err = unpacking.complete(ctx, z, i.from.Provider.Type())
	}
	if err != nil {
		return packed, tree, failed("unpack", i.from.String(), err)
	}
	if packed, err = checksum.H1Sum(archive.Sums(files, true)); err == nil {
		tree, err = checksum.H1Sum(archive.Sums(files, false))
	}
	return packed, tree, err
}

// publishUnlessPresent moves a finished package with this h1 to its location, unless a package with
// the same content is there.
func (i *installation) publishUnlessPresent(ctx context.Context, st *staging, finished string, h1 checksum.Hash) (*Installed, error) {
	if pkg, err := i.packageWith(ctx, []checksum.Hash{h1}, ""); err != nil {
		return nil, err
	} else if pkg != nil {
		return &Installed{Package: *pkg, Reused: true}, nil
	}
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	if err := i.publish(ctx, st, finished); err != nil {
		return nil, err
	}
	pkg, err := i.installedPackage()
	if err != nil {
		return nil, err
	}
	return &Installed{Package: *pkg}, nil
}

func (i *installation) send(e provider.Event) {
	if i.o.Progress != nil {
		e.Provider, e.Version, e.Platform = i.from.Provider, i.from.Version, i.from.Platform
		i.o.Progress(e)
	}
}
