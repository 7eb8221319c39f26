package httpx_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
)

// source is an auth.Source that counts lookups and invalidations.
type source struct {
	token       string
	err         error
	lookups     int
	invalidated []svchost.Hostname
}

func (s *source) Token(_ context.Context, h svchost.Hostname) (auth.Token, error) {
	s.lookups++
	if s.err != nil || s.token == "" {
		return auth.Token{}, s.err
	}
	return auth.NewToken(s.token)
}

func (s *source) Invalidate(h svchost.Hostname) { s.invalidated = append(s.invalidated, h) }

func (s *source) String() string { return "test source" }

func TestFailingSourceIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("helper exited with status 1")
	s := serve(status(200, ""))
	c := client(t, s)
	c.Credentials = &source{err: broken}
	r := get(start)
	r.TokenFor = home
	_, err := c.Get(t.Context(), r)
	e := asError(t, err)
	named, ok := errors.AsType[*auth.SourceError](err)
	if !ok || named.Host != home || named.Source != "test source" || !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if len(s.seen()) != 0 || e.HadToken || e.Attempts != 0 {
		t.Errorf("%d requests, %+v", len(s.seen()), e)
	}
	r.TokenFor = svchost.Hostname{}
	if _, err := c.Get(t.Context(), r); err != nil {
		t.Errorf("without TokenFor: error %v, want no lookup", err)
	}
}

func TestUnauthorized(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		source      *source
		steps       []handler
		address     string
		had         bool
		invalidated bool
	}{
		{"401 with a token", &source{token: secret}, []handler{status(401, "")}, start, true, true},
		{"401 without one", &source{}, []handler{status(401, "")}, start, false, true},
		{"403 with a token", &source{token: secret}, []handler{status(403, "")}, start, true, false},
		{"401 over http", &source{token: secret}, []handler{status(401, "")}, "http://registry.example.com/", false, false},
		{"401 where the token did not follow", &source{token: secret}, []handler{redirect("https://cdn.example.com/"), status(401, "")}, start, true, false},
		{"401 where it did", &source{token: secret}, []handler{redirect("/next"), status(401, "")}, start, true, true},
		{"no source", nil, []handler{status(401, "")}, start, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := &httpx.Client{HTTP: &http.Client{Transport: serve(test.steps...)}, AllowHTTP: true}
			if test.source != nil {
				c.Credentials = test.source
			}
			r := get(test.address)
			r.TokenFor = home
			_, err := c.Get(t.Context(), r)
			e := asError(t, err)
			if !errors.Is(err, fault.ErrUnauthorized) || e.HadToken != test.had {
				t.Errorf("%+v", e)
			}
			if says := map[bool]string{true: "(a token was sent)", false: "(no token was sent)"}[test.had]; !strings.HasSuffix(err.Error(), says) {
				t.Errorf("text %q, want %q", err, says)
			}
			if test.source == nil {
				return
			}
			if got := slices.Contains(test.source.invalidated, home); got != test.invalidated {
				t.Errorf("invalidated %v, want %v", got, test.invalidated)
			}
			if test.address != start && test.source.lookups > 0 {
				t.Error("a token was looked up for a request without credentials")
			}
		})
	}
}
