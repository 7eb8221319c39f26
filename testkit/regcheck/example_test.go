package regcheck_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regcheck"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// Examine reports that a server has a provider without a signature.
func ExampleExamine() {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	reg.AddFault(regtest.Fault{Kind: regtest.Signature, Status: 404})
	server, err := reg.ServeTLS()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	for _, f := range regcheck.Examine(context.Background(), server.URL, regcheck.Options{
		Client:   server.Client(), // trusts the certificate
		Provider: "acme/alpha",
	}) {
		fmt.Println(f.Check, f.Level)
	}
	// Output:
	// signature failed
}

// handler is the server to test.
var handler = func() http.Handler {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
	reg.AddModule(regtest.Module{Address: "acme/network/aws"})
	return reg
}()

// This is a complete test of a server with a provider and a module. For a server that runs
// already, use its URL, without Client.
func ExampleCheck() {
	testServer := func(t *testing.T) {
		server := httptest.NewTLSServer(handler)
		defer server.Close()
		regcheck.Check(t, server.URL, regcheck.Options{
			Client:   server.Client(), // trusts the certificate of the server
			Provider: "acme/alpha",
			Module:   "acme/network/aws",
		})
	}
	_ = testServer // in a test file it is func TestServer(t *testing.T)
}

// TestCheckExample runs the code of the example.
func TestCheckExample(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(handler)
	defer server.Close()
	r := &recorder{ctx: t.Context()}
	regcheck.Check(r, server.URL, regcheck.Options{Client: server.Client(), Provider: "acme/alpha", Module: "acme/network/aws"})
	if len(r.errors) != 0 || len(r.logged) != 0 {
		t.Errorf("%q, %q", r.errors, r.logged)
	}
}

// TestCheckServer: all checks over real connections.
func TestCheckServer(t *testing.T) {
	t.Parallel()
	reg, o := exemplary()
	server := must.Get(reg.ServeTLS())(t)
	defer server.Close()
	o.Client, o.Mirror, o.MirrorProvider = server.Client(), server.MirrorURL(), "registry.example.com/acme/alpha"
	for _, f := range regcheck.Examine(t.Context(), server.URL, o) {
		t.Errorf("%+v", f)
	}
}

// FuzzExamine: whatever a server answers, findings are printable and no check panics.
func FuzzExamine(f *testing.F) {
	for kind := range 12 {
		for _, doc := range []string{"", "{}", "null", `{"versions":[null]}`, `{"modules":[{"versions":[null]}]}`, `{"versions":{"1.0.0":null}}`,
			`{"archives":{"linux_amd64":null}}`, `{"archives":{"linux_amd64":{"url":"\u001b[31m"}}}`, `{"location":"\u0000"}`, `{"providers.v1":":"}`, "PK\x03\x04"} {
			f.Add(uint8(kind), []byte(doc))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, doc []byte) {
		reg, o := exemplary()
		if doc == nil {
			doc = []byte{}
		}
		reg.AddFault(regtest.Fault{Kind: 1 << (kind % 12), Raw: doc, Header: map[string][]string{"X-Terraform-Get": {"./x"}}})
		for _, found := range regcheck.Examine(t.Context(), exemplaryURL, o) {
			for _, r := range found.Text {
				if r < ' ' || r == 0x7f {
					t.Fatalf("%q", found.Text)
				}
			}
		}
	})
}
