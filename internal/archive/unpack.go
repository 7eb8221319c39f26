package archive

import (
	"archive/zip"
	"context"
	"io"
	"os"
	"strings"
)

// Options are the options of unpacking.
type Options struct {
	// Sync syncs all files, several at the same time. The caller syncs the directories.
	Sync bool

	// Exec, if not nil, reports whether a file becomes executable although its entry is not.
	Exec func(name string) bool

	// Skip, if not nil, is called with the name of each symbolic link, which is omitted. If
	// nil, an archive with links is refused. Only [UnpackTar] and [OpenZipWith] use it.
	Skip func(name string)

	// AnyCase permits names that differ in case only. If the file system does not keep them
	// apart, unpacking fails. Only [UnpackTar] and [OpenZipWith] use it.
	AnyCase bool
}

// Hash reads all content and returns the entries with their checksums, in the order of the archive.
func (z *Zip) Hash(ctx context.Context) ([]File, error) {
	c := newCopier(ctx)
	defer c.release()
	return z.each(func(m *member) (File, error) { return z.read(m, c, nil) })
}

// Unpack writes the content below root and returns the entries with the checksums of the written
// content, in the order of the archive.
//
// It creates directories and executable files with mode 0755 and other files with mode 0644, less
// the umask. Other mode bits, times and owners are not restored. It fails if a file or directory
// exists, so root should be empty, and other programs must not use it. After an error the caller
// removes the files.
func (z *Zip) Unpack(ctx context.Context, root *os.Root, o Options) ([]File, error) {
	t := newTree(ctx, root, o)
	defer t.release()
	return t.waitForSyncs(z.each(func(m *member) (File, error) { return z.unpack(m, t) }))
}

// each calls do for each entry and collects the results.
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

// read reads and hashes m, and writes it to w if w is not nil.
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
	// A reader that goes from header to header could find another entry there.
	more, err := in.rest()
	if err == nil && more {
		err = bad("entry %.100q: data after the end of its content", e.Name)
	}
	return got, err
}
