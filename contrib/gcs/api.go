package gcs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/storage/bucket"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/transport/fetch"
)

const (
	defaultEndpoint = "https://storage.googleapis.com"
	mediaJSON       = "application/json"
	changeRetries   = 5 // an object can be changed once a second
)

// api makes requests for one bucket.
type api struct {
	settings transport.Settings
	base     *url.URL
	host     svchost.Hostname // of base; it gets the token
	bucket   string
}

// newAPI returns an api with the settings of t, except for its Credentials.
func newAPI(endpoint, bucket string, credentials *google.Credentials, t *transport.Settings) (*api, error) {
	base, err := url.Parse(cmp.Or(endpoint, defaultEndpoint))
	if err != nil || base.User != nil || base.RawQuery+base.Fragment != "" || strings.Trim(base.Path, "/") != "" {
		return nil, errors.New("the endpoint must be https://HOST")
	}
	host, err := svchost.FromWire(base.Host)
	if err != nil {
		return nil, fmt.Errorf("the endpoint must be https://HOST: %w", err)
	}
	if bucket == "" {
		return nil, errors.New("the name of the bucket is missing")
	}
	settings := transport.Settings{}
	if t != nil {
		settings = *t
	}
	settings.Credentials = nil
	if credentials != nil && credentials.TokenSource != nil {
		settings.Credentials = tokens{credentials.TokenSource}
	}
	return &api{settings: settings, base: base, host: host, bucket: bucket}, nil
}

// tokens is an [auth.Source] with access tokens.
type tokens struct{ from oauth2.TokenSource }

// Token returns when ctx ends, unlike the source.
func (t tokens) Token(ctx context.Context, _ svchost.Hostname) (auth.Token, error) {
	var token auth.Token
	done := make(chan error, 1)
	go func() {
		got, err := t.from.Token()
		if err == nil {
			token, err = auth.NewToken(got.AccessToken)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return token, err
	case <-ctx.Done():
		return auth.Token{}, context.Cause(ctx)
	}
}

// String names the source in errors.
func (tokens) String() string { return "Google credentials" }

// url returns the URL of the bucket's objects below root, or of one of them unless object is empty.
func (a *api) url(root, object string, query url.Values) *url.URL {
	parts := []string{"storage", "v1", "b", a.bucket, "o"}
	if root != "" {
		parts = append([]string{root}, parts...)
	}
	if object != "" {
		parts = append(parts, object)
	}
	u := &url.URL{Scheme: a.base.Scheme, Host: a.base.Host, Path: "/" + strings.Join(parts, "/"), RawQuery: query.Encode()}
	for _, part := range parts { // each is one segment
		u.RawPath += "/" + url.PathEscape(part)
	}
	return u
}

// get requests a document of the bucket.
func (a *api) get(ctx context.Context, object string, query url.Values, document any) error {
	resp, err := fetch.Document(ctx, &a.settings, fetch.Request{URL: a.url("", object, query), Accept: mediaJSON, TokenFor: a.host, Limit: bucket.MaxPage, Redirects: -1})
	if err == nil {
		err = resp.DecodeJSON(document)
	}
	return err
}

// open starts the download of an object, of its newest generation if generation is empty.
func (a *api) open(ctx context.Context, object, generation string) (*fetch.Body, error) {
	query := url.Values{"alt": {"media"}}
	if generation != "" {
		query.Set("generation", generation)
	}
	return fetch.Open(ctx, &a.settings, fetch.Request{URL: a.url("", object, query), TokenFor: a.host, Redirects: -1})
}

// list returns a function for the pages of a list.
func (a *api) list(ctx context.Context, query url.Values) func(token string) (*bucket.Page, error) {
	query.Set("maxResults", cmp.Or(query.Get("maxResults"), strconv.Itoa(bucket.PageSize)))
	query.Set("fields", "kind,nextPageToken,prefixes,items(name,size,generation)")
	return func(token string) (*bucket.Page, error) {
		if token != "" {
			query.Set("pageToken", token)
		}
		var answer struct {
			Kind  string
			Items []struct {
				Name, Generation string
				Size             *int64 `json:",string"`
			}
			Prefixes      []string
			NextPageToken string
		}
		if err := a.get(ctx, "", query, &answer); err != nil {
			return nil, err
		}
		if answer.Kind != "storage#objects" {
			return nil, errors.New("the answer is not a list of objects")
		}
		page := &bucket.Page{Prefixes: answer.Prefixes, More: answer.NextPageToken != "", Token: answer.NextPageToken}
		for _, o := range answer.Items {
			if o.Size == nil {
				return nil, errors.New("an entry has no size")
			}
			page.Objects = append(page.Objects, bucket.Object{Name: o.Name, Size: *o.Size, Generation: o.Generation})
		}
		return page, nil
	}
}

// change makes a request that changes an object.
func (a *api) change(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	settings := a.settings
	settings.Timeout, settings.Retries = -1, cmp.Or(settings.Retries, changeRetries)
	r.Accept, r.TokenFor, r.Limit, r.Redirects = mediaJSON, a.host, bucket.MaxPage, -1
	return fetch.Document(ctx, &settings, r)
}
