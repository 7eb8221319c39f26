package archive

import (
	"archive/tar"
	"bufio"
	"compress/bzip2"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive/inflate"
	"github.com/tofureg/tofureg/internal/fault"
)

// UnpackTar unpacks r, a tar of format f, below root while it reads. It follows the rules of
// [Zip.Unpack]. It also refuses hard links, sparse files, data after the end of the tar, and a tar
// without entries. It drops a leading "./" of names, and ignores entries for the root itself and
// global headers, such as the commit ID that git writes. A directory may occur twice.
//
// A tar has no directory to check first, so a refused archive may have been unpacked in part; the
// caller removes the files. If the error is nil, all of r has been read.
func UnpackTar(ctx context.Context, r io.Reader, f Format, root *os.Root, o Options) ([]File, error) {
	limits := o.Limits.Effective()
	packed := &packedReader{r: Until(ctx, r), left: limits.Package, limit: limits.Package}
	in := &tarStream{ctx: ctx, packed: packed, left: streamLimit(limits)}
	var err error
	if in.unpacked, err = o.decompressor(f, bufio.NewReaderSize(packed, 64<<10)); err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, in.cause(err)
	}
	t := newTree(ctx, root, o)
	defer t.copier.release()
	files, err := t.untar(tar.NewReader(in), limits)
	if err == nil {
		err = in.drain(t.copier.buf[:])
	}
	if in.err != nil && in.err != io.EOF {
		err = in.err // the cause of err
	}
	return files, err
}

// untar unpacks all entries.
func (t *tree) untar(r *tar.Reader, limits Limits) (files []File, err error) {
	names := names{limits: limits, native: t.o.Native, lenient: true}
	left, empty := limits.Unpacked, true
	var links []*node
	for {
		h, err := r.Next()
		switch {
		case err == io.EOF && empty:
			return nil, bad("it has no entries")
		case err == io.EOF:
			if files, err = t.links(&names, links, files); err == nil {
				err = t.checkKept(files)
			}
			return files, err
		case err != nil:
			return nil, unreadable(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			// It may change names or contents of the entries after it for other programs:
			// archive/tar ignores it. The one of git has a comment.
			harmless := []string{"comment", "mtime", "atime", "ctime", "uid", "gid", "uname", "gname"}
			for key := range h.PAXRecords {
				if !slices.Contains(harmless, key) {
					return nil, bad("it has a global header with %q", fault.Shown(key, 50))
				}
			}
			continue
		}
		empty = false
		e := Entry{Name: strings.TrimPrefix(h.Name, "./"), Size: h.Size, Exec: h.Mode&0o111 != 0}
		if h.Typeflag == tar.TypeDir {
			e.Size = 0 // archive/tar reads no content of a directory
			e.Name = strings.TrimSuffix(e.Name, "/")
			if e.Name == "" || e.Name == "." {
				continue
			}
			e.Name += "/"
		}
		at, err := names.add(e.Name)
		if err != nil {
			return nil, err
		}
		if at.entries > 1 && h.Typeflag == tar.TypeDir {
			continue
		}
		link := h.Typeflag == tar.TypeSymlink
		if t.o.Omit != nil && t.o.Omit(e.Name, link && !t.o.KeepLinks) {
			continue
		}
		if link && t.o.KeepLinks {
			// Made at the end, so that no file is written by way of a link.
			if err := names.setTarget(at, e, h.Linkname); err != nil {
				return nil, err
			}
			links = append(links, at)
			continue
		}
		if err := checkType(h, e.Name); err != nil {
			return nil, err
		}
		if e.Size > left {
			return nil, tooLarge("its content has more than %d bytes", limits.Unpacked)
		}
		left -= e.Size
		got := content{sum: emptySum}
		if e.IsDir() {
			err = t.mkdir(strings.TrimSuffix(e.Name, "/"))
		} else {
			got, err = t.file(e, func(w io.Writer) (content, error) { return t.copier.entry(w, r, e) })
		}
		if err != nil {
			return nil, err
		}
		files = append(files, File{Entry: e, Sum: got.sum})
	}
}

// links makes the links that stay in the archive, and appends them to files.
func (t *tree) links(names *names, links []*node, files []File) ([]File, error) {
	for _, l := range links {
		if t.ctx.Err() != nil {
			return nil, fault.Ended(t.ctx)
		}
		name := l.path()
		out, err := names.leadsOut(l)
		switch {
		case err != nil:
			return nil, err
		case !out:
			if err := t.link(name, l.target); err != nil {
				return nil, err
			}
			files = append(files, File{Entry: Entry{Name: name}, Target: l.target})
		case t.o.Omit == nil || !t.o.Omit(name, true):
			return nil, isLink(name, " that leads out of the archive")
		}
	}
	return files, nil
}

// emptySum is the checksum of a directory.
var emptySum = sha256.Sum256(nil)

// checkType checks the type of an entry.
func checkType(h *tar.Header, name string) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink:
		return isLink(name, "")
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
	switch {
	case h.Typeflag == tar.TypeReg && strings.HasSuffix(name, "/"):
		return bad("entry %.100q is a directory by its name but not by its type", name)
	case h.Size < 0:
		return bad("entry %.100q has a negative size", name)
	}
	return nil
}

// Format is the format of an archive.
type Format string

// The formats of module packages.
const (
	FormatZip      Format = "zip"
	FormatTarGzip  Format = "tar.gz"
	FormatTarXz    Format = "tar.xz"
	FormatTarBzip2 Format = "tar.bz2"

	// FormatTar is an uncompressed tar, for example from git. Sniff does not detect it.
	FormatTar Format = "tar"
)

// SniffLen is the number of bytes that [Sniff] needs.
const SniffLen = 6

// Sniff returns the format of an archive from its first bytes, or "". It does not check that
// compressed data contains a tar.
func Sniff(head []byte) Format {
	has := func(magic string) bool { return len(head) >= len(magic) && string(head[:len(magic)]) == magic }
	switch {
	case has("PK\x03\x04"), has(endSig): // endSig starts a zip without entries
		return FormatZip
	case has("\x1f\x8b"):
		return FormatTarGzip
	case has("\xfd7zXZ\x00"):
		return FormatTarXz
	case has("BZh") && len(head) > 3 && '1' <= head[3] && head[3] <= '9':
		return FormatTarBzip2
	}
	return ""
}

// decompressor returns a reader of the decompressed data. Its memory is bounded.
func (o Options) decompressor(f Format, r *bufio.Reader) (io.Reader, error) {
	switch {
	case f == FormatTarGzip:
		return inflate.NewGzipReader(r), nil
	case f == FormatTarXz && o.Xz != nil:
		return o.Xz(r)
	case f == FormatTarBzip2:
		return bzip2.NewReader(r), nil
	case f == FormatTar:
		return r, nil
	}
	return nil, fmt.Errorf("%q is not a tar", string(f))
}

// A packedReader reads compressed data. It remembers its error, which tells a broken connection from
// a damaged archive.
type packedReader struct {
	r     io.Reader
	left  int64 // bytes still allowed
	limit int64
	err   error
}

func (o *packedReader) Read(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.r.Read(p)
	o.left -= int64(n)
	if o.left < 0 {
		err = tooLarge("more than %d bytes", o.limit)
	}
	if err != io.EOF {
		o.err = err
	}
	return n, err
}

// A tarStream reads decompressed data. Its errors are io.EOF, errors of packed and the context,
// or wrap failure.ErrArchive or failure.ErrTooLarge.
type tarStream struct {
	ctx      context.Context
	packed   *packedReader
	unpacked io.Reader
	left     int64 // bytes still allowed
	err      error
}

// maxPadding is the maximum length of zeros after the end of a tar. Programs for tapes fill their
// last block, of 10 KiB by default and rarely of 1 MiB.
const maxPadding = 4 << 20

// streamLimit returns the maximum length of a tar within l: the content, and for each entry a
// header, padding, and an extra header with a long name.
func streamLimit(l Limits) int64 {
	perEntry := 4096 + 2*int64(min(l.NameLen, 1<<20))
	overhead := int64(min(l.Entries, 1<<30))*perEntry + maxPadding
	if l.Unpacked > 1<<62-overhead {
		return 1 << 62
	}
	return l.Unpacked + overhead
}

func (s *tarStream) Read(p []byte) (int, error) {
	if s.err == nil && s.ctx.Err() != nil {
		s.err = fault.Ended(s.ctx)
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.unpacked.Read(p)
	if s.left -= int64(n); s.left < 0 && s.packed.err == nil {
		err = tooLarge("the tar exceeds the limits of content and headers")
	}
	s.err = s.cause(err)
	return n, s.err
}

// cause returns the cause of an error of the decompressor.
func (s *tarStream) cause(err error) error {
	switch {
	case s.packed.err != nil:
		return s.packed.err
	case err != nil && s.ctx.Err() != nil:
		return fault.Ended(s.ctx)
	case err == nil, err == io.EOF:
		return err
	}
	return unreadable(err)
}

// drain reads the data after the end of the tar, which must be zeros: other readers might interpret
// other data.
func (s *tarStream) drain(buf []byte) error {
	size := 0
	for idle := 0; idle < 100; idle++ {
		n, err := s.Read(buf)
		if size += n; size > maxPadding {
			return tooLarge("more than %d bytes after the end of the tar", maxPadding)
		}
		for _, b := range buf[:n] {
			idle = 0
			if b != 0 {
				return bad("data after the end of the tar")
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// unreadable converts errors of decompressors and of archive/tar, which all are about invalid data.
func unreadable(err error) error {
	if d := damaged(err); d != err || errors.Is(err, failure.ErrArchive) || errors.Is(err, failure.ErrTooLarge) {
		return d
	}
	return bad("%w", err)
}
