package regclient_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// versionsOf returns a registry with 1.2.0 for linux_amd64, and 1.1.0 for plan9_arm, too.
func versionsOf() *regtest.Registry {
	reg := registry()
	older := alphaAt("1.1.0")
	older.Platforms = []string{"linux_amd64", "plan9_arm"}
	reg.AddProvider(older)
	return reg
}

func TestUnknownProvider(t *testing.T) {
	t.Parallel()
	unknown := addrs.MustParseProvider(host + "/acme/unknown")
	for _, status := range []int{http.StatusNotFound, http.StatusGone} {
		reg := registry()
		reg.AddFault(regtest.Fault{Kind: regtest.Versions | regtest.Package, Status: status})
		c := client(reg)
		_, err := c.ProviderVersions(t.Context(), unknown)
		if e := asError(t, err); !errors.Is(err, provider.ErrNotFound) || errors.Is(err, provider.ErrNoVersion) || e.Status != status {
			t.Errorf("versions: %v", err)
		}
		_, err = c.ProviderPackage(t.Context(), unknown, v120, linux)
		if !errors.Is(err, provider.ErrNotFound) || errors.Is(err, provider.ErrNoVersion) || errors.Is(err, provider.ErrNoPlatform) ||
			!strings.Contains(err.Error(), "the registry does not have the provider: not found") {
			t.Errorf("package: %v", err)
		}
	}
	_, err := client(registry()).ProviderVersions(t.Context(), unknown)
	want := "list versions of " + host + "/acme/unknown: https://" + host + "/v1/providers/acme/unknown/versions: HTTP status 404: not found"
	if !strings.HasPrefix(asError(t, err).Error(), want) {
		t.Errorf("text\n got %s\nwant %s…", err, want)
	}
}

// TestRefusedPackage: for each refusal, the list of versions shows what is missing.
func TestRefusedPackage(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 410, 400, 500} {
		reg := versionsOf()
		reg.AddFault(regtest.Fault{Kind: regtest.Package, Status: status})
		c := client(reg)

		_, err := c.ProviderPackage(t.Context(), alpha, addrs.MustParseVersion("9.0.0"), linux)
		e := asError(t, err)
		unavailable, ok := errors.AsType[*provider.UnavailableError](err)
		if !ok || !errors.Is(err, provider.ErrNoVersion) || e.Status != status || unavailable.Newest != v120 {
			t.Errorf("%d for a version: %v", status, err)
		}

		_, err = c.ProviderPackage(t.Context(), alpha, v120, plan9)
		unavailable, ok = errors.AsType[*provider.UnavailableError](err)
		if !ok || !errors.Is(err, provider.ErrNoPlatform) || errors.Is(err, provider.ErrNoVersion) {
			t.Fatalf("%d for a platform: %v", status, err)
		}
		if !slices.Equal(unavailable.Platforms, []addrs.Platform{linux}) || unavailable.Fits.String() != "1.1.0" {
			t.Errorf("%d for a platform: there is %v, %s fits", status, unavailable.Platforms, unavailable.Fits)
		}
		if want := "1.2.0 has no package for plan9_arm, only for linux_amd64; the older 1.1.0 would fit"; !strings.Contains(asError(t, err).Error(), want) {
			t.Errorf("text %q, want %q in it", err, want)
		}
		if n := reg.Count(regtest.Versions); n != 2 {
			t.Errorf("%d requests for versions, want one for each refusal", n)
		}
	}
}

// TestDiscoveryFails: its errors are not errors of a package.
func TestDiscoveryFails(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 500, 503} {
		reg := registry()
		reg.AddFault(regtest.Fault{Kind: regtest.Discovery, Status: status})
		_, err := client(reg).ProviderPackage(t.Context(), alpha, v120, linux)
		e := asError(t, err)
		discovery, ok := e.Err.(*failure.Error)
		if !ok || discovery.Op != "discover services of" || e.Status != status || errors.Is(err, disco.ErrNoService) {
			t.Errorf("status %d: ProviderPackage returned %v, want the error of discovery", status, err)
		}
		if n := reg.Count(0); n != 1 {
			t.Errorf("%d: %d requests, want one", status, n)
		}
	}
}

func TestRetryAfterIsReported(t *testing.T) {
	t.Parallel()
	reg := registry()
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Status: http.StatusTooManyRequests, RetryAfter: "90"})
	_, err := client(reg).ProviderVersions(t.Context(), alpha)
	if e := asError(t, err); e.RetryAfter != 90*time.Second || e.Status != 429 || e.Attempts != 1 {
		t.Errorf("error %+v, want status 429 and 90s", e)
	}
}

func TestCredentialsFail(t *testing.T) {
	t.Parallel()
	reg := registry()
	c := client(reg)
	locked := errors.New("keychain is locked")
	c.Transport.Credentials = sourceFunc(func(context.Context, svchost.Hostname) (auth.Token, error) { return auth.Token{}, locked })
	_, err := c.ProviderVersions(t.Context(), alpha)
	if asError(t, err); !errors.Is(err, locked) {
		t.Errorf("ProviderVersions returned %v, want %v", err, locked)
	}
	if n := reg.Count(0); n != 0 {
		t.Errorf("%d requests were made without the token", n)
	}
}

type sourceFunc func(context.Context, svchost.Hostname) (auth.Token, error)

func (f sourceFunc) Token(ctx context.Context, host svchost.Hostname) (auth.Token, error) {
	return f(ctx, host)
}

func TestVetoHost(t *testing.T) {
	t.Parallel()
	reg := registry()
	c := client(reg)
	internal := errors.New("not this one")
	c.Transport.VetoHost = func(string) error { return internal }
	_, err := c.ProviderVersions(t.Context(), alpha)
	if asError(t, err); !errors.Is(err, internal) || reg.Count(0) != 0 {
		t.Errorf("%v after %d requests", err, reg.Count(0))
	}
}

// TestBuiltInProvider: no registry is asked for it.
func TestBuiltInProvider(t *testing.T) {
	t.Parallel()
	reg := registry()
	_, err := client(reg).ProviderVersions(t.Context(), addrs.MustParseProvider("terraform.io/builtin/terraform"))
	if asError(t, err); !errors.Is(err, provider.ErrNotFound) || reg.Count(0) != 0 {
		t.Errorf("%v after %d requests", err, reg.Count(0))
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reg := registry()
	c := client(reg)
	calls := map[string]func() error{
		"versions": func() error { _, err := c.ProviderVersions(ctx, alpha); return err },
		"package":  func() error { _, err := c.ProviderPackage(ctx, alpha, v120, linux); return err },
		"evidence": func() error { _, err := c.Evidence(ctx, filesOf(host)); return err },
		"open":     func() error { _, err := c.Open(ctx, filesOf(host)); return err },
	}
	for name, call := range calls {
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

// filesOf returns a package with files at a host.
func filesOf(at string) *provider.Package {
	return &provider.Package{
		Provider: alpha, Version: v120, Platform: linux,
		URL: "https://" + at + "/a.zip", SumsURL: "https://" + at + "/SHA256SUMS", SignatureURL: "https://" + at + "/SHA256SUMS.sig",
	}
}

// TestZeroValues: zero addresses cause an error without a request.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	reg := registry()
	c := client(reg)
	_, noProvider := c.ProviderVersions(t.Context(), addrs.Provider{})
	_, noVersion := c.ProviderPackage(t.Context(), alpha, addrs.Version{}, linux)
	_, noPlatform := c.ProviderPackage(t.Context(), alpha, v120, addrs.Platform{})
	_, noModule := c.ModuleVersions(t.Context(), addrs.Module{})
	for name, err := range map[string]error{"provider": noProvider, "version": noVersion, "platform": noPlatform, "module": noModule} {
		if text := asError(t, err).Error(); !strings.Contains(text, "zero value") || errors.Is(err, provider.ErrNotFound) {
			t.Errorf("zero %s: error %v, want one about the zero value", name, err)
		}
	}
	if n := len(reg.Requests()); n != 0 {
		t.Errorf("%d requests, want 0", n)
	}
}
