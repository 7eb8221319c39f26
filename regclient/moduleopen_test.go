package regclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// answers returns a registry whose packages are elsewhere and have this body and header.
func answers(body string, header http.Header) *regtest.Registry {
	reg := moduleRegistry(regtest.Module{})
	reg.AddFault(regtest.Fault{Kind: regtest.Other, Raw: []byte(body), Header: header})
	return reg
}

// TestModuleRequest: requests for locations.
func TestModuleRequest(t *testing.T) {
	t.Parallel()
	const archives = "application/zip, application/x-tar, */*;q=0.1"
	tests := []struct {
		location string
		direct   bool
		url      string // that is asked for
		accept   string
	}{
		{"https://e.example.com/a.zip", false, "https://e.example.com/a.zip", archives},
		{"https://e.example.com/a?archive=tar.xz", false, "https://e.example.com/a", archives},
		{"https://e.example.com/a.zip?b=%2f&a=1&a=0", false, "https://e.example.com/a.zip?b=%2f&a=1&a=0", archives},
		{"https://e.example.com/a", false, "https://e.example.com/a?terraform-get=1", "*/*"},
		{"https://e.example.com/a?b=%2f;c&a=1", false, "https://e.example.com/a?b=%2f;c&a=1&terraform-get=1", "*/*"},
		{"https://e.example.com/a.zip?archive=false", false, "https://e.example.com/a.zip?terraform-get=1", "*/*"},
		{"https://e.example.com/a", true, "https://e.example.com/a", archives},
		{"https://e.example.com/a?archive=false", true, "https://e.example.com/a?archive=false", archives},
	}
	for _, test := range tests {
		reg := moduleRegistry(regtest.Module{Location: test.location})
		if test.direct {
			reg = moduleRegistry(regtest.Module{Location: test.location, UseRegistryCredentials: new(bool)})
		}
		reg.AddFault(regtest.Fault{Kind: regtest.Other, Raw: []byte("archive")})
		c := client(reg)
		loc := must(c.ModuleLocation(t.Context(), network, v100))(t)
		if err := fetch(t, c, loc); err != nil {
			t.Errorf("%s: OpenModule returned %v, want no error", test.location, err)
		}
		r := reg.Requests()
		if got := r[len(r)-1]; got.URL() != test.url || got.Header.Get("Accept") != test.accept || got.Header.Get("Accept-Encoding") != "identity" || got.Method != http.MethodGet {
			t.Errorf("%s: %s, Accept %q", test.location, got, got.Header.Get("Accept"))
		}
	}
}

// TestModuleNext: only a page can name another location.
func TestModuleNext(t *testing.T) {
	t.Parallel()
	const next = "git::https://git.example.com/a.git?ref=v1"
	tests := []struct {
		name   string
		loc    module.Location
		header string
		want   string
	}{
		{"page", module.Location{}, next, next},
		{"page without", module.Location{}, "", ""},
		{"no archive", module.Location{Archive: module.FormatNone}, next, next},
		{"archive", module.Location{Archive: module.FormatZip}, next, ""},
		{"direct", module.Location{Direct: true}, next, ""},
	}
	for _, test := range tests {
		reg := answers("body", http.Header{"X-Terraform-Get": {test.header}})
		test.loc.URL = "https://e.example.com/a"
		body := must(client(reg).OpenModule(t.Context(), at(test.loc)))(t)
		data, err := io.ReadAll(body)
		body.Close()
		if body.Next != test.want || string(data) != "body" || err != nil || body.Size != 4 || body.Resumes() != 0 {
			t.Errorf("%s: next %q, want %q; %q, %v", test.name, body.Next, test.want, data, err)
		}
	}
	// The header alone, without any body.
	reg := moduleRegistry(regtest.Module{})
	reg.AddFault(regtest.Fault{Kind: regtest.Other, Status: 204, Raw: []byte{}, Header: http.Header{"X-Terraform-Get": {next}}})
	body, err := client(reg).OpenModule(t.Context(), at(module.Location{URL: "https://e.example.com/a"}))
	if err != nil || body.Next != next {
		t.Errorf("OpenModule returned %v, %v, want the next location %s", body, err, next)
	}
}

func TestOpenModuleRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		loc  *module.Location
		want error
		text string
	}{
		"nil":         {nil, nil, "the location is nil"},
		"git":         {at(module.Location{Kind: module.KindGit, URL: "https://e.example.com/a.git"}), nil, "unsupported location kind git"},
		"local":       {at(module.Location{Kind: module.KindLocal, URL: "file:///etc"}), nil, "kind local"},
		"http":        {at(module.Location{URL: "http://e.example.com/a.zip"}), module.ErrInsecure, "AllowHTTP"},
		"scheme":      {at(module.Location{URL: "ftp://e.example.com/a.zip"}), module.ErrInsecure, ""},
		"no host":     {at(module.Location{URL: "https:///a.zip"}), nil, "host"},
		"no URL":      {at(module.Location{URL: "https://e.example.com/%zz?token=" + secret}), nil, "invalid URL"},
		"a backslash": {at(module.Location{URL: `https://e.example.com\a.zip`}), nil, "backslash"},
		"zero":        {&module.Location{}, nil, "kind"},
	}
	for name, test := range tests {
		reg := answers("body", nil)
		_, err := client(reg).OpenModule(t.Context(), test.loc)
		e := asError(t, err)
		if e.Op != "fetch" || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: OpenModule returned %v, want %v with %q", name, err, test.want, test.text)
		}
		if reg.Count(0) != 0 {
			t.Errorf("%s: %d requests", name, reg.Count(0))
		}
	}
}

// TestModulePackageStatus: only 200 and 203 come with a package; 202 means that it is not ready.
func TestModulePackageStatus(t *testing.T) {
	t.Parallel()
	for status, ok := range map[int]bool{200: true, 201: false, 202: false, 203: true, 204: false, 205: false, 206: false, 207: false, 226: false, 299: false} {
		for name, loc := range map[string]module.Location{"archive": {Archive: module.FormatZip}, "direct": {Direct: true}, "page": {}} {
			reg := moduleRegistry(regtest.Module{})
			reg.AddFault(regtest.Fault{Kind: regtest.Other, Status: status, Raw: []byte("body")})
			loc.URL = "https://e.example.com/a"
			body, err := client(reg).OpenModule(t.Context(), at(loc))
			if (err == nil) != ok {
				t.Errorf("OpenModule of a location (%s), status %d: %v; want success %v", name, status, err, ok)
			}
			if err != nil {
				if e := asError(t, err); e.Status != status || e.URL == "" {
					t.Errorf("OpenModule of a location (%s): status %d, URL %q in the error, want %d", name, e.Status, e.URL, status)
				}
				continue
			}
			body.Close()
		}
	}
}

// TestOpenModuleErrors: errors have the location and no secrets.
func TestOpenModuleErrors(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{404: module.ErrNotFound, 401: module.ErrUnauthorized, 403: module.ErrUnauthorized, 500: nil, 400: nil} {
		reg := moduleRegistry(regtest.Module{Query: "token=" + secret, Format: regtest.Zip})
		reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, Status: status})
		c := leakClient(t, reg, true)
		loc, err := c.ModuleLocation(t.Context(), network, v100)
		if err != nil {
			t.Fatal(err)
		}
		err = fetch(t, c, loc)
		e := asError(t, err)
		if e.Status != status || e.Subject != host+"/acme/network/aws 1.0.0" || want != nil && !errors.Is(err, want) || strings.Contains(fmt.Sprintf("%v %+v", err, e), secret) {
			t.Errorf("status %d: OpenModule returned %v, want %v", status, err, want)
		}
		loc.Module = addrs.Module{}
		if e := asError(t, fetch(t, c, loc)); e.Subject != loc.String() || strings.Contains(e.Subject, secret) {
			t.Errorf("%d: subject %q", status, e.Subject)
		}
	}
}

// TestOpenModuleResumes: a broken transfer goes on where it broke.

// TestOpenModuleResumes: a broken transfer is resumed.
func TestOpenModuleResumes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		yes := true
		reg := regtest.New(host)
		rel := reg.AddModule(regtest.Module{Address: "acme/network/aws", Size: 1_000_000, UseRegistryCredentials: &yes})
		reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, First: 1, Break: regtest.Cut, After: 300_000})
		c := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client(), Credentials: tokens(t, secret)}}
		loc := must(c.ModuleLocation(t.Context(), network, v100))(t)
		body := must(c.OpenModule(t.Context(), loc))(t)
		defer body.Close()
		n, err := io.Copy(io.Discard, body)
		if err != nil || n != rel.Package().Size() || body.Size != n || body.Resumes() != 1 {
			t.Errorf("%d bytes of %d, %d resumes, %v", n, body.Size, body.Resumes(), err)
		}
		wantTokensFor(t, reg, []regtest.Kind{regtest.ModulePackage}, func(regtest.Request) bool { return true })
		if r := reg.Requests(); r[len(r)-1].Range != "bytes=300000-" {
			t.Errorf("last request %s", r[len(r)-1])
		}
	})
}

// TestModuleReadErrors: a failed transfer returns a *module.Error.
func TestModuleReadErrors(t *testing.T) {
	t.Parallel()
	reg := moduleRegistry(regtest.Module{Size: 10_000})
	reg.AddFault(regtest.Fault{Kind: regtest.ModulePackage, Break: regtest.Cut, After: 100})
	c := client(reg)
	loc := must(c.ModuleLocation(t.Context(), network, v100))(t)
	if e := asError(t, fetch(t, c, loc)); e.Op != "fetch" || e.Subject != host+"/acme/network/aws 1.0.0" {
		t.Errorf("error %+v, want operation and subject", e)
	}
}

func TestModuleContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reg := moduleRegistry(regtest.Module{})
	c := client(reg)
	for name, call := range map[string]func() error{
		"versions": func() error { _, err := c.ModuleVersions(ctx, network); return err },
		"location": func() error { _, err := c.ModuleLocation(ctx, network, v100); return err },
		"open": func() error {
			_, err := c.OpenModule(ctx, at(module.Location{URL: "https://e.example.com/a.zip"}))
			return err
		},
		"open with token": func() error {
			_, err := c.OpenModule(ctx, at(module.Location{URL: "https://e.example.com/a.zip", Direct: true, UseRegistryCredentials: true}))
			return err
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want Canceled", name, err)
		} else {
			asError(t, err)
		}
	}
	if reg.Count(0) != 0 {
		t.Errorf("%d requests after the end", reg.Count(0))
	}
}
