package mirrordir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/provider"
)

// Mirror is a mirror in a [Storage], and a [provider.Source]. Set the fields before the first call.
// After it a Mirror is safe for concurrent use.
type Mirror struct {
	// Storage contains the files. It must not be nil.
	Storage Storage

	// TempDir is the directory for temporary copies if Storage is not [Local]. If empty,
	// [os.TempDir] is used.
	TempDir string
}

var _ provider.Source = (*Mirror)(nil)

// Open returns the mirror in a local directory. If it is missing, the error wraps [fs.ErrNotExist].
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

// failed returns err as a provider.Error.
func failed(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	return &provider.Error{Op: op, Subject: subject, Err: err}
}
