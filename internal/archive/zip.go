package archive

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/internal/fault"
)

// Zip is a zip archive whose directory has been read and found acceptable. Its
// methods may be called concurrently if the reader allows it.
type Zip struct {
	entries  []Entry
	files    []*zip.File // same indices
	unpacked int64
	inflate  inflaters
}

// OpenZip reads the directory of the zip archive in the first size bytes of r. It
// reads no content, but compares the header before each entry's content with that in the
// directory. r must stay open and unchanged while the Zip is used.
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
	dir, err := findDirectory(r, size)
	if err != nil {
		return nil, err
	}
	locals, err := dir.check(r, limits)
	if err != nil {
		return nil, err
	}
	zr, err := zip.NewReader(r, size)
	if err != nil {
		return nil, damaged(err)
	}
	if uint64(len(zr.File)) != dir.entries {
		return nil, bad("%d entries, %d are announced", len(zr.File), dir.entries)
	}
	var z Zip
	zr.RegisterDecompressor(zip.Deflate, z.inflate.open)
	if err := z.admit(zr.File, limits, skip); err != nil {
		return nil, err
	}
	for i, f := range zr.File {
		if ctx.Err() != nil {
			return nil, fault.Ended(ctx)
		}
		if err := checkLocal(r, locals[i], f); err != nil {
			return nil, err
		}
	}
	if err := z.disjoint(dir.offset); err != nil {
		return nil, err
	}
	return &z, nil
}

// Entries returns the entries in the order of the archive's directory. The caller
// must not change them.
func (z *Zip) Entries() []Entry { return z.entries }

// Unpacked returns the number of bytes that the content has in all.
func (z *Zip) Unpacked() int64 { return z.unpacked }

// admit fills z, if each of the files and all together are acceptable.
func (z *Zip) admit(files []*zip.File, limits Limits, skip func(string)) error {
	set := names{limits: limits}
	z.files, z.entries = make([]*zip.File, 0, len(files)), make([]Entry, 0, len(files))
	for _, f := range files {
		if err := set.add(f.Name); err != nil {
			return err
		}
		if skip != nil && f.Mode()&fs.ModeSymlink != 0 {
			skip(f.Name)
			continue
		}
		if err := admitFile(f); err != nil {
			return err
		}
		size := f.UncompressedSize64
		if size > uint64(limits.Unpacked-z.unpacked) {
			return tooLarge("its content has more than %d bytes", limits.Unpacked)
		}
		z.unpacked += int64(size)
		z.files = append(z.files, f)
		z.entries = append(z.entries, Entry{Name: f.Name, Size: int64(size), Exec: f.Mode()&0o111 != 0})
	}
	if len(files) == 0 {
		return bad("it has no entries")
	}
	return nil
}

// admitFile checks what is neither name nor size.
func admitFile(f *zip.File) error {
	mode, dir := f.Mode(), strings.HasSuffix(f.Name, "/")
	switch {
	case mode&fs.ModeSymlink != 0, f.ExternalAttrs>>28 == 0xa:
		// The latter is a link's Unix mode, said to come from another system: some
		// readers believe the mode.
		return isLink(f.Name)
	case mode&^(fs.ModePerm|fs.ModeDir|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return bad("entry %.100q is neither file nor directory", f.Name)
	case mode.IsDir() != dir:
		return bad("entry %.100q is a directory by its mode but not by its name", f.Name)
	case dir && f.UncompressedSize64 > 0:
		return bad("entry %.100q is a directory with content", f.Name)
	case f.Flags&encrypted != 0:
		return bad("entry %.100q is encrypted", f.Name)
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return bad("entry %.100q: compression method %d is not supported", f.Name, f.Method)
	}
	return nil
}

const (
	localSig = "PK\x03\x04"
	localLen = 30

	encrypted  = 1 << 0 // flags
	descriptor = 1 << 3
)

// checkLocal compares the header before the content of f, which lies at offset at, with
// that of the directory. Some readers go by the one and some by the other.
func checkLocal(r io.ReaderAt, at int64, f *zip.File) error {
	if at < 0 {
		return bad("entry %.100q: no place for its content", f.Name)
	}
	header := make([]byte, localLen+len(f.Name))
	if err := readAt(r, header, at); err != nil {
		return err
	}
	le := binary.LittleEndian
	flags := le.Uint16(header[6:])
	switch {
	case string(header[:4]) != localSig:
		return bad("entry %.100q: no header before its content", f.Name)
	case int(le.Uint16(header[26:])) != len(f.Name) || string(header[localLen:]) != f.Name:
		return bad("entry %.100q has another name before its content", f.Name)
	case le.Uint16(header[8:]) != f.Method || flags&encrypted != f.Flags&encrypted:
		return bad("entry %.100q is said to be packed in two ways", f.Name)
	}
	extra := make([]byte, le.Uint16(header[28:]))
	if err := readAt(r, extra, at+int64(len(header))); err != nil {
		return err
	}
	for _, fields := range [][]byte{f.Extra, extra} {
		if err := checkExtra(fields, f.Name); err != nil {
			return err
		}
	}
	// With a descriptor, size and checksum follow the content.
	if flags&descriptor == 0 && (le.Uint32(header[14:]) != f.CRC32 || !sameSizes(header, extra, f)) {
		return bad("entry %.100q has two sizes or checksums", f.Name)
	}
	return nil
}

// checkExtra checks the extra fields of a header of the entry with this name.
func checkExtra(fields []byte, name string) error {
	if _, err := extraField(fields, zip64Extra); err != nil {
		return err
	}
	// Some readers go by this field, which is a CRC and the name in UTF-8.
	path, err := extraField(fields, unicodePathExtra)
	if err != nil {
		return err
	}
	if path != nil && (len(path) < 5 || string(path[5:]) != name) {
		return bad("entry %.100q has another name in an extra field", name)
	}
	return nil
}

// sameSizes reports whether the header before the content of f, with these extra fields,
// gives the sizes that f has.
func sameSizes(header, fields []byte, f *zip.File) bool {
	const elsewhere = 0xffffffff
	le := binary.LittleEndian
	packed, size := uint64(le.Uint32(header[18:])), uint64(le.Uint32(header[22:]))
	field, _ := extraField(fields, zip64Extra)
	if field == nil || packed != elsewhere && size != elsewhere {
		// When it copies large entries, archive/zip leaves the field out.
		return packed == min(f.CompressedSize64, elsewhere) && size == min(f.UncompressedSize64, elsewhere)
	}
	// By the book the field has both sizes. Some readers take both, others only those that
	// are not in the header, one after the other: the two must see the same.
	if len(field) < 8 || size != elsewhere {
		return false
	}
	size = le.Uint64(field)
	if len(field) >= 16 {
		second := le.Uint64(field[8:])
		if packed == elsewhere {
			packed = second
		}
		if packed != second {
			return false
		}
	}
	return packed == f.CompressedSize64 && size == f.UncompressedSize64
}

// disjoint makes sure that no byte of the archive is content twice. Otherwise a
// few kilobytes could stand for any number of bytes within the limits, and what
// one entry holds would depend on who reads it.
func (z *Zip) disjoint(end int64) error {
	type span struct {
		from, to int64
		name     string
	}
	spans := make([]span, 0, len(z.files))
	for _, f := range z.files {
		from, err := f.DataOffset()
		if err != nil {
			return damaged(err)
		}
		// Both numbers come from headers: compare them before adding.
		if from > end || f.CompressedSize64 > uint64(end-from) {
			return bad("entry %.100q reaches beyond the content", f.Name)
		}
		spans = append(spans, span{from, from + int64(f.CompressedSize64), f.Name})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to {
			return bad("entries %.100q and %.100q share content", spans[i-1].name, spans[i].name)
		}
	}
	return nil
}
