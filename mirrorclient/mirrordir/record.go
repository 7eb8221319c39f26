package mirrordir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// record is the content of the file beside an archive, with what the documents of the protocol cannot
// state. It is written after the archive and before the documents.
type record struct {
	Size      int64             `json:"size"`   // size of the archive in bytes
	Hashes    []checksum.Hash   `json:"hashes"` // computed hashes of the archive
	Trust     verify.Trust      `json:"trust"`  // result of the policy when the archive was added
	Protocols []string          `json:"protocols,omitempty"`
	Evidence  *recordedEvidence `json:"evidence,omitempty"` // nil if NoEvidence was set
}

// recordedEvidence is the evidence of the source. It is empty if the source has none.
type recordedEvidence struct {
	Filename  string       `json:"filename,omitempty"`  // name of the archive in Sums
	Sums      string       `json:"sums,omitempty"`      // SHA256SUMS document
	Signature []byte       `json:"signature,omitempty"` // signature of Sums
	Keys      []verify.Key `json:"keys,omitempty"`      // keys of the signer
}

// maxDocument is the maximum size in bytes of a document or record.
const maxDocument = 16 << 20

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

// evidenceToRecord returns the valid part of ev. Invalid evidence that a lenient policy has ignored
// would make the archive unusable for stricter policies.
func evidenceToRecord(ev verify.Evidence, size int64, local []checksum.Hash) *recordedEvidence {
	lenient := verify.Policy{AllowUnsigned: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
	saved := &recordedEvidence{}
	report, err := lenient.Judge(ev, size, local)
	if err != nil || len(ev.Sums) == 0 || !utf8.Valid(ev.Sums) {
		return saved
	}
	saved.Filename, saved.Sums = ev.Filename, string(ev.Sums)
	if report.SignedBy != nil {
		saved.Signature, saved.Keys = ev.Signature, ev.Keys
	}
	return saved
}

// readRecord reads the record of an archive. The error wraps fs.ErrNotExist if the record is missing,
// and errDamaged if it is invalid.
func (m *Mirror) readRecord(ctx context.Context, archive string) (*record, error) {
	name := recordName(archive)
	doc, err := m.read(ctx, name)
	if err != nil {
		return nil, err
	}
	if doc.data == nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	var r *record
	if err := decode(doc.data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.Size < 0 {
		return nil, fmt.Errorf("%s: %w: the size is negative", name, errDamaged)
	}
	r.Hashes = slices.DeleteFunc(r.Hashes, checksum.Hash.IsZero)
	r.Protocols = slices.DeleteFunc(r.Protocols, func(text string) bool {
		_, err := addrs.ParseVersion(text)
		return err != nil
	})
	return r, nil
}

// isUnrecorded reports whether err means that the record is missing or invalid.
func isUnrecorded(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged)
}

// writeRecord replaces the record of an archive.
func (m *Mirror) writeRecord(ctx context.Context, archive string, r *record) error {
	data, err := encode(r)
	if err != nil {
		return err
	}
	name := recordName(archive)
	if err := m.write(ctx, name, data, document{}); !errors.Is(err, ErrConflict) {
		return err // usually there is no record yet
	}
	return retry(ctx, name, func() error {
		old, err := m.read(ctx, name)
		if err != nil && !errors.Is(err, errDamaged) {
			return err
		}
		return m.write(ctx, name, data, old)
	})
}

// document is the content of a document or record.
type document struct {
	data     []byte   // nil if the file is missing or too large
	revision Revision // empty if the file is missing
}

// read reads a document. If it is too large, read returns its revision and an error that wraps
// errDamaged.
func (m *Mirror) read(ctx context.Context, name string) (document, error) {
	o, err := m.Storage.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return document{}, nil
	}
	if err != nil {
		return document{}, err
	}
	defer o.Close()
	if o.Size > maxDocument {
		return document{revision: o.Revision}, tooLarge(name)
	}
	data, err := io.ReadAll(io.LimitReader(ctxReader{ctx, o}, maxDocument+1))
	switch {
	case err != nil:
		return document{}, fmt.Errorf("read %s: %w", name, err)
	case len(data) > maxDocument:
		return document{revision: o.Revision}, tooLarge(name)
	}
	return document{data, o.Revision}, nil
}

// write replaces a document that has not changed since it was read. It does nothing if the content is
// the same.
func (m *Mirror) write(ctx context.Context, name string, data []byte, old document) error {
	switch {
	case old.data != nil && bytes.Equal(old.data, data):
		return nil
	case len(data) > maxDocument:
		return fmt.Errorf("%s would have more than %d bytes: %w", name, maxDocument, fault.ErrTooLarge)
	}
	return m.Storage.Write(ctx, name, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), old.revision)
}

// emptyDocument is a document without entries.
const emptyDocument = "{}"

// withRemedy adds the remedy to an error about a damaged document.
func withRemedy(err error) error {
	if errors.Is(err, errDamaged) {
		err = fmt.Errorf("%w; run Mirror.Reindex to replace it", err)
	}
	return err
}

func tooLarge(name string) error {
	return fmt.Errorf("%s: %w: more than %d bytes: %w", name, errDamaged, maxDocument, fault.ErrTooLarge)
}

// errDamaged means that a document or record is invalid or too large.
var errDamaged = errors.New("damaged document")

// decode decodes a JSON object into v, a pointer to a pointer or to a map.
func decode(data []byte, v any) error {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return fmt.Errorf("%w: not a JSON object", errDamaged)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}

// encode formats a document like the CLI.
func encode(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }
