package vectors_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/transport"
)

func mirror(base string, e exchange) *mirrorclient.Client {
	return &mirrorclient.Client{BaseURL: base, Transport: &transport.Client{HTTP: e.client(), Retries: -1}}
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
			for _, r := range v.List {
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
