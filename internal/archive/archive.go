// Package archive reads untrusted archives within limits. Reading takes bounded memory and time. The files are the
// same on every operating system and stay below one directory.
//
//	z, err := archive.OpenZip(ctx, r, size, archive.Options{})
//	files, err := z.Unpack(ctx, root)
//
// An archive is refused before anything is written, except by [UnpackAhead] and [UnpackTar], if it
// contains
//
//   - a name that is empty, absolute, too long or not UTF-8, or that has a backslash, a colon, a
//     control character, an empty, "." or ".." element, one of more than 255 bytes, or one that
//     Windows reserves or changes
//   - two names that are equal, or equal on some file system: apart from case, canonically
//     equivalent forms of Unicode or invisible characters; or a file where another entry needs a
//     directory
//   - a name with more than 30 accents and other marks on one letter
//   - a link, device, pipe or socket
//   - encrypted content, or a compression other than stored and deflated
//   - a directory of entries that is not where the archive says, or with another number of entries
//   - entries that share bytes, or an entry that the directory does not list
//   - a second directory or end, or bytes after the end that are not its comment
//   - a zip entry with two names, methods, sizes or checksums: in the directory, before or after
//     the content, or in extra fields
//   - more entries, longer names or more content than [Limits] allow
//
// [Options.Native] permits names that this system keeps, though others do not.
//
// The characters < > | ? * and " are accepted: real module packages have them, and Windows refuses
// to create such files.
//
// Content that differs from its announced size or checksum is an error.
//
// Every refusal wraps failure.ErrTooLarge or failure.ErrArchive. Errors of the underlying reader are
// returned unchanged.
package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive/inflate"
	"github.com/tofureg/tofureg/internal/fault"
)

// Limits bound the cost of reading an archive. In each field zero means the default and a negative
// number no limit. All names, with the targets of kept links, may have 160 bytes per entry of Entries
// together, but at least 1 MiB.
type Limits struct {
	Package  int64 // bytes of the archive; default 8 GiB
	Unpacked int64 // bytes of its content; default 16 GiB
	Entries  int   // files and directories, with implied directories; default 100,000
	NameLen  int   // bytes of one name; default 1,024
}

// Effective returns l with the defaults for zeros and the maximum number for negative ones.
func (l Limits) Effective() Limits {
	return Limits{
		Package:  effective(l.Package, 8<<30, math.MaxInt64),
		Unpacked: effective(l.Unpacked, 16<<30, math.MaxInt64),
		Entries:  effective(l.Entries, 100_000, math.MaxInt),
		NameLen:  effective(l.NameLen, 1024, math.MaxInt),
	}
}

func effective[T int | int64](n, byDefault, unlimited T) T {
	if n < 0 {
		return unlimited
	}
	return cmp.Or(n, byDefault)
}

// Options are the options of reading and unpacking.
type Options struct {
	Limits Limits

	// Exec, if not nil, reports whether a file becomes executable although its entry is not.
	Exec func(name string) bool

	// Omit, if not nil, reports whether an entry is omitted; link tells that it is a symbolic
	// link that is not kept. Only the name of an omitted entry is checked. An archive with links
	// that are neither kept nor omitted is refused.
	Omit func(name string, link bool) bool

	// KeepLinks keeps the symbolic links of a tar that lead to a place in the archive, even a missing
	// one. Omit is called again for each other one, after all other entries.
	KeepLinks bool

	// Native permits names that Windows reserves or changes, also with a colon, and names that differ
	// in case only. If the system does not keep them as they are, unpacking fails.
	Native bool

	// Lenient applies rules of [UnpackTar] to a zip: a directory may occur twice, a leading "./" of
	// names is dropped, and entries for the root itself are ignored.
	Lenient bool

	// Xz decompresses xz, as NewReader of package [github.com/tofureg/tofureg/internal/archive/xz]. If nil, tar.xz is
	// refused.
	Xz func(io.Reader) (io.Reader, error)

	// Write is added to the modes 644 and 755 of files and directories: 0o022 lets the umask alone decide who may write.
	Write fs.FileMode
}

// Entry is a file or directory of an archive, as its header describes it.
type Entry struct {
	Name string // slash-separated; the name of a directory ends in a slash
	Size int64  // bytes of the content
	Exec bool   // whether the file is executable
}

// IsDir reports whether e is a directory.
func (e Entry) IsDir() bool { return e.Name[len(e.Name)-1] == '/' }

// File is an entry whose content has been read.
type File struct {
	Entry
	Sum    [sha256.Size]byte // SHA-256 of the content, which is empty for a directory
	Target string            // of a symbolic link, with slashes
}

// Sums yields the names and checksums of the files, and of the directories if directories is set.
func Sums(files []File, directories bool) iter.Seq2[string, [sha256.Size]byte] {
	return func(yield func(string, [sha256.Size]byte) bool) {
		for _, f := range files {
			if (directories || !f.IsDir()) && !yield(f.Name, f.Sum) {
				return
			}
		}
	}
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{failure.ErrArchive}, args...)...)
}

func tooLarge(format string, args ...any) error {
	return fmt.Errorf("archive %w: "+format, append([]any{failure.ErrTooLarge}, args...)...)
}

// ErrLink: the archive has a symbolic link. It wraps failure.ErrArchive.
var ErrLink = fault.Narrow(failure.ErrArchive.Error(), failure.ErrArchive)

func isLink(name, kind string) error {
	return fmt.Errorf("%w: entry %.100q is a symbolic link%s", ErrLink, name, kind)
}

// damaged converts errors about invalid data to failure.ErrArchive. It returns other errors, such as
// errors of the disk, unchanged.
func damaged(err error) error {
	switch {
	case err == nil, errors.Is(err, failure.ErrArchive), errors.Is(err, failure.ErrTooLarge):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return bad("unexpected end of the archive")
	case errors.Is(err, inflate.ErrCorrupt):
		return bad("%w", err)
	}
	return err
}

// Until returns a reader of r that fails with [fault.Ended] when ctx ends.
func Until(ctx context.Context, r io.Reader) io.Reader { return until{ctx, r} }

type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, fault.Ended(u.ctx)
	}
	return u.r.Read(p)
}

// untilAt is the same for an [io.ReaderAt].
type untilAt struct {
	ctx context.Context
	r   io.ReaderAt
}

func (u untilAt) ReadAt(p []byte, off int64) (int, error) {
	if u.ctx.Err() != nil {
		return 0, fault.Ended(u.ctx)
	}
	return u.r.ReadAt(p, off)
}
