package regclient_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering returns a client that gets the result of doc for each request. Fuzzing and benchmarks need
// no registry.
func answering(tb testing.TB, doc func() []byte) *regclient.Client {
	tb.Helper()
	at := svchost.MustParse(host)
	services := disco.NewServices(at, map[disco.Service]any{disco.ProvidersV1: "/v1/providers/", disco.ModulesV1: "/v1/modules/"})
	return &regclient.Client{
		Hosts: &disco.Hosts{Overrides: map[svchost.Hostname]*disco.Services{at: services}},
		Transport: &transport.Client{
			Retries: -1,
			HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				return document(r, doc()), nil
			})},
		},
	}
}

// document returns an answer with a JSON document.
func document(r *http.Request, body []byte) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}
