package provider_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// listing is a Lister with one provider.
type listing struct {
	list      []provider.Release
	err       error
	protocols []string // of every package
}

func (l *listing) ProviderVersions(_ context.Context, p addrs.Provider) (*provider.Versions, error) {
	return &provider.Versions{Provider: p, List: l.list}, l.err
}

func (l *listing) ProviderPackage(_ context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	return &provider.Package{Provider: p, Version: v, Platform: platform, Protocols: l.protocols}, nil
}

func TestFind(t *testing.T) {
	t.Parallel()
	list := []provider.Release{
		{Version: version("3.0.0"), Protocols: []string{"7.0"}},
		{Version: version("2.1.0"), Platforms: []addrs.Platform{linux}},
		{Version: version("2.0.0")},
	}
	tests := map[string]struct {
		src  *listing
		c    string
		need provider.Need
		want string
		err  error
	}{
		"newest that fits":            {src: &listing{list: list}, need: provider.Need{Platforms: []addrs.Platform{linux}}, want: "2.1.0 linux_amd64"},
		"for another platform":        {src: &listing{list: list}, need: provider.Need{Platforms: []addrs.Platform{addrs.MustParsePlatform("plan9_386")}}, want: "2.0.0 plan9_386"},
		"for this program's platform": {src: &listing{list: list}, c: "2.0.0", want: "2.0.0 " + addrs.CurrentPlatform().String()},
		"constraint":                  {src: &listing{list: list}, c: "< 2.1", need: provider.Need{Platforms: []addrs.Platform{linux}}, want: "2.0.0 linux_amd64"},
		"nothing fits":                {src: &listing{list: list}, c: "~> 4.0", need: provider.Need{Platforms: []addrs.Platform{linux}}, err: provider.ErrNoVersion},
		"unknown provider":            {src: &listing{err: provider.ErrNotFound}, err: provider.ErrNotFound},
		"what the list did not tell":  {src: &listing{list: list[2:], protocols: []string{"4.0"}}, err: provider.ErrProtocol},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c addrs.ProviderConstraint
			if test.c != "" {
				c = addrs.MustParseProviderConstraint(test.c)
			}
			pkg, err := provider.Find(t.Context(), test.src, demo, c, test.need)
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if err == nil && pkg.Version.String()+" "+pkg.Platform.String() != test.want {
				t.Errorf("found %s, want %s", pkg, test.want)
			}
		})
	}
}
