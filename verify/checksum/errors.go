package checksum

import (
	"errors"

	"github.com/tofureg/tofureg/internal/fault"
)

var (
	// ErrMismatch: the bytes are not as described. Every [*MismatchError] and [*SizeError] is
	// an ErrMismatch.
	ErrMismatch = errors.New("checksum mismatch")

	// ErrIrregular: a directory has a symbolic link or another irregular file.
	ErrIrregular = errors.New("irregular file")

	// ErrArchive: an archive is damaged, or must not be unpacked.
	ErrArchive = fault.ErrArchive

	// ErrTooLarge: a limit is exceeded.
	ErrTooLarge = fault.ErrTooLarge
)
