package mirrorclient

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
	"github.com/tofureg/tofureg/provider"
)

const mediaType = "application/json"

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
	if inner, ok := err.(*httpx.Error); ok {
		e.URL, e.Status, e.RetryAfter = inner.URL, inner.Status, inner.RetryAfter
		e.HadToken, e.Attempts, e.Err = inner.HadToken, inner.Attempts, inner.Err
	}
	return e
}

// answered makes the error of a request that was answered all the same.
func answered(resp *httpx.Response, err error) error {
	return &httpx.Error{
		URL:      httpx.Redact(resp.URL),
		Status:   resp.Status,
		HadToken: resp.HadToken,
		Attempts: resp.Attempts,
		Err:      err,
	}
}

// unusable is the error of an answer that is not what the protocol says.
func unusable(resp *httpx.Response, err error) error {
	if h, ok := err.(*httpx.Error); ok {
		return h
	}
	return answered(resp, fmt.Errorf("unusable answer: %w", err))
}

// because returns e with another cause.
func because(e *httpx.Error, cause error) *httpx.Error {
	changed := *e
	changed.Err = cause
	return &changed
}

// checkMediaType is as strict as the CLIs, which refuse such a mirror altogether: to
// be lenient here would only defer the trouble of whoever runs it.
func checkMediaType(resp *httpx.Response) error {
	if resp.Status != http.StatusOK {
		return errors.New("status 200 is wanted")
	}
	const remedy = ", and " + mediaType + " is wanted: set it for .json files at the server that holds the mirror"
	header := resp.Header.Get("Content-Type")
	if header == "" {
		return errors.New("it has no media type" + remedy)
	}
	media, _, _ := strings.Cut(header, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case media == mediaType:
		return nil
	case strings.Contains(media, "html"):
		return fmt.Errorf("it is a web page (%s), not a document of a mirror: is the base URL right, and is a login needed?", httpx.Clean(header, 100))
	}
	if parsed, _, err := mime.ParseMediaType(header); err == nil {
		header = parsed
	}
	return fmt.Errorf("it has the media type %s%s", httpx.Clean(header, 100), remedy)
}

// What an answer looks like where the base URL is that of something else.
const (
	hintRegistry  = "it looks like the answer of a provider registry, which package regclient asks"
	hintDiscovery = "it looks like a discovery document, not like one of a mirror: the base URL must be that of the mirror itself"
)

// hintFor returns what may help whoever finds no provider at base, or "". Registries
// have no such documents, and are easily taken for mirrors of themselves.
func hintFor(base *url.URL, host svchost.Hostname, p addrs.Provider) string {
	switch {
	case strings.HasSuffix(base.Path, "/v1/providers/"):
		return "; the base URL looks like that of a provider registry, which package regclient asks"
	case host == p.Host() && base.Path == "/":
		return "; if " + host.Display() + " is the provider's registry and no mirror, package regclient asks it"
	}
	return ""
}

// refusal returns err if it may mean that the mirror does not have the document: most
// answer 404, and some 400 or 500. Otherwise it returns nil.
func refusal(err error) *httpx.Error {
	e, ok := err.(*httpx.Error)
	if ok && (errors.Is(e.Err, fault.ErrNotFound) || e.Status == http.StatusBadRequest || e.Status == http.StatusInternalServerError) {
		return e
	}
	return nil
}

// subject names a package for people.
func subject(p addrs.Provider, v addrs.Version, platform addrs.Platform) string {
	return (&provider.Package{Provider: p, Version: v, Platform: platform}).String()
}
