package archive

import (
	"archive/zip"
	"context"
	"io"
	"io/fs"
	"strings"
)

// Zip is a zip archive whose directory has been read and found acceptable. Its
// methods may be called concurrently if the reader allows it.
type Zip struct {
	r       io.ReaderAt
	members []*member // in the order of the directory
}

// member is an entry as the directory of a zip archive describes it.
type member struct {
	Entry
	method uint16
	flags  uint16
	crc    uint32
	header int64 // offset of the header before the content
	start  int64 // offset of the packed content
	packed int64 // bytes of that
}

// OpenZip reads the directory of the zip archive in the first size bytes of r. It
// reads no content, but compares what stands before and after each entry's content with
// the directory, and looks for hidden entries in the bytes that belong to none. r must stay
// open and unchanged while the Zip is used.
func OpenZip(ctx context.Context, r io.ReaderAt, size int64, l Limits) (*Zip, error) {
	return OpenZipSkip(ctx, r, size, l, nil)
}

// OpenZipSkip is [OpenZip], but if skip is not nil, symbolic links are no reason to
// refuse the archive: they are not among the entries, and skip is told their names.
func OpenZipSkip(ctx context.Context, r io.ReaderAt, size int64, l Limits, skip func(name string)) (*Zip, error) {
	limits := l.Effective()
	if size > limits.Package {
		return nil, tooLarge("%d bytes, %d are allowed", size, limits.Package)
	}
	in := untilAt{ctx, r}
	dir, err := findDirectory(in, size)
	if err != nil {
		return nil, err
	}
	headers, err := dir.read(in, limits)
	if err != nil {
		return nil, err
	}
	z := &Zip{r: r}
	all, err := z.admit(headers, limits, skip)
	if err != nil {
		return nil, err
	}
	if err := checkPlaces(in, size, dir, all); err != nil {
		return nil, err
	}
	return z, nil
}

// admit takes the entries, if each of them and all together are acceptable. It returns them
// with those that are left out.
func (z *Zip) admit(headers []*header, limits Limits, skip func(string)) ([]*member, error) {
	left := limits.Unpacked
	all := make([]*member, 0, len(headers))
	for _, h := range headers {
		m := h.member()
		all = append(all, m)
		if skip != nil && h.mode&fs.ModeSymlink != 0 {
			skip(h.name)
			continue
		}
		if err := h.check(); err != nil {
			return nil, err
		}
		if m.Size > left {
			return nil, tooLarge("its content has more than %d bytes", limits.Unpacked)
		}
		left -= m.Size
		z.members = append(z.members, m)
	}
	if len(headers) == 0 {
		return nil, bad("it has no entries")
	}
	return all, nil
}

// member returns the entry that h describes.
func (h *header) member() *member {
	return &member{
		Entry:  Entry{Name: h.name, Size: h.size, Exec: h.mode&0o111 != 0},
		method: h.method, flags: h.flags, crc: h.crc, header: h.offset, packed: h.packed,
	}
}

// check checks what is neither name nor size.
func (h *header) check() error {
	dir := strings.HasSuffix(h.name, "/")
	switch {
	case h.mode&fs.ModeSymlink != 0, h.attributes>>28 == 0xa:
		// The latter is a link's Unix mode, said to come from another system: some
		// readers believe the mode.
		return isLink(h.name)
	case h.mode&^(fs.ModePerm|fs.ModeDir|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return bad("entry %.100q is neither file nor directory", h.name)
	case h.mode.IsDir() != dir:
		return bad("entry %.100q is a directory by its mode but not by its name", h.name)
	case dir && h.size > 0:
		return bad("entry %.100q is a directory with content", h.name)
	case h.flags&encrypted != 0:
		return bad("entry %.100q is encrypted", h.name)
	case h.method != zip.Store && h.method != zip.Deflate:
		return bad("entry %.100q: compression method %d is not supported", h.name, h.method)
	}
	return nil
}
