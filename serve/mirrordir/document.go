package mirrordir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Limits of documents and records. An index may have 16 MiB.
const (
	maxMembers  = 100_000 // versions or platforms
	maxHashes   = 100     // for each archive
	maxDocument = 1 << 20 // bytes of the document of a version
	maxRecord   = 4 << 20 // bytes of a record
)

// layout is the number of the form of documents that this package writes. It refuses to write where a document
// has a higher one.
const layout = 1

// errDamaged means that a document or record is invalid or too large.
var errDamaged = stored.ErrDamaged

// withRemedy adds the remedy to an error about a damaged document.
func withRemedy(err error) error {
	if errors.Is(err, errDamaged) {
		err = fmt.Errorf("%w; run Mirror.Reindex to replace it", err)
	}
	return err
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// state is the member "tofureg" of a document. Programs that write a mirror without it, such as the CLI, drop it.
type state struct {
	Layout  int      `json:"layout"`
	Serial  string   `json:"serial"`            // differs after each write, also if all else is the same
	Locked  bool     `json:"locked,omitempty"`  // the archives have their usual names, which locks protect
	Swept   int      `json:"swept,omitempty"`   // number of sweeps
	Retired []string `json:"retired,omitempty"` // usual names, without directory, that are never listed again
}

// parseMembers parses a document: its member name, and its state, nil if another program has written it. A missing
// document or member has no members.
func parseMembers(data []byte, name string) (members map[string]json.RawMessage, of *state, err error) {
	if data == nil {
		return nil, nil, nil
	}
	var doc map[string]json.RawMessage
	if err := stored.Decode(data, &doc); err != nil {
		return nil, nil, err
	}
	if raw, ok := doc["tofureg"]; ok && !isNull(raw) {
		if err := json.Unmarshal(raw, &of); err != nil { // its members are counted
			return nil, nil, fmt.Errorf("\"tofureg\": %w: %w", errDamaged, err)
		}
	}
	raw, ok := doc[name]
	if !ok || isNull(raw) {
		return nil, of, nil
	}
	if err := jsondoc.CheckList(raw, name, maxMembers); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err := stored.Decode(raw, &members); err != nil {
		return nil, nil, fmt.Errorf("%q: %w", name, err)
	}
	return members, of, nil
}

// index is the document that lists the versions of a provider, in any spelling.
type index struct {
	state    *state // nil if another program has written it
	versions map[string]struct{}
	was      storage.Revision // of the file that was read, empty if it is missing
	damaged  bool
}

// parseIndex parses an index. The versions are never nil.
func parseIndex(doc stored.Document) (*index, error) {
	raw, of, err := parseMembers(doc.Data, "versions")
	i := &index{of, map[string]struct{}{}, doc.Revision, err != nil}
	for text := range raw {
		i.versions[text] = struct{}{}
	}
	return i, err
}

func (i *index) lists(v addrs.Version) bool {
	_, ok := i.versions[v.String()]
	return ok
}

func (i *index) render() ([]byte, error) {
	return stored.Encode(map[string]any{"versions": i.versions, "tofureg": i.state})
}

// readIndex reads the versions in the index of a provider, nil if the index is missing.
func (m *Mirror) readIndex(ctx context.Context, p addrs.Provider) (map[addrs.Version]bool, error) {
	doc, err := stored.Read(ctx, m.Store, indexName(p))
	if err != nil || doc.Data == nil {
		return nil, err
	}
	i, err := parseIndex(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexName(p), err)
	}
	list := make(map[addrs.Version]bool, len(i.versions))
	for text := range i.versions {
		if v, err := addrs.ParseVersion(text); err == nil && v.String() == text {
			list[v] = true
		}
	}
	return list, nil
}

// listed is an entry in the document of a version.
type listed struct {
	Hashes []checksum.Hash `json:"hashes,omitempty"`
	URL    string          `json:"url"`
	Record string          `json:"record,omitempty"` // name of its record, unless that is beside the archive
}

func (l listed) equal(other listed) bool {
	return l.URL == other.URL && l.Record == other.Record && slices.Equal(l.Hashes, other.Hashes)
}

// parseListed parses an entry.
func parseListed(raw json.RawMessage) (l listed, err error) {
	var w struct {
		Hashes []string `json:"hashes"`
		URL    string   `json:"url"`
		Record string   `json:"record"`
	}
	if raw[0] != '{' {
		return listed{}, fmt.Errorf("%w: not a JSON object", errDamaged)
	}
	if err := json.Unmarshal(raw, &w); err != nil { // its members are counted
		return listed{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if len(w.Hashes) > maxHashes {
		return listed{}, fmt.Errorf("%w: more than %d hashes: %w", errDamaged, maxHashes, failure.ErrTooLarge)
	}
	l.URL, l.Record = w.URL, w.Record
	for _, text := range w.Hashes {
		h, err := checksum.ParseHash(text)
		if errors.Is(err, checksum.ErrEmptyHash) {
			continue
		}
		if err != nil {
			return listed{}, fmt.Errorf("%w: %w", errDamaged, err)
		}
		l.Hashes = append(l.Hashes, h)
	}
	return l, nil
}

// document is the document of a version. It is the truth about the version.
type document struct {
	state   *state            // nil if another program has written it, or if it is missing
	entries map[string]listed // by platform, also an invalid one; without a URL there is no entry
	was     storage.Revision  // of the file that was read, empty if it is missing
}

// parseDocument parses the document of a version. An invalid entry is an error: without its hashes the archive would
// be trusted more.
func parseDocument(doc stored.Document) (*document, error) {
	raw, of, err := parseMembers(doc.Data, "archives")
	if err != nil {
		return nil, err
	}
	d := &document{of, make(map[string]listed, len(raw)), doc.Revision}
	for platform, raw := range raw {
		if isNull(raw) {
			continue
		}
		l, err := parseListed(raw)
		if _, invalid := addrs.ParsePlatform(platform); err != nil && invalid == nil {
			return nil, fmt.Errorf("%s: %w", platform, err)
		}
		if l.URL != "" {
			d.entries[platform] = l
		}
	}
	return d, nil
}

// render returns the document. Only a limit makes it fail.
func (d *document) render() ([]byte, error) {
	data, err := stored.Encode(map[string]any{"archives": d.entries, "tofureg": d.state})
	if err == nil && len(data) > maxDocument {
		err = fmt.Errorf("the document of the version would have more than %d bytes: %w", maxDocument, failure.ErrTooLarge)
	}
	return data, err
}

// platforms returns the entries with valid platforms.
func (d *document) platforms() map[addrs.Platform]listed {
	list := make(map[addrs.Platform]listed, len(d.entries))
	for key, l := range d.entries {
		if platform, err := addrs.ParsePlatform(key); err == nil {
			list[platform] = l
		}
	}
	return list
}

// retired reports whether an archive, or that of a record, has a usual name that must not be listed any more.
func (d *document) retired(name string) bool {
	if archive, ok := recordedArchive(name); ok {
		name = archive
	}
	return d.state != nil && slices.Contains(d.state.Retired, path.Base(name))
}

// names returns the names of all files, with directory, that the entries name.
func (d *document) names(p addrs.Provider) map[string]bool {
	all := map[string]bool{}
	for _, l := range d.entries {
		if name := resolve(providerDir(p), l.URL); name != "" {
			all[name], all[recordOf(name, l)] = true, true
		}
	}
	return all
}

// readDocument reads the document of a version in a directory. A missing one has no entries and no revision.
func (m *Mirror) readDocument(ctx context.Context, dir string, v addrs.Version) (*document, error) {
	name := path.Join(dir, v.String()+".json")
	doc, err := stored.ReadAtMost(ctx, m.Store, name, maxDocument)
	if err != nil {
		return &document{was: doc.Revision}, err
	}
	d, err := parseDocument(doc)
	if err != nil {
		return &document{was: doc.Revision}, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}
