package mirrordir_test

import (
	"context"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
)

// mistaken is a source that answers each call for another version, or with nil.
type mistaken struct {
	provider.Source
	as addrs.Version // zero to return nil
}

func (m mistaken) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	if m.as.IsZero() {
		return nil, nil
	}
	return m.Source.ProviderVersions(ctx, p)
}

func (m mistaken) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (*provider.Package, error) {
	if m.as.IsZero() {
		return nil, nil
	}
	return m.Source.ProviderPackage(ctx, p, m.as, on)
}

// TestMistakenSource checks that a signed package of another version is not added.
func TestMistakenSource(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(2)
	asked, other := all[0].Version, all[1].Version
	for name, as := range map[string]addrs.Version{"another": other, "nothing": {}} {
		src := mistaken{client(reg), as}
		for _, platforms := range [][]addrs.Platform{nil, {linux}} {
			m, _ := newMirror(t)
			if got, err := m.Add(t.Context(), src, wants(platforms, asked), mirrordir.Options{}); err == nil {
				t.Errorf("%s: added %v", name, got)
			}
		}
	}
}
