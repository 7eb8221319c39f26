package regclient_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

const host = "registry.example.com"

var (
	alpha = addrs.MustParseProvider(host + "/acme/alpha")
	linux = addrs.MustParsePlatform("linux_amd64")
	plan9 = addrs.MustParsePlatform("plan9_arm")
	v120  = addrs.MustParseVersion("1.2.0")
)

// alphaAt returns a version of the provider alpha for linux_amd64.
func alphaAt(version string) regtest.Provider {
	return regtest.Provider{Address: "acme/alpha", Version: version, Platforms: []string{"linux_amd64"}}
}

// registry returns a registry with alpha 1.2.0.
func registry() *regtest.Registry {
	reg := regtest.New(host)
	reg.AddProvider(alphaAt("1.2.0"))
	return reg
}

// client returns a client of reg without retries.
func client(reg *regtest.Registry) *regclient.Client {
	return &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
}

// tokens returns a source with a token for the registry's host.
func tokens(secret string) auth.Source {
	return auth.MustNewToken(secret).For(svchost.MustParse(host))
}

// raw serves body in place of documents of a kind.
func raw(kind regtest.Kind, body string) regtest.Fault {
	return regtest.Fault{Kind: kind, Raw: []byte(body)}
}

// failed is a *failure.Error with the request in its chain, if any.
type failed struct {
	Op, Subject string
	failure.RequestError
}

// asError returns the parts of err, which must be a *failure.Error.
func asError(t *testing.T, err error) failed {
	t.Helper()
	e, ok := err.(*failure.Error)
	if !ok {
		t.Fatalf("error %T %v, want a *failure.Error", err, err)
	}
	if strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("the error is not one printable line: %q", err)
	}
	f := failed{Op: e.Op, Subject: e.Subject}
	if r, ok := errors.AsType[*failure.RequestError](err); ok {
		f.RequestError = *r
	}
	return f
}

// lines renders releases as "VERSION PROTOCOLS PLATFORMS". A dash means unknown.
func lines(v *provider.Versions) string {
	var b strings.Builder
	for _, r := range v.Versions {
		protocols, platforms := "-", "-"
		if len(r.Protocols) > 0 {
			protocols = strings.Join(r.Protocols, ",")
		}
		if len(r.Platforms) > 0 {
			platforms = strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Platforms), "[]"), " ", ",")
		}
		fmt.Fprintf(&b, "%s %s %s\n", r.Version, protocols, platforms)
	}
	return b.String()
}

var (
	network = addrs.MustParseModule(host + "/acme/network/aws")
	v100    = addrs.MustParseModuleVersion("1.0.0")
)

const (
	modulesURL  = "https://" + host + "/v1/modules/"
	locationURL = modulesURL + "acme/network/aws/1.0.0/download"
)

// moduleRegistry has the module network in version 1.0.0, served as m says.
func moduleRegistry(m regtest.Module) *regtest.Registry {
	reg := regtest.New(host)
	m.Address = "acme/network/aws"
	reg.AddModule(m)
	return reg
}

// listing has the module network in these versions.
func listing(versions ...string) *regtest.Registry {
	reg := regtest.New(host)
	for _, v := range versions {
		reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: v})
	}
	return reg
}

// many returns n versions, from 1.0.0 on.
func many(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("1.%d.0", i)
	}
	return list
}

// releases renders versions as "VERSION[ (deprecated: REASON LINK)]".
func releases(v *module.Versions) string {
	var b strings.Builder
	for _, r := range v.Versions {
		b.WriteString(r.Version.String())
		if d := r.Deprecated; d != nil {
			fmt.Fprintf(&b, " (deprecated: %s %s)", d.Reason, d.Link)
		}
		b.WriteString("\n")
	}
	return b.String()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering returns a client that gets the result of doc for each request. Fuzzing and benchmarks need
// no registry.
func answering(tb testing.TB, doc func() []byte) *regclient.Client {
	tb.Helper()
	return &regclient.Client{
		Hosts: disco.NewHosts(svchost.MustParse(host), map[disco.Service]any{disco.ProvidersV1: "/v1/providers/", disco.ModulesV1: "/v1/modules/"}),
		Transport: &transport.Settings{
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
