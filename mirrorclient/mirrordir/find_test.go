package mirrordir_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/provider"
)

// TestOnePackageListsNothing checks that an archive with a canonical name is found without a
// listing.
func TestOnePackageListsNothing(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	c := &counted{Storage: another(t, reg, wants(three, v1, v2))}
	m := &mirrordir.Mirror{Storage: c, TempDir: t.TempDir()}
	pkg := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	body := must.Get(m.Open(t.Context(), pkg))(t)
	body.Close()
	if ev, err := m.Evidence(t.Context(), pkg); err != nil || len(ev.Signature) == 0 {
		t.Errorf("Evidence = %v, %v, want a signature", ev, err)
	}
	if list, err := m.ListedVersions(t.Context(), alpha); err != nil || len(list) != 2 {
		t.Errorf("ListedVersions = %v, %v, want 2", list, err)
	}
	if list, err := m.ListedArchives(t.Context(), alpha, v1); err != nil || len(list) != 3 {
		t.Errorf("ListedArchives = %v, %v, want 3", list, err)
	}
	if n, _, _ := c.reset(); n != 0 {
		t.Errorf("%d listings, want 0", n)
	}
}

// TestServedAsListed checks that ListedArchives returns the archives that the document lists.
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
		}, names(three)},
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
