package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ErrManifest is the kind of all [*ManifestError].
var ErrManifest = errors.New("unusable manifest")

// A ManifestError means that a manifest is invalid, or does not have the form that OpenTofu
// expects.
type ManifestError struct {
	Digest string // of the manifest
	Reason string
}

// Error returns the digest and the reason.
func (e *ManifestError) Error() string { return "manifest " + e.Digest + ": " + e.Reason }

// Is reports whether target is [ErrManifest].
func (e *ManifestError) Is(target error) bool { return target == ErrManifest }

// A DigestError means that content does not have its digest or its size. It wraps
// [checksum.ErrMismatch].
type DigestError struct {
	Want, Got         string // digests; Got is empty if the size is wrong
	WantSize, GotSize int64  // in bytes; if too large, GotSize is what was read
}

// Error returns both digests or both sizes.
func (e *DigestError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("content with the digest %s has %d bytes, want %d", e.Want, e.GotSize, e.WantSize)
	}
	return fmt.Sprintf("content has the digest %s, want %s", e.Got, e.Want)
}

// Is reports whether target is [checksum.ErrMismatch].
func (e *DigestError) Is(target error) bool { return target == checksum.ErrMismatch }

// An AddressError means that the address of a repository is invalid.
type AddressError struct {
	Repository string
}

// Error returns the quoted address.
func (e *AddressError) Error() string {
	return fmt.Sprintf("invalid repository address %.200q: want HOST/NAME or HOST:PORT/NAME", e.Repository)
}

// A CredentialError means that the credential for a registry cannot be found.
type CredentialError struct {
	Registry string // HOST or HOST:PORT
	Err      error
}

// Error returns the registry and the cause.
func (e *CredentialError) Error() string {
	return "credential for " + e.Registry + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *CredentialError) Unwrap() error { return e.Err }

// explain returns err without secrets: errors of the libraries contain whole URLs.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*ManifestError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*DigestError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*CredentialError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return statusError(e, sentCredential(ctx))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		u, _ := url.Parse(e.URL)
		return &failure.RequestError{URL: shown(u), HadToken: sentCredential(ctx), Attempts: 1, Err: withoutSecrets(e.Err)}
	}
	return withoutSecrets(err)
}

// statusError returns the error of an HTTP status. It repeats only error codes of the body.
func statusError(e *errcode.ErrorResponse, hadToken bool) error {
	request := &failure.RequestError{URL: shown(e.URL), Status: e.StatusCode, HadToken: hadToken, Attempts: 1}
	var codes []string
	for _, one := range e.Errors {
		if errorCode.MatchString(one.Code) && len(codes) < 5 {
			codes = append(codes, one.Code)
		}
	}
	request.Message = strings.Join(codes, ", ")
	switch {
	case e.StatusCode == http.StatusUnauthorized, e.StatusCode == http.StatusForbidden:
		request.Err = failure.ErrUnauthorized
	case slices.Contains(codes, errcode.ErrorCodeNameUnknown), slices.Contains(codes, errcode.ErrorCodeNameInvalid),
		e.StatusCode == http.StatusNotFound && len(e.Errors) == 0:
		request.Err = failure.ErrNotFound
	default:
		request.Err = errors.New("status " + strconv.Itoa(e.StatusCode))
	}
	return request
}

var errorCode = regexp.MustCompile(`^[A-Z_]{1,40}$`)

// hiddenError is the text of an error without secrets.
type hiddenError struct {
	text  string
	kinds []error
}

// kinds maps errors of the libraries to errors for callers.
var kinds = []struct{ library, kind error }{
	{errdef.ErrNotFound, failure.ErrNotFound},
	{errdef.ErrTooManyPages, failure.ErrTooLarge},
	{auth.ErrBasicCredentialNotFound, failure.ErrUnauthorized},
	{failure.ErrTooLarge, failure.ErrTooLarge},
	{io.ErrUnexpectedEOF, io.ErrUnexpectedEOF},
	{os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
}

// withoutSecrets returns the text of err with redacted URLs and without control characters. It
// wraps the kinds of err, but not err itself.
func withoutSecrets(err error) error {
	e := &hiddenError{text: failure.Printable(failure.RedactText(err.Error()), 500)}
	for _, o := range kinds {
		if errors.Is(err, o.library) {
			e.kinds = append(e.kinds, o.kind)
		}
	}
	if e.kinds == nil && e.text == err.Error() {
		return err // an error of the network
	}
	return e
}

func (e *hiddenError) Error() string { return e.text }

// Unwrap returns the kinds.
func (e *hiddenError) Unwrap() []error { return e.kinds }

// shown returns a redacted URL.
func shown(u *url.URL) string { return cmp.Or(failure.RedactURL(u), "unknown URL") }
