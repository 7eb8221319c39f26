package mirrordir_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
)

// TestMistakenSource checks that a signed package of another version is not added.
func TestMistakenSource(t *testing.T) {
	t.Parallel()
	reg, all := manyVersions(2)
	asked, other := all[0].Version, all[1].Version
	for name, as := range map[string]addrs.Version{"another": other, "nothing": {}} {
		src := mistaken{Source: client(reg), As: as}
		for _, platforms := range [][]addrs.Platform{nil, {linux}} {
			m, _ := newMirror(t)
			if got, err := m.Add(t.Context(), src, wants(platforms, asked), mirrordir.Options{}); err == nil {
				t.Errorf("%s: added %v", name, got)
			}
		}
	}
}
