package mirrordir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Limits of documents and records.
const (
	maxMembers = 100_000 // versions or platforms
	maxHashes  = 100     // for each archive
)

// errDamaged means that a document or record is invalid or too large.
var errDamaged = stored.ErrDamaged

// withRemedy adds the remedy to an error about a damaged document.
func withRemedy(err error) error {
	if errors.Is(err, errDamaged) {
		err = fmt.Errorf("%w; run Mirror.Reindex to replace it", err)
	}
	return err
}

// write replaces a document that has not changed since it was read, or deletes it if data is nil. In a store that
// cannot do that, it writes an empty document.
func (m *Mirror) write(ctx context.Context, name string, data []byte, old stored.Document) error {
	if data != nil || old.Revision == "" {
		return stored.Write(ctx, m.Store, name, data, old)
	}
	err := m.delete(ctx, name, old.Revision)
	if errors.Is(err, errors.ErrUnsupported) {
		return stored.Write(ctx, m.Store, name, []byte("{}"), old)
	}
	return err
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// parseMembers returns the members of an object in a document, nil if the object or the document is
// missing.
func parseMembers(data []byte, name string) (members map[string]json.RawMessage, err error) {
	if data == nil {
		return nil, nil
	}
	var doc map[string]json.RawMessage
	if err := stored.Decode(data, &doc); err != nil {
		return nil, err
	}
	raw, ok := doc[name]
	if !ok || isNull(raw) {
		return nil, nil
	}
	if err := jsondoc.CheckList(raw, name, maxMembers); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err := stored.Decode(raw, &members); err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return members, nil
}

// index is the document that lists the versions of a provider, in any spelling.
type index map[string]struct{}

// parseIndex parses an index. The result is never nil.
func parseIndex(data []byte) (index, error) {
	raw, err := parseMembers(data, "versions")
	i := index{}
	for text := range raw {
		i[text] = struct{}{}
	}
	return i, err
}

// render returns the document, or nil if it is empty.
func (i index) render() ([]byte, error) {
	if len(i) == 0 {
		return nil, nil
	}
	return stored.Encode(map[string]index{"versions": i})
}

// readIndex reads the versions in the index of a provider, nil if the index is missing.
func (m *Mirror) readIndex(ctx context.Context, p addrs.Provider) (map[addrs.Version]bool, error) {
	doc, err := stored.Read(ctx, m.Store, indexName(p))
	if err != nil || doc.Data == nil {
		return nil, err
	}
	i, err := parseIndex(doc.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", indexName(p), err)
	}
	list := make(map[addrs.Version]bool, len(i))
	for text := range i {
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
}

// parseListed parses an entry.
func parseListed(raw json.RawMessage) (l listed, err error) {
	var w *struct {
		Hashes []string `json:"hashes"`
		URL    string   `json:"url"`
	}
	if err := stored.Decode(raw, &w); err != nil {
		return listed{}, err
	}
	if len(w.Hashes) > maxHashes {
		return listed{}, fmt.Errorf("%w: more than %d hashes: %w", errDamaged, maxHashes, failure.ErrTooLarge)
	}
	l.URL = w.URL
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

// readEntries reads the entries of the document of a version in a directory, nil if the document is missing. An
// invalid entry is an error: without its hashes the archive would be trusted more.
func (m *Mirror) readEntries(ctx context.Context, dir string, v addrs.Version) (map[addrs.Platform]listed, error) {
	name := path.Join(dir, v.String()+".json")
	doc, err := stored.Read(ctx, m.Store, name)
	if err != nil || doc.Data == nil {
		return nil, err
	}
	members, err := parseMembers(doc.Data, "archives")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	list := make(map[addrs.Platform]listed, len(members))
	for key, raw := range members {
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

// renderVersion returns the document of a version in the directory dir, or nil if it has no entries. It
// lists archives, by platform, and the entries of the old document for which keeps is true. keeps gets
// the name of the file in the mirror, or "" for an external URL.
func renderVersion(dir string, archives map[addrs.Platform]listed, old []byte, keeps func(name string) (bool, error)) ([]byte, error) {
	entries := map[string]listed{}
	for platform, l := range archives {
		entries[platform.String()] = l
	}
	raw, err := parseMembers(old, "archives")
	if err != nil {
		return nil, err
	}
	for platform, raw := range raw {
		if _, ours := entries[platform]; ours || isNull(raw) {
			continue
		}
		l, err := parseListed(raw)
		if err != nil {
			return nil, fmt.Errorf("%.50q: %w", platform, err)
		}
		keep, err := keeps(resolve(dir, l.URL))
		if err != nil {
			return nil, err
		}
		if keep && l.URL != "" {
			entries[platform] = l
		}
	}
	if len(entries) == 0 {
		return nil, nil
	}
	return stored.Encode(map[string]any{"archives": entries})
}

// record is the content of the file beside an archive, with what the documents of the protocol cannot
// state. It is written after the archive and before the documents.
type record struct {
	// Removed, if not empty, makes the record a tombstone: the archive is being removed or replaced, and
	// the other fields are empty. Each tombstone has another text.
	Removed string `json:"removed,omitempty"`

	Size      int64             `json:"size"`   // size of the archive in bytes
	Hashes    []checksum.Hash   `json:"hashes"` // computed hashes of the archive
	Trust     verify.Trust      `json:"trust"`  // result of the policy when the archive was added
	Protocols []string          `json:"protocols,omitempty"`
	Evidence  *recordedEvidence `json:"evidence,omitempty"` // nil if Reindex has recorded the archive
}

// recordedEvidence is the evidence of the source. It is empty if the source has none.
type recordedEvidence struct {
	Filename  string       `json:"filename,omitempty"`  // name of the archive in Sums
	Sums      string       `json:"sums,omitempty"`      // SHA256SUMS document
	Signature []byte       `json:"signature,omitempty"` // signature of Sums
	Keys      []verify.Key `json:"keys,omitempty"`      // keys of the signer

	Attestations []string `json:"attestations,omitempty"` // not verified unless the policy demands it
}

// evidenceToRecord returns the valid part of ev. Invalid evidence that a lenient policy has ignored
// would make the archive unusable for stricter policies.
func evidenceToRecord(ctx context.Context, ev verify.Evidence, size int64, local []checksum.Hash) *recordedEvidence {
	lenient := verify.Policy{AllowUnsigned: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
	saved := &recordedEvidence{Attestations: ev.Attestations}
	report, err := lenient.Judge(ctx, ev, size, local)
	if err != nil || len(ev.Sums) == 0 || !utf8.Valid(ev.Sums) {
		return saved
	}
	saved.Filename, saved.Sums = ev.Filename, string(ev.Sums)
	if report.SignedBy != nil {
		saved.Signature, saved.Keys = ev.Signature, ev.Keys
	}
	return saved
}

// describe sets the recorded data of pkg. If the archive has another size, it was changed or damaged:
// then its reader compares it with Size.
func (r *record) describe(pkg *provider.Package) {
	pkg.Size, pkg.Protocols = r.Size, r.Protocols
	if len(r.Hashes) > 0 {
		if pkg.Hashes == nil {
			pkg.Hashes = map[addrs.Platform][]checksum.Hash{}
		}
		pkg.Hashes[pkg.Platform] = r.Hashes
	}
	for _, zh := range checksum.WithScheme(r.Hashes, checksum.SchemeZH) {
		pkg.SHA256 = zh
	}
	if r.Evidence == nil {
		return
	}
	pkg.Attestations = r.Evidence.Attestations
	if r.Evidence.Sums == "" {
		return
	}
	pkg.Filename, pkg.Keys = r.Evidence.Filename, r.Evidence.Keys
	pkg.SumsURL = pkg.URL + "#sums"
	if len(r.Evidence.Signature) > 0 {
		pkg.SignatureURL = pkg.URL + "#signature"
	}
}

// evidence returns the evidence as the source would.
func (r *record) evidence(of address) verify.Evidence {
	p := of.pkg()
	p.Filename = p.ArchiveName()
	r.describe(p)
	ev := p.Evidence()
	// If nothing vouched for the archive, its own hashes prove nothing.
	if r.Trust == verify.Unchecked {
		ev.Hashes = nil
	}
	if p.SumsURL != "" {
		ev.Sums, ev.Signature = []byte(r.Evidence.Sums), r.Evidence.Signature
	}
	return ev
}

// entry returns the entry for the archive in the document of its version.
func (r *record) entry(archive string) listed {
	return listed{r.Hashes, url.PathEscape(path.Base(archive))}
}

// errRemoved means that a record is a tombstone.
var errRemoved = errors.New("the archive is being removed")
