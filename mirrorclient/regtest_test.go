package mirrorclient_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// mirrored returns a client of the network mirror of a registry.
func mirrored(m regtest.Mirror) (*regtest.Registry, *mirrorclient.Client) {
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
	reg.Mirror = m
	return reg, &mirrorclient.Client{BaseURL: reg.MirrorURL(), Transport: &transport.Client{HTTP: reg.Client(), Retries: -1}}
}

// TestNoFile checks that a missing archive and a missing package are different errors.
func TestNoFile(t *testing.T) {
	t.Parallel()
	reg, c := mirrored(regtest.Mirror{})
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Status: 404})
	pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context(), pkg); !errors.Is(err, provider.ErrNoFile) || !errors.Is(err, provider.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := c.ProviderPackage(t.Context(), alpha, addrs.MustParseVersion("9.0.0"), linux); !errors.Is(err, provider.ErrNotFound) || errors.Is(err, provider.ErrNoFile) {
		t.Errorf("%v", err)
	}
}

// TestHabits downloads real archives from each form of mirror seen in practice: each form of URL
// with each choice of hashes.
func TestHabits(t *testing.T) {
	t.Parallel()
	for urls, form := range map[string]regtest.URLForm{
		"bare name": regtest.FileName, "download/": regtest.InDownload, "root-relative": regtest.RootRelative,
		"relative": regtest.Relative, "absolute": regtest.Absolute, "opaque query without .zip": regtest.Opaque,
	} {
		for _, test := range []struct {
			name      string
			hashes    []string
			presign   bool
			elsewhere bool
			trust     verify.Trust
		}{
			{"zh only", []string{"zh"}, false, false, verify.Checked},
			{"h1 only", []string{"h1"}, false, false, verify.Checked},
			{"both", []string{"h1", "zh"}, false, true, verify.Checked},
			{"both, presigned", nil, true, true, verify.Checked},
			{"and a future scheme", []string{"x9", "zh"}, true, false, verify.Checked},
			{"none", []string{}, false, false, verify.Unchecked},
		} {
			t.Run(urls+"/"+test.name, func(t *testing.T) {
				t.Parallel()
				habits := regtest.Mirror{URLs: form, Hashes: test.hashes, IgnoreHost: true}
				if test.presign {
					habits.Query = "X-Amz-Signature=ab12"
				}
				if test.elsewhere && form != regtest.FileName && form != regtest.InDownload {
					habits.Origin = "https://files.example.com"
				}
				_, c := mirrored(habits)
				pkg, err := c.ProviderPackage(t.Context(), alpha, v120, linux)
				if err != nil {
					t.Fatal(err)
				}
				policy := verify.Policy{AllowUnsigned: true, AllowUnchecked: test.trust == verify.Unchecked}
				report, err := provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), pkg.ArchiveName()), provider.Options{Policy: policy})
				if err != nil || report.Trust != test.trust {
					t.Errorf("%+v, %v", report, err)
				}
			})
		}
	}
}

// TestColdInstall checks that a download takes three requests.
func TestColdInstall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, c := mirrored(regtest.Mirror{})
		reg.Latency = time.Second
		begin := time.Now()
		versions, err := c.ProviderVersions(t.Context(), alpha)
		if err != nil {
			t.Fatal(err)
		}
		version, err := versions.NewestFor(addrs.ProviderConstraint{}, provider.Need{Platforms: []addrs.Platform{linux}})
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := c.ProviderPackage(t.Context(), alpha, version, linux)
		if err != nil {
			t.Fatal(err)
		}
		o := provider.Options{Policy: verify.Policy{AllowUnsigned: true}}
		if _, err := provider.Download(t.Context(), c, pkg, filepath.Join(t.TempDir(), "alpha.zip"), o); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 3*time.Second || reg.Count(0) != 3 {
			t.Errorf("%v and %d requests, want 3s and 3", took, reg.Count(0))
		}
	})
}

// TestUnknownProviderStatus checks the statuses that mirrors send for a missing provider.
func TestUnknownProviderStatus(t *testing.T) {
	t.Parallel()
	for status, found := range map[int]bool{0: false, 404: false, 410: false, 500: true} {
		_, c := mirrored(regtest.Mirror{UnknownStatus: status})
		beta := addrs.MustParseProvider("registry.example.com/acme/beta")
		_, err := c.ProviderVersions(t.Context(), beta)
		if asError(t, err); errors.Is(err, provider.ErrNotFound) == found {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// TestNoMediaType checks that a valid document without a media type is refused.
func TestNoMediaType(t *testing.T) {
	t.Parallel()
	reg, c := mirrored(regtest.Mirror{})
	reg.AddFault(regtest.Fault{Kind: regtest.MirrorIndex, Header: http.Header{"Content-Type": nil}})
	if _, err := c.ProviderVersions(t.Context(), alpha); err == nil || !strings.Contains(err.Error(), "media type is missing") {
		t.Error(err)
	}
}

// TestNullArchive checks an archive that is null, which crashes the CLI.
func TestNullArchive(t *testing.T) {
	t.Parallel()
	reg, c := mirrored(regtest.Mirror{})
	reg.AddFault(regtest.Fault{Kind: regtest.MirrorVersion, Edit: func(doc map[string]any) {
		doc["archives"].(map[string]any)["linux_amd64"] = nil
	}})
	if _, err := c.ProviderPackage(t.Context(), alpha, v120, linux); asError(t, err).Status != 200 || errors.Is(err, provider.ErrNotFound) {
		t.Error(err)
	}
}
