package module

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/archive/xz"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unpacked is a package in the staging directory, or one that is reused at the target.
type unpacked struct {
	root     *os.Root // the caller closes it
	h1       checksum.Hash
	size     int64    // of the archive
	commit   string   // from a git repository
	tag      string   // a strong ETag of the archive
	skipped  []string // at most maxSkipped omitted names
	reused   bool
	cached   bool      // it is a copy from Options.Cache
	git      bool      // its modes are those of git
	filtered bool      // the configuration of git may have changed it
	believed time.Time // see Report
}

// maxSkipped is the maximum length of Report.Skipped.
const maxSkipped = 1000

// skip notes omitted names.
func (u *unpacked) skip(names ...string) {
	u.skipped = append(u.skipped, names[:min(len(names), maxSkipped-len(u.skipped))]...)
}

// receive unpacks the archive at a location of KindHTTP, or returns the next location that it names.
func receive(ctx context.Context, src Opener, loc *Location, s *staging, meter *progress.Meter) (*unpacked, string, error) {
	if src == nil {
		return nil, "", errors.New("no source to fetch the package from")
	}
	body, err := src.OpenModule(ctx, loc)
	if err != nil {
		return nil, "", err
	}
	if body == nil || body.ReadCloser == nil {
		return nil, "", errors.New("the source returned no body")
	}
	defer body.Close()
	if loc.MayBePage() && body.Next != "" {
		return nil, body.Next, nil
	}
	tag := ""
	if c := s.o.Cache; c != nil && s.part != nil && strings.HasPrefix(body.ETag, `"`) { // a strong one
		tag = body.ETag
		if got := c.tagged(ctx, loc, tag, s); got != nil {
			return got, "", nil
		}
	}
	got, next, err := unpackBody(ctx, loc, body, s, meter)
	if got != nil {
		got.tag = tag
	}
	return got, next, err
}

// unpackBody unpacks the archive in body, or returns the next location that the page in it names.
func unpackBody(ctx context.Context, loc *Location, body *Body, s *staging, meter *progress.Meter) (*unpacked, string, error) {
	limit := s.limits.Package
	if body.Size > limit {
		return nil, "", fmt.Errorf("archive of %d bytes, %d are allowed: %w", body.Size, limit, failure.ErrTooLarge)
	}
	meter.Start(max(body.Size, 0))
	b := &bodyReader{ctx: ctx, body: body, limit: limit, meter: meter}
	algorithm, sum, stated := strings.Cut(loc.Checksum, ":")
	if stated {
		b.sum = algorithms[algorithm]()
	}
	in := bufio.NewReaderSize(b, 64<<10)
	head, err := in.Peek(archive.SniffLen)
	if err != nil && err != io.EOF {
		return nil, "", err
	}
	format := archive.Sniff(head)
	if format == "" || loc.Archive == formatNone {
		if !loc.MayBePage() {
			return nil, "", fmt.Errorf("%w: want zip, tar.gz, tar.bz2 or tar.xz", failure.ErrArchive)
		}
		next, err := nextInPage(in)
		if next == "" && err == nil {
			err = fmt.Errorf("%w: neither an archive nor a page that names a location", failure.ErrArchive)
		}
		return nil, next, err
	}
	if loc.MayBePage() {
		if got, err := s.reuse(ctx, loc.Subdir); got != nil || err != nil {
			return got, "", err
		}
	}
	check := func() error {
		if !stated || hex.EncodeToString(b.sum.Sum(nil)) == sum {
			return nil
		}
		return fmt.Errorf("%w: the location states %s %s, the archive has %x", checksum.ErrMismatch, algorithm, sum, b.sum.Sum(nil))
	}
	got, err := s.unpack(ctx, false, func(root *os.Root, o archive.Options) ([]archive.File, error) {
		if format == archive.FormatZip {
			return unzip(ctx, in, b, check, s, root, o)
		}
		if format == archive.FormatTarXz {
			if err := s.xz.Acquire(ctx, 1); err != nil {
				return nil, err
			}
			defer s.xz.Release(1)
		}
		files, err := archive.UnpackTar(ctx, in, format, root, o)
		// For a damaged archive, a wrong checksum is the better error: read to the end.
		if err != nil && (!stated || !errors.Is(err, failure.ErrArchive)) {
			return nil, err
		}
		if _, rest := io.Copy(io.Discard, in); rest != nil {
			return nil, cmp.Or(err, rest)
		}
		return files, cmp.Or(check(), err)
	})
	if err != nil {
		return nil, "", err
	}
	got.size = b.size
	meter.Finish()
	return got, "", nil
}

// unzip stores the archive in a file of the staging directory, because the directory of a zip
// is at its end.
func unzip(ctx context.Context, in io.Reader, b *bodyReader, check func() error, s *staging, root *os.Root, o archive.Options) ([]archive.File, error) {
	f, err := fsx.Temp(s.part.Path())
	if err != nil {
		return nil, err
	}
	defer f.Discard()
	if _, err := io.Copy(f, in); err != nil {
		return nil, err
	}
	if err := check(); err != nil {
		return nil, err
	}
	z, err := archive.OpenZip(ctx, f, b.size, o)
	if err != nil {
		return nil, err
	}
	return z.Unpack(ctx, root)
}

// unpack makes a package of the files that write unpacks with the given options. Those of git have the modes that git
// gives them.
func (s *staging) unpack(ctx context.Context, ofGit bool, write func(root *os.Root, o archive.Options) ([]archive.File, error)) (*unpacked, error) {
	s.trees++
	path := filepath.Join(s.part.Path(), fmt.Sprintf("tree%d", s.trees))
	var may fs.FileMode
	if ofGit {
		may = 0o022
	}
	if err := os.Mkdir(path, 0o755|may); err != nil {
		return nil, err
	}
	root, err := fsx.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	got := &unpacked{root: root, git: ofGit}
	limits := archive.Limits(s.limits)
	limits.Package = -1 // bodyReader limits what is received
	// Real packages have names that not every system keeps.
	options := archive.Options{Limits: limits, Native: true, Lenient: true, KeepLinks: s.o.KeepLinks, Xz: xz.NewReader, Write: may, Omit: func(name string, link bool) bool {
		switch {
		// The directories of version control are not part of a package, and their settings can run
		// programs when git reads the files.
		case hasElement(name, isControlDir):
			return true
		case link && s.o.SkipLinks:
			got.skip(name)
			return true
		}
		return false
	}}
	files, err := write(root, options)
	switch {
	case errors.Is(err, ErrLink):
		err = fmt.Errorf("%w; set Options.SkipLinks to omit it", err)
	case err == nil && len(files) == 0 && len(got.skipped) == 0:
		err = fmt.Errorf("%w: it contains only a repository", failure.ErrArchive)
	case err == nil:
		err = refuseRepository(files)
	}
	switch {
	case err == nil && slices.ContainsFunc(files, func(f archive.File) bool { return f.Target != "" }):
		got.h1, err = checksum.L1Dir(ctx, fsx.Tree(ctx, root))
	case err == nil:
		got.h1, err = hashlist.H1(archive.Sums(files, false))
	}
	if err == nil {
		err = fsx.SyncTree(ctx, root)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return got, nil
}

// isGitDir reports whether some file system takes the name for .git: the directory of a
// repository, or the file with which a submodule names one.
func isGitDir(elem string) bool {
	folded := foldOnWindows(elem)
	return folded == ".git" || folded == "git~1" // the short name on Windows
}

// isControlDir is isGitDir for Mercurial as well.
func isControlDir(elem string) bool {
	folded := foldOnWindows(elem)
	return isGitDir(elem) || folded == ".hg" || folded == "hg~1"
}

// foldOnWindows is [archive.Fold] without what Windows drops: dots and spaces at the end, and the name of a stream.
func foldOnWindows(elem string) string {
	elem, _, _ = strings.Cut(elem, ":")
	return archive.Fold(strings.TrimRight(elem, ". "))
}

// hasElement reports whether is returns true for an element of name.
func hasElement(name string, is func(elem string) bool) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), is)
}

// refuseRepository refuses a package with a directory that git takes for a bare repository,
// because its settings can run programs.
func refuseRepository(files []archive.File) error {
	names := map[string]map[string]bool{} // by directory, those of a repository
	seen := map[string]bool{".": true}
	for _, f := range files {
		for name := path.Clean(f.Name); !seen[name]; name = path.Dir(name) {
			seen[name] = true
			dir, base := path.Dir(name), archive.Fold(path.Base(name))
			if slices.Contains([]string{"head", "objects", "refs", "commondir"}, base) {
				if names[dir] == nil {
					names[dir] = map[string]bool{}
				}
				names[dir][base] = true
			}
		}
	}
	for dir, has := range names {
		// The file commondir names another directory with objects and refs.
		if has["head"] && (has["objects"] && has["refs"] || has["commondir"]) {
			return fmt.Errorf("%w: directory %q is a bare git repository, with HEAD, objects and refs", failure.ErrArchive, dir)
		}
	}
	return nil
}

// findSubdir returns the directory subdir in root, with the only names that match its patterns, in
// which only "*" is special. If it is missing, or not a directory, the error is ErrNoSubdir.
func findSubdir(ctx context.Context, root *os.Root, subdir string) (string, error) {
	if subdir == "" {
		return "", nil
	}
	found := "."
	for elem := range strings.SplitSeq(subdir, "/") {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if strings.Contains(elem, "*") {
			entries, err := fs.ReadDir(fsx.Tree(ctx, root), found)
			if err != nil {
				return "", err
			}
			var names []string
			for _, e := range entries {
				ok, err := path.Match(strings.ReplaceAll(elem, "[", `\[`), e.Name())
				if err != nil {
					return "", err
				}
				if ok && e.IsDir() {
					names = append(names, e.Name())
				}
			}
			if len(names) != 1 {
				return "", fmt.Errorf("%w: %.200q matches %d directories", ErrNoSubdir, path.Join(found, elem), len(names))
			}
			elem = names[0]
		}
		found = path.Join(found, elem)
		info, err := root.Stat(found)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && !info.IsDir():
			return "", fmt.Errorf("%w: %.200q", ErrNoSubdir, found)
		case err != nil:
			return "", err
		}
	}
	return found, nil
}

// bodyReader reads a body, and counts, hashes and reports its bytes. It returns io.EOF only
// after the declared size.
type bodyReader struct {
	ctx   context.Context
	body  *Body
	limit int64
	size  int64
	sum   hash.Hash // nil unless the location states a checksum
	meter *progress.Meter
}

func (b *bodyReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.body.Read(p)
	b.size += int64(n)
	if b.sum != nil {
		b.sum.Write(p[:n])
	}
	b.meter.Advance(b.size, b.body.Resumes)
	switch {
	case b.size > b.limit:
		return n, fmt.Errorf("archive has more than %d bytes: %w", b.limit, failure.ErrTooLarge)
	case err == io.EOF && b.body.Size > 0 && b.size != b.body.Size:
		return n, fmt.Errorf("archive is %d bytes, want %d: %w", b.size, b.body.Size, io.ErrUnexpectedEOF)
	}
	return n, err
}
