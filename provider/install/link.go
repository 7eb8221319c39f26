package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Place puts a package that another Dir, such as a shared cache, has verified into d. Unless copies is set, it makes an
// absolute symbolic link if the system permits, which can dangle: see [Dir.PruneUnused]. Otherwise it copies the files
// and compares the h1 with the Report.
//
// A package with this content stays, also a link if copies is set. Anything else is replaced as by [Dir.Install].
func (d *Dir) Place(ctx context.Context, from *Installed, copies bool) (*Package, error) {
	if from == nil {
		return nil, failure.Wrap("place", "no package", errors.New("the package is nil"))
	}
	pkg, err := d.place(ctx, from, copies)
	if err != nil {
		if ctx.Err() != nil {
			err = fault.Ended(ctx)
		}
		return nil, failure.Wrap("place", from.String(), err)
	}
	return pkg, nil
}

func (d *Dir) place(ctx context.Context, from *Installed, copies bool) (*Package, error) {
	if from.Report == nil || !hashlist.Has(from.Report.Local, checksum.SchemeH1) {
		return nil, errors.New("the package has no report with an h1")
	}
	root, err := d.create()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	at, err := locate(root, from.Provider, from.Version, from.Platform)
	if err != nil {
		return nil, err
	}
	part, done, err := at.stage(ctx, func() {})
	if err != nil {
		return nil, err
	}
	defer done()
	if pkg, err := at.packageWith(ctx, from.Report.Local, from.Dir); pkg != nil || err != nil {
		return pkg, err
	}
	finished, h1, err := at.transfer(ctx, part, from.Dir, copies, nil)
	if err == nil && !h1.IsZero() {
		_, err = verify.Policy{Accept: checksum.NewSet(from.Report.Local...)}.JudgeDirectory(verify.Evidence{}, h1)
	}
	if err != nil {
		return nil, err
	}
	return at.publish(ctx, part, finished, false)
}

// transfer links or copies the directory from into the staging directory. It returns the name and the h1 of
// the result. If limits is nil, the package was verified: it has no limits, and a link to it no h1.
func (at *location) transfer(ctx context.Context, part *fsx.PartDir, from string, copies bool, limits *checksum.Limits) (finished string, h1 checksum.Hash, err error) {
	source, err := fsx.OpenRoot(from)
	if err != nil {
		return "", h1, err
	}
	defer source.Close()
	if !copies && at.symlink(from, filepath.Join(part.Name(), "link")) == nil {
		if limits != nil {
			h1, err = checksum.H1Dir(ctx, fsx.Tree(ctx, source))
		}
		return "link", h1, err
	}
	tree, err := newTree(at.root, part)
	if err != nil {
		return "", h1, err
	}
	h1, err = copyTree(ctx, tree, source, at.pkg.Provider, limits)
	return "tree", h1, errors.Join(err, tree.Close()) // Windows cannot rename an open directory
}

func (at *location) symlink(from, name string) error {
	target, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" {
		return at.root.Symlink(target, name)
	}
	// Windows needs a directory link, which Root.Symlink makes only for targets in the root.
	path := filepath.Join(at.root.Name(), name)
	if err := os.Symlink(target, path); err != nil {
		return err
	}
	_, err = os.Stat(path)
	return err
}

// copyTree copies a package of the provider into an empty directory and returns its h1.
func copyTree(ctx context.Context, to, from *os.Root, of addrs.Provider, limits *checksum.Limits) (checksum.Hash, error) {
	var size int64
	dirs := 0
	sums := map[string][sha256.Size]byte{}
	err := fs.WalkDir(fsx.Tree(ctx, from), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case info.Mode().IsRegular():
			size += info.Size()
		case !d.IsDir():
			return irregular(name)
		}
		entries := dirs + len(sums) // this one included, the top directory not
		if limits != nil && (size > limits.Unpacked || entries > limits.Entries) {
			return fmt.Errorf("%d bytes in %d files and directories: %w", size, entries, failure.ErrTooLarge)
		}
		if d.IsDir() {
			dirs++
			if name == "." {
				return nil
			}
			return to.Mkdir(name, 0o755)
		}
		sums[name], err = copyFile(ctx, to, from, name, of)
		return err
	})
	if err != nil {
		return checksum.Hash{}, err
	}
	return hashlist.H1(maps.All(sums))
}

// copyFile copies a file and returns its checksum.
func copyFile(ctx context.Context, to, from *os.Root, name string, of addrs.Provider) (sum [sha256.Size]byte, err error) {
	in, err := fsx.OpenRegularIn(from, name)
	if errors.Is(err, fsx.ErrNotAFile) { // it was replaced after the directory was listed
		err = irregular(name)
	}
	if err != nil {
		return sum, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return sum, err
	}
	mode := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 || isProgram(name, of) {
		mode = 0o755
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), archive.Until(ctx, in))
	return [sha256.Size]byte(h.Sum(nil)), errors.Join(err, out.Close())
}

func irregular(name string) error {
	return fmt.Errorf("%w: %.200q is neither file nor directory", checksum.ErrIrregular, name)
}
