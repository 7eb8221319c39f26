package archive

import (
	"archive/zip"
	"context"
	"io"
	"os"
	"strings"
)

// Options for unpacking. The zero value works.
type Options struct {
	// Sync has all files written through to the disk, several at the same time.
	// What makes their names durable is left to the caller.
	Sync bool

	// Exec, if not nil, reports which files are made executable although their entries are not.
	Exec func(name string) bool

	// Skip is told the name of each symbolic link in a tar, which is then left
	// out; nil: an archive with links is refused. For a zip see [OpenZipSkip].
	Skip func(name string)
}

// Hash reads all content and returns each entry with its checksum, in the order of
// the archive.
func (z *Zip) Hash(ctx context.Context) ([]File, error) {
	c := newCopier(ctx)
	defer c.release()
	return z.each(func(m *member) (File, error) { return z.read(m, c, nil) })
}

// Unpack writes the content below root and returns each entry with the checksum of
// what was written, in the order of the archive: content is inflated once. It
// creates everything itself, with mode 0755 for directories and executable files
// and 0644 for others (less the umask), and stops at the first file or directory
// that is there already, so root should be empty and nobody else's. Other mode
// bits, times and owners are not restored.
//
// After an error some of the content has been written; the caller removes it.
func (z *Zip) Unpack(ctx context.Context, root *os.Root, o Options) ([]File, error) {
	t := newTree(ctx, root, o)
	defer t.release()
	return t.settle(z.each(func(m *member) (File, error) { return z.unpack(m, t) }))
}

// each collects what do makes of each entry.
func (z *Zip) each(do func(m *member) (File, error)) ([]File, error) {
	files := make([]File, 0, len(z.members))
	for _, m := range z.members {
		f, err := do(m)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// unpack writes m.
func (z *Zip) unpack(m *member, t *tree) (File, error) {
	if !m.IsDir() {
		return t.file(m.Entry, func(w io.Writer) (File, error) { return z.read(m, t.copier, w) })
	}
	if err := t.mkdir(strings.TrimSuffix(m.Name, "/")); err != nil {
		return File{}, err
	}
	return z.read(m, t.copier, nil)
}

// read reads m to its end, into w if that is not nil, and hashes it.
func (z *Zip) read(m *member, c *copier, w io.Writer) (File, error) {
	packed := Until(c.ctx, io.NewSectionReader(z.r, m.start, m.packed))
	var got content
	var err error
	if m.method == zip.Store {
		got, err = c.entry(w, packed, m.Entry)
	} else {
		got, err = z.inflateEntry(w, packed, m.Entry, c)
	}
	if err == nil && got.crc != m.crc {
		err = bad("entry %.100q: wrong checksum", m.Name)
	}
	return File{Entry: m.Entry, Sum: got.sum}, err
}

func (z *Zip) inflateEntry(w io.Writer, packed io.Reader, e Entry, c *copier) (content, error) {
	in := newInflater(packed)
	defer in.release()
	got, err := c.entry(w, in, e)
	if err != nil {
		return got, err
	}
	// Who goes from header to header could find another entry there.
	more, err := in.rest()
	if err == nil && more {
		err = bad("entry %.100q: data after the end of its content", e.Name)
	}
	return got, err
}
