package mirrordir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/provider"
)

// Mirror is a mirror of providers in a [Storage]. It is a [provider.Source] of the
// packages that it holds. Set the fields before the first call; after it a Mirror is safe
// for concurrent use.
type Mirror struct {
	// Storage is where the mirror is. It must not be nil.
	Storage Storage

	// TempDir is the directory in which archives are received and read if Storage is not
	// [Local]. If empty, that of [os.TempDir] is used. A Local storage receives archives
	// where they will stay.
	TempDir string
}

var _ provider.Source = (*Mirror)(nil)

// Open returns the mirror in a local directory. It does not look into it; an empty one
// is a mirror without providers. The error wraps [fs.ErrNotExist] if there is no such
// directory: a misspelled name must not pass for a mirror that holds nothing.
func Open(dir string) (*Mirror, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	info, err := os.Stat(full)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: full, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	return &Mirror{Storage: &Directory{Path: full}}, nil
}

// failed makes the error of a job.
func failed(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	return &provider.Error{Op: op, Subject: subject, Err: err}
}
