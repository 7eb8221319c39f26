package vectors_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

// release is one version of a list.
type release struct {
	Version              string
	Protocols, Platforms []string
}

func releases(v *provider.Versions) []release {
	list := []release{}
	for _, r := range v.Versions {
		e := release{Version: r.Version.String(), Protocols: r.Protocols}
		for _, p := range r.Platforms {
			e.Platforms = append(e.Platforms, p.String())
		}
		list = append(list, e)
	}
	return list
}

func TestProviderLists(t *testing.T) {
	type want struct {
		Versions []release
		Warnings int
	}
	each(t, "provider-lists", 30, func(t *testing.T, c struct {
		Name, Note, Provider, Error string
		Exchange                    exchange
		want
	}) {
		p := addrs.MustParseProvider(c.Provider)
		v, err := registry(p.Host(), c.Exchange).ProviderVersions(t.Context(), p)
		got := want{Versions: []release{}}
		if v != nil {
			got = want{releases(v), len(v.Warnings)}
		}
		result(t, got, c.want, err, answerKind(err), c.Error)
	})
}

// packaged is what a document says about a package.
type packaged struct {
	Protocols    []string            `json:"protocols"`
	Filename     string              `json:"filename"`
	URL          string              `json:"url"`
	Size         int64               `json:"size"`
	SHA256       string              `json:"sha256"`
	SumsURL      string              `json:"sums_url"`
	SignatureURL string              `json:"signature_url"`
	Keys         []string            `json:"keys"`
	Hashes       map[string][]string `json:"hashes"`
}

func packageOf(p *provider.Package) packaged {
	if p == nil {
		return packaged{}
	}
	d := packaged{
		Protocols: p.Protocols, Filename: p.Filename, URL: p.URL, Size: p.Size,
		SHA256: p.SHA256.String(), SumsURL: p.SumsURL, SignatureURL: p.SignatureURL,
	}
	for _, k := range p.Keys {
		d.Keys = append(d.Keys, k.Armor)
	}
	for platform, hashes := range p.Hashes {
		if d.Hashes == nil {
			d.Hashes = map[string][]string{}
		}
		for _, h := range hashes {
			d.Hashes[platform.String()] = append(d.Hashes[platform.String()], h.String())
		}
	}
	return d
}

// packageVector is a case about the document of a package.
type packageVector struct {
	Name, Note, Provider, Version, Platform, Base, Error string
	Exchange                                             exchange
	Package                                              packaged
}

func (c *packageVector) run(t *testing.T, l provider.Lister) {
	t.Helper()
	p, err := l.ProviderPackage(t.Context(), addrs.MustParseProvider(c.Provider), addrs.MustParseVersion(c.Version), addrs.MustParsePlatform(c.Platform))
	result(t, packageOf(p), c.Package, err, mirrorKind(err, c.Error), c.Error)
}

func TestProviderPackages(t *testing.T) {
	each(t, "provider-packages", 60, func(t *testing.T, c packageVector) {
		c.run(t, registry(addrs.MustParseProvider(c.Provider).Host(), c.Exchange))
	})
}

// registry returns a client of the registry at host, which answers as e says.
func registry(host svchost.Hostname, e exchange) *regclient.Client {
	services := map[disco.Service]any{disco.ProvidersV1: "/v1/providers/", disco.ModulesV1: "/v1/modules/"}
	return &regclient.Client{Transport: &transport.Settings{HTTP: e.client(), Retries: -1}, Hosts: disco.NewHosts(host, services)}
}

func mirror(base string, e exchange) *mirrorclient.Client {
	return &mirrorclient.Client{BaseURL: base, Transport: &transport.Settings{HTTP: e.client(), Retries: -1}}
}

// mirrorKind is answerKind with the kind that has no error of its own here.
func mirrorKind(err error, want string) string {
	kind := answerKind(err)
	if kind == "syntax" && want == "media-type" {
		return want
	}
	return kind
}

func TestMirrorIndexes(t *testing.T) {
	type want struct {
		Versions []string
		Warnings int
	}
	each(t, "mirror-indexes", 30, func(t *testing.T, c struct {
		Name, Note, Base, Provider, Error string
		Exchange                          exchange
		want
	}) {
		got := want{Versions: []string{}}
		v, err := mirror(c.Base, c.Exchange).ProviderVersions(t.Context(), addrs.MustParseProvider(c.Provider))
		if v != nil {
			got.Warnings = len(v.Warnings)
			for _, r := range v.Versions {
				got.Versions = append(got.Versions, r.Version.String())
			}
		}
		result(t, got, c.want, err, mirrorKind(err, c.Error), c.Error)
	})
}

func TestMirrorPackages(t *testing.T) {
	each(t, "mirror-packages", 30, func(t *testing.T, c packageVector) {
		c.run(t, mirror(c.Base, c.Exchange))
	})
}

func TestLocations(t *testing.T) {
	each(t, "locations", 60, func(t *testing.T, c struct {
		Input, Note, Error string
		Location           module.Location
	}) {
		loc, err := module.ParseLocation(c.Input)
		result(t, shown(loc), shown(&c.Location), err, nameKind(err), c.Error)
	})
}

func TestModuleLists(t *testing.T) {
	type want struct {
		Versions []string
		Warnings int
	}
	each(t, "module-lists", 25, func(t *testing.T, c struct {
		Name, Note, Module, Error string
		Exchange                  exchange
		want
	}) {
		m := addrs.MustParseModule(c.Module)
		v, err := registry(m.Host(), c.Exchange).ModuleVersions(t.Context(), m)
		got := want{Versions: []string{}}
		if v != nil {
			got.Warnings = len(v.Warnings)
			for _, r := range v.Versions {
				got.Versions = append(got.Versions, r.Version.String())
			}
		}
		result(t, got, c.want, err, answerKind(err), c.Error)
	})
}

func TestModuleAnswers(t *testing.T) {
	each(t, "module-answers", 40, func(t *testing.T, c struct {
		Name, Note, Module, Version, Error string
		Exchange                           exchange
		Location                           module.Location
	}) {
		m := addrs.MustParseModule(c.Module)
		loc, err := registry(m.Host(), c.Exchange).ModuleLocation(t.Context(), m, addrs.MustParseModuleVersion(c.Version))
		if loc == nil {
			loc = &module.Location{}
		}
		loc.Module, loc.Version = addrs.Module{}, addrs.Version{}
		result(t, shown(loc), shown(c.Location), err, answerKind(err), c.Error)
	})
}
