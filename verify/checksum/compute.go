package checksum

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
)

// Limits bound what reading an archive may cost. In each field zero means the
// default and a negative number no limit; one more than the limit is
// [ErrTooLarge]. All names together may have 160 bytes for each of Entries, and a
// megabyte in any case.
type Limits struct {
	Package  int64 // bytes of the archive; default 8 GiB
	Unpacked int64 // bytes of all files in it; default 16 GiB
	Entries  int   // files and directories in it, also those that names imply; default 100,000
	NameLen  int   // bytes of one name in it; default 1,024
}

// Effective returns l as it is applied: with the defaults in place of zeros, and
// the largest number there is in place of negative ones.
func (l Limits) Effective() Limits { return Limits(archive.Limits(l).Effective()) }

// ZHSum returns the zh of an archive whose SHA-256 was computed elsewhere.
func ZHSum(sum [32]byte) Hash {
	text := make([]byte, 0, len(SchemeZH)+1+64)
	text = append(text, SchemeZH+":"...)
	return Hash{string(hex.AppendEncode(text, sum[:]))}
}

// buffers are what archives are read through.
var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// ZH reads r to its end and returns the zh of the archive that it held: its
// SHA-256. The error is that of r, or that of ctx if this ends before.
func ZH(ctx context.Context, r io.Reader) (Hash, error) {
	sum, err := digest(ctx, r)
	if err != nil {
		return Hash{}, err
	}
	return ZHSum(sum), nil
}

// digest reads r to its end.
func digest(ctx context.Context, r io.Reader) (sum [32]byte, err error) {
	buf := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buf)
	h := sha256.New()
	// The hash may not choose a way of its own, with a smaller buffer.
	_, err = io.CopyBuffer(struct{ io.Writer }{h}, archive.Until(ctx, r), buf[:])
	return [32]byte(h.Sum(nil)), err
}

// H1Sum returns the h1 of the files whose names and SHA-256 sums files yields, in
// any order. It is for programs that hash content while they write it. Names are
// slash-separated and relative. It is an error if one occurs twice, or holds a newline
// or a backslash: no package has such names, see [H1Zip].
//
// The h1 is the SHA-256 of a text with one line for each file, sorted by name:
// the sum in lower-case hex, two spaces, the name. Package
// golang.org/x/mod/sumdb/dirhash defines it.
func H1Sum(files iter.Seq2[string, [32]byte]) (Hash, error) {
	type file struct {
		name string
		sum  [32]byte
	}
	var list []file
	for name, sum := range files {
		if strings.ContainsAny(name, "\n\\") {
			return Hash{}, fmt.Errorf("h1: newline or backslash in the name %.100q", name)
		}
		list = append(list, file{name, sum})
	}
	slices.SortFunc(list, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	var line bytes.Buffer
	h := sha256.New()
	for i, f := range list {
		if i > 0 && f.name == list[i-1].name {
			return Hash{}, fmt.Errorf("h1: %.100q occurs twice", f.name)
		}
		line.Reset()
		fmt.Fprintf(&line, "%x  %s\n", f.sum, f.name)
		h.Write(line.Bytes())
	}
	return Hash{SchemeH1 + ":" + base64.StdEncoding.EncodeToString(h.Sum(nil))}, nil
}

// H1Zip returns both h1 hashes of the zip archive in the first size bytes of r:
// packed covers every entry, directories included, and is what the CLI computes
// of an archive; tree covers the files only, and is what [H1Dir] returns for the
// directory that the archive unpacks to. They are equal if the archive has no
// entries for directories.
//
// An archive that must not be unpacked has no h1: the error wraps [ErrArchive] for
// one that is damaged, that holds links, devices, duplicates, or names that leave
// the directory or are not portable, or in which two programs may find different
// files; [ErrTooLarge] for one beyond l. The content is inflated once; memory does
// not grow with its size. Soon after ctx has ended H1Zip returns its error, however much
// there is still to inflate.
func H1Zip(ctx context.Context, r io.ReaderAt, size int64, l Limits) (packed, tree Hash, err error) {
	z, err := archive.OpenZip(ctx, r, size, archive.Limits(l))
	if err != nil {
		return Hash{}, Hash{}, fmt.Errorf("h1: %w", err)
	}
	files, err := z.Hash(ctx)
	if err != nil {
		return Hash{}, Hash{}, fmt.Errorf("h1: %w", err)
	}
	packed, err = H1Sum(archive.Sums(files, true))
	if err == nil {
		tree, err = H1Sum(archive.Sums(files, false))
	}
	return packed, tree, err
}

// H1Dir returns the h1 of the files in fsys: of an unpacked package, if fsys is
// [os.DirFS] or, where others can write, the FS of an [os.Root]. Empty directories,
// modes and times do not count.
//
// It returns an error that wraps [ErrIrregular] if there is anything else than
// files and directories: the reference client follows symbolic links out of the
// package, and a pipe would block it for ever. A pipe that somebody puts in the place
// of a file after it was listed is refused as well, if fsys can open one without waiting
// for a writer; those of package os wait. It returns the error of ctx soon after that has
// ended.
func H1Dir(ctx context.Context, fsys fs.FS) (Hash, error) {
	sums := map[string][32]byte{}
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fault.Ended(ctx)
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return irregular(path, d.Type())
		}
		sums[path], err = hashRegular(ctx, fsys, path)
		return err
	})
	if err != nil {
		return Hash{}, fmt.Errorf("h1: %w", err)
	}
	return H1Sum(maps.All(sums))
}

// hashRegular hashes a file, unless it has been replaced since the directory was
// listed.
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
	kind := "neither file nor directory"
	if mode&fs.ModeSymlink != 0 {
		kind = "a symbolic link"
	}
	return fmt.Errorf("%w: %.200q is %s", ErrIrregular, name, kind)
}
