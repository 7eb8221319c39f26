package mirrordir_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// all returns the elements of Mirror.All as text.
func all(t *testing.T, m *mirrordir.Mirror) (list []string) {
	t.Helper()
	for w, err := range m.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, w.String()+" "+strings.Join(names(w.Platforms), " "))
	}
	return list
}

// TestAll checks that All yields all added packages in order, and no others.
func TestAll(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]func(dir string) mirrordir.Storage{
		"directory": func(dir string) mirrordir.Storage { return open(t, dir).Storage },
		"bucket":    func(string) mirrordir.Storage { return &bucket{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			m := &mirrordir.Mirror{Storage: storage(dir)}
			if got := all(t, m); len(got) != 0 {
				t.Errorf("an empty mirror holds %v", got)
			}
			beta, bucher := addrs.MustParseProvider("registry.example.com/acme/beta"), addrs.MustParseProvider("bücher.example/acme/alpha")
			reg, src := newRegistry(t)
			reg.AddProvider(regtest.Provider{Address: "acme/beta", Version: "10.0.0-rc1", Platforms: names(three)})
			reg.AddProvider(regtest.Provider{Address: "acme/beta", Version: "9.0.0", Platforms: names(three)})
			reg.AddProvider(regtest.Provider{Address: bucher.String(), Platforms: names(three)})
			mustAdd(t, m, src, slices.Concat(wants(three, v1), wants(three[:1], v2), []mirrordir.Want{
				{Provider: bucher, Version: v1, Platforms: three[2:]},
				{Provider: beta, Version: addrs.MustParseVersion("10.0.0-rc1"), Platforms: three[:2]},
				{Provider: beta, Version: addrs.MustParseVersion("9.0.0"), Platforms: three[:2]},
			}), mirrordir.Options{})
			if name == "directory" { // other files, and archives in other directories
				write(t, dir, home+"/3.0.0/linux_amd64/terraform-provider-alpha", "x")
				write(t, dir, home+"/notes.txt", "x")
				write(t, dir, "registry.example.com/acme/gamma/index.json", `{"versions":{"1.0.0":{}}}`)
				write(t, dir, "registry.example.com/acme/readme", "x")
				write(t, dir, "not a host/acme/alpha/terraform-provider-alpha_1.0.0_linux_amd64.zip", "x")
			}
			want := []string{
				"bücher.example/acme/alpha 1.0.0 windows_amd64",
				"registry.example.com/acme/alpha 1.0.0 darwin_arm64 linux_amd64 windows_amd64",
				"registry.example.com/acme/alpha 2.0.0 linux_amd64",
				"registry.example.com/acme/beta 9.0.0 darwin_arm64 linux_amd64",
				"registry.example.com/acme/beta 10.0.0-rc1 darwin_arm64 linux_amd64",
			}
			got := all(t, m)
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			// Add accepts all elements of All and downloads nothing.
			var again []mirrordir.Want
			for w, err := range m.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				again = append(again, w)
			}
			if !slices.IsSortedFunc(again, func(a, b mirrordir.Want) int {
				if c := a.Provider.Compare(b.Provider); c != 0 {
					return c
				}
				return a.Version.Compare(b.Version)
			}) {
				t.Errorf("not sorted: %v", again)
			}
			reg.Reset()
			if fetched := mustAdd(t, m, src, again, mirrordir.Options{}); fetched != 0 || reg.Count(0) != 0 {
				t.Errorf("%d fetched, %d requests", fetched, reg.Count(0))
			}
			for range m.All(t.Context()) {
				break // must not panic
			}
		})
	}
}

// unlisted is a directory in which some directories cannot be listed.
type unlisted struct {
	mirrordir.Storage
	dir string
}

func (u unlisted) List(ctx context.Context, dir string) ([]mirrordir.Entry, error) {
	if dir == u.dir {
		return nil, fs.ErrPermission
	}
	return u.Storage.List(ctx, dir)
}

// TestAllFails checks that All yields an error for a provider that cannot be listed, and continues.
func TestAllFails(t *testing.T) {
	t.Parallel()
	_, dir, _, _ := filled(t)
	write(t, dir, "registry.example.com/acme/beta/terraform-provider-beta_1.0.0_linux_amd64.zip", "x")
	for at, want := range map[string]string{
		home:  "registry.example.com/acme/beta 1.0.0",
		".":   "",
		"x":   home + " 1.0.0, " + home + " 2.0.0, registry.example.com/acme/beta 1.0.0",
		"end": "",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if at == "end" {
			cancel()
		}
		var got []string
		failures := 0
		for w, err := range (&mirrordir.Mirror{Storage: unlisted{open(t, dir).Storage, at}}).All(ctx) {
			switch {
			case err == nil:
				got = append(got, w.String())
			case at == "end" && !errors.Is(err, context.Canceled), at != "end" && !errors.Is(err, fs.ErrPermission):
				t.Errorf("%s: %v", at, err)
			default:
				failures++
			}
		}
		if strings.Join(got, ", ") != want || (failures == 1) != (at != "x") {
			t.Errorf("%s: %q, %d failures; want %q", at, got, failures, want)
		}
	}
}
