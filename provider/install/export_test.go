package install

import (
	"context"
	"os"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/stamp"
)

// SetSystem sets what the system says about packages.
func (d *Dir) SetSystem(s stamp.System) { d.memory.System = s }

// PruneUnusedWith is PruneUnused with a probe that says whether access times are kept.
func (d *Dir) PruneUnusedWith(ctx context.Context, o PruneOptions, kept bool) ([]Pruned, error) {
	return d.pruneUnused(ctx, o, func(*os.Root) (bool, error) { return kept, nil })
}

// KeepsAccessTimes reports whether the file system of d keeps access times.
func (d *Dir) KeepsAccessTimes() (bool, error) {
	root, err := d.open()
	if err != nil {
		return false, err
	}
	defer root.Close()
	return keepsAccessTimes(root)
}

// RemoveUnused removes a package that was unused when d was listed.
func (d *Dir) RemoveUnused(ctx context.Context, pkg *Package, before time.Time) (*Pruned, error) {
	root, err := d.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return removeUnused(ctx, root, pkg, before)
}

// UsedName is the name of the file that says when a package was used.
func UsedName(p addrs.Provider, v addrs.Version, on addrs.Platform) string {
	return (&location{name: nameOf(p, v, on)}).usedName()
}
