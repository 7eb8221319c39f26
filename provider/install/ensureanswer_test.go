package install_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// astray is a Source that changes the answers of another one.
type astray struct {
	provider.Source
	list func(*provider.Versions) *provider.Versions
	pkg  func(context.Context, *provider.Package) (*provider.Package, error)
	body func(*provider.Body) *provider.Body
}

func (a *astray) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	versions, err := a.Source.ProviderVersions(ctx, p)
	if a.list != nil && err == nil {
		versions = a.list(versions)
	}
	return versions, err
}

func (a *astray) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	pkg, err := a.Source.ProviderPackage(ctx, p, v, on)
	if a.pkg != nil && err == nil {
		return a.pkg(ctx, pkg)
	}
	return pkg, err
}

func (a *astray) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	body, err := a.Source.Open(ctx, pkg)
	if a.body != nil && err == nil {
		body.Close()
		return a.body(body), nil
	}
	return body, err
}

// TestEnsureAnotherAnswer: if a source answers with another version or package, nothing of it is
// planned, installed or locked, even if it is signed.
func TestEnsureAnotherAnswer(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(a *astray){
		"no versions": func(a *astray) {
			a.list = func(*provider.Versions) *provider.Versions { return nil }
		},
		"no package": func(a *astray) {
			a.pkg = func(context.Context, *provider.Package) (*provider.Package, error) { return nil, nil }
		},
		"version": func(a *astray) {
			a.pkg = func(ctx context.Context, pkg *provider.Package) (*provider.Package, error) {
				return a.Source.ProviderPackage(ctx, pkg.Provider, addrs.MustParseVersion("2.0.0"), pkg.Platform)
			}
		},
		"platform": func(a *astray) {
			a.pkg = func(ctx context.Context, pkg *provider.Package) (*provider.Package, error) {
				return a.Source.ProviderPackage(ctx, pkg.Provider, pkg.Version, platformsOf[3])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 2)
			delete(s.want, numbered(1))
			a := &astray{Source: s.in.Source}
			prepare(a)
			s.in.Source, s.in.LockPlatforms = a, platformsOf[:2]
			for verb, do := range map[string]func() (*install.Result, error){
				"ensure": func() (*install.Result, error) { return s.in.Ensure(t.Context(), s.want, nil) },
				"plan":   func() (*install.Result, error) { return s.in.Plan(t.Context(), s.want, nil) },
			} {
				result, err := do()
				if _, ok := errors.AsType[*provider.Error](err); !ok {
					t.Errorf("%s: %v", verb, err)
				}
				if sel := only(t, result); sel.Package != nil || sel.Dir != "" || len(sel.Reports) > 0 || result.Lock.Covers(sel.Provider, sel.Version) {
					t.Errorf("%s: %+v", verb, sel)
				}
			}
			if n := s.Count(regtest.Archive); n > 0 {
				t.Errorf("%d archives were fetched", n)
			}
			wantNames(t, s.in.Dir.Path)
		})
	}
}

// TestInstallNoBody: a source that returns neither a body nor an error is refused.
func TestInstallNoBody(t *testing.T) {
	t.Parallel()
	for name, nothing := range map[string]*provider.Body{"no body": nil, "no reader": {}} {
		o := newOffer(t, regtest.Provider{})
		d := newDir(t)
		src := &astray{Source: o.src, body: func(*provider.Body) *provider.Body { return nothing }}
		_, err := d.Install(t.Context(), src, o.pkg, install.Options{})
		if _, ok := errors.AsType[*provider.Error](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
		wantNames(t, d.Path)
	}
}
