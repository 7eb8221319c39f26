package checksum

import (
	"errors"

	"github.com/tofureg/tofureg/internal/fault"
)

var (
	ErrMismatch  = errors.New("checksum mismatch") // [*MismatchError] or [*SizeError]
	ErrIrregular = errors.New("irregular file")    // a directory has a link or another irregular file
	ErrArchive   = fault.ErrArchive                // an archive is damaged, or must not be unpacked
	ErrTooLarge  = fault.ErrTooLarge               // a limit is exceeded
)
