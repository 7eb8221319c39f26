// Package archive reads archives that come from a stranger. Whatever an archive
// claims, reading it takes bounded memory and time, and what it holds becomes the same
// files below one directory on every operating system. Windows has no files with < > | ? *
// or " in their names and says so when one is written. Such names pass here: repositories
// of modules have them, and they are no other file anywhere.
//
// An archive is refused whole, before anything of it is written (but for what
// [UnpackAhead] has written before there was a whole), if it holds
//
//   - a name that is empty, absolute, too long or not UTF-8, that has an empty, "."
//     or ".." element or one of more than 255 bytes, a backslash, a colon (drive
//     letters, NTFS streams) or a control character, or an element that Windows
//     reserves or alters
//   - two names that are the same, or that some file system takes for the same: but for
//     case, for forms that Unicode calls canonically equivalent, or for characters that
//     are not to be seen; or a file where another entry needs a directory
//   - a name with more than 30 accents and other marks on one letter
//   - a link, device, pipe or socket
//   - encrypted content, or a compression other than stored and deflated
//   - entries that share bytes, or a directory of entries that is not where the
//     archive says, or that has more or fewer entries than the archive says
//   - a zip entry with two names, methods, sizes or checksums: one in the directory and
//     another one before or after the content, or in an extra field of either, or one in
//     each of two such fields
//   - in the bytes of a zip that belong to none of the entries in its directory, another
//     entry
//   - more entries, longer names or more content than [Limits] allow
//
// Sizes are counted again while content is inflated: a file that turns out longer
// or shorter than its header says is an error, as is a wrong checksum.
//
// Every refusal wraps fault.ErrTooLarge or fault.ErrArchive. Errors of the
// underlying reader are passed on and wrap neither.
package archive

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"math"

	"github.com/tofureg/tofureg/internal/fault"
)

// Limits bound what an archive may cost. In each field zero means the default and
// a negative number no limit. All names together may have 160 bytes for each of Entries, and
// a megabyte in any case.
type Limits struct {
	Package  int64 // bytes of the archive; default 8 GiB
	Unpacked int64 // bytes of all its content; default 16 GiB
	Entries  int   // files and directories, implied ones included; default 100,000
	NameLen  int   // bytes of one name; default 1,024
}

// Effective returns l with the defaults in place of zeros, and with the largest
// number there is in place of negative ones.
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

// Entry is one member of an archive, as its header describes it.
type Entry struct {
	Name string // slash-separated; that of a directory ends in a slash
	Size int64  // of the content in bytes
	Exec bool   // the file is meant to be executable
}

// IsDir reports whether e is a directory.
func (e Entry) IsDir() bool { return e.Name[len(e.Name)-1] == '/' }

// File is an entry whose content has been read to its end.
type File struct {
	Entry
	Sum [sha256.Size]byte // SHA-256 of the content; of nothing for a directory
}

// Sums yields the names and sums of the files, and of the directories if they are wanted.
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
	return fmt.Errorf("%w: "+format, append([]any{fault.ErrArchive}, args...)...)
}

func tooLarge(format string, args ...any) error {
	return fmt.Errorf("archive %w: "+format, append([]any{fault.ErrTooLarge}, args...)...)
}
