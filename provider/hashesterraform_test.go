package provider_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/transport"
)

// TestClientsAcceptLock: the CLIs install by a lock file of Hashes and Merge and do not change it, although it
// has one more hash of each platform.
func TestClientsAcceptLock(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		r, here, other := demoRelease(), addrs.CurrentPlatform(), addrs.MustParsePlatform("aix_ppc64")
		r.Platforms = append(r.Platforms, other.String())
		if !slices.Contains(r.Platforms, here.String()) {
			r.Platforms = append(r.Platforms, here.String())
		}
		reg, _, _ := serveDemo(r)
		server := must.Get(reg.ServeTLS())(t)
		t.Cleanup(server.Close)
		source := server.Addr + "/acme/demo"
		project := terraformtest.New(t, program)
		project.Trust(t, server.CertPEM)
		project.Require(t, map[string]string{source: "~> 1.2"})

		client := &regclient.Client{Transport: &transport.Settings{HTTP: server.Client()}}
		p, lock := addrs.MustParseProvider(source), &lockfile.File{}
		if filepath.Base(program) == "terraform" {
			lock.Header = lockfile.HeaderTerraform
		}
		for _, report := range must.Get(provider.Hashes(t.Context(), client, p, v123, []addrs.Platform{here, other}, provider.HashOptions{}))(t) {
			must.Do(t, lock.Merge(p, v123, constraint("~> 1.2"), report.Recordable()))
		}
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
