package mirrordir

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// directories returns the directories of providers, HOST/NAMESPACE/TYPE, for which may is true at each
// depth; depth is 0 for hosts.
func (m *Mirror) directories(ctx context.Context, may func(depth int, name string, e Entry) bool) ([]string, error) {
	found := []string{"."}
	for depth := range 3 {
		var next []string
		for _, parent := range found {
			entries, err := m.Storage.List(ctx, parent)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if name := path.Join(parent, e.Name); may(depth, name, e) {
					next = append(next, name)
				}
			}
		}
		found = next
	}
	return found, nil
}

// providers returns the providers with a canonical directory or with documents for network clients,
// and notes other files and directories.
func (m *Mirror) providers(ctx context.Context, r *reporter) ([]addrs.Provider, error) {
	names, err := m.directories(ctx, func(_ int, name string, e Entry) bool {
		if !e.Dir {
			r.note(Finding{Kind: Ignored, Name: name, Detail: "not a directory of a provider"})
		}
		return e.Dir
	})
	if err != nil {
		return nil, err
	}
	found := map[addrs.Provider]bool{}
	for _, name := range names {
		p, err := providerIn(name)
		switch {
		case err != nil:
			r.note(Finding{Kind: Ignored, Name: name, Detail: oneLine(err)})
		case name != providerDir(p) && name != asciiProviderDir(p):
			r.note(Finding{Kind: Ignored, Name: name, Provider: p, Detail: "network clients ask for " + asciiProviderDir(p)})
		default:
			found[p] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), addrs.Provider.Compare), nil
}

// providerIn returns the provider of a directory.
func providerIn(name string) (p addrs.Provider, err error) {
	parts := strings.Split(name, "/")
	host, err := svchost.FromWire(parts[0])
	if err == nil {
		p, err = addrs.NewProvider(host, parts[1], parts[2])
	}
	if err == nil {
		err = (Want{Provider: p, Version: v0}).check()
	}
	return p, err
}
