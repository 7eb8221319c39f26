package mirrordir

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/jsondoc"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Mirror is a mirror in a [storage.Store], and a [provider.Source]. [Open] makes one for a directory. Set the
// fields before the first call. After it a Mirror is safe for concurrent use.
type Mirror struct {
	// Store contains the files. It must not be nil.
	Store storage.Store

	// TempDir is for temporary copies if Store is not a [storage.Stager]. If empty, [os.TempDir] is used.
	TempDir string

	nonce func() string // for tests; otherwise rand.Text
}

var _ provider.Source = (*Mirror)(nil)

// Open returns the mirror in a local directory. If it does not exist, the error wraps [fs.ErrNotExist].
//
// Store is a [storage.Dir] that lists symbolic links to unpacked packages.
func Open(dir string) (*Mirror, error) {
	if dir == "" {
		return nil, errors.New("open mirror: the directory is missing")
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	info, err := os.Stat(full)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: full, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, fmt.Errorf("open mirror: %w", err)
	}
	return &Mirror{Store: &storage.Dir{Path: full, Links: unpackedLinks}}, nil
}

// unpackedLinks permits links in place of an unpacked package, HOST/NAMESPACE/TYPE/VERSION/OS_ARCH.
func unpackedLinks(dir string) bool { return strings.Count(dir, "/") == 3 }

// pather returns the paths of files if the Store is in the file system. Packages then have file URLs and may be
// unpacked.
func (m *Mirror) pather() (storage.Pather, bool) { return storage.As[storage.Pather](m.Store) }

// IsLocal reports whether the files are in the file system: whether Store is a [storage.Pather]. Packages then have
// file URLs and may be unpacked.
func (m *Mirror) IsLocal() bool {
	_, ok := m.pather()
	return ok
}

// address identifies a package. In a finding the version and the platform may be zero.
type address struct {
	provider addrs.Provider
	version  addrs.Version
	platform addrs.Platform
}

func addressOf(pkg *provider.Package) address {
	return address{pkg.Provider, pkg.Version, pkg.Platform}
}

// pkg returns a package with only the address.
func (a address) pkg() *provider.Package {
	return &provider.Package{Provider: a.provider, Version: a.version, Platform: a.platform}
}

// archive returns the canonical name of the archive.
func (a address) archive() string {
	return providerDir(a.provider) + "/" + a.pkg().ArchiveName()
}

// event returns an event about an archive of this size.
func (a address) event(kind progress.Kind, size int64) progress.Event {
	return progress.Event{Kind: kind, Provider: a.provider, Version: a.version, Platform: a.platform, Bytes: size, Total: size}
}

// finding returns a finding about the file of this name.
func (a address) finding(kind FindingKind, name, format string, args ...any) Finding {
	return Finding{
		Kind: kind, Name: name, Provider: a.provider, Version: a.version, Platform: a.platform,
		Detail: fmt.Sprintf(format, args...),
	}
}

// providerDir returns the directory of a provider, with the host in Unicode like the CLI.
func providerDir(p addrs.Provider) string {
	return path.Join(p.Host().Display(), p.Namespace(), p.Type())
}

func indexName(p addrs.Provider) string { return providerDir(p) + "/index.json" }

// documentName returns the name of the document of a version.
func documentName(p addrs.Provider, v addrs.Version) string {
	return providerDir(p) + "/" + v.String() + ".json"
}

// documentNames returns the names of the documents of versions.
func documentNames(p addrs.Provider, versions []addrs.Version) (names []string) {
	for _, v := range versions {
		names = append(names, documentName(p, v))
	}
	return names
}

// resolve returns the name of the file for a URL in a document in the directory from, or "" if the URL
// leads out of the mirror.
func resolve(from, ref string) string {
	u, err := url.Parse(ref)
	if err != nil || u.Scheme != "" || u.Opaque != "" || u.Host != "" || u.RawQuery != "" || u.Path == "" || u.Path[0] == '/' {
		return ""
	}
	name := path.Join(from, u.Path)
	if storage.CheckName(name) != nil || strings.HasPrefix(name, "../") || strings.HasSuffix(u.Path, "/") {
		return ""
	}
	return name
}

// isFresh reports whether the name of an archive or a record is one that belongs to one upload only, and not the
// usual one.
func isFresh(name string) bool {
	return strings.Count(strings.TrimPrefix(path.Base(name), recordPrefix), "_") == 4
}

// freshName returns a new name for an archive, which no other upload has.
func (m *Mirror) freshName(a address) string {
	return strings.TrimSuffix(a.archive(), ".zip") + "_" + strings.ToLower(m.text()) + ".zip"
}

// text returns a random text, for names and serials.
func (m *Mirror) text() string {
	if m.nonce != nil {
		return m.nonce()
	}
	return rand.Text()
}

// fileURL returns the URL of a file: a file URL or its name.
func (m *Mirror) fileURL(name string) string {
	pather, ok := m.pather()
	if !ok {
		return (&url.URL{Path: name}).String()
	}
	local, err := pather.FilePath(name)
	if err != nil {
		return (&url.URL{Path: name}).String() // the file cannot exist
	}
	local = filepath.ToSlash(local)
	if !strings.HasPrefix(local, "/") {
		local = "/" + local // a drive letter on Windows
	}
	return (&url.URL{Scheme: "file", Path: local}).String()
}

// Holds reports whether pkg is from this mirror: whether its URL is that of an archive with one of the names that the
// mirror gives it, whether or not it exists.
func (m *Mirror) Holds(pkg *provider.Package) bool { return m.nameOf(pkg) != "" }

// nameOf returns the name of the archive of pkg by its URL, empty if pkg is not from this mirror.
func (m *Mirror) nameOf(pkg *provider.Package) string {
	file, err := url.PathUnescape(path.Base(pkg.URL))
	name := providerDir(pkg.Provider) + "/" + file
	_, platform, _ := provider.ParseArchiveName(pkg.Provider, file)
	if err != nil || platform != pkg.Platform || !isArchiveOf(pkg.Provider, pkg.Version, name) || m.fileURL(name) != pkg.URL {
		return ""
	}
	return name
}

// isArchiveOf reports whether name is a name of an archive of a version.
func isArchiveOf(p addrs.Provider, v addrs.Version, name string) bool {
	dir, file := path.Split(name)
	version, _, _ := provider.ParseArchiveName(p, file)
	return !version.IsZero() && version == v && dir == providerDir(p)+"/"
}

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

// A record lies beside its archive. Other programs that read the bucket recognize an archive by the first word of its
// name, by ".zip" anywhere in the name, or by four parts between underscores. The name of a record must match none of
// the three.
const recordPrefix = "record_"

// recordName returns the name of the record beside an archive.
func recordName(archive string) string {
	dir, file := path.Split(archive)
	return dir + recordPrefix + strings.TrimSuffix(file, ".zip") + ".json"
}

// recordedArchive returns the archive of a record.
func recordedArchive(record string) (archive string, ok bool) {
	dir, file := path.Split(record)
	file, ok = strings.CutPrefix(file, recordPrefix)
	file, isJSON := strings.CutSuffix(file, ".json")
	if !strings.EqualFold(path.Ext(file), ".zip") { // otherwise it is ".ZIP", which recordName leaves
		file += ".zip"
	}
	return dir + file, ok && isJSON
}

// recordOf returns the name of the record of an archive with this entry.
func recordOf(archive string, l listed) string {
	if _, ok := recordedArchive(l.Record); ok && !strings.Contains(l.Record, "/") {
		return path.Dir(archive) + "/" + l.Record
	}
	return recordName(archive)
}

// record is the content of the file beside an archive, with what the documents of the protocol cannot
// state. It is true of a content, by its hashes, and is written before the document of the version.
type record struct {
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
func evidenceToRecord(ctx context.Context, ev verify.Evidence, computed checksum.Digests) *recordedEvidence {
	lenient := verify.Policy{AllowUnsigned: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
	saved := &recordedEvidence{Attestations: ev.Attestations}
	report, err := lenient.Judge(ctx, ev, computed)
	if err != nil || len(ev.Sums) == 0 || !utf8.Valid(ev.Sums) {
		return saved
	}
	saved.Filename, saved.Sums = ev.Filename, string(ev.Sums)
	if report.SignedBy != nil {
		saved.Signature, saved.Keys = ev.Signature, ev.Keys
	}
	return saved
}

// describe sets the recorded data of pkg. Size is the recorded size, even if the archive has been changed since: the
// reader of the archive compares the two.
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

// readRecord reads a record. The error wraps fs.ErrNotExist if it is missing, and errDamaged if it is invalid; the
// document has the revision also then.
func (m *Mirror) readRecord(ctx context.Context, name string) (stored.Document, *record, error) {
	doc, err := stored.ReadAtMost(ctx, m.Store, name, maxRecord)
	if err != nil {
		return doc, nil, err
	}
	if doc.Data == nil {
		return doc, nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	var r *record
	if err := stored.Decode(doc.Data, &r); err != nil {
		return doc, nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.Size < 0 {
		return doc, nil, fmt.Errorf("%s: %w: the size is negative", name, errDamaged)
	}
	r.Hashes = slices.DeleteFunc(r.Hashes, checksum.Hash.IsZero)
	r.Protocols = slices.DeleteFunc(r.Protocols, func(text string) bool {
		_, err := addrs.ParseVersion(text)
		return err != nil
	})
	return doc, r, nil
}

// isUnrecorded reports whether err means that the record is missing or invalid.
func isUnrecorded(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged)
}

// entry returns the entry of an archive whose record has this name.
func (r *record) entry(archive, name string) listed {
	l := listed{Hashes: r.Hashes, URL: url.PathEscape(path.Base(archive))}
	if name != recordName(archive) {
		l.Record = path.Base(name)
	}
	return l
}
