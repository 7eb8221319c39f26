package vectors_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

// answer is one element of an exchange.
type answer struct {
	URL        string
	Status     int
	Headers    map[string]string
	Body       string
	BodyBase64 []byte `json:"body_base64"`
	BodyPad    int    `json:"body_pad"`
}

func (a *answer) body() []byte {
	body := a.BodyBase64
	if body == nil {
		body = []byte(a.Body)
	}
	if n := a.BodyPad - len(body); n > 0 {
		body = append(body, bytes.Repeat([]byte(" "), n)...)
	}
	return body
}

// exchange answers what a case lists, and 404 else.
type exchange []answer

func (e exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody, Request: r}
	for _, a := range e {
		if a.URL != r.URL.String() {
			continue
		}
		resp.StatusCode = a.Status
		for k, v := range a.Headers {
			resp.Header.Set(k, v)
		}
		body := a.body()
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return resp, nil
}

func (e exchange) client() *http.Client { return &http.Client{Transport: e} }

// answerKind is the kind of an error about an answer.
func answerKind(err error) string {
	for _, k := range []struct {
		err  error
		kind string
	}{
		{disco.ErrNoService, "no-service"},
		{disco.ErrServiceVersion, "service-version"},
		{disco.ErrServiceID, "service-id"},
		{failure.ErrInsecure, "insecure"},
		{failure.ErrTooLarge, "too-large"},
		{failure.ErrUnauthorized, "unauthorized"},
		{failure.ErrNoVersion, "no-version"},
		{provider.ErrNoPlatform, "no-platform"},
		{failure.ErrNotFound, "not-found"},
		{module.ErrLocal, "local"},
	} {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	status := 0
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		status = e.Status
	}
	switch {
	case status >= 300 && status < 400:
		return "redirect"
	case status >= 400:
		return "status"
	}
	return "syntax"
}

func TestDiscovery(t *testing.T) {
	type login struct {
		Client       string
		GrantTypes   []string `json:"grant_types"`
		Authz, Token string
		Ports        [2]int
		Scopes       []string
	}
	each(t, "discovery", 30, func(t *testing.T, c struct {
		Name, Note, Host, Error string
		Exchange                exchange
		Services, Refused       map[disco.Service]string
		Login                   *login
	}) {
		client := &disco.Client{Transport: &transport.Settings{HTTP: c.Exchange.client(), Retries: -1}}
		s, err := client.Discover(t.Context(), svchost.MustParse(c.Host))
		got := map[disco.Service]string{}
		if err == nil {
			for id := range c.Services {
				if u, err := s.URL(id); err != nil {
					t.Errorf("%s: %v", id, err)
				} else {
					got[id] = u.String()
				}
			}
		}
		kind := answerKind(err)
		if kind == "syntax" && c.Error == "media-type" {
			kind = c.Error // has no error of its own here
		}
		result(t, got, c.Services, err, kind, c.Error)
		for id, want := range c.Refused {
			_, err := s.URL(id)
			if id == disco.LoginV1 {
				_, err = s.OAuthClient()
			}
			if err == nil || answerKind(err) != want {
				t.Errorf("%s: %v, want %s", id, err, want)
			}
		}
		if c.Login != nil {
			o := must.Get(s.OAuthClient())(t)
			got := login{o.ID, o.GrantTypes, o.AuthorizationURL.String(), o.TokenURL.String(), [2]int{o.MinPort, o.MaxPort}, append([]string{}, o.Scopes...)}
			result(t, got, *c.Login, nil, "", "")
		}
	})
}
