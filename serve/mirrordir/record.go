package mirrordir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

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
