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

// Options for [Dir.Install]. The zero value is strict and silent.
type Options struct {
	// Policy decides whether a package is accepted; see [provider.Options].
	Policy verify.Policy

	// Progress, if not nil, is called for each step. Calls never overlap, and Install
	// waits for them.
	Progress func(provider.Event)

	// Link says how a package that its source holds unpacked gets into the directory. If
	// empty, [Symlink] is used.
	Link LinkMode
}

// Install makes sure that pkg is in the directory with content that o.Policy accepts.
//
// A package that is there stays if the policy accepts its h1, or if a process of the same
// user has installed it while this call waited. Otherwise Install downloads the archive,
// verifies and unpacks it below ".tofureg", and renames the unpacked package. So a package
// appears under its name as a whole, verified and on disk, even if the process is killed or
// the power fails.
//
// A package with the content of the archive stays, so that programs can run from it. A
// package with other content is replaced, and so is a symbolic link; what the link points to
// is not touched. On Linux and macOS the old and the new package change places at once, if
// the file system supports that. Otherwise nothing is there for a moment.
//
// Of several calls for the same package, in this process and in others, one downloads it and
// the others wait. Each call judges by its own policy.
//
// A package that its source holds unpacked is copied or linked, and its h1 is judged.
//
// src may be nil if pkg.Dir is set and the policy needs no evidence. The errors are those of
// [provider.Download], and ErrLinked.
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
			err = fault.Ended(ctx) // of which the other may be the consequence
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
	before []byte // the note that was there when the call began
}

func (i *installation) run(ctx context.Context) (*Installed, error) {
	// Most often everything is there, and that is found out without a lock.
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
	st, err := i.stage()
	if err != nil {
		return nil, err
	}
	defer st.release()
	if i.from.Dir != "" {
		return i.installUnpacked(ctx, st)
	}
	return i.fetch(ctx, st)
}

// fetch downloads the archive and installs what it holds.
func (i *installation) fetch(ctx context.Context, st *staging) (*Installed, error) {
	if i.src == nil {
		return nil, errors.New("there is no source to fetch it from")
	}
	f, err := st.file()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	early, stop, err := st.startUnpacking(ctx, f, i.o.Policy.Limits)
	if err != nil {
		return nil, err
	}
	defer stop()
	got, err := provider.Receive(ctx, i.src, i.from, f, provider.Options{Policy: i.o.Policy, Progress: i.o.Progress, Arrived: early.arrived})
	if err != nil {
		return nil, err
	}
	early.finish(io.EOF)
	e := provider.Event{Kind: provider.EventUnpacking, Bytes: got.Size, Total: got.Size}
	i.send(e)
	report, n, err := i.unpack(ctx, early, f, got)
	if err != nil {
		return nil, err
	}
	e.Kind = provider.EventVerified
	i.send(e)
	done, err := i.putInPlace(ctx, st, st.tree(), n.Tree)
	if err != nil {
		return nil, err
	}
	done.Report, done.Fetched = report, got.Size
	_ = i.writeNote(st, *n) // without it those who wait do the work once more
	return done, nil
}

// unpack judges what has arrived, and has what is not unpacked yet unpacked for that.
func (i *installation) unpack(ctx context.Context, early *unpacker, f *os.File, got *provider.Received) (*verify.Report, *note, error) {
	n := &note{Size: got.Size, ZH: got.ZH}
	report, err := i.o.Policy.JudgeArchive(ctx, got.Evidence, verify.Archive{
		Size: got.Size, ZH: got.ZH, WantH1: true,
		H1: func(ctx context.Context) (packed, tree checksum.Hash, err error) {
			n.Packed, n.Tree, err = i.unpackAll(ctx, early, f, got.Size)
			return n.Packed, n.Tree, err
		},
	})
	if err != nil {
		return nil, nil, failed("verify", i.from.String(), err)
	}
	return report, n, nil
}

// unpackAll unpacks what is not unpacked yet and returns the h1 hashes of all.
func (i *installation) unpackAll(ctx context.Context, early *unpacker, f *os.File, size int64) (packed, tree checksum.Hash, err error) {
	z, err := archive.OpenZip(ctx, f, size, archive.Limits(i.o.Policy.Limits))
	if err != nil {
		return packed, tree, failed("unpack", i.from.String(), err)
	}
	files, err := early.complete(ctx, z, i.from.Provider.Type())
	if err != nil {
		return packed, tree, failed("unpack", i.from.String(), err)
	}
	if packed, err = checksum.H1Sum(archive.Sums(files, true)); err == nil {
		tree, err = checksum.H1Sum(archive.Sums(files, false))
	}
	return packed, tree, err
}

// putInPlace moves a finished package with this h1 to its location, unless one with the
// same content is there.
func (i *installation) putInPlace(ctx context.Context, st *staging, finished string, h1 checksum.Hash) (*Installed, error) {
	if pkg, err := i.holding(ctx, []checksum.Hash{h1}, ""); err != nil {
		return nil, err
	} else if pkg != nil {
		return &Installed{Package: *pkg, Reused: true}, nil
	}
	if ctx.Err() != nil {
		return nil, fault.Ended(ctx)
	}
	if err := i.put(st, finished); err != nil {
		return nil, err
	}
	pkg, err := i.look()
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
