package mirrordir

import (
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
	"github.com/tofureg/tofureg/internal/source"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Mirror is a mirror in a [storage.Store]. [Open] makes one for a directory. Set the fields before use. A Mirror is
// safe for concurrent use.
type Mirror struct {
	Store storage.Store // contains the files; required

	// TempDir is for temporary copies if Store is not a [storage.Stager]. If empty, [os.TempDir] is used.
	TempDir string

	nonce func() string // for tests; otherwise rand.Text
}

var _ provider.Source = (*Mirror)(nil)

// Open returns the mirror in a local directory. If it does not exist, the error wraps [fs.ErrNotExist]. Store is a
// [storage.Dir] that lists symbolic links to unpacked packages.
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

// IsLocal reports whether Store is a [storage.Pather]. Packages then have file URLs and may be unpacked.
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

// nameOf returns the name of the archive of pkg by its URL, empty if pkg is not from this mirror.
func (m *Mirror) nameOf(pkg *provider.Package) string {
	text, _ := strings.CutPrefix(pkg.URL, strings.TrimSuffix(m.fileURL("x"), "x"))
	name, err := url.PathUnescape(text)
	name = path.Clean(name)
	dirs := strings.Split(path.Dir(name), "/")
	v, platform, _ := provider.ParseArchiveName(pkg.Provider, path.Base(name))
	if err != nil || len(dirs) != 3 || v.IsZero() || v != pkg.Version || platform != pkg.Platform || m.fileURL(name) != pkg.URL {
		return ""
	}
	for depth, dir := range dirs {
		if !matchesProvider(pkg.Provider, depth, dir) {
			return ""
		}
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
	maxHashes   = 100     // for each archive
	maxDocument = 1 << 20 // bytes of the document of a version
	maxRecord   = 4 << 20 // bytes of a record
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

// index is the document that lists the versions of a provider, in any spelling. A zero State means that another program
// has written it, or that it is missing.
type index struct {
	State    stored.State        `json:"tofureg"`
	Versions map[string]struct{} `json:"versions"`
	was      storage.Revision    // of the file that was read, empty if it is missing
}

func (i *index) lists(v addrs.Version) bool {
	_, ok := i.Versions[v.String()]
	return ok
}

// list returns the versions with canonical spelling.
func (i *index) list() map[addrs.Version]bool {
	list := make(map[addrs.Version]bool, len(i.Versions))
	for text := range i.Versions {
		if v, err := addrs.ParseVersion(text); err == nil && v.String() == text {
			list[v] = true
		}
	}
	return list
}

// readIndex reads the index of a provider. If it is missing or damaged, it lists nothing.
func (m *Mirror) readIndex(ctx context.Context, p addrs.Provider) (*index, error) {
	i := &index{}
	doc, err := stored.Load(ctx, m.Store, indexName(p), stored.MaxDocument, &i)
	if err != nil {
		i = &index{}
	}
	i.was = doc.Revision
	return i, err
}

// document is the document of a version. It is the truth about the version. A zero State means that another program has
// written it, or that it is missing.
type document struct {
	Archives map[string]listed `json:"archives"` // by platform, also an invalid one; each has a URL
	State    stored.State      `json:"tofureg"`
	was      storage.Revision  // of the file that was read, empty if it is missing
}

// listed is an entry in the document of a version.
type listed struct {
	Hashes hashes `json:"hashes,omitempty"`
	URL    string `json:"url"`
	Record string `json:"record,omitempty"` // name of its record, unless that is beside the archive
}

// hashes are the hashes in an entry, without those that have no value.
type hashes []checksum.Hash

// UnmarshalJSON implements [json.Unmarshaler].
func (h *hashes) UnmarshalJSON(data []byte) (err error) {
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) > maxHashes {
		return fmt.Errorf("more than %d hashes: %w", maxHashes, failure.ErrTooLarge)
	}
	*h, err = source.ParseHashes(list)
	return err
}

func (l listed) equal(other listed) bool {
	return l.URL == other.URL && l.Record == other.Record && slices.Equal(l.Hashes, other.Hashes)
}

// readDocument reads the document of a version in a directory. A missing one has no entries and no revision. An invalid
// entry is an error: without its hashes the archive would be trusted more.
func (m *Mirror) readDocument(ctx context.Context, dir string, v addrs.Version) (*document, error) {
	d := &document{}
	doc, err := stored.Load(ctx, m.Store, path.Join(dir, v.String()+".json"), maxDocument, &d)
	if err != nil {
		return &document{was: doc.Revision}, err
	}
	d.was = doc.Revision
	for platform, l := range d.Archives {
		if l.URL == "" {
			delete(d.Archives, platform)
		}
	}
	return d, nil
}

// listsFresh reports whether the entries are archives with fresh names.
func (d *document) listsFresh() bool { return d.State.Layout != 0 && !d.State.Locked }

// platforms returns the entries with valid platforms.
func (d *document) platforms() map[addrs.Platform]listed {
	list := make(map[addrs.Platform]listed, len(d.Archives))
	for key, l := range d.Archives {
		if platform, err := addrs.ParsePlatform(key); err == nil {
			list[platform] = l
		}
	}
	return list
}

// retired reports whether an archive, or the archive of a record, has a usual name that must not be listed any more.
func (d *document) retired(name string) bool {
	if archive, ok := recordedArchive(name); ok {
		name = archive
	}
	return slices.Contains(d.State.Retired, path.Base(name))
}

// names returns the names of all files, with directory, that the entries name.
func (d *document) names(p addrs.Provider) map[string]bool {
	all := map[string]bool{}
	for _, l := range d.Archives {
		if name := resolve(providerDir(p), l.URL); name != "" {
			all[name], all[recordOf(name, l)] = true, true
		}
	}
	return all
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
	var r *record
	doc, err := stored.Load(ctx, m.Store, name, maxRecord, &r)
	if err == nil && r == nil {
		err = &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return doc, nil, err
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

// archiveName returns the name of the archive of pkg. Its URL names the archive that pkg describes, even if the document
// lists another archive now.
func (m *Mirror) archiveName(pkg *provider.Package) (name string, err error) {
	switch {
	case pkg == nil:
		return "", errNoPackage
	case pkg.Dir != "":
		return "", provider.ErrUnpacked
	}
	if name = m.nameOf(pkg); name == "" {
		err = fmt.Errorf("its URL is not in the mirror: %w", failure.ErrNotFound)
	}
	return name, err
}

// Open opens the archive of pkg. For an unpacked package, the error wraps [provider.ErrUnpacked].
func (m *Mirror) Open(ctx context.Context, pkg *provider.Package) (_ *provider.Body, err error) {
	defer func() { err = failure.Wrap("open", pkg.String(), err) }()
	name, err := m.archiveName(pkg)
	if err != nil {
		return nil, err
	}
	o, err := stored.Open(ctx, m.Store, name)
	if err != nil {
		return nil, err
	}
	return &provider.Body{ReadCloser: o.ReadCloser, Size: o.Size}, nil
}
