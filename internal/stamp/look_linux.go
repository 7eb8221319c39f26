package stamp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tofureg/tofureg/internal/fsx"
)

// look looks at the files in root. It fails if they do not follow the rules of [Memory.Hash].
func (s System) look(ctx context.Context, root *os.Root) (l look, err error) {
	if l.place, err = s.place(root); err != nil {
		return l, err
	}
	newest, err := s.reference(root)
	if err != nil {
		return l, err
	}
	// With times in whole seconds, a clock that is set back by one can repeat a time.
	if newest.Nanosecond() == 0 {
		return l, errors.New("the file system has times in whole seconds")
	}
	h := sha256.New()
	err = fs.WalkDir(fsx.Tree(ctx, root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := root.Lstat(name)
		if err != nil {
			return err
		}
		stat := info.Sys().(*syscall.Stat_t)
		modified, changed := time.Unix(stat.Mtim.Unix()), time.Unix(stat.Ctim.Unix())
		switch {
		case !info.IsDir() && !info.Mode().IsRegular():
			err = errors.New("neither file nor directory")
		case uint64(stat.Dev) != l.place.device:
			err = errors.New("on another device")
		case !info.IsDir() && stat.Nlink != 1:
			err = errors.New("has other names")
		case !modified.Before(newest) || !changed.Before(newest):
			err = errors.New("has just been changed, or has a time in the future")
		default:
			err = s.checkOwn(stat)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		fmt.Fprintf(h, "%q %o %d %d %d %d %d %d %d %d\n", name, stat.Mode, stat.Dev, stat.Ino, stat.Nlink, stat.Uid, stat.Gid, stat.Size,
			modified.UnixNano(), changed.UnixNano())
		return nil
	})
	h.Sum(l.digest[:0])
	return l, err
}

// place returns the place of root, and checks the file system and the parents.
func (s System) place(root *os.Root) (p place, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return p, err
	}
	defer dir.Close()
	if err := s.checkFileSystem(dir); err != nil {
		return p, err
	}
	if p.path, err = filepath.Abs(root.Name()); err == nil {
		p.path, err = filepath.EvalSymlinks(p.path)
	}
	if err != nil {
		return p, err
	}
	opened, err := dir.Stat()
	if err != nil {
		return p, err
	}
	if named, err := os.Lstat(p.path); err != nil || !os.SameFile(named, opened) {
		return p, errors.Join(errors.New("the directory has been replaced"), err)
	}
	stat := opened.Sys().(*syscall.Stat_t)
	p.device, p.inode = uint64(stat.Dev), stat.Ino
	for parent := p.path; parent != "/"; {
		parent = filepath.Dir(parent)
		info, err := os.Lstat(parent)
		if err != nil {
			return p, err
		}
		stat := *info.Sys().(*syscall.Stat_t)
		// With the sticky bit, as /tmp has it, other users can add names, but not rename ours.
		if stat.Mode&syscall.S_ISVTX != 0 {
			stat.Mode &^= 0o022
		}
		if err := s.checkOwn(&stat); err != nil {
			return p, fmt.Errorf("%s: %w", parent, err)
		}
	}
	return p, nil
}

// checkOwn returns an error unless the file belongs to this user or root, who alone can write to it. A
// POSIX access list grants no more than its mask, which the mode shows in place of the rights of the
// group (acl(5)).
func (s System) checkOwn(stat *syscall.Stat_t) error {
	user := os.Geteuid()
	if s.User != nil {
		user = s.User()
	}
	switch {
	case int(stat.Uid) != user && stat.Uid != 0:
		return fmt.Errorf("belongs to user %d", stat.Uid)
	case stat.Mode&0o022 != 0:
		return fmt.Errorf("others can write to it: mode %#o", stat.Mode)
	}
	return nil
}

// checkFileSystem returns an error unless it is one of those for which the rules have been tested.
func (s System) checkFileSystem(dir *os.File) error {
	statfs := s.Statfs
	if statfs == nil {
		statfs = fileSystem
	}
	switch kind, err := statfs(dir); {
	case err != nil:
		return err
	case kind != unix.EXT4_SUPER_MAGIC && kind != unix.XFS_SUPER_MAGIC && kind != unix.BTRFS_SUPER_MAGIC:
		return fmt.Errorf("file system of type %#x: %w", kind, errors.ErrUnsupported)
	}
	return nil
}

func fileSystem(dir *os.File) (int64, error) {
	var stat unix.Statfs_t
	err := unix.Fstatfs(int(dir.Fd()), &stat)
	return int64(uint32(stat.Type)), err
}

// reference returns the change time of a new file. The file has no name, so that the directory does not
// change.
func (s System) reference(root *os.Root) (time.Time, error) {
	if s.Reference != nil {
		return s.Reference(root)
	}
	f, err := root.OpenFile(".", unix.O_TMPFILE|os.O_RDWR, 0o600)
	if err != nil {
		return time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(info.Sys().(*syscall.Stat_t).Ctim.Unix()), nil
}

// checkIdle returns an error if a file in root is open for writing or mapped, by any process: the kernel
// grants no read lease for such a file. The second store into a page moves no time, nor does the end of
// a long write.
func checkIdle(ctx context.Context, root *os.Root) error {
	return fs.WalkDir(fsx.Tree(ctx, root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := fsx.OpenRegularIn(root, name)
		if err != nil {
			return err
		}
		defer f.Close() // ends the lease
		// A program that opens the file for writing now breaks the lease. The signal of that would be
		// SIGIO, which ends a program that does not expect it. SIGURG does not.
		if _, err = unix.FcntlInt(f.Fd(), unix.F_SETSIG, int(unix.SIGURG)); err == nil {
			_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		}
		return err
	})
}
