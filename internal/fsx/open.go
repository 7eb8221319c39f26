package fsx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
)

// OpenRegular opens a regular file, or a link to one, for reading. It refuses other files with
// ErrNotAFile and does not wait for a pipe.
func OpenRegular(path string) (*os.File, error) { return regular(os.OpenFile, path) }

// ReadRegular reads a file that OpenRegular opens. A file of more than max bytes is failure.ErrTooLarge.
func ReadRegular(path string, max int64) ([]byte, error) {
	data, err := readStart(path, max)
	if err == nil && int64(len(data)) > max {
		return nil, fmt.Errorf("%s %w: more than %d bytes", fault.Name(path), failure.ErrTooLarge, max)
	}
	return data, err
}

// readStart returns the first max+1 bytes of a file.
func readStart(path string, max int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, max+1))
}

// OpenRegularIn is [OpenRegular] for a file of root.
func OpenRegularIn(root *os.Root, name string) (*os.File, error) { return regular(root.OpenFile, name) }

// OpenRoot is [os.OpenRoot], but opens nothing else than a directory, so it does not wait for a pipe. On
// Unix, the name of the root ends with "/.", which [filepath.Clean] removes.
func OpenRoot(path string) (*os.Root, error) { return openRoot(os.OpenRoot, path) }

// OpenRootIn is [OpenRoot] for a directory of root.
func OpenRootIn(root *os.Root, name string) (*os.Root, error) { return openRoot(root.OpenRoot, name) }

func openRoot(open func(name string) (*os.Root, error), path string) (*os.Root, error) {
	name := path
	if path != "" {
		name += asDirectory
	}
	root, err := open(name)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		e.Path = path
	}
	return root, err
}

type openFile = func(name string, flag int, perm fs.FileMode) (*os.File, error)

func regular(openFile openFile, name string) (*os.File, error) {
	f, err := open(openFile, name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNotAFile}
	case info.Size() == 0: // such as /proc/kmsg, which waits for more
		_ = f.SetReadDeadline(time.Now().Add(time.Second)) // other files have no deadlines, or do not wait
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenIn opens a file or directory of root for reading. It does not wait for a pipe; the caller
// checks the type.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return open(root.OpenFile, name)
}

func open(openFile openFile, name string) (f *os.File, err error) {
	err = retryOpen(func() error {
		f, err = openFile(name, os.O_RDONLY|noBlock, 0)
		return err
	})
	return f, fault.Printable(err)
}

// Tree returns the files in root as an [fs.FS]. When ctx ends, its methods fail with [fault.Ended].
// Files are opened as by OpenIn, and errors are printable.
func Tree(ctx context.Context, root *os.Root) fs.FS { return tree{ctx, root} }

type tree struct {
	ctx  context.Context
	root *os.Root
}

func (t tree) Open(name string) (fs.File, error) {
	if t.ctx.Err() != nil {
		return nil, fault.Ended(t.ctx)
	}
	// On Windows a backslash is a separator, which fs.ValidPath does not check.
	if !fs.ValidPath(name) || runtime.GOOS == "windows" && strings.Contains(name, `\`) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := OpenIn(t.root, name)
	if err != nil {
		return nil, err
	}
	return treeFile{f, t.ctx}, nil
}

// Lstat and ReadLink implement [fs.ReadLinkFS].
func (t tree) Lstat(name string) (fs.FileInfo, error) {
	info, err := t.root.Lstat(name)
	return info, fault.Printable(err)
}

func (t tree) ReadLink(name string) (string, error) {
	target, err := t.root.Readlink(name)
	return target, fault.Printable(err)
}

// treeFile hides the other reading methods of an os.File.
type treeFile struct {
	fs.ReadDirFile
	ctx context.Context
}

// ReadDir reads large directories in pieces.
func (f treeFile) ReadDir(n int) (list []fs.DirEntry, err error) {
	if n > 0 {
		list, err = f.ReadDirFile.ReadDir(n)
		return list, fault.Printable(err)
	}
	for err == nil && f.ctx.Err() == nil {
		var more []fs.DirEntry
		more, err = f.ReadDirFile.ReadDir(1000)
		list = append(list, more...)
	}
	if err == io.EOF {
		return list, nil
	}
	return list, cmp.Or(fault.Printable(err), fault.Ended(f.ctx))
}

func (f treeFile) Read(p []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, fault.Ended(f.ctx)
	}
	n, err := f.ReadDirFile.Read(p)
	return n, fault.Printable(err)
}
