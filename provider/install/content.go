package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// H1 reads the directory of the package and returns its h1. The error wraps
// [checksum.ErrIrregular] for anything but files and directories.
func (p *Package) H1(ctx context.Context) (checksum.Hash, error) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return checksum.Hash{}, err
	}
	defer root.Close()
	return checksum.H1Dir(ctx, fsx.Tree(ctx, root))
}

// openFile opens a regular file. It fails if the file was replaced after the directory was listed.
func openFile(root *os.Root, name string) (*os.File, error) {
	f, err := fsx.OpenRegularIn(root, name)
	if errors.Is(err, fsx.ErrNotAFile) {
		err = irregular(name)
	}
	return f, err
}

func irregular(name string) error {
	return fmt.Errorf("%w: %.200q is neither file nor directory", checksum.ErrIrregular, name)
}

// copyHashed copies r to w and returns the checksum of the content.
func copyHashed(ctx context.Context, w io.Writer, r io.Reader) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(w, h), archive.Until(ctx, r))
	return [sha256.Size]byte(h.Sum(nil)), err
}
