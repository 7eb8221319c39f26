package archive

import (
	"archive/zip"
	"context"
	"io"
	"io/fs"
)

// Zip is a zip archive with a valid directory. Its methods may be called concurrently if the reader
// allows it.
type Zip struct {
	r       io.ReaderAt
	members []*member // in the order of the directory
}

// member is an entry as the directory of a zip archive describes it.
type member struct {
	Entry
	mode       fs.FileMode
	attributes uint32 // external attributes
	method     uint16
	flags      uint16
	crc        uint32
	header     int64 // offset of the header before the content
	start      int64 // offset of the packed content
	packed     int64 // bytes of the packed content
}

// OpenZip reads the directory of the zip archive in the first size bytes of r. It compares the
// directory with the data before and after the contents, and looks for hidden entries between them,
// but reads no content. r must stay open and unchanged while the Zip is used.
func OpenZip(ctx context.Context, r io.ReaderAt, size int64, l Limits) (*Zip, error) {
	return OpenZipWith(ctx, r, size, l, Options{})
}

// OpenZipWith is [OpenZip] with o.Skip and o.AnyCase.
func OpenZipWith(ctx context.Context, r io.ReaderAt, size int64, l Limits, o Options) (*Zip, error) {
	limits := l.Effective()
	if size > limits.Package {
		return nil, tooLarge("%d bytes, %d are allowed", size, limits.Package)
	}
	in := untilAt{ctx, r}
	dir, err := findDirectory(in, size)
	if err != nil {
		return nil, err
	}
	all, err := dir.read(in, limits, o.AnyCase)
	if err != nil {
		return nil, err
	}
	z := &Zip{r: r}
	if err := z.admit(all, limits, o.Skip); err != nil {
		return nil, err
	}
	if err := checkLayout(in, size, dir, all); err != nil {
		return nil, err
	}
	return z, nil
}

// admit checks the entries and adds them to z.
func (z *Zip) admit(all []*member, limits Limits, skip func(string)) error {
	left := limits.Unpacked
	for _, m := range all {
		if skip != nil && m.mode&fs.ModeSymlink != 0 {
			skip(m.Name)
			continue
		}
		if err := m.check(); err != nil {
			return err
		}
		if m.Size > left {
			return tooLarge("its content has more than %d bytes", limits.Unpacked)
		}
		left -= m.Size
		z.members = append(z.members, m)
	}
	if len(all) == 0 {
		return bad("it has no entries")
	}
	return nil
}

// check checks the mode, the flags and the method.
func (m *member) check() error {
	switch {
	case m.mode&fs.ModeSymlink != 0, m.attributes>>28 == 0xa:
		// A Unix mode with another creator system: some readers use it all the same.
		return isLink(m.Name)
	case m.mode&^(fs.ModePerm|fs.ModeDir|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return bad("entry %.100q is neither file nor directory", m.Name)
	case m.mode.IsDir() != m.IsDir():
		return bad("entry %.100q is a directory by its mode but not by its name", m.Name)
	case m.IsDir() && m.Size > 0:
		return bad("entry %.100q is a directory with content", m.Name)
	case m.flags&encrypted != 0:
		return bad("entry %.100q is encrypted", m.Name)
	case m.method != zip.Store && m.method != zip.Deflate:
		return bad("entry %.100q: compression method %d is not supported", m.Name, m.method)
	}
	return nil
}
