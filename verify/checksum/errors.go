package checksum

import (
	"errors"

	"github.com/tofureg/tofureg/internal/fault"
)

var (
	// ErrMismatch means that bytes are not the ones that were described: every
	// [*MismatchError] and [*SizeError] is an ErrMismatch.
	ErrMismatch = errors.New("checksum mismatch")

	// ErrIrregular means that a directory holds a symbolic link or another thing
	// that is neither a file nor a directory.
	ErrIrregular = errors.New("irregular file")

	// ErrArchive means that an archive is damaged, or holds what must not be unpacked.
	ErrArchive = fault.ErrArchive

	// ErrTooLarge means that something exceeds its limit.
	ErrTooLarge = fault.ErrTooLarge
)
