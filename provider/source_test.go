package provider_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// astray is a Source that answers with changed answers.
type astray struct {
	provider.Source
	list func(*provider.Versions) *provider.Versions
	pkg  func(*provider.Package) *provider.Package
}

func (a *astray) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	versions, err := a.Source.ProviderVersions(ctx, p)
	if a.list != nil && err == nil {
		versions = a.list(versions)
	}
	return versions, err
}

func (a *astray) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg, err := a.Source.ProviderPackage(ctx, p, v, platform)
	if a.pkg != nil && err == nil {
		pkg = a.pkg(pkg)
	}
	return pkg, err
}

// TestAnswerIsAnother: a nil answer or another package than the requested one is an error.
func TestAnswerIsAnother(t *testing.T) {
	t.Parallel()
	edit := func(change func(*provider.Package)) func(*provider.Package) *provider.Package {
		return func(pkg *provider.Package) *provider.Package {
			pkg = pkg.Clone()
			change(pkg)
			return pkg
		}
	}
	for name, a := range map[string]astray{
		"no versions": {list: func(*provider.Versions) *provider.Versions { return nil }},
		"no package":  {pkg: func(*provider.Package) *provider.Package { return nil }},
		"provider":    {pkg: edit(func(p *provider.Package) { p.Provider = addrs.MustParseProvider("registry.opentofu.org/acme/other") })},
		"version":     {pkg: edit(func(p *provider.Package) { p.Version = version("2.0.0") })},
		"platform":    {pkg: edit(func(p *provider.Package) { p.Platform = addrs.MustParsePlatform("plan9_386") })},
		"nothing set": {pkg: edit(func(p *provider.Package) { *p = provider.Package{} })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, client := serveDemo(demoRelease())
			a.Source = client
			if pkg, err := provider.Find(t.Context(), &a, demo, addrs.ProviderConstraint{}, provider.Need{Platforms: five[:1]}); pkg != nil || !typed(err) {
				t.Errorf("Find: %v, %v", pkg, err)
			}
			// Without platforms, the list is asked for as well.
			if got, err := provider.Hashes(t.Context(), &a, demo, v123, nil, provider.HashOptions{}); len(got) > 0 || !typed(err) {
				t.Errorf("Hashes: %v, %v", got, err)
			}
			named := []provider.NamedSource{{Name: "a", Source: &a}}
			for what, src := range map[string]provider.Source{
				"ShareEvidence": provider.ShareEvidence(&a), "CheckAnswers": provider.CheckAnswers(&a),
				"Multi": &provider.Multi{Sources: named}, "FirstOf": &provider.FirstOf{Sources: named},
			} {
				versions, listErr := src.ProviderVersions(t.Context(), demo)
				pkg, findErr := src.ProviderPackage(t.Context(), demo, v123, five[0])
				if (versions == nil) == (pkg == nil) || (listErr == nil) == (findErr == nil) || !typed(errors.Join(listErr, findErr)) || errors.Is(errors.Join(listErr, findErr), provider.ErrNotFound) {
					t.Errorf("%s: %v, %v, %v, %v", what, versions, listErr, pkg, findErr)
				}
			}
		})
	}
}

// typed reports whether err is an *Error with an operation and a subject.
func typed(err error) bool {
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Op != "" && e.Subject != "" && e.Err != nil
}

// TestHashesOfAnother: if a source returns another version for one platform, its statements about
// other platforms are not recorded.
func TestHashesOfAnother(t *testing.T) {
	t.Parallel()
	reg, _, client := serveDemo(statingRelease())
	newer := statingRelease()
	newer.Version = "2.0.0"
	reg.AddProvider(newer)
	answer := must(client.ProviderPackage(t.Context(), demo, version("2.0.0"), five[0]))(t)
	src := &astray{Source: client, pkg: func(*provider.Package) *provider.Package { return answer }}
	got, err := provider.Hashes(t.Context(), src, demo, v123, five[:2], believing(verify.Policy{}))
	if len(got) > 0 || !typed(err) {
		t.Errorf("reports %v, %v", got, err)
	}
	// A source may return something beside its error.
	both := &lister{Opener: client, find: func(addrs.Platform) (*provider.Package, error) { return answer, provider.ErrNotFound }}
	if got, err := provider.Hashes(t.Context(), both, demo, v123, five[:2], believing(verify.Policy{})); len(got) > 0 || !errors.Is(err, provider.ErrNotFound) {
		t.Errorf("beside an error: reports %v, %v", got, err)
	}
	if n := reg.Count(regtest.Archive); n > 0 {
		t.Errorf("%d archives were fetched", n)
	}
}
