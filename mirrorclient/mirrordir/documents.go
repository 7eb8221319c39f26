package mirrordir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify/checksum"
)

// object is a JSON object of which only some members matter here. The others stay as
// they are.
type object map[string]json.RawMessage

// member returns the object that is the member of this name, nil if there is none.
func (o object) member(name string) (object, error) {
	raw, ok := o[name]
	if !ok || isNull(raw) {
		return nil, nil
	}
	var inner object
	if err := decode(raw, &inner); err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return inner, nil
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// The members of the documents that the protocol names.
const (
	memberVersions = "versions"
	memberArchives = "archives"
)

// parseDocument returns a document and its member, which are nil for no document.
func parseDocument(data []byte, name string) (doc, inner object, err error) {
	if data == nil {
		return nil, nil, nil
	}
	if err := decode(data, &doc); err != nil {
		return nil, nil, err
	}
	inner, err = doc.member(name)
	if len(inner) > maxMembers {
		return nil, nil, fmt.Errorf("%w: more than %d %s: %w", errDocument, maxMembers, name, fault.ErrTooLarge)
	}
	return doc, inner, err
}

// maxMembers bounds the versions of a provider and the platforms of a version.
const maxMembers = 100_000

// edited returns doc with another member.
func edited(doc object, name string, inner object) ([]byte, error) {
	if inner == nil {
		inner = object{}
	}
	raw, err := json.Marshal(inner)
	if err != nil {
		return nil, err
	}
	doc = maps.Clone(doc)
	if doc == nil {
		doc = object{}
	}
	doc[name] = raw
	return encode(doc)
}

// listed is the entry of an archive in the document of its version.
type listed struct {
	Hashes []checksum.Hash `json:"hashes,omitempty"`
	URL    string          `json:"url"`
}

// wireListed is listed as others may have written it.
type wireListed struct {
	Hashes []string `json:"hashes"`
	URL    string   `json:"url"`
}

// maxHashes bounds those of one archive.
const maxHashes = 100

// parseListed reads the entry of one platform.
func parseListed(raw json.RawMessage) (l listed, err error) {
	var w *wireListed
	if err := decode(raw, &w); err != nil {
		return listed{}, err
	}
	if len(w.Hashes) > maxHashes {
		return listed{}, fmt.Errorf("%w: more than %d hashes: %w", errDocument, maxHashes, fault.ErrTooLarge)
	}
	l.URL = w.URL
	for _, text := range w.Hashes {
		h, err := checksum.ParseHash(text)
		if errors.Is(err, checksum.ErrEmptyHash) {
			continue
		}
		if err != nil {
			return listed{}, fmt.Errorf("%w: %w", errDocument, err)
		}
		l.Hashes = append(l.Hashes, h)
	}
	return l, nil
}

// readListed returns the entries of the document of a version, by platform. Entries that
// cannot be read are errors, for to leave out the hashes that they state would be to
// trust the archive more. The map is nil if there is no document.
func (m *Mirror) readListed(ctx context.Context, home string, v addrs.Version) (map[addrs.Platform]listed, error) {
	name := path.Join(home, documentName(v))
	data, _, err := m.read(ctx, name)
	if err != nil || data == nil {
		return nil, err
	}
	_, archives, err := parseDocument(data, memberArchives)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	list := make(map[addrs.Platform]listed, len(archives))
	for key, raw := range archives {
		platform, err := addrs.ParsePlatform(key)
		if err != nil || isNull(raw) {
			continue
		}
		if list[platform], err = parseListed(raw); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, platform, err)
		}
	}
	return list, nil
}

// update changes a document: it reads, edits and writes it, over again if somebody else
// writes in between. The edit gets nil for a document that does not exist, and returns
// nil for one that is to be removed. One that is too large to be read is empty for it, which
// no document is. What stays the same is not written.
func (m *Mirror) update(ctx context.Context, name string, edit func([]byte) ([]byte, error)) error {
	const tries = 100
	for range tries {
		old, was, unread := m.read(ctx, name)
		if unread != nil && !errors.Is(unread, errDocument) {
			return unread
		}
		if unread != nil {
			old = []byte{}
		}
		data, err := edit(old)
		switch {
		case errors.Is(err, errDocument) && unread != nil:
			return fmt.Errorf("%w; Mirror.Reindex makes it anew", unread)
		case errors.Is(err, errDocument):
			return fmt.Errorf("%s: %w; Mirror.Reindex makes it anew", name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		case data == nil && old == nil || data != nil && old != nil && bytes.Equal(old, data):
			return nil
		case len(data) > maxDocument:
			return fmt.Errorf("%s would have more than %d bytes: %w", name, maxDocument, fault.ErrTooLarge)
		}
		if data == nil {
			err = m.drop(ctx, name, old, was)
		} else {
			err = m.Storage.Write(ctx, name, section(data), was)
		}
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w, %d times", name, ErrConflict, tries)
}

// drop removes a document that has not changed since it was read. Where a storage cannot
// do that, an empty one takes its place: to delete it could be to delete what somebody else
// has just put into it.
func (m *Mirror) drop(ctx context.Context, name string, old []byte, was Revision) error {
	if d, ok := m.Storage.(interface {
		deleteUnchanged(context.Context, string, Revision) error
	}); ok {
		return d.deleteUnchanged(ctx, name, was)
	}
	if empty := []byte("{}"); !bytes.Equal(old, empty) {
		return m.Storage.Write(ctx, name, section(empty), was)
	}
	return nil
}

// pause keeps writers that have met from meeting again.
func pause(ctx context.Context) error {
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(10 * time.Millisecond))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func section(data []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
}
