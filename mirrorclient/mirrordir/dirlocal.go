package mirrordir

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
)

// homes returns the directories of p, as names in the storage: each that the CLI would
// find, whatever valid spelling it has, the canonical one first. As in the CLI, the top
// may be a symbolic link, but none of the directories below it.
func (d *Directory) homes(ctx context.Context, p addrs.Provider) ([]string, error) {
	found := []string{""}
	for depth := range 3 {
		var next []string
		for _, parent := range found {
			list, err := d.subdirectories(ctx, parent)
			if err != nil && (depth == 0 || !errors.Is(err, fs.ErrNotExist)) {
				return nil, err
			}
			for _, name := range list {
				if spells(p, depth, name) {
					next = append(next, path.Join(parent, name))
				}
			}
		}
		found = next
	}
	canonical := homeOf(p)
	if i := slices.Index(found, canonical); i > 0 {
		found = slices.Insert(slices.Delete(found, i, i+1), 0, canonical)
	}
	return found, nil
}

// spells reports whether name stands for p's host, namespace or type, by depth.
func spells(p addrs.Provider, depth int, name string) bool {
	switch depth {
	case 0:
		host, err := svchost.Parse(name)
		return err == nil && host == p.Host()
	case 1:
		q, err := addrs.NewProvider(p.Host(), name, p.Type())
		return err == nil && q == p
	default:
		q, err := addrs.NewProvider(p.Host(), p.Namespace(), name)
		return err == nil && q == p
	}
}

// subdirectories returns the names of the real directories in one.
func (d *Directory) subdirectories(ctx context.Context, dir string) ([]string, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	entries, err := os.ReadDir(filepath.Join(d.Path, filepath.FromSlash(dir)))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !(dir == "" && e.Name() == private) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// unpacked returns the packages in home that are directories, VERSION/OS_ARCH. The last
// one may be a symbolic link.
func (d *Directory) unpacked(ctx context.Context, home string) (map[packageKey]string, error) {
	versions, err := d.subdirectories(ctx, home)
	if err != nil {
		return nil, notExistIsNil(err)
	}
	found := map[packageKey]string{}
	for _, name := range versions {
		version, err := addrs.ParseVersion(name)
		if err != nil {
			continue
		}
		dir := filepath.Join(d.Path, filepath.FromSlash(home), name)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			platform, err := addrs.ParsePlatform(e.Name())
			if err != nil {
				continue
			}
			full := filepath.Join(dir, e.Name())
			info, err := os.Stat(full)
			k := packageKey{version, platform}
			// Of several spellings of a version the canonical one counts.
			if err == nil && info.IsDir() && (found[k] == "" || name == version.String()) {
				found[k] = full
			}
		}
	}
	return found, nil
}

func notExistIsNil(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
