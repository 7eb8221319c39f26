package regclient

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/provider"
)

// failed makes the error of a job. What a request tells about itself moves into the
// fields, so that the text has it once.
func failed(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	e := &provider.Error{Op: op, Subject: subject, Err: err}
	switch inner := err.(type) {
	case *httpx.Error:
		e.URL, e.Status, e.RetryAfter = inner.URL, inner.Status, inner.RetryAfter
		e.HadToken, e.Attempts, e.Err = inner.HadToken, inner.Attempts, inner.Err
	case *disco.Error:
		e.URL, e.Status, e.RetryAfter = inner.URL, inner.Status, inner.RetryAfter
		e.HadToken, e.Attempts = inner.HadToken, inner.Attempts
	}
	return e
}

// unusable is the error of an answer that is not what the protocol says.
func unusable(resp *httpx.Response, err error) error {
	if h, ok := err.(*httpx.Error); ok {
		return h
	}
	return answered(resp, fmt.Errorf("unusable answer: %w", err))
}

// answered is an error about an answer.
func answered(resp *httpx.Response, err error) *httpx.Error {
	return &httpx.Error{
		URL:      httpx.Redact(resp.URL),
		Status:   resp.Status,
		HadToken: resp.HadToken,
		Attempts: resp.Attempts,
		Err:      err,
	}
}

// unavailable turns the registry's refusal of one package into the reason for it.
// Registries answer 404 for all of an unknown provider, version and platform, and
// some answer 400 or 500; the list of versions tells them apart. Refused is what
// remains if it does not.
func (c *Client) unavailable(ctx context.Context, refused *httpx.Error, p addrs.Provider, v addrs.Version, platform addrs.Platform) error {
	versions, err := c.ProviderVersions(ctx, p)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fault.ErrNotFound):
		return fault.ErrNotFound
	case err != nil:
		return refused.Err
	}
	if !errors.Is(refused.Err, fault.ErrNotFound) && listed(versions, v, platform) {
		return refused.Err
	}
	return versions.Unavailable(v, platform)
}

// listed tells whether the registry means to have the package.
func listed(versions *provider.Versions, v addrs.Version, platform addrs.Platform) bool {
	r, ok := versions.Find(v)
	// A list without platforms rules none out.
	return ok && (len(r.Platforms) == 0 || slices.Contains(r.Platforms, platform))
}

// subject names a package for people.
func subject(p addrs.Provider, v addrs.Version, platform addrs.Platform) string {
	return (&provider.Package{Provider: p, Version: v, Platform: platform}).String()
}
