package archive

import (
	"archive/zip"
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/internal/archive/inflate"
)

// Zip is a zip archive with a valid directory. Its methods may be called concurrently if the reader
// allows it.
type Zip struct {
	r       io.ReaderAt
	o       Options
	members []*member // in the order of the directory
}

// member is an entry as the directory of a zip archive describes it.
type member struct {
	Entry
	raw        string // as the directory has it, if not Name
	ignored    bool   // the root, or a directory that occurs again
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
func OpenZip(ctx context.Context, r io.ReaderAt, size int64, o Options) (*Zip, error) {
	limits := o.Limits.Effective()
	if size > limits.Package {
		return nil, tooLarge("%d bytes, %d are allowed", size, limits.Package)
	}
	in := untilAt{ctx, r}
	dir, err := findDirectory(in, size)
	if err != nil {
		return nil, err
	}
	all, err := dir.read(in, limits, o)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, bad("it has no entries")
	}
	z := &Zip{r: r, o: o}
	left := limits.Unpacked
	for _, m := range all {
		if o.Omit != nil && o.Omit(m.Name, m.mode&fs.ModeSymlink != 0) {
			continue
		}
		if err := m.check(); err != nil {
			return nil, err
		}
		if m.ignored {
			continue
		}
		if m.Size > left {
			return nil, tooLarge("its content has more than %d bytes", limits.Unpacked)
		}
		left -= m.Size
		z.members = append(z.members, m)
	}
	if err := checkLayout(in, size, dir, all); err != nil {
		return nil, err
	}
	return z, nil
}

// check checks the mode, the flags and the method.
func (m *member) check() error {
	switch {
	case m.mode&fs.ModeSymlink != 0, m.attributes>>28 == 0xa:
		// A Unix mode with another creator system: some readers use it all the same.
		return isLink(m.Name, "")
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

// Hash reads all content and returns the entries with their checksums, in the order of the archive.
func (z *Zip) Hash(ctx context.Context) ([]File, error) {
	c := newCopier(ctx)
	defer c.release()
	files := make([]File, 0, len(z.members))
	for _, m := range z.members {
		got, err := z.read(c, m, nil)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Entry: m.Entry, Sum: got.sum})
	}
	return files, nil
}

// Unpack writes the content below root and returns the entries with the checksums of the written
// content, in the order of the archive.
//
// It creates directories and executable files with mode 0755 and other files with mode 0644, less
// the umask. Other mode bits, times and owners are not restored. It fails if a file or directory
// exists, so root should be empty, and other programs must not use it. After an error the caller
// removes the files.
func (z *Zip) Unpack(ctx context.Context, root *os.Root) ([]File, error) {
	t := newTree(ctx, root, z.o)
	defer t.copier.release()
	return z.unpack(t, nil)
}

// unpack writes the members to t. It only completes the files that are there already, by name.
func (z *Zip) unpack(t *tree, there map[string]aheadFile) ([]File, error) {
	files := make([]File, 0, len(z.members))
	for _, m := range z.members {
		var got content
		var err error
		if was, ok := there[m.Name]; ok {
			got.sum, err = was.sum, t.complete(m.Entry)
		} else if !m.IsDir() {
			got, err = t.file(m.Entry, func(w io.Writer) (content, error) { return z.read(t.copier, m, w) })
		} else if err = t.mkdir(strings.TrimSuffix(m.Name, "/")); err == nil {
			got, err = z.read(t.copier, m, nil)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, File{Entry: m.Entry, Sum: got.sum})
	}
	return files, t.checkKept(files)
}

// An inflater reads deflated data. Inflaters are large, so they are reused.
type inflater struct {
	in  *bufio.Reader
	out *inflate.Reader // of in
}

var inflaters = sync.Pool{New: func() any {
	in := bufio.NewReaderSize(nil, 64<<10)
	return &inflater{in, inflate.NewReader(in)}
}}

// read reads and hashes m, and writes it to w if w is not nil.
func (z *Zip) read(c *copier, m *member, w io.Writer) (got content, err error) {
	packed := Until(c.ctx, io.NewSectionReader(z.r, m.start, m.packed))
	if m.method == zip.Store {
		got, err = c.entry(w, packed, m.Entry)
	} else {
		f := inflaters.Get().(*inflater)
		f.in.Reset(packed)
		f.out.Reset(f.in)
		if got, err = c.entry(w, f.out, m.Entry); err == nil {
			// A reader that goes from header to header could find another entry there.
			if _, err = f.in.ReadByte(); err == nil {
				err = bad("entry %.100q: data after the end of its content", m.Name)
			} else if err == io.EOF {
				err = nil
			}
		}
		f.in.Reset(nil)
		inflaters.Put(f)
	}
	if err == nil && got.crc != m.crc {
		err = bad("entry %.100q: wrong checksum", m.Name)
	}
	return got, err
}
