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

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// record is what is known about one archive, in a file beside it: all that the documents
// of the network mirror protocol have no place for. It is written after the archive and
// before the documents that refer to the archive.
type record struct {
	Size      int64           `json:"size"`   // of the archive in bytes
	Hashes    []checksum.Hash `json:"hashes"` // of the archive, as the documents state them
	Trust     verify.Trust    `json:"trust"`  // by which the archive was added
	Protocols []string        `json:"protocols,omitempty"`
	Evidence  *savedEvidence  `json:"evidence,omitempty"` // nil: nobody has asked for it
}

// savedEvidence is what a source had to prove the origin of an archive; all empty: nothing.
type savedEvidence struct {
	Filename  string       `json:"filename,omitempty"`  // of the archive in Sums
	Sums      string       `json:"sums,omitempty"`      // the SHA256SUMS document
	Signature []byte       `json:"signature,omitempty"` // over Sums
	Keys      []verify.Key `json:"keys,omitempty"`      // that may have signed
}

// maxDocument is the size in bytes of the largest document that is read: a list of all
// versions, or a record with the keys that a registry may list.
const maxDocument = 16 << 20

// evidence returns what a source could say about the archive.
func (r *record) evidence(of address) verify.Evidence {
	p := of.pkg()
	p.Filename, p.Size = p.ArchiveName(), r.Size
	if e := r.Evidence; e != nil && e.Filename != "" {
		p.Filename = e.Filename
	}
	ev := p.Evidence()
	// Of an archive that nothing vouched for, its own hashes prove nothing.
	if r.Trust > verify.Unchecked {
		ev.Hashes = r.Hashes
	}
	if e := r.Evidence; e != nil {
		ev.Signature, ev.Keys = e.Signature, e.Keys
		if e.Sums != "" {
			ev.Sums = []byte(e.Sums)
		}
	}
	return ev
}

// saveEvidence returns the part of ev that will stand when the archive is judged again.
// What is wrong, and passed only since the policy did not look at it, would make the
// archive unusable to those whose policies do.
func saveEvidence(ev verify.Evidence, size int64, local []checksum.Hash) *savedEvidence {
	lenient := verify.Policy{AllowUnsigned: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
	saved := &savedEvidence{}
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

// readRecord returns what is on record about an archive. The error wraps fs.ErrNotExist if
// there is no record, and errDocument if it is damaged.
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
		return nil, fmt.Errorf("%s: %w: the size is negative", name, errDocument)
	}
	r.Hashes = slices.DeleteFunc(r.Hashes, checksum.Hash.IsZero)
	return r, nil
}

// isUnrecorded reports whether an error of readRecord says that there is no record that can
// be read.
func isUnrecorded(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDocument)
}

// writeRecord replaces the record of an archive.
func (m *Mirror) writeRecord(ctx context.Context, archive string, r *record) error {
	data, err := encode(r)
	if err != nil {
		return err
	}
	name := recordName(archive)
	if err := m.write(ctx, name, data, document{}); !errors.Is(err, ErrConflict) {
		return err // most often there is none yet
	}
	return retry(ctx, name, func() error {
		old, err := m.read(ctx, name)
		if err != nil && !errors.Is(err, errDocument) {
			return err
		}
		return m.write(ctx, name, data, old)
	})
}

// document is a file of the mirror that is read as a whole.
type document struct {
	data     []byte   // nil: there is none, or it is too large
	revision Revision // empty: there is none
}

// read returns a document. The revision is there also with an error that wraps errDocument:
// the document is too large.
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

// write replaces a document that has not changed since it was read. One that stays the same is
// not written.
func (m *Mirror) write(ctx context.Context, name string, data []byte, old document) error {
	switch {
	case old.data != nil && bytes.Equal(old.data, data):
		return nil
	case len(data) > maxDocument:
		return fmt.Errorf("%s would have more than %d bytes: %w", name, maxDocument, fault.ErrTooLarge)
	}
	return m.Storage.Write(ctx, name, io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data))), old.revision)
}

// emptyDocument lists nothing.
const emptyDocument = "{}"

// withRemedy says what to do about a damaged document that is listed from.
func withRemedy(err error) error {
	if errors.Is(err, errDocument) {
		err = fmt.Errorf("%w; Mirror.Reindex makes it anew", err)
	}
	return err
}

func tooLarge(name string) error {
	return fmt.Errorf("%s: %w: more than %d bytes: %w", name, errDocument, maxDocument, fault.ErrTooLarge)
}

// errDocument: a document of the mirror is not what the protocol says, or beyond a limit.
var errDocument = errors.New("damaged document")

// decode reads one JSON object into v, which points to a pointer or to a map.
func decode(data []byte, v any) error {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '{' {
		return fmt.Errorf("%w: not a JSON object", errDocument)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", errDocument, err)
	}
	return nil
}

// encode writes a document as the CLI does.
func encode(v any) ([]byte, error) { return json.MarshalIndent(v, "", "  ") }
