package install_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestCheckPlatforms: the status of each platform follows from the locked hashes and those that the source states.
func TestCheckPlatforms(t *testing.T) {
	t.Parallel()
	const linux, darwin, windows, plan9 = "linux_amd64", "darwin_arm64", "windows_amd64", "plan9_mips"
	built, later := []string{linux, darwin, windows}, checksum.MustParseHash("h9:later")
	plain := newRelease(regtest.Provider{Platforms: built})
	states := newRelease(regtest.Provider{Platforms: built, PackageHashes: true})
	unsigned := newRelease(regtest.Provider{Platforms: built, NoSums: true})
	for _, test := range []struct {
		name   string
		of     *release
		mirror bool
		hashes func(r *regtest.Release) []checksum.Hash
		want   string // of linux, darwin, windows, plan9
	}{
		{"no hash", plain, false, func(*regtest.Release) []checksum.Hash { return nil }, "missing missing missing not built"},
		{"zh of one", plain, false, func(r *regtest.Release) []checksum.Hash { return []checksum.Hash{r.ZH(linux)} }, "zh missing missing not built"},
		{"zh of the others", plain, false, func(r *regtest.Release) []checksum.Hash { return []checksum.Hash{r.ZH(darwin), r.ZH(windows)} }, "missing zh zh not built"},
		{"h1", plain, false, func(r *regtest.Release) []checksum.Hash { return []checksum.Hash{r.H1(linux)} }, "unknown unknown unknown not built"},
		{"zh and h1", plain, false, func(r *regtest.Release) []checksum.Hash { return []checksum.Hash{r.ZH(linux), r.H1(darwin)} }, "zh unknown unknown not built"},
		{"zh of another release", plain, false, func(*regtest.Release) []checksum.Hash { return []checksum.Hash{checksum.ZHSum([32]byte{1})} }, "missing missing missing not built"},
		{"unknown scheme", plain, false, func(*regtest.Release) []checksum.Hash { return []checksum.Hash{later} }, "unknown unknown unknown not built"},
		{"stated h1", states, false, func(r *regtest.Release) []checksum.Hash { return []checksum.Hash{r.H1(linux), r.ZH(darwin)} }, "h1 zh missing not built"},
		{"another h1", states, false, func(*regtest.Release) []checksum.Hash { return []checksum.Hash{otherH1} }, "missing missing missing not built"},
		{"unsigned", unsigned, false, func(r *regtest.Release) []checksum.Hash { return []checksum.Hash{r.ZH(linux)} }, "zh missing missing not built"},
		{"mirror", plain, true, func(r *regtest.Release) []checksum.Hash { return []checksum.Hash{r.ZH(linux), r.H1(darwin)} }, "zh h1 missing not built"},
		{"mirror, other hashes", plain, true, func(*regtest.Release) []checksum.Hash { return []checksum.Hash{later, otherH1} }, "unknown unknown unknown not built"},
	} {
		t.Run(test.name, func(t *testing.T) {
			lock := &lockfile.File{}
			must.Do(t, lock.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: test.hashes(test.of.release)}))
			src, policy := test.of.source(test.mirror), verify.Policy{AllowUnsigned: test.mirror || test.of == unsigned, AllowUnchecked: test.of == unsigned}
			for _, first := range []string{linux, plan9} {
				var platforms []addrs.Platform
				for _, name := range []string{linux, darwin, windows, plan9} {
					platforms = append(platforms, addrs.MustParsePlatform(name))
				}
				if first == plan9 && test.of != unsigned { // there the one document that is read states one hash
					slices.Reverse(platforms)
				}
				list, err := install.CheckPlatforms(t.Context(), src, lock, platforms, func(addrs.Provider) verify.Policy { return policy })
				if err != nil || len(list) != 1 || list[0].Version != v1 || list[0].OK() {
					t.Fatalf("CheckPlatforms, %s first: %+v, %v", first, list, err)
				}
				var got []string
				for _, name := range []string{linux, darwin, windows, plan9} {
					got = append(got, string(list[0].Platforms[addrs.MustParsePlatform(name)]))
				}
				if signed := list[0].SignedBy != nil; strings.Join(got, " ") != test.want || signed == policy.AllowUnsigned {
					t.Errorf("CheckPlatforms, %s first: %s, signed %t; want %s", first, got, signed, test.want)
				}
			}
		})
	}
}

// release is a provider at a registry and a mirror.
type release struct {
	registry *regtest.Registry
	release  *regtest.Release
}

func newRelease(p regtest.Provider) *release {
	p.Address, p.Version = "acme/alpha", v1.String()
	r := &release{registry: regtest.New("registry.example.com")}
	r.release = r.registry.AddProvider(p)
	return r
}

func (r *release) source(mirror bool) provider.Source {
	web := &transport.Settings{HTTP: r.registry.Client(), Retries: -1}
	if mirror {
		return &mirrorclient.Client{BaseURL: r.registry.MirrorURL(), Transport: web}
	}
	return &regclient.Client{Transport: web}
}

// TestCheckPlatformsRequests: the number of requests does not depend on the number of platforms, no archive is downloaded, and a
// provider that fails leaves the others.
func TestCheckPlatformsRequests(t *testing.T) {
	t.Parallel()
	reg, lock := regtest.New("registry.example.com"), &lockfile.File{}
	for _, name := range []string{"alpha", "beta"} {
		r := reg.AddProvider(regtest.Provider{Address: "acme/" + name, Version: "1.2.0", Platforms: inText(platformsOf)})
		e := lockfile.Entry{Provider: addrs.MustParseProvider("registry.example.com/acme/" + name), Version: v1}
		for _, on := range platformsOf {
			e.Hashes = append(e.Hashes, r.ZH(on.String()))
		}
		must.Do(t, lock.Set(e))
	}
	src := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
	list, err := install.CheckPlatforms(t.Context(), src, lock, platformsOf, nil)
	if err != nil || len(list) != 2 || !list[0].OK() || !list[1].OK() {
		t.Fatalf("CheckPlatforms: %+v, %v; want two that are locked", list, err)
	}
	if n := len(reg.Requests()); n != 2*4+1 || reg.Count(regtest.Archive) > 0 {
		t.Errorf("CheckPlatforms of two providers: %d requests, %d for archives; want one for the services and four for each provider", n, reg.Count(regtest.Archive))
	}
	gone := addrs.MustParseProvider("registry.example.com/acme/gone")
	must.Do(t, lock.Set(lockfile.Entry{Provider: gone, Version: v1}))
	list, err = install.CheckPlatforms(t.Context(), src, lock, platformsOf[:1], nil)
	if len(list) != 3 || !errors.Is(err, failure.ErrNotFound) || !errors.Is(list[2].Err, failure.ErrNotFound) || list[2].OK() || !list[0].OK() {
		t.Errorf("CheckPlatforms with a missing provider: %+v, %v; want it alone to fail with %v", list, err, failure.ErrNotFound)
	}
	text := must.Get(json.Marshal(list[0]))(t)
	if want := fmt.Sprintf(`"platforms":{%q:"zh"}`, platformsOf[0]); !strings.Contains(string(text), want) {
		t.Errorf("JSON is %s, want it to have %s", text, want)
	}
	if list, err := install.CheckPlatforms(t.Context(), nil, nil, nil, nil); len(list) > 0 || err != nil {
		t.Errorf("CheckPlatforms without a lock file: %v, %v", list, err)
	}
	if _, err := install.CheckPlatforms(t.Context(), nil, lock, nil, nil); !errors.Is(err, failure.ErrOffline) {
		t.Errorf("CheckPlatforms without a source: %v, want %v", err, failure.ErrOffline)
	}
}
