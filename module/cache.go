package module

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Cache keeps packages in a directory, for all targets and processes of a user. Set the fields before the first use. A
// Cache is safe for concurrent use and must not be copied.
//
// Packages are copied from the cache, never linked, and hashed on the way. Damaged, pruned or incomplete ones are
// fetched again. But a user who can write to the directory chooses the content of packages without a [Request.H1].
//
// No package is requested with a full git commit, a SHA-256 or SHA-512 in [Location.Checksum], a [Location.Digest],
// or the Request.H1 of a package from the same URL without parameters. For another ref, git is asked for its commit
// after MaxAge. An archive whose strong ETag is known, and stored within MaxAge or with Request.H1, is requested, but
// not received. Other packages are fetched again, as are pages, local packages, and commits to which git applies a
// filter of the user.
type Cache struct {
	// Path is the directory, which is created. Where the system has modes, it must belong to the user with mode 0700.
	// If it cannot be used, packages are fetched.
	Path string

	MaxAge time.Duration // how long the commit of a branch or tag, or a strong ETag, is believed; if zero, not at all

	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the fetch of a key has ended
}

// The directories of a cache.
const (
	cacheKeys     = "keys"     // files with the name of a package, or with the commit of a ref
	cachePackages = "packages" // named by their SHA-256
	cacheParts    = "parts"    // what is being written
)

// cacheHead is the first line of a package, before the tar of its files.
type cacheHead struct {
	H1      checksum.Hash `json:"h1"`
	Git     bool          `json:"git,omitempty"` // whether the modes are those of git
	Commit  string        `json:"commit,omitempty"`
	Size    int64         `json:"size,omitempty"`
	Skipped []string      `json:"skipped,omitempty"`
}

// maxHead is the maximum length of that line. A package with a longer one is not cached.
const maxHead = 64 << 10

// open opens the directory, which is created.
func (c *Cache) open() (*os.Root, error) {
	if c.Path == "" {
		return nil, errors.New("Cache.Path is missing")
	}
	root, err := fsx.OpenPrivateDir(filepath.Dir(filepath.Clean(c.Path)), filepath.Base(c.Path))
	for _, dir := range []string{cacheKeys, cachePackages, cacheParts} {
		if err == nil {
			if err = root.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
				err = nil
			}
			if err != nil {
				root.Close()
			}
		}
	}
	return root, err
}

// keyFile returns the name of the file of a key, which suits any file system.
func keyFile(key string) string {
	sum := sha256.Sum256([]byte("tofureg module cache 1\n" + key))
	return filepath.Join(cacheKeys, hex.EncodeToString(sum[:]))
}

// readKey returns the hexadecimal content of the file of a key and when it was written, or "".
func readKey(root *os.Root, name string) (string, time.Time) {
	f, err := fsx.OpenRegularIn(root, name)
	if err != nil {
		return "", time.Time{}
	}
	defer f.Close()
	info, err := f.Stat()
	data := make([]byte, 2*sha256.Size+1)
	n, _ := io.ReadFull(f, data)
	if text := string(data[:n]); err == nil && isObject(text) {
		return text, info.ModTime()
	}
	return "", time.Time{}
}

// put writes a file, which write names. If it cannot, the next caller fetches again. It is not synced: readers find out.
func put(root *os.Root, write func(io.Writer) (name string, err error)) error {
	part, err := fsx.CreatePartIn(root, cacheParts, 0o600)
	if err != nil {
		return err
	}
	defer part.Discard()
	name, err := write(part)
	if err != nil {
		return err
	}
	return part.PublishAs(name)
}

// putKey writes the file of a key.
func putKey(root *os.Root, key, text string) error {
	return put(root, func(w io.Writer) (string, error) {
		_, err := io.WriteString(w, text)
		return keyFile(key), err
	})
}

// fetch returns a copy of the package at loc, or what get returns, which it keeps. Callers with one key wait for the
// first of them; if that has failed, they fetch themselves.
func (c *Cache) fetch(ctx context.Context, loc *Location, s *staging, get func() (*unpacked, error)) (*unpacked, error) {
	root, err := c.open()
	if err != nil {
		return get()
	}
	defer root.Close()
	exact, byHash := s.cacheKeys(loc, loc.Ref, s.want)
	key := cmp.Or(exact, byHash)
	if key == "" && loc.Kind == KindGit && s.o.Git != nil {
		key, _ = s.cacheKeys(loc, c.commit(ctx, root, loc, s), checksum.Hash{})
	}
	if key != "" {
		if got := find(ctx, root, key, s); got != nil {
			return got, nil
		}
		running, done := c.begin(key)
		defer done()
		if running != nil {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-running:
			}
			if got := find(ctx, root, key, s); got != nil {
				return got, nil
			}
		}
	}
	got, err := get()
	if err == nil && got != nil && !got.cached {
		exact, byHash = s.cacheKeys(loc, got.commit+got.tag, got.h1) // a branch may have moved since git was asked
		if got.filtered {
			exact = ""
		}
		keep(ctx, root, got, exact, byHash)
	}
	return got, err
}

// begin returns what is closed when another fetch of the key has ended, or nil if there is none. Then the caller must
// call done when its own has ended.
func (c *Cache) begin(key string) (running chan struct{}, done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if running = c.busy[key]; running != nil {
		return running, func() {}
	}
	if c.busy == nil {
		c.busy = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	c.busy[key] = mine
	return nil, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, key)
		close(mine)
	}
}

// cacheKeys returns the key of what is always the same at loc, with this commit of git or ETag, and the key of what has a
// hash there. A key is empty if there is none, or if the options do not permit loc.
func (s *staging) cacheKeys(loc *Location, commit string, h checksum.Hash) (exact, byHash string) {
	u, err := loc.parsedURL()
	if err != nil || loc.Kind == KindLocal || loc.MayBePage() && loc.Checksum == "" && commit == "" {
		return "", ""
	}
	u.User = nil
	algorithm, _, _ := strings.Cut(loc.Checksum, ":")
	pinned := algorithm == "sha256" || algorithm == "sha512"
	var method, id string
	switch g := s.o.Git; {
	case loc.Kind == KindHTTP && pinned:
		method, id = "archive", loc.Checksum
	case loc.Kind == KindHTTP:
		method, id, pinned = "archive", u.String()+" "+commit, commit != ""
	case loc.Kind == KindGit && g != nil:
		if g.check(u) != nil {
			return "", ""
		}
		address, _ := cutDepth(u.String())
		method, id = fmt.Sprintf("git, filters %t", g.VetoHost == nil), address+" "+strings.ToLower(commit)
		pinned = isObject(commit)
	case s.o.Fetcher == nil:
		return "", ""
	default: // whether it verifies is its affair, so each URL has its own content
		given := *loc
		given.URL, given.Subdir = u.String(), ""
		method, id = "fetcher", given.Source()
		pinned = pinned || loc.Digest != "" || loc.Kind == KindGit && isObject(loc.Ref)
	}
	links := fmt.Sprintf("keep links %t, skip links %t", s.o.KeepLinks, s.o.SkipLinks)
	if pinned {
		exact = strings.Join([]string{"exact", method, id, links}, "\n")
	}
	if !h.IsZero() {
		u.RawQuery = ""
		byHash = strings.Join([]string{"hash", method, loc.getter(), u.String(), h.String(), links}, "\n")
	}
	return exact, byHash
}

// commit returns the commit of a branch or tag, or "" if git does not say.
func (c *Cache) commit(ctx context.Context, root *os.Root, loc *Location, s *staging) string {
	key := fmt.Sprintf("ref\n%s\n%q", loc.URL, loc.Ref)
	if commit, seen := readKey(root, keyFile(key)); commit != "" && c.believes(seen) {
		return commit
	}
	commit := s.o.Git.commitOf(ctx, loc, s)
	if commit != "" && c.MaxAge > 0 {
		_ = putKey(root, key, commit)
	}
	return commit
}

// believes reports whether what was seen at a time holds without asking.
func (c *Cache) believes(seen time.Time) bool {
	age := time.Since(seen)
	return age >= 0 && age < c.MaxAge
}

// tagged returns a copy of the archive that loc had with this ETag within MaxAge, or that has the wanted hash, or nil.
func (c *Cache) tagged(ctx context.Context, loc *Location, tag string, s *staging) *unpacked {
	root, err := c.open()
	if err != nil {
		return nil
	}
	defer root.Close()
	key, _ := s.cacheKeys(loc, tag, checksum.Hash{})
	if _, seen := readKey(root, keyFile(key)); s.want.IsZero() && !c.believes(seen) {
		return nil
	}
	return find(ctx, root, key, s)
}

// find returns a copy of the package of a key, or nil. A damaged package is replaced when it has been fetched.
func find(ctx context.Context, root *os.Root, key string, s *staging) *unpacked {
	hash, _ := readKey(root, keyFile(key))
	name := filepath.Join(cachePackages, hash)
	f, err := fsx.OpenRegularIn(root, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	sum := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(f, sum), maxHead)
	line, err := in.ReadSlice('\n')
	var head cacheHead
	if err != nil || json.Unmarshal(line, &head) != nil {
		return nil
	}
	got, err := s.unpack(ctx, head.Git, func(root *os.Root, o archive.Options) ([]archive.File, error) {
		files, err := archive.UnpackTar(ctx, in, archive.FormatTar, root, o)
		if err == nil && hex.EncodeToString(sum.Sum(nil)) != hash {
			err = checksum.ErrMismatch
		}
		return files, err
	})
	if err != nil {
		return nil
	}
	if got.h1 != head.H1 || !s.want.IsZero() && got.h1 != s.want { // a fetch then tells who is wrong
		got.root.Close()
		return nil
	}
	now := time.Now()
	_ = root.Chtimes(name, now, now) // for Prune
	got.cached, got.size, got.skipped = true, head.Size, head.Skipped
	if !strings.HasPrefix(key, "hash") { // several commits may have the content
		got.commit = head.Commit
	}
	return got
}

// keep adds a package, or replaces a damaged one.
func keep(ctx context.Context, root *os.Root, got *unpacked, keys ...string) {
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" })
	head, err := json.Marshal(cacheHead{got.h1, got.git, got.commit, got.size, got.skipped})
	if err != nil || len(head) >= maxHead || len(keys) == 0 {
		return
	}
	fsx.SweepPartsIn(ctx, root, cacheParts)
	var hash string
	err = put(root, func(w io.Writer) (string, error) {
		sum := sha256.New()
		out := bufio.NewWriterSize(io.MultiWriter(w, sum), 64<<10)
		out.Write(append(head, '\n'))
		err := archive.WriteTree(out, fsx.Tree(ctx, got.root), isControlDir)
		err = cmp.Or(err, out.Flush())
		hash = hex.EncodeToString(sum.Sum(nil))
		return filepath.Join(cachePackages, hash), err
	})
	for _, key := range keys {
		if err == nil {
			err = putKey(root, key, hash)
		}
	}
}

// Pruned is the result of [Cache.Prune].
type Pruned struct {
	Removed int   `json:"removed"` // packages
	Freed   int64 `json:"freed"`   // their bytes
	Kept    int   `json:"kept"`    // packages
	Size    int64 `json:"size"`    // their bytes
}

// Prune removes packages last used before a time, and then those used longest ago until the rest has at most size
// bytes. A zero time, or a size of 0 or less, removes none. If dry is set, it removes nothing.
func (c *Cache) Prune(ctx context.Context, before time.Time, size int64, dry bool) (*Pruned, error) {
	result, err := c.prune(ctx, before, size, dry)
	return result, failure.Wrap("prune", "the module cache "+c.Path, err)
}

func (c *Cache) prune(ctx context.Context, before time.Time, size int64, dry bool) (*Pruned, error) {
	result := &Pruned{}
	root, err := c.open()
	if err != nil {
		return result, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(fsx.Tree(ctx, root), cachePackages)
	if err != nil {
		return result, err
	}
	var packages []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // otherwise another process has removed it
			packages = append(packages, info)
			result.Kept++
			result.Size += info.Size()
		}
	}
	slices.SortFunc(packages, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, p := range packages {
		if ctx.Err() != nil || !p.ModTime().Before(before) && (size <= 0 || result.Size <= size) {
			break
		}
		if !dry {
			if failed := root.Remove(filepath.Join(cachePackages, p.Name())); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
				err = errors.Join(err, failed)
				continue
			}
		}
		result.Removed++
		result.Freed += p.Size()
		result.Kept--
		result.Size -= p.Size()
	}
	if !dry {
		fsx.SweepPartsIn(ctx, root, cacheParts)
		err = errors.Join(err, c.forget(ctx, root))
	}
	return result, cmp.Or(ctx.Err(), err)
}

// forget removes the keys of packages that are gone, and old commits of refs.
func (c *Cache) forget(ctx context.Context, root *os.Root) error {
	entries, err := fs.ReadDir(fsx.Tree(ctx, root), cacheKeys)
	for _, e := range entries {
		name := filepath.Join(cacheKeys, e.Name())
		text, written := readKey(root, name)
		if _, gone := root.Lstat(filepath.Join(cachePackages, text)); text != "" && gone == nil || time.Since(written) < c.MaxAge {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		_ = root.Remove(name)
	}
	return err
}
