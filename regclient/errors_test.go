package regclient_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
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
		if e := asError(t, err); !errors.Is(err, failure.ErrNotFound) || errors.Is(err, failure.ErrNoVersion) || e.Status != status {
			t.Errorf("versions: %v", err)
		}
		_, err = c.ProviderPackage(t.Context(), unknown, v120, linux)
		if !errors.Is(err, failure.ErrNotFound) || errors.Is(err, failure.ErrNoVersion) || errors.Is(err, provider.ErrNoPlatform) ||
			!strings.Contains(err.Error(), "the registry does not have the provider: not found") {
			t.Errorf("package: %v", err)
		}
	}
	_, err := client(registry()).ProviderVersions(t.Context(), unknown)
	want := "list versions of " + host + "/acme/unknown: https://" + host + "/v1/providers/acme/unknown/versions: HTTP status 404: not found"
	if !strings.HasPrefix(err.Error(), want) {
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
		if !ok || !errors.Is(err, failure.ErrNoVersion) || e.Status != status || unavailable.Newest != v120 {
			t.Errorf("%d for a version: %v", status, err)
		}

		_, err = c.ProviderPackage(t.Context(), alpha, v120, plan9)
		unavailable, ok = errors.AsType[*provider.UnavailableError](err)
		if !ok || !errors.Is(err, provider.ErrNoPlatform) || errors.Is(err, failure.ErrNoVersion) {
			t.Fatalf("%d for a platform: %v", status, err)
		}
		if !slices.Equal(unavailable.Platforms, []addrs.Platform{linux}) || unavailable.Fits.String() != "1.1.0" {
			t.Errorf("%d for a platform: there is %v, %s fits", status, unavailable.Platforms, unavailable.Fits)
		}
		if want := "1.2.0 has no package for plan9_arm, only for linux_amd64; the older 1.1.0 would fit"; !strings.Contains(err.Error(), want) {
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
		discovery, ok := errors.AsType[*failure.Error](errors.Unwrap(err))
		if !ok || discovery.Op != "discover services of" || e.Status != status || errors.Is(err, disco.ErrNoService) {
			t.Errorf("status %d: ProviderPackage returned %v, want the error of discovery", status, err)
		}
		if n := reg.Count(0); n != 1 {
			t.Errorf("%d: %d requests, want one", status, n)
		}
	}
}

// filesOf returns a package with files at a host.
func filesOf(at string) *provider.Package {
	return &provider.Package{
		Provider: alpha, Version: v120, Platform: linux,
		URL: "https://" + at + "/a.zip", SumsURL: "https://" + at + "/SHA256SUMS", SignatureURL: "https://" + at + "/SHA256SUMS.sig",
	}
}

// TestZeroValues: zero addresses and built-in providers cause an error without a request.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	reg := registry()
	c := client(reg)
	_, noProvider := c.ProviderVersions(t.Context(), addrs.Provider{})
	_, noVersion := c.ProviderPackage(t.Context(), alpha, addrs.Version{}, linux)
	_, noPlatform := c.ProviderPackage(t.Context(), alpha, v120, addrs.Platform{})
	_, noModule := c.ModuleVersions(t.Context(), addrs.Module{})
	_, noModuleVersion := c.ModuleLocation(t.Context(), network, addrs.Version{})
	_, builtIn := c.ProviderVersions(t.Context(), addrs.MustParseProvider("terraform.io/builtin/terraform"))
	if asError(t, builtIn); !errors.Is(builtIn, failure.ErrNotFound) {
		t.Errorf("built-in provider: %v, want ErrNotFound", builtIn)
	}
	if asError(t, noModuleVersion); !strings.Contains(noModuleVersion.Error(), "the version is missing") {
		t.Errorf("zero version of a module: %v", noModuleVersion)
	}
	for name, err := range map[string]error{"provider": noProvider, "version": noVersion, "platform": noPlatform, "module": noModule} {
		if text := err.Error(); !strings.Contains(text, "zero value") || errors.Is(err, failure.ErrNotFound) {
			t.Errorf("zero %s: error %v, want one about the zero value", name, err)
		}
	}
	if n := len(reg.Requests()); n != 0 {
		t.Errorf("%d requests, want 0", n)
	}
}

// TestNoFile: a missing file of a package is ErrNoFile, a missing package is not.
func TestNoFile(t *testing.T) {
	t.Parallel()
	for kind, what := range map[regtest.Kind]string{
		regtest.Sums:      "fetch the checksums of registry.example.com/acme/alpha 1.2.0 linux_amd64: ",
		regtest.Signature: "fetch the signature of registry.example.com/acme/alpha 1.2.0 linux_amd64: ",
		regtest.Archive:   "fetch registry.example.com/acme/alpha 1.2.0 linux_amd64: ",
	} {
		for _, status := range []int{404, 410, 403, 500} {
			reg := registry()
			reg.AddFault(regtest.Fault{Kind: kind, Status: status})
			_, err := install(t.Context(), client(reg), alpha, filepath.Join(t.TempDir(), "alpha.zip"))
			gone := status == 404 || status == 410
			if errors.Is(err, provider.ErrNoFile) != gone || errors.Is(err, failure.ErrNotFound) != gone || provider.IsFault(err) != (status == 500) {
				t.Errorf("%v, status %d: %v", kind, status, err)
			}
			if e, ok := errors.AsType[*failure.RequestError](err); !ok || e.Status != status || !strings.HasPrefix(err.Error(), what) {
				t.Errorf("%v, status %d: %v", kind, status, err)
			}
		}
	}
	for _, kind := range []regtest.Kind{regtest.Discovery, regtest.Versions, regtest.Package} {
		reg := registry()
		reg.AddFault(regtest.Fault{Kind: kind, Status: 404})
		if _, err := install(t.Context(), client(reg), alpha, filepath.Join(t.TempDir(), "alpha.zip")); err == nil || errors.Is(err, provider.ErrNoFile) {
			t.Errorf("%v: Download returned %v, want an error other than ErrNoFile", kind, err)
		}
	}
}

// protocol is one of the two protocols, with what the tests ask by it.
type protocol struct {
	name, version string // of the version that list lists and find finds
	lists, finds  regtest.Kind
	add           func(reg *regtest.Registry, version string)
	list          func(ctx context.Context, c *regclient.Client) (listed string, err error)
	find          func(ctx context.Context, c *regclient.Client) error
	missing       error // the kind of a listed version that is answered with 404
}

var protocols = []protocol{{
	name: "provider", version: "1.2.0",
	lists: regtest.Versions, finds: regtest.Package, missing: provider.ErrNoPlatform,
	add: func(reg *regtest.Registry, version string) { reg.AddProvider(alphaAt(version)) },
	list: func(ctx context.Context, c *regclient.Client) (string, error) {
		versions, err := c.ProviderVersions(ctx, alpha)
		if err != nil {
			return "", err
		}
		return versions.Versions[0].Listed, nil
	},
	find: func(ctx context.Context, c *regclient.Client) error {
		pkg, err := c.ProviderPackage(ctx, alpha, v120, linux)
		if err == nil && pkg.Version != v120 {
			return errors.New("found " + pkg.String())
		}
		return err
	},
}, {
	name: "module", version: "1.0.0",
	lists: regtest.ModuleVersions, finds: regtest.ModuleLocation, missing: failure.ErrNoVersion,
	add: func(reg *regtest.Registry, version string) {
		reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: version, Answer: "body"})
	},
	list: func(ctx context.Context, c *regclient.Client) (string, error) {
		versions, err := c.ModuleVersions(ctx, network)
		if err != nil {
			return "", err
		}
		return versions.Versions[0].Listed, nil
	},
	find: func(ctx context.Context, c *regclient.Client) error {
		loc, err := c.ModuleLocation(ctx, network, v100)
		if err == nil && loc.Version != v100 {
			return errors.New("found " + loc.Version.String())
		}
		return err
	},
}}

// forBoth runs a test for both protocols, with a registry that has one version and with
// faults.
func forBoth(t *testing.T, test func(t *testing.T, p protocol, registry func(...regtest.Fault) *regtest.Registry)) {
	t.Parallel()
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p, func(faults ...regtest.Fault) *regtest.Registry {
				reg := regtest.New(host)
				p.add(reg, p.version)
				for _, f := range faults {
					reg.AddFault(f)
				}
				return reg
			})
		})
	}
}

// TestRefused: a registry that refuses what it lists has a fault of its own, and says 404 if it means
// that the package is missing. If it does not list versions either, the refusal stands as it is, and
// 500 may mean that it does not know the name.
func TestRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, p protocol, registry func(...regtest.Fault) *regtest.Registry) {
		for _, test := range []struct {
			find, list int // statuses; 0: answered
			want       error
			guess      bool
		}{
			{404, 0, p.missing, false}, {400, 0, nil, false}, {500, 0, nil, false}, {418, 0, nil, false},
			{404, 502, failure.ErrNotFound, false}, {400, 502, nil, false}, {500, 502, nil, true}, {500, 500, nil, true},
		} {
			faults := []regtest.Fault{{Kind: p.finds, Status: test.find}, {Kind: p.lists, Status: test.list}}
			c := client(registry(faults...))
			err := p.find(t.Context(), c)
			if e := asError(t, err); e.Status != test.find || errors.Is(err, failure.ErrNotFound) != (test.want != nil) || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("find answered with %d, list with %d: %v, want %v", test.find, test.list, err, test.want)
			}
			if test.list > 0 && errors.Is(err, p.missing) {
				t.Errorf("find answered with %d, list with %d: %v, want no verdict about the version", test.find, test.list, err)
			}
			guess := "some servers answer 500 for an unknown " + p.name
			if strings.Contains(err.Error(), guess) != test.guess {
				t.Errorf("find answered with %d, list with %d: %v, want %q in it: %t", test.find, test.list, err, guess, test.guess)
			}
			if test.list == 0 {
				continue
			}
			if _, err := p.list(t.Context(), c); errors.Is(err, failure.ErrNotFound) || strings.Contains(err.Error(), guess) != (test.list == 500) {
				t.Errorf("list answered with %d: %v", test.list, err)
			}
		}
	})
}

// TestListedSpelling: a version is asked for by the canonical text, and if that is refused,
// by the listed one.
func TestListedSpelling(t *testing.T) {
	forBoth(t, func(t *testing.T, p protocol, _ func(...regtest.Fault) *regtest.Registry) {
		texts := map[string][]string{"provider": {"1.2", "01.2.0", "1.2.0"}, "module": {"v1.0.0", "1.0", "01.0.0", "1.0.0"}}[p.name]
		for _, text := range texts {
			for _, status := range []int{400, 404, 500} {
				reg := regtest.New(host)
				p.add(reg, text)
				listed, requests := "", 1
				if text != p.version {
					listed, requests = text, 2
					reg.AddFault(regtest.Fault{Kind: p.finds, Path: "/" + p.version + "/", Status: status})
				}
				c := client(reg)
				err := p.find(t.Context(), c)
				if err != nil || reg.Count(p.finds) != requests || reg.Count(p.lists) != requests-1 {
					t.Errorf("%s, status %d: %v after %d requests and %d lists", text, status, err, reg.Count(p.finds), reg.Count(p.lists))
				}
				if all := reg.Requests(); !strings.Contains(all[len(all)-1].Path, "/"+text+"/download") {
					t.Errorf("%s, status %d: asked for %s last", text, status, all[len(all)-1].Path)
				}
				if got, err := p.list(t.Context(), c); err != nil || got != listed {
					t.Errorf("%s: Listed is %q, %v; want %q", text, got, err, listed)
				}
			}
		}
	})
}

// TestBothSpellingsRefused: the refusal of the canonical one is the one that counts.
func TestBothSpellingsRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, p protocol, _ func(...regtest.Fault) *regtest.Registry) {
		reg := regtest.New(host)
		listed := strings.TrimSuffix(p.version, ".0")
		p.add(reg, listed)
		reg.AddFault(regtest.Fault{Kind: p.finds, Path: "/" + p.version + "/", Status: http.StatusNotFound})
		reg.AddFault(regtest.Fault{Kind: p.finds, Path: "/" + listed + "/", Status: http.StatusBadRequest})
		err := p.find(t.Context(), client(reg))
		if e := asError(t, err); e.Status != http.StatusNotFound || !errors.Is(err, p.missing) || reg.Count(p.finds) != 2 {
			t.Errorf("%v after %d requests", err, reg.Count(p.finds))
		}
	})
}

// TestMediaTypes: static file servers send none, or a wrong one.
func TestMediaTypes(t *testing.T) {
	forBoth(t, func(t *testing.T, p protocol, registry func(...regtest.Fault) *regtest.Registry) {
		for _, media := range [][]string{nil, {"application/octet-stream"}, {"application/json; charset=utf-8"}, {"text/plain"}, {"no/media/type"}} {
			c := client(registry(regtest.Fault{Kind: p.lists | p.finds, Header: http.Header{"Content-Type": media}}))
			must.Get(p.list(t.Context(), c))(t)
			must.Do(t, p.find(t.Context(), c))
		}
	})
}

func TestUnauthorized(t *testing.T) {
	forBoth(t, func(t *testing.T, p protocol, registry func(...regtest.Fault) *regtest.Registry) {
		for _, kind := range []regtest.Kind{regtest.Discovery, p.lists, p.finds} {
			for _, sent := range []bool{false, true} {
				reg := registry()
				reg.Require("right", kind)
				c := client(reg)
				note := "(no token was sent)"
				if sent {
					c.Transport.Credentials, note = tokens("wrong-secret"), "(a token was sent)"
				}
				_, err := p.list(t.Context(), c)
				if kind == p.finds {
					err = p.find(t.Context(), c)
				}
				e := asError(t, err)
				if !errors.Is(err, failure.ErrUnauthorized) || e.HadToken != sent || e.Status != 401 && e.Status != 403 {
					t.Errorf("%v, token %t: %+v", kind, sent, e)
				}
				text := err.Error()
				if strings.Count(text, note) != 1 || strings.Contains(text, "secret") || strings.Count(text, "token was sent") != 1 || strings.Count(text, "https://") != 1 {
					t.Errorf("%v, token %t: %s", kind, sent, text)
				}
			}
		}
		reg := registry()
		reg.Require("right", 0)
		c := client(reg)
		c.Transport.Credentials = tokens("right")
		must.Do(t, p.find(t.Context(), c))
	})
}

func TestNoRegistryAtHost(t *testing.T) {
	forBoth(t, func(t *testing.T, p protocol, registry func(...regtest.Fault) *regtest.Registry) {
		other := map[string]string{"provider": "modules.v1", "module": "providers.v1"}[p.name]
		for name, want := range map[string]error{"none": disco.ErrNoService, other: disco.ErrNoService, p.name + "s.v2": disco.ErrServiceVersion} {
			reg := registry()
			reg.Services = map[string]any{name: "/x/"}
			c := client(reg)
			_, listErr := p.list(t.Context(), c)
			for _, err := range []error{listErr, p.find(t.Context(), c)} {
				if asError(t, err); !errors.Is(err, want) || errors.Is(err, failure.ErrNotFound) {
					t.Errorf("%v: %v, want %v", reg.Services, err, want)
				}
			}
			if n := reg.Count(0); n != 1 {
				t.Errorf("%v: %d requests, want 1", reg.Services, n)
			}
		}
		// A host that answers discovery with 404 has no services either.
		reg := registry(regtest.Fault{Kind: regtest.Discovery, Status: 404})
		if _, err := p.list(t.Context(), client(reg)); !errors.Is(err, disco.ErrNoService) {
			t.Errorf("%v, want ErrNoService", err)
		}
	})
}
