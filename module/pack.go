package module

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A pack is a package in the stage, or one that is reused, at the target.
type pack struct {
	root   *os.Root
	h1     checksum.Hash
	reused bool
}

// fill makes a package of what unpack writes.
func (j *job) fill(unpack func(root *os.Root) ([]archive.File, error)) (*pack, error) {
	root, err := j.stage.tree()
	if err != nil {
		return nil, err
	}
	j.report.Skipped = nil
	files, err := unpack(root)
	if err == nil {
		files, err = withoutControl(root, files)
	}
	if err == nil {
		err = refuseRepository(root)
	}
	if err == nil {
		var h1 checksum.Hash
		if h1, err = checksum.H1Sum(archive.Sums(files, false)); err == nil {
			return &pack{root: root, h1: h1}, nil
		}
	}
	root.Close()
	return nil, hinted(err)
}

// plainTar unpacks a tar that was made on this machine. Its own size is not limited, the
// size of its content is.
func (j *job) plainTar(ctx context.Context, r io.Reader, root *os.Root) ([]archive.File, error) {
	limits := archive.Limits(j.limits)
	limits.Package = -1
	return archive.UnpackTar(ctx, r, archive.FormatTar, root, limits, archive.Options{Skip: j.skipper()})
}

// hinted tells what to do about a link.
func hinted(err error) error {
	if errors.Is(err, ErrLink) {
		return fmt.Errorf("%w; Options.SkipLinks would leave it out", err)
	}
	return err
}

// maxSkipped bounds the list in a report.
const maxSkipped = 1000

// skip notes what is left out.
func (j *job) skip(name string) {
	if len(j.report.Skipped) < maxSkipped {
		j.report.Skipped = append(j.report.Skipped, name)
	}
}

// skipper is skip if links may be left out, otherwise nil.
func (j *job) skipper() func(string) {
	if !j.o.SkipLinks {
		return nil
	}
	return j.skip
}
