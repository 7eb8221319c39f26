package mirrordir

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tofureg/tofureg/addrs"
)

// shelf is the directory with the archives of a provider as one listing shows it to all
// versions that a call works on. A listing for each of them would read the names of all
// versions as often as there are versions.
//
// A listing may be older than the lock of a version, so it only says which names to look at:
// under the lock each of them is looked up again. A name that is missing in it has been
// placed since. If it was published too, the document of the version has it. If not, since
// who has placed it has died, a second listing at the end of the call finds it.
type shelf struct {
	mu    sync.Mutex
	done  chan struct{} // closed when the others are set; nil: nobody has begun
	files *inventory
	err   error
}

// list returns the one listing, and whether it was begun by this very call, which makes it
// younger than all that the caller has locked.
func (s *shelf) list(ctx context.Context, m *Mirror, p addrs.Provider) (files *inventory, fresh bool, err error) {
	s.mu.Lock()
	fresh = s.done == nil
	if fresh {
		s.done = make(chan struct{})
	}
	s.mu.Unlock()
	if fresh {
		s.files, s.err = m.inventory(ctx, p, homeOf(p))
		close(s.done)
	}
	select {
	case <-s.done:
		return s.files, fresh, s.err
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
}

// size returns the size of a file as it is now, without reading it, and less than zero if
// there is none.
func (m *Mirror) size(ctx context.Context, name string) (int64, error) {
	if d, ok := m.Storage.(interface {
		size(context.Context, string) (int64, error)
	}); ok {
		return d.size(ctx, name)
	}
	o, err := m.Storage.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	o.Close()
	return o.Size, nil
}

// look returns those of the names that are there now, as a listing would have them. All are
// in the directory with the archives of p.
func (m *Mirror) look(ctx context.Context, names []string) ([]Entry, error) {
	names = unique(names)
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		size, err := m.size(ctx, name)
		if err != nil {
			return nil, err
		}
		if size >= 0 {
			entries = append(entries, Entry{Name: path.Base(name), Size: size})
		}
	}
	return entries, nil
}

// unique returns the names in order and each once.
func unique(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// documented returns the names of the archives of a version that its documents list, whether
// they are there or not. What cannot be read of a document lists nothing.
func (m *Mirror) documented(ctx context.Context, p addrs.Provider, v addrs.Version) ([]string, error) {
	var names []string
	for _, dir := range documentHomes(p) {
		data, _, err := m.read(ctx, path.Join(dir, documentName(v)))
		if err != nil && !errors.Is(err, errDocument) {
			return nil, err
		}
		_, archives, err := parseDocument(data, memberArchives)
		if err != nil {
			continue
		}
		for _, raw := range archives {
			if l, err := parseListed(raw); err == nil {
				if name := resolve(dir, l.URL); isArchiveOf(p, v, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names, nil
}

// isArchiveOf reports whether a file of this name is an archive of a version. It says no to
// names that come from a document and that a storage may refuse to look for.
func isArchiveOf(p addrs.Provider, v addrs.Version, name string) bool {
	const maxName, plain = 255, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"
	dir, file := path.Split(name)
	k, _ := parseArchive(p, file)
	if k.version != v || dir != homeOf(p)+"/" || len(file) > maxName {
		return false
	}
	_, rest, _ := strings.Cut(file, "_") // the type is that of p
	return strings.Trim(rest, plain) == ""
}
