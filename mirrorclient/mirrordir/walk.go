package mirrordir

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// providers returns those that have a directory with a canonical name, or one with
// documents for network clients, and notes what else has the place of one.
func (m *Mirror) providers(ctx context.Context, r *reporter) ([]addrs.Provider, error) {
	w := &walker{Mirror: m, reporter: r, found: map[addrs.Provider]bool{}}
	if err := w.down(ctx, ".", nil); err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Keys(w.found), addrs.Provider.Compare), nil
}

type walker struct {
	*Mirror
	*reporter
	found map[addrs.Provider]bool
}

// down looks at the directories of hosts, namespaces and types.
func (w *walker) down(ctx context.Context, dir string, parts []string) error {
	entries, err := w.Storage.List(ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, below := path.Join(dir, e.Name), append(slices.Clone(parts), e.Name)
		switch {
		case !e.Dir:
			w.note(Finding{Kind: Ignored, Name: name, Detail: "a file where only directories are looked at"})
		case len(below) < 3:
			if err := w.down(ctx, name, below); err != nil {
				return err
			}
		default:
			w.provider(name, below)
		}
	}
	return nil
}

// provider notes a directory at the depth of providers.
func (w *walker) provider(name string, parts []string) {
	host, err := svchost.FromWire(parts[0])
	if err == nil {
		var p addrs.Provider
		p, err = addrs.NewProvider(host, parts[1], parts[2])
		if err == nil && name != homeOf(p) && name != wireHomeOf(p) {
			w.note(Finding{Kind: Ignored, Name: name, Provider: p, Detail: "network clients ask for " + wireHomeOf(p)})
			return
		}
		if err == nil {
			err = (Want{Provider: p, Version: v0}).check()
		}
		if err == nil {
			w.found[p] = true
			return
		}
	}
	w.note(Finding{Kind: Ignored, Name: name, Detail: oneLine(err)})
}
