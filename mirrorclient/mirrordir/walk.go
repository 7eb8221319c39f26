package mirrordir

import (
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// walk returns the providers and notes what else there is.
func (m *Mirror) walk(ctx context.Context, r *reporter) ([]addrs.Provider, error) {
	list, err := m.providers(ctx, r)
	if err != nil {
		return nil, err
	}
	if d, ok := m.Storage.(interface {
		leftovers(context.Context, func(string)) error
	}); ok {
		err := d.leftovers(ctx, func(file string) {
			r.note(Finding{Kind: Leftover, Name: private + "/" + filepath.Base(file), Detail: "an unfinished file that nobody works on; the next Add removes it"})
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

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
