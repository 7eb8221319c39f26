// Package source has what the clients of registries and mirrors share: requests, documents, errors, downloads and stated hashes.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Failed returns the *failure.Error of an operation, or nil if err is nil.
func Failed(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*failure.Error); ok && e.Op == op {
		return err
	}
	return &failure.Error{Op: op, Subject: subject, Err: err}
}

// Missing returns err. If err means that a file of a package does not exist, the result also wraps
// kind, which is provider.ErrNoFile.
func Missing(err, kind error) error {
	inner, ok := err.(*failure.RequestError)
	if !ok || !errors.Is(inner.Err, failure.ErrNotFound) {
		return err
	}
	return inner.Because(&noFile{inner.Err, kind})
}

type noFile struct{ error, kind error }

func (e *noFile) Error() string   { return e.error.Error() }
func (e *noFile) Unwrap() []error { return []error{e.error, e.kind} }

// FindVersion returns the result of get for a version. Some servers know a version only in the spelling
// of their list. So if the server refuses the request, FindVersion calls explain. If that returns a
// listed spelling, get is called with it, and otherwise the error has the returned reason.
func FindVersion[T any](version string, get func(text string) (T, error), explain func(refused *failure.RequestError) (listed string, reason error)) (T, error) {
	found, err := get(version)
	refused := httpx.Refusal(err)
	if refused == nil {
		return found, err
	}
	listed, reason := explain(refused)
	if listed != "" {
		if again, err := get(listed); httpx.Refusal(err) == nil {
			return again, err
		}
	}
	return found, refused.Because(reason)
}

// PerhapsUnknown adds the hint of Cause to err if it is a *failure.RequestError.
func PerhapsUnknown(err error, what string) error {
	if e, ok := err.(*failure.RequestError); ok {
		return e.Because(Cause(e, what))
	}
	return err
}

// Cause returns the cause of e, with a hint if the answer has status 500.
func Cause(e *failure.RequestError, what string) error {
	if e.Status != http.StatusInternalServerError {
		return e.Err
	}
	return fmt.Errorf("%w; some servers answer 500 for an unknown %s", e.Err, what)
}

// Body is an archive being fetched, as provider.Body.
type Body struct {
	io.ReadCloser
	Size    int64
	Resumes func() int
}

// Open starts a download. Failed makes its errors, also the errors of the body. The kind missing is for Missing.
func Open(ctx context.Context, client *httpx.Client, r httpx.Request, op, subject string, missing error) (*Body, error) {
	body, err := client.Open(ctx, r)
	if err != nil {
		return nil, Failed(op, subject, Missing(err, missing))
	}
	return &Body{ReadCloser: NewReader(body, op, subject), Size: body.Size, Resumes: body.Resumes}, nil
}

// NewReader returns body with errors made by Failed.
func NewReader(body *httpx.Body, op, subject string) io.ReadCloser {
	return &reader{body, op, subject}
}

type reader struct {
	body        *httpx.Body
	op, subject string
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, Failed(r.op, r.subject, err)
}

func (r *reader) Close() error { return r.body.Close() }

// ParseHashes parses the stated hashes of an archive and returns them sorted, without duplicates.
// A hash without a value, such as "h1:", is ignored.
func ParseHashes(list []string) ([]checksum.Hash, error) {
	var hashes []checksum.Hash
	for _, text := range list {
		h, err := checksum.ParseHash(text)
		if errors.Is(err, checksum.ErrEmptyHash) {
			continue
		}
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	return hashlist.Sorted(hashes), nil
}

// SetHashes sets the stated hashes of a platform in to, if the list is not empty.
func SetHashes(to *map[addrs.Platform][]checksum.Hash, platform addrs.Platform, hashes []checksum.Hash) {
	if len(hashes) == 0 {
		return
	}
	if *to == nil {
		*to = map[addrs.Platform][]checksum.Hash{}
	}
	(*to)[platform] = hashes
}

// Listed returns text, the listed text of v, or "" if it is canonical.
func Listed(v addrs.Version, text string) string {
	if text == v.String() {
		return ""
	}
	return text
}

// NoteUnselectable adds a warning about the provider version 0.0.0, which no constraint selects.
func NoteUnselectable(notes *httpx.Notes, v addrs.Version) {
	if v.String() == "0.0.0" {
		notes.Addf(`no constraint selects the listed version 0.0.0: the CLI interprets it as "no version"`)
	}
}
