package checksum

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/scheme"
)

// Limits bound the cost of reading an archive. Zero is the default, negative no limit. All names together may have 160
// bytes for each of Entries, at least 1 MiB. Beyond a limit, the error is
// [github.com/tofureg/tofureg/failure.ErrTooLarge].
type Limits struct {
	Package  int64 // bytes of the archive; default 8 GiB
	Unpacked int64 // bytes of all files; default 16 GiB
	Entries  int   // files and directories, also implied ones; default 100,000
	NameLen  int   // bytes of one name; default 1,024
}

// Effective returns l with defaults for zeros and the maximum for negative numbers.
func (l Limits) Effective() Limits { return Limits(archive.Limits(l).Effective()) }

// ZHSum returns the zh for the SHA-256 of an archive.
func ZHSum(sum [32]byte) Hash {
	text := make([]byte, 0, len(SchemeZH)+1+64)
	text = append(text, SchemeZH+":"...)
	return Hash{string(hex.AppendEncode(text, sum[:]))}
}

// Digests are the size of an archive and its hashes, computed by a [Digester], now or earlier. Either is useless
// without the other.
type Digests struct {
	Size   int64  `json:"size"`   // bytes; negative if it was not recorded
	Hashes []Hash `json:"hashes"` // of the bytes, such as the zh, and the h1 if computed
}

// ZH returns the zh, or the zero Hash if it was not computed.
func (d Digests) ZH() Hash {
	for _, h := range d.Hashes {
		if h.Scheme() == SchemeZH {
			return h
		}
	}
	return Hash{}
}

// A Digester computes [Digests] of the bytes written to it, by every known scheme over bytes. The zero Digester is
// ready for use.
type Digester struct {
	size int64
	sums []hash.Hash // of scheme.Archive, in its order
}

func (d *Digester) start() {
	for _, s := range scheme.Archive[len(d.sums):] {
		d.sums = append(d.sums, s.New())
	}
}

// Write never fails.
func (d *Digester) Write(p []byte) (int, error) {
	d.start()
	for _, sum := range d.sums {
		sum.Write(p)
	}
	d.size += int64(len(p))
	return len(p), nil
}

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// ReadFrom implements [io.ReaderFrom].
func (d *Digester) ReadFrom(r io.Reader) (int64, error) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{d}, r, buf[:])
}

// Digests returns the digests so far, without an h1.
func (d *Digester) Digests() Digests {
	d.start()
	all := Digests{Size: d.size}
	for i, s := range scheme.Archive {
		all.Hashes = append(all.Hashes, Hash{s.Name + ":" + hex.EncodeToString(d.sums[i].Sum(nil))})
	}
	return all
}

// ZH reads r to its end and returns the zh.
func ZH(ctx context.Context, r io.Reader) (Hash, error) {
	var d Digester
	if _, err := d.ReadFrom(archive.Until(ctx, r)); err != nil {
		return Hash{}, err
	}
	return d.Digests().ZH(), nil
}

// digest reads r to its end.
func digest(ctx context.Context, r io.Reader) (sum [32]byte, err error) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	// Hide other methods of the hash, which would use a smaller buffer.
	_, err = io.CopyBuffer(struct{ io.Writer }{h}, archive.Until(ctx, r), buf[:])
	return [32]byte(h.Sum(nil)), err
}

func h1Sum(files iter.Seq2[string, [32]byte]) (Hash, error) {
	value, err := scheme.H1(files)
	if err != nil {
		return Hash{}, err
	}
	return Hash{SchemeH1 + ":" + value}, nil
}

// H1Zip returns both h1 hashes of the zip archive in the first size bytes of r. packed covers all entries, also of
// directories, as in the CLI. tree covers only files, as [H1Dir] of the unpacked directory.
//
// The error wraps [github.com/tofureg/tofureg/failure.ErrArchive] if the archive is damaged, empty, encrypted or
// ambiguous, or has anything except files and directories with portable names.
func H1Zip(ctx context.Context, r io.ReaderAt, size int64, l Limits) (packed, tree Hash, err error) {
	z, err := archive.OpenZip(ctx, r, size, archive.Options{Limits: archive.Limits(l)})
	if err != nil {
		return Hash{}, Hash{}, fmt.Errorf("h1: %w", err)
	}
	files, err := z.Hash(ctx)
	if err != nil {
		return Hash{}, Hash{}, fmt.Errorf("h1: %w", err)
	}
	packed, err = h1Sum(archive.Sums(files, true))
	if err == nil {
		tree, err = h1Sum(archive.Sums(files, false))
	}
	return packed, tree, err
}

// H1Dir returns the h1 of the files in fsys: the SHA-256 of a line for each file, sorted by name, with its SHA-256 in
// lower-case hex, two spaces, and its slash-separated name. See golang.org/x/mod/sumdb/dirhash.
//
// If other users can write to the directory, use the FS of an [os.Root]. The error wraps [ErrIrregular] for anything
// except files and directories.
func H1Dir(ctx context.Context, fsys fs.FS) (Hash, error) {
	sums, _, err := sumDir(ctx, fsys, false)
	if err != nil {
		return Hash{}, fmt.Errorf("h1: %w", err)
	}
	return h1Sum(maps.All(sums))
}

// L1Dir is [H1Dir] for a directory that may have symbolic links, which it does not follow. Without links it returns the
// h1, otherwise an l1: an h1 with a line for each link, with the SHA-256 of its target, and its name with a slash at
// the end. Only this module knows the scheme. fsys must implement [fs.ReadLinkFS].
func L1Dir(ctx context.Context, fsys fs.FS) (Hash, error) {
	sums, linked, err := sumDir(ctx, fsys, true)
	if err != nil {
		return Hash{}, fmt.Errorf("l1: %w", err)
	}
	h, err := h1Sum(maps.All(sums))
	if linked && err == nil {
		h.s = scheme.L1 + strings.TrimPrefix(h.s, SchemeH1)
	}
	return h, err
}

// sumDir returns the SHA-256 of each file, and if links is set, of the target of each link under its
// name with a slash.
func sumDir(ctx context.Context, fsys fs.FS, links bool) (sums map[string][32]byte, linked bool, err error) {
	sums = map[string][32]byte{}
	err = fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fault.Ended(ctx)
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case links && d.Type() == fs.ModeSymlink:
			target, err := fs.ReadLink(fsys, path)
			sums[path+"/"] = sha256.Sum256([]byte(filepath.ToSlash(target)))
			linked = true
			return err
		case !d.Type().IsRegular():
			return irregular(path, d.Type())
		}
		sums[path], err = hashRegular(ctx, fsys, path)
		return err
	})
	return sums, linked, fault.Printable(err)
}

// hashRegular hashes a file. It returns an error if the file was replaced after the directory
// was listed.
func hashRegular(ctx context.Context, fsys fs.FS, name string) (sum [32]byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = irregular(name, fi.Mode().Type())
	}
	if err != nil {
		return sum, err
	}
	return digest(ctx, f)
}

func irregular(name string, mode fs.FileMode) error {
	kind := "neither a file nor a directory"
	if mode&fs.ModeSymlink != 0 {
		kind = "a symbolic link"
	}
	return fmt.Errorf("%w: %.200q is %s", ErrIrregular, name, kind)
}
