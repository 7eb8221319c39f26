package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/stamp"
	"github.com/tofureg/tofureg/verify/checksum"
)

// staging is a staging directory beside the target. The complete package is renamed from it. If
// the process is killed, the next download to the target removes it.
type staging struct {
	o      Options
	want   checksum.Hash   // Request.H1
	limits checksum.Limits // the effective ones
	dir    string          // the target as the caller named it
	target string          // absolute
	trees  int
	xz     *semaphore.Weighted // bounds the tar.xz that are unpacked concurrently

	part       *fsx.PartDir // nil if it cannot be written
	unwritable error        // why
}

// newStaging creates the staging directory for the target dir, and missing directories above it. It
// fails if it cannot, unless the package is there already, or if the target is occupied.
func newStaging(ctx context.Context, dir string, want checksum.Hash, o Options, xz *semaphore.Weighted) (*staging, error) {
	if of := want.Scheme(); !want.IsZero() && of != checksum.SchemeH1 && (of != scheme.L1 || !o.KeepLinks) {
		return nil, fmt.Errorf("Request.H1 has scheme %s, want %s", of, checksum.SchemeH1)
	}
	target, err := cleanTarget(dir)
	if err != nil {
		return nil, err
	}
	if err := checkTarget(filepath.Clean(dir), o.Replace); err != nil {
		return nil, err
	}
	s := &staging{o: o, want: want, limits: o.Limits.Effective(), dir: dir, target: target, xz: xz}
	beside := filepath.Dir(target)
	if err = os.MkdirAll(beside, 0o755); err == nil {
		s.part, err = fsx.CreatePartDir(ctx, target)
	}
	if err != nil {
		s.unwritable = err
		there := s.find(ctx, want, "")
		if there == nil {
			return nil, err
		}
		there.root.Close()
	}
	return s, nil
}

// discard removes the staging directory. If ctx has ended, the next download to the target removes the rest.
func (s *staging) discard(ctx context.Context) {
	if s.part != nil {
		s.part.Discard(ctx)
	}
}

// cleanTarget returns the absolute path of the target. It refuses texts that do not name a
// directory.
func cleanTarget(target string) (string, error) {
	if base := filepath.Base(target); target == "" || base == "." || base == ".." || base == string(filepath.Separator) {
		return "", fmt.Errorf("the target %q does not name a directory to create: %w", target, fs.ErrInvalid)
	}
	return absolute(target)
}

// absolute returns the absolute path. Unlike filepath.Abs, it resolves ".." as the system
// does if the working directory is known by the name of a symbolic link.
func absolute(path string) (string, error) {
	if !strings.HasPrefix(filepath.Clean(path), "..") {
		return filepath.Abs(path)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, path), nil
}

// checkTarget returns nil if a package may be put at the path: it is missing, an empty
// directory, or may be replaced.
func checkTarget(path string, replace bool) error {
	info, err := os.Lstat(path) // a symbolic link is replaced, not its target
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !replace && info.IsDir():
		if names, err := os.ReadDir(path); err != nil || len(names) == 0 {
			return err
		}
	}
	return checkReplaceable(path, info, replace)
}

// checkReplaceable returns nil if the file at the path may be replaced.
func checkReplaceable(path string, info fs.FileInfo, replace bool) error {
	switch may := info.IsDir() || info.Mode().Type() == fs.ModeSymlink; {
	case may && replace:
		return nil
	case may:
		return fmt.Errorf("%s: %w; set Options.Replace to replace it", path, ErrOccupied)
	}
	return fmt.Errorf("%s: %w", path, ErrOccupied)
}

// reuse returns the package at the target if it has Request.H1 and the directory subdir, which may
// be known only after requests. If it returns nil, the staging directory can be written.
func (s *staging) reuse(ctx context.Context, subdir string) (*unpacked, error) {
	if got := s.find(ctx, s.want, subdir); got != nil {
		return got, nil
	}
	return nil, s.unwritable
}

// find returns the target if it may be replaced, has the hash, and contains the
// directory subdir. Otherwise it returns nil. An empty directory is not part of the hash, so
// it may be missing.
func (s *staging) find(ctx context.Context, want checksum.Hash, subdir string) *unpacked {
	if !s.o.Replace || want.IsZero() {
		return nil
	}
	named, err := os.Lstat(s.target)
	if err != nil || !named.IsDir() {
		return nil
	}
	root, err := fsx.OpenRoot(s.target)
	if err != nil {
		return nil
	}
	if opened, err := root.Stat("."); err == nil && os.SameFile(named, opened) && s.checkSize(ctx, root) == nil {
		if got, since, err := s.hash(ctx, root); err == nil && got == want {
			if _, err := findSubdir(ctx, root, subdir); err == nil {
				return &unpacked{root: root, h1: want, reused: true, believed: since}
			}
		}
	}
	root.Close()
	return nil
}

// hash returns the hash of a directory, and the time of its computation if that was an earlier call, which is believed
// only with Request.H1.
func (s *staging) hash(ctx context.Context, root *os.Root) (h checksum.Hash, since time.Time, err error) {
	if s.o.Stamps != "" && !s.want.IsZero() {
		return new(stamp.Memory).Hash(ctx, root, s.o.Stamps, checksum.L1Dir)
	}
	h, err = checksum.L1Dir(ctx, fsx.Tree(ctx, root))
	return h, since, err
}

// checkSize refuses a directory that is larger than any package that would be accepted.
func (s *staging) checkSize(ctx context.Context, root *os.Root) error {
	entries, size := 0, int64(0)
	return fs.WalkDir(fsx.Tree(ctx, root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entries++
		if size += info.Size(); entries > s.limits.Entries || size > s.limits.Unpacked {
			return failure.ErrTooLarge
		}
		return nil
	})
}

// place moves the package to the target, and closes it. If the target already has it, place does
// nothing and notes that in got.
func (s *staging) place(ctx context.Context, got *unpacked, subdir string) error {
	if got.reused {
		return nil
	}
	if there := s.find(ctx, got.h1, subdir); there != nil {
		got.reused, got.believed = true, there.believed
		return there.root.Close()
	}
	// Windows cannot rename an open directory.
	err := cmp.Or(ctx.Err(), got.root.Close())
	if err != nil {
		return err
	}
	path := filepath.Clean(got.root.Name())
	if s.o.Replace {
		// Put checks the old file after the exchange, when no other process can replace it.
		_, err = s.part.Put(filepath.Base(path), filepath.Base(s.target), func(old fs.FileInfo) error { return checkReplaceable(s.target, old, true) })
	} else {
		// A rename does not replace an empty directory. Unlike os.Remove, Rmdir never removes a
		// file.
		if err = syscall.Rmdir(s.target); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(path, s.target)
		}
		if err != nil {
			err = cmp.Or(checkTarget(s.target, false), err)
		}
	}
	if err != nil {
		return err
	}
	// The old directory is removed after this, with the staging directory.
	return fsx.SyncDir(filepath.Dir(s.target))
}
