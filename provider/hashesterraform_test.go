package provider_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
)

// serveProject returns a project that requires the release, and a client of the same registry.
func serveProject(t *testing.T, program string, r regtest.Provider) (*terraformtest.Project, addrs.Provider, *regclient.Client) {
	t.Helper()
	reg, _, _ := serveDemo(r)
	server := must.Get(reg.ServeTLS())(t)
	t.Cleanup(server.Close)
	source := server.Addr + "/acme/demo"
	p := terraformtest.New(t, program)
	p.Trust(t, server.CertPEM)
	p.Require(t, map[string]string{source: "~> 1.2"})
	return p, addrs.MustParseProvider(source), &regclient.Client{Transport: &transport.Client{HTTP: server.Client()}}
}

// lockOf returns the lock file of Hashes and Merge, with the header of a program.
func lockOf(t *testing.T, program string, client *regclient.Client, p addrs.Provider, on ...addrs.Platform) *lockfile.File {
	t.Helper()
	lock, constraint := &lockfile.File{}, addrs.MustParseProviderConstraint("~> 1.2")
	if filepath.Base(program) == "terraform" {
		lock.Header = lockfile.HeaderTerraform
	}
	versions := must.Get(client.ProviderVersions(t.Context(), p))(t)
	v := must.Get(versions.Newest(constraint))(t)
	reports := must.Get(provider.Hashes(t.Context(), client, p, v, on, provider.HashOptions{}))(t)
	for _, platform := range on {
		must.Do(t, lock.Merge(p, v, constraint, reports[platform].Recordable()))
	}
	return lock
}

// TestClientsAcceptLock: the CLIs install by a lock file of Hashes and do not change it, although it
// has one more hash of each platform.
func TestClientsAcceptLock(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		r, here, other := demoRelease(), addrs.CurrentPlatform(), addrs.MustParsePlatform("aix_ppc64")
		r.Platforms = append(r.Platforms, other.String())
		if !slices.Contains(r.Platforms, here.String()) {
			r.Platforms = append(r.Platforms, here.String())
		}
		project, p, client := serveProject(t, program, r)
		lock := lockOf(t, program, client, p, here, other)
		want := string(lock.Bytes())
		if n := strings.Count(want, `"h1:`); n != 4 {
			t.Errorf("%d hashes of content\n%s", n, want)
		}
		must.Do(t, lock.Save(filepath.Join(project.Dir, lockfile.Name)))
		for _, flags := range [][]string{{"-lockfile=readonly"}, nil} {
			project.Init(t, flags...)
			if got := project.Read(t, lockfile.Name); got != want {
				t.Errorf("%q changed\n%s\ninto\n%s", flags, want, got)
			}
		}
	})
}
