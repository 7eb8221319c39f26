// Package bucket has what the stores and the fetchers of modules in different object stores share.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"strings"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ContentType returns the media type of an object for clients that read the bucket. Network clients require it
// for documents.
func ContentType(name string) string {
	switch path.Ext(name) {
	case ".json":
		return "application/json"
	case ".zip":
		return "application/zip"
	}
	return "application/octet-stream"
}

// Object is an entry of a list. Its JSON is that of Google Cloud Storage.
type Object struct {
	Name       string
	Size       int64  `json:",string"` // in bytes
	Generation string // empty if the bucket has none
}

// maxEmptyPages limits the pages of a list without an object.
const maxEmptyPages = 100

// Download writes the listed objects into dir, a directory, without prefix in their names. The error wraps
// [module.ErrNotFound] if there is none, and [module.ErrChanged] if an object has another size than in the list.
func Download(ctx context.Context, dir, prefix string, limits checksum.Limits, pages iter.Seq2[[]Object, error], open func(Object) (io.ReadCloser, error)) error {
	root, err := fsx.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left, entries, files, empty := limits.Unpacked, 0, 0, 0
	names := archive.NewNames(archive.Limits(limits), true)
	for page, err := range pages {
		if err != nil {
			return fmt.Errorf("list %q: %w", prefix, err)
		}
		if len(page) == 0 {
			if empty++; empty > maxEmptyPages {
				return fmt.Errorf("%w: more than %d empty pages in the list of %q", failure.ErrTooLarge, maxEmptyPages, prefix)
			}
		}
		for _, o := range page {
			if ctx.Err() != nil {
				return fault.Ended(ctx)
			}
			if entries++; entries > limits.Entries {
				return fmt.Errorf("%w: more than %d objects", failure.ErrTooLarge, limits.Entries)
			}
			name, ok := strings.CutPrefix(o.Name, prefix)
			if !ok {
				return fmt.Errorf("the list of %q has the object %.200q", prefix, o.Name)
			}
			if name == "" {
				continue // placeholder of the directory
			}
			if err := names.Add(name); err != nil {
				return fmt.Errorf("object %.200q: %w", o.Name, err)
			}
			if strings.HasSuffix(name, "/") {
				continue // placeholder of a directory
			}
			if left -= max(0, o.Size); left < 0 {
				return fmt.Errorf("%w: more than %d bytes in total", failure.ErrTooLarge, limits.Unpacked)
			}
			if err := write(ctx, root, name, o, open); err != nil {
				return fmt.Errorf("object %.200q: %w", o.Name, fault.Printable(err))
			}
			files++
		}
	}
	if files == 0 {
		return fmt.Errorf("%q: %w", prefix, module.ErrNotFound)
	}
	return nil
}

// write writes one object. Names cannot leave the root.
func write(ctx context.Context, root *os.Root, name string, o Object, open func(Object) (io.ReadCloser, error)) error {
	body, err := open(o)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, io.LimitReader(archive.Until(ctx, body), o.Size+1))
	if err == nil && n != o.Size {
		err = fmt.Errorf("it is at least %d bytes, want %d: %w", n, o.Size, module.ErrChanged)
	}
	return errors.Join(err, file.Close())
}
