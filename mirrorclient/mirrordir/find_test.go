package mirrordir_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
)

// listingDirectory is a directory that counts the listings of a provider.
type listingDirectory struct {
	*mirrordir.Directory
	lists *atomic.Int64
}

func (d listingDirectory) List(ctx context.Context, dir string) ([]mirrordir.Entry, error) {
	if dir == home {
		d.lists.Add(1)
	}
	return d.Directory.List(ctx, dir)
}

// TestOnePackageListsNothing checks that an archive with a canonical name is found without a
// listing.
func TestOnePackageListsNothing(t *testing.T) {
	t.Parallel()
	_, dir, reg, _ := filled(t)
	lists, c := new(atomic.Int64), &counted{Storage: another(t, reg, wants(three, v1, v2))}
	for name, m := range map[string]*mirrordir.Mirror{
		"directory": {Storage: listingDirectory{&mirrordir.Directory{Path: dir}, lists}},
		"bucket":    {Storage: c, TempDir: t.TempDir()},
	} {
		pkg, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
		if err != nil {
			t.Fatal(err)
		}
		body, err := m.Open(t.Context(), pkg)
		if err != nil {
			t.Fatal(err)
		}
		body.Close()
		if ev, err := m.Evidence(t.Context(), pkg); err != nil || len(ev.Signature) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if list, err := m.ListedVersions(t.Context(), alpha); err != nil || len(list) != 2 {
			t.Errorf("%s: ListedVersions = %v, %v", name, list, err)
		}
		if name == "directory" { // other storages use one listing
			if list, err := m.ListedArchives(t.Context(), alpha, v1); err != nil || len(list) != 3 {
				t.Errorf("%s: ListedArchives = %v, %v", name, list, err)
			}
		}
		n := lists.Swap(0) + c.lists.Swap(0)
		if name == "directory" && (runtime.GOOS == "windows" || runtime.GOOS == "darwin") {
			continue // only a listing shows the case of a name
		}
		if n != 0 {
			t.Errorf("%s: %d listings", name, n)
		}
	}
}

// TestServedAsListed checks that ListedArchives returns the listed archives that exist, with and
// without a listing.
func TestServedAsListed(t *testing.T) {
	t.Parallel()
	const other = home + "/Terraform-Provider-alpha_1.0.0_darwin_arm64.zip"
	tests := map[string]struct {
		change func(t *testing.T, dir, doc string)
		want   []string // nil if not found
	}{
		"all": {func(t *testing.T, dir, doc string) {}, names(three)},
		"archive is gone": {func(t *testing.T, dir, doc string) {
			remove(t, dir, archive(v1, darwin))
		}, []string{"linux_amd64", "windows_amd64"}},
		"archive is elsewhere": {func(t *testing.T, dir, doc string) {
			write(t, dir, home+"/1.0.0.json", strings.Replace(doc, `"url": "`, `"url": "https://example.com/`, 1))
		}, []string{"linux_amd64", "windows_amd64"}},
		"archive is not listed": {func(t *testing.T, dir, doc string) {
			write(t, dir, home+"/1.0.0.json", strings.Replace(doc, `"darwin_arm64"`, `"plan9_mips"`, 1))
		}, []string{"linux_amd64", "windows_amd64"}},
		"archive is spelled otherwise": {func(t *testing.T, dir, doc string) {
			text := read(t, dir, archive(v1, darwin))
			remove(t, dir, archive(v1, darwin))
			write(t, dir, other, text)
			write(t, dir, home+"/1.0.0.json", strings.Replace(doc, "terraform-provider-alpha_1.0.0_darwin", "Terraform-Provider-alpha_1.0.0_darwin", 1))
		}, names(three)},
		"nothing is there": {func(t *testing.T, dir, doc string) {
			for _, platform := range three {
				remove(t, dir, archive(v1, platform))
			}
		}, nil},
		"nothing is listed": {func(t *testing.T, dir, doc string) {
			write(t, dir, home+"/1.0.0.json", "{}")
		}, nil},
		"no document": {func(t *testing.T, dir, doc string) { remove(t, dir, home+"/1.0.0.json") }, names(three)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir, _, _ := filled(t)
			test.change(t, dir, read(t, dir, home+"/1.0.0.json"))
			list, err := m.ListedArchives(t.Context(), alpha, v1)
			if test.want == nil {
				if !errors.Is(err, provider.ErrNotFound) {
					t.Errorf("ListedArchives = %v, %v, want ErrNotFound", list, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for platform := range list {
				got = append(got, platform.String())
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("listed are %v, want %v", got, test.want)
			}
		})
	}
}
