// Package bucket has what stores and fetchers of modules need for any object store. It is experimental.
//
//	guard := &bucket.Guard{Check: bucket.HTTPS(false), IsObject: isObject}
//	sdk.HTTPClient = guard.Client(nil)
//	entries, err := bucket.List(ctx, "mirror/dir/", func(token string) (*bucket.Page, error) { … })
//
// Package [github.com/tofureg/tofureg/testkit/storagetest] tests such a store.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ContentType returns the media type of an object, which clients require for documents.
func ContentType(name string) string {
	switch path.Ext(name) {
	case ".json":
		return "application/json"
	case ".zip":
		return "application/zip"
	}
	return "application/octet-stream"
}

// CacheControl returns of(name). If of is nil, a cache asks again for each document, and the bucket decides about
// archives.
func CacheControl(name string, of func(name string) string) string {
	switch {
	case of != nil:
		return of(name)
	case slices.ContainsFunc([]string{".zip", ".tar", ".gz", ".tgz", ".bz2", ".tbz2", ".xz", ".txz", ".zst", ".tzst"}, func(suffix string) bool { return strings.HasSuffix(name, suffix) }):
		return ""
	}
	return "no-cache"
}

// Object is an entry of a list.
type Object struct {
	Name       string // with all prefixes
	Size       int64  // in bytes
	Generation string // empty if none
}

// Page is a part of a list.
type Page struct {
	Objects  []Object // in any order
	Prefixes []string // up to a slash
	More     bool     // another page follows
	Token    string   // of the next page
}

// Limits of lists.
const (
	PageSize = 500     // objects of a page
	MaxPage  = 1 << 20 // bytes of a page or an error

	maxPages   = 250     // of a list
	maxEntries = 100_000 // objects and directories of a directory
	maxName    = 1024    // bytes of a name, with its prefix
)

// pages yields the pages that get returns for tokens, the first one for "". All names have the prefix, and no size is
// negative. An error is the last.
func pages(prefix string, get func(token string) (*Page, error)) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		token := ""
		for range maxPages {
			p, err := get(token)
			if err == nil {
				err = p.check(prefix, token)
			}
			if !yield(p, err) || err != nil || !p.More {
				return
			}
			token = p.Token
		}
		yield(nil, fmt.Errorf("%w: more than %d pages", failure.ErrTooLarge, maxPages))
	}
}

// check looks for what no server may answer.
func (p *Page) check(prefix, token string) error {
	switch {
	case p.More && p.Token == "":
		return errors.New("the list is truncated, but has no token for the next page")
	case p.More && p.Token == token:
		return errors.New("two pages have the same token for the next one")
	}
	for _, o := range p.Objects {
		if !strings.HasPrefix(o.Name, prefix) {
			return fmt.Errorf("the list of %q has the object %.200q", prefix, o.Name)
		}
		if o.Size < 0 {
			return fmt.Errorf("object %.200q has the size %d", o.Name, o.Size)
		}
	}
	for _, name := range p.Prefixes {
		if !strings.HasPrefix(name, prefix) {
			return fmt.Errorf("the list of %q has the prefix %.200q", prefix, name)
		}
	}
	return nil
}

// List returns the entries of a directory, from pages of names with a prefix up to the next slash. More than 250 pages or
// 100,000 entries are [failure.ErrTooLarge].
func List(ctx context.Context, prefix string, get func(token string) (*Page, error)) ([]storage.Entry, error) {
	var entries []storage.Entry
	listed := 0
	seen := map[string]bool{} // a page may repeat a prefix of the page before
	add := func(name string, e storage.Entry) error {
		e.Name = strings.Clone(strings.TrimPrefix(name, prefix)) // not a part of a page
		switch listed++; {
		case listed > maxEntries:
			return fmt.Errorf("%w: more than %d entries", failure.ErrTooLarge, maxEntries)
		case strings.Contains(e.Name, "/"):
			return fmt.Errorf("the list of %q has %.200q, which is in a directory below", prefix, name)
		case len(name) > maxName || !fs.ValidPath(e.Name) || e.Name == ".":
			// No file of a store, such as the empty object that some programs create for a directory.
		case !e.IsDir || !seen[e.Name]:
			seen[e.Name] = seen[e.Name] || e.IsDir
			entries = append(entries, e)
		}
		return nil
	}
	for page, err := range pages(prefix, get) {
		if ctx.Err() != nil {
			return nil, fault.Ended(ctx)
		}
		if err != nil {
			return nil, err
		}
		for _, name := range page.Prefixes {
			if err := add(strings.TrimSuffix(name, "/"), storage.Entry{IsDir: true}); err != nil {
				return nil, err
			}
		}
		for _, o := range page.Objects {
			if err := add(o.Name, storage.Entry{Size: o.Size}); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

// Download writes the objects with a prefix into the directory dir, without the prefix in their names. The
// error wraps [failure.ErrNotFound] if there is none, and [failure.ErrChanged] if an object does not have its
// listed size, and [failure.ErrTooLarge] beyond limits or 250 pages. report, if not nil, gets the bytes of all objects.
func Download(ctx context.Context, dir, prefix string, limits checksum.Limits, report func(progress.Event), get func(token string) (*Page, error), open func(Object) (io.ReadCloser, error)) error {
	meter := &progress.Meter{Report: report}
	meter.Start(0)
	root, err := fsx.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left, entries, files := limits.Unpacked, 0, 0
	names := archive.NewNames(archive.Limits(limits), true)
	for page, err := range pages(prefix, get) {
		if err != nil {
			return fmt.Errorf("list %q: %w", prefix, err)
		}
		for _, o := range page.Objects {
			if ctx.Err() != nil {
				return fault.Ended(ctx)
			}
			if entries++; entries > limits.Entries {
				return fmt.Errorf("%w: more than %d objects", failure.ErrTooLarge, limits.Entries)
			}
			name := strings.TrimPrefix(o.Name, prefix)
			if name == "" {
				continue // placeholder of the directory
			}
			if err := names.Add(name); err != nil {
				return fmt.Errorf("object %.200q: %w", o.Name, err)
			}
			if strings.HasSuffix(name, "/") {
				continue // placeholder of a directory
			}
			if left -= o.Size; left < 0 {
				return fmt.Errorf("%w: more than %d bytes in total", failure.ErrTooLarge, limits.Unpacked)
			}
			if err := write(ctx, root, name, o, open, meter); err != nil {
				return fmt.Errorf("object %.200q: %w", o.Name, fault.Printable(err))
			}
			files++
		}
	}
	if files == 0 {
		return fmt.Errorf("%q: %w", prefix, failure.ErrNotFound)
	}
	meter.Finish()
	return nil
}

// write writes one object. Names cannot leave the root.
func write(ctx context.Context, root *os.Root, name string, o Object, open func(Object) (io.ReadCloser, error), count io.Writer) error {
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
	n, err := io.Copy(io.MultiWriter(file, count), io.LimitReader(archive.Until(ctx, body), o.Size+1))
	if err == nil && n != o.Size {
		err = fmt.Errorf("it is at least %d bytes, want %d: %w", n, o.Size, failure.ErrChanged)
	}
	return errors.Join(err, file.Close())
}
