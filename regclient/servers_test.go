package regclient_test

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestBodiesOfRefusals: bodies of errors of real servers.
func TestBodiesOfRefusals(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"nothing":           "",
		"text":              "404 page not found\n",
		"HTML":              "<html><body><h1>Not Found</h1></body></html>",
		"errors as a list":  `{"errors":["Not Found"]}`,
		"errors as a text":  `{"errors":"unsupported operating system"}`,
		"terminal escapes":  "\x1b[31mred\r\n",
		"a versions list":   `{"versions":[{"version":"1.0.0"}]}`,
		"not in UTF-8":      "\xff\xfe",
		"more than one MiB": string(make([]byte, 1<<20+1)),
	}
	wants := map[int]error{
		http.StatusNotFound: provider.ErrNotFound, http.StatusUnauthorized: provider.ErrUnauthorized,
		http.StatusForbidden: provider.ErrUnauthorized, http.StatusInternalServerError: nil, http.StatusBadRequest: nil,
	}
	for name, body := range bodies {
		for status, want := range wants {
			for _, media := range [][]string{nil, {"application/json"}, {"text/html"}} {
				reg := registry()
				reg.AddFault(regtest.Fault{Kind: regtest.Versions, Status: status, Raw: []byte(body), Header: http.Header{"Content-Type": media}})
				_, err := client(reg).ProviderVersions(t.Context(), alpha)
				e := asError(t, err)
				if e.Status != status || want != nil && !errors.Is(err, want) || want == nil && (errors.Is(err, provider.ErrNotFound) || errors.Is(err, provider.ErrUnauthorized)) {
					t.Errorf("%d with %s: %v, want %v", status, name, err, want)
				}
			}
		}
	}
}

// TestDeadService: the declared service does not answer.
func TestDeadService(t *testing.T) {
	t.Parallel()
	reg := registry()
	reg.AddFault(regtest.Fault{Kind: regtest.Versions | regtest.Package, Drop: true})
	c := client(reg)
	_, listErr := c.ProviderVersions(t.Context(), alpha)
	_, findErr := c.ProviderPackage(t.Context(), alpha, v120, linux)
	for _, err := range []error{listErr, findErr} {
		if e := asError(t, err); e.Status != 0 || e.Attempts != 1 || e.URL == "" || errors.Is(err, provider.ErrNotFound) {
			t.Errorf("error %+v, want one attempt without status", e)
		}
	}
}

// TestRetries: temporary faults are retried.
func TestRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := registry()
		for _, kind := range kinds {
			reg.AddFault(regtest.Fault{Kind: kind, First: 1, Status: http.StatusServiceUnavailable})
		}
		c := client(reg)
		c.Transport.Retries = 0 // the default
		if _, err := install(t.Context(), c, alpha, filepath.Join(t.TempDir(), "alpha.zip")); err != nil {
			t.Errorf("Download returned %v, want no error", err)
		}
		if n := reg.Count(0); n != 12 {
			t.Errorf("%d requests, want 12", n)
		}
	})
}

// TestArchiveMediaTypes: servers send many media types for a zip.
func TestArchiveMediaTypes(t *testing.T) {
	t.Parallel()
	for _, media := range [][]string{nil, {"application/zip"}, {"application/gzip"}, {"application/x-www-form-urlencoded"}, {"text/html"}} {
		reg := regtest.New(host)
		rel := reg.AddProvider(alphaAt("1.2.0"))
		reg.AddFault(regtest.Fault{Kind: regtest.Archive, Header: http.Header{"Content-Type": media}})
		c := client(reg)
		pkg := must(c.ProviderPackage(t.Context(), alpha, v120, linux))(t)
		body, err := c.Open(t.Context(), pkg)
		if err != nil {
			t.Errorf("media type %q: error %v, want none", media, err)
			continue
		}
		n, err := io.Copy(io.Discard, body)
		if err != nil || n != rel.Archive("linux_amd64").Size() || body.Size != n {
			t.Errorf("%q: %d bytes, declared %d, %v", media, n, body.Size, err)
		}
		body.Close()
	}
}

// TestHostWithPort: the port is part of the host's name.
func TestHostWithPort(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com:8443")
	reg.AddProvider(alphaAt("1.2.0"))
	path := filepath.Join(t.TempDir(), "alpha.zip")
	must(install(t.Context(), client(reg), addrs.MustParseProvider("registry.example.com:8443/acme/alpha"), path))(t)
	for _, r := range reg.Requests() {
		if r.Host != "registry.example.com:8443" {
			t.Errorf("asked %s", r)
		}
	}
}

// TestHostInUnicode: requests have the ASCII form of the host.
func TestHostInUnicode(t *testing.T) {
	t.Parallel()
	reg := regtest.New("bücher.example.com")
	reg.AddProvider(alphaAt("1.2.0"))
	versions, err := client(reg).ProviderVersions(t.Context(), addrs.MustParseProvider("bücher.example.com/acme/alpha"))
	if err != nil || len(versions.List) != 1 {
		t.Errorf("ProviderVersions returned %v, %v, want one version", versions, err)
	}
	for _, r := range reg.Requests() {
		if r.Host != "xn--bcher-kva.example.com" {
			t.Errorf("asked %s", r)
		}
	}
}
