package archive

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/internal/fault"
)

// UnpackTar unpacks r, a tar of format f, below root while it reads. It follows the rules of
// [Zip.Unpack]. It also refuses hard links, sparse files, data after the end of the tar, and a tar
// without entries. It drops a leading "./" of names, and ignores entries for the root itself and
// global headers, such as the commit ID that git writes.
//
// A tar has no directory to check first, so a refused archive may have been unpacked in part; the
// caller removes the files. If the error is nil, all of r has been read.
func UnpackTar(ctx context.Context, r io.Reader, f Format, root *os.Root, l Limits, o Options) ([]File, error) {
	limits := l.Effective()
	in := newTarStream(ctx, r, f, limits)
	u := &untar{
		tree:  newTree(ctx, root, o),
		tar:   tar.NewReader(in),
		names: names{limits: limits, anyCase: o.AnyCase},
		left:  limits.Unpacked,
	}
	defer u.release()
	files, err := u.waitForSyncs(u.run())
	if err == nil {
		err = in.drain(u.buf[:])
	}
	switch {
	case in.err != nil && in.err != io.EOF: // the cause of err
		return nil, in.err
	case err != nil:
		return nil, err
	}
	return files, nil
}

// emptySum is the checksum of a directory.
var emptySum = sha256.Sum256(nil)

// untar is the state of UnpackTar.
type untar struct {
	*tree
	tar   *tar.Reader
	names names
	left  int64 // bytes of content still allowed
}

func (u *untar) run() ([]File, error) {
	var files []File
	entries := 0
	for {
		h, err := u.tar.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, unreadable(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			if err := checkGlobal(h); err != nil {
				return nil, err
			}
			continue
		}
		entries++
		e, ok, err := u.admit(h)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		f, err := u.unpack(e)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if entries == 0 {
		return nil, bad("it has no entries")
	}
	return files, nil
}

// checkGlobal refuses a global header that changes names or contents of the entries after it for other
// programs: archive/tar ignores it. That of git has a comment.
func checkGlobal(h *tar.Header) error {
	harmless := []string{"comment", "mtime", "atime", "ctime", "uid", "gid", "uname", "gname"}
	for key := range h.PAXRecords {
		if !slices.Contains(harmless, key) {
			return bad("it has a global header with %q", fault.Shown(key, 50))
		}
	}
	return nil
}

// admit checks a header. It returns false for an entry to omit.
func (u *untar) admit(h *tar.Header) (Entry, bool, error) {
	name := strings.TrimPrefix(h.Name, "./")
	if h.Typeflag == tar.TypeDir {
		name = strings.TrimSuffix(name, "/")
		if name == "" || name == "." {
			return Entry{}, false, nil
		}
		name += "/"
	}
	if err := u.names.add(name); err != nil {
		return Entry{}, false, err
	}
	if h.Typeflag == tar.TypeSymlink && u.o.Skip != nil {
		u.o.Skip(name)
		return Entry{}, false, nil
	}
	if err := admitHeader(h, name); err != nil {
		return Entry{}, false, err
	}
	size := h.Size
	if size < 0 {
		return Entry{}, false, bad("entry %.100q has a negative size", name)
	}
	if h.Typeflag == tar.TypeDir {
		size = 0 // archive/tar reads no content of a directory
	}
	if size > u.left {
		return Entry{}, false, tooLarge("its content has more than %d bytes", u.names.limits.Unpacked)
	}
	u.left -= size
	return Entry{Name: name, Size: size, Exec: h.Mode&0o111 != 0}, true, nil
}

// admitHeader checks the type of an entry.
func admitHeader(h *tar.Header, name string) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink:
		return isLink(name)
	case tar.TypeLink:
		return bad("entry %.100q is a hard link", name)
	case tar.TypeGNUSparse:
		return bad("entry %.100q is a sparse file", name)
	default:
		return bad("entry %.100q is neither file nor directory", name)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return bad("entry %.100q is a sparse file", name)
		}
	}
	if h.Typeflag == tar.TypeReg && strings.HasSuffix(name, "/") {
		return bad("entry %.100q is a directory by its name but not by its type", name)
	}
	return nil
}

func (u *untar) unpack(e Entry) (File, error) {
	if e.IsDir() {
		err := u.mkdir(strings.TrimSuffix(e.Name, "/"))
		return File{Entry: e, Sum: emptySum}, err
	}
	return u.file(e, func(w io.Writer) (File, error) {
		got, err := u.entry(w, u.tar, e)
		return File{Entry: e, Sum: got.sum}, err
	})
}

// ErrLink: the archive has a symbolic link. It wraps fault.ErrArchive.
var ErrLink = fault.Narrow(fault.ErrArchive.Error(), fault.ErrArchive)

func isLink(name string) error {
	return fmt.Errorf("%w: entry %.100q is a symbolic link", ErrLink, name)
}
