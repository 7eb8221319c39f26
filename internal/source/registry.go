package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/internal/jsondoc"
)

// Limits of a document with versions or a location.
const (
	MaxDocument = 16 << 20 // bytes
	MaxVersions = 100_000
)

// Request returns the request for the document at a path in a service of a registry.
func Request(ctx context.Context, discovery *disco.Client, host svchost.Hostname, id disco.Service, parts ...string) (httpx.Request, error) {
	if host.IsZero() || slices.Contains(parts, "") {
		return httpx.Request{}, errors.New("the address, the version or the platform is the zero value")
	}
	services, err := discovery.Discover(ctx, host)
	if err != nil {
		return httpx.Request{}, err
	}
	base, err := services.URL(id)
	if err != nil {
		return httpx.Request{}, err
	}
	return httpx.Request{URL: httpx.Endpoint(base, parts...), Accept: httpx.JSON, TokenFor: services.TokenHost(), Limit: MaxDocument}, nil
}

// DecodeList decodes a document with at most MaxVersions versions.
func DecodeList[T any](resp *httpx.Response) (*T, error) {
	if err := jsondoc.CheckMembers(resp.Body, jsondoc.MaxMembers); err != nil {
		return nil, err
	}
	if err := jsondoc.CheckList(resp.Body, "versions", MaxVersions); err != nil {
		return nil, err
	}
	var doc *T
	if err := resp.DecodeJSON(&doc); err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, errors.New("the document is null")
	}
	return doc, nil
}

// Time is a time in a document, or zero if there is anything else.
type Time struct{ time.Time }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (t *Time) UnmarshalJSON(data []byte) error {
	var stated time.Time
	t.Time = time.Time{}
	if stated.UnmarshalJSON(data) == nil && stated.UTC().Year() >= 1 && stated.UTC().Year() <= 9999 { // others have no JSON form
		t.Time = stated.UTC()
	}
	return nil
}

// NoList returns the reason for a refusal if listing the versions has failed with err.
func NoList(ctx context.Context, refused *failure.RequestError, what string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, failure.ErrNotFound):
		return fmt.Errorf("the registry does not have the %s: %w", what, failure.ErrNotFound)
	}
	return Cause(refused, what)
}
