package regtest_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestInit has the real clients install from the registry, in all ways in which
// the metadata can refer to the files.
func TestInit(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		for kind, p := range map[string]regtest.Provider{
			"plain":         {},
			"deflated":      {Deflate: true, Files: map[string]string{"LICENSE": "free\n", "docs/": ""}},
			"large, RSA":    {Size: 5 << 20, Keys: []*regtest.Key{regtest.NewKey(regtest.KeyOptions{RSABits: 2048, Subkey: true})}},
			"relative":      {URLs: "relative", PackageHashes: true},
			"opaque":        {URLs: "opaque"},
			"other origin":  {Origin: "https://files.example.com"},
			"root-relative": {URLs: "root-relative", Version: "1.2.0+meta"},
		} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				initialise(t, program, p)
			})
		}
	})
}

// initialise runs the init command for one provider and checks what it leaves.
func initialise(t *testing.T, program string, p regtest.Provider) {
	reg := regtest.New("registry.example.com")
	p.Address = "acme/alpha"
	here := addrs.CurrentPlatform().String()
	p.Platforms = []string{here, "plan9_mips"}
	rel := reg.AddProvider(p)
	key := reg.Key()
	if p.Keys != nil {
		key = p.Keys[0]
	}
	reg.Require("s3cret", regtest.Metadata)
	srv := serve(t, reg)

	project := terraformtest.New(t, program)
	project.Trust(t, srv.CertPEM)
	project.Require(t, map[string]string{srv.Addr + "/acme/alpha": cmp.Or(p.Version, "1.0.0")})
	project.Configure(t, fmt.Sprintf("credentials %q {\n  token = \"s3cret\"\n}\n", srv.Addr))
	out := project.Init(t)

	if want := "key ID " + key.Public().ID; !strings.Contains(out, want) {
		t.Errorf("the output does not have %q:\n%s", want, out)
	}
	lock := project.Read(t, ".terraform.lock.hcl")
	// The client hashes what it has unpacked, where directory entries are gone.
	archive := rel.Archive(here)
	_, tree, err := checksum.H1Zip(t.Context(), archive, archive.Size(), checksum.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{tree.String(), rel.ZH(here).String(), rel.ZH("plan9_mips").String(), `"` + srv.Addr + `/acme/alpha"`} {
		if !strings.Contains(lock, want) {
			t.Errorf("the lock file does not have %s:\n%s", want, lock)
		}
	}
	for _, q := range reg.Requests() {
		if q.Kind&(regtest.Sums|regtest.Signature|regtest.Archive) != 0 && q.Authorization != "" {
			t.Errorf("%v", q)
		}
	}
}

// TestMirrorInit has the real clients install through the network mirror, in all
// ways in which it can refer to archives and state hashes.
func TestMirrorInit(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		for kind, m := range map[string]regtest.Mirror{
			"plain":              {},
			"zh, in a directory": {Hashes: []string{"zh"}, URLs: "download"},
			"h1, elsewhere":      {Hashes: []string{"h1"}, URLs: "name", Path: "/providers", Origin: "https://files.example.com"},
			"opaque":             {Hashes: []string{"h9", "zh"}, URLs: "opaque", Query: "signature=5eed"},
			"over http":          {Origin: "http://files.example.com"},
			"no hashes":          {NoHashes: true, URLs: "root-relative"},
			"empty hashes":       {Hashes: []string{}, URLs: "relative"},
			"hosts ignored":      {IgnoreHost: true},
		} {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				mirror(t, program, m)
			})
		}
	})
}

// mirror runs the init command for a provider that only the mirror has.
func mirror(t *testing.T, program string, m regtest.Mirror) {
	host := "bücher.example.com"
	reg := regtest.New(host)
	reg.Mirror = m
	here := addrs.CurrentPlatform().String()
	rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{here, "plan9_mips"}})
	reg.Require("s3cret", regtest.MirrorIndex|regtest.MirrorVersion)
	srv := serve(t, reg)

	project := terraformtest.New(t, program)
	project.Trust(t, srv.CertPEM)
	project.Require(t, map[string]string{host + "/acme/alpha": "1.0.0"})
	project.Configure(t, fmt.Sprintf("provider_installation {\n  network_mirror {\n    url = %q\n  }\n}\ncredentials %q {\n  token = \"s3cret\"\n}\n", srv.MirrorURL(), srv.Addr))
	project.Init(t)

	lock := project.Read(t, ".terraform.lock.hcl")
	for _, want := range []string{rel.H1(here).String(), `"` + host + `/acme/alpha"`} {
		if !strings.Contains(lock, want) {
			t.Errorf("the lock file does not have %s:\n%s", want, lock)
		}
	}
	for _, q := range reg.Requests() {
		if q.Kind&(regtest.MirrorIndex|regtest.MirrorVersion|regtest.Archive) == 0 || q.Kind == regtest.Archive && q.Authorization != "" {
			t.Errorf("%v", q)
		}
	}
}
