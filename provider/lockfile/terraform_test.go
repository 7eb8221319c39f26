package lockfile_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/terraformtest"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestReadsWhatClientsWrite has the clients write lock files, which this package then
// writes again byte for byte. With wrong hashes in them, the clients refuse the packages. What this
// package writes for several platforms is compared in package install.
func TestReadsWhatClientsWrite(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		reg := regtest.New("registry.example.com")
		server, err := reg.ServeTLS()
		must(t, err)
		t.Cleanup(server.Close)
		p := terraformtest.New(t, program)
		p.Trust(t, server.CertPEM)
		required := ""
		for _, r := range []struct{ name, version, constraint string }{
			{"acme/alpha", "1.2.3", `version = "~>1.2"`}, {"acme/beta", "2.0.0-rc.1+meta", `version = "2.0.0-rc.1+meta"`}, {"zeta/alpha", "0.1.0", ""},
		} {
			reg.AddProvider(regtest.Provider{Address: r.name, Version: r.version, Platforms: []string{addrs.CurrentPlatform().String(), "plan9_mips", "linux_arm64"}})
			required += fmt.Sprintf("    %s = {\n      source = %q\n      %s\n    }\n", strings.ReplaceAll(r.name, "/", "-"), server.Addr+"/"+r.name, r.constraint)
		}
		p.Write(t, "main.tf", "terraform {\n  required_providers {\n"+required+"  }\n}\n")
		for _, args := range [][]string{{"init", "-no-color", "-input=false"}, {"providers", "lock", "-platform=plan9_mips", "-platform=linux_arm64"}} {
			p.Run(t, args...)
			checkSame(t, p.Read(t, lockfile.Name))
		}
		f := parse(t, p.Read(t, lockfile.Name))
		for e := range f.All() {
			e.Hashes = []checksum.Hash{zh1}
			must(t, f.Set(e))
		}
		must(t, f.Save(filepath.Join(p.Dir, lockfile.Name)))
		if out, err := p.Try(t, "init", "-no-color", "-input=false"); err == nil || !strings.Contains(out, "checksum") {
			t.Errorf("wrong hashes: %v\n%s", err, out)
		}
	})
}

func checkSame(t *testing.T, src string) {
	t.Helper()
	f := parse(t, src)
	if got := string(f.Bytes()); got != src || f.Len() != 3 {
		t.Errorf("read\n%s\nwrote\n%s", src, got)
	}
	if got := string(parseLenient(t, src).Bytes()); got != src {
		t.Errorf("lenient read\n%s\nwrote\n%s", src, got)
	}
	checkLenient(t, src)
}

// TestAsStrictAsClients compares which files the clients and this package refuse, except for
// the differences in the package comment.
func TestAsStrictAsClients(t *testing.T) {
	t.Parallel()
	const block = "provider \"registry.example.com/acme/alpha\""
	stricter := []string{block + " {\n  version = \"${\"1.0.0\"}\"\n}\n", block + " {\n  version = \"1.0.0\"\n  hashes = [\"zh:x\"]\n}\n"}
	files := append([]string{
		block + " {\n  version = \"0.0.0\"\n}\n", block + " {\n  version = \"1.0.0\"\n  constraints = \"\"\n}\n",
		block + " {\n  version = \"1.0.0\"\n  constraints = \">= 1.0\"\n}\n", block + " {\n  version = \"1.0.0\"\n  constraints = \"~> 1.0, != 1.5.0\"\n}\n",
		block + " {\n  version = \"1.0.0\"\n  hashes = [\"a:b\", \"a:b\"]\n}\n", block + " {\n  version = \"1.0.0\"\n  hashes = [\"nothing\"]\n}\n",
		block + " {\n  version = \"1.0.0\"\n  hashes = [\"a:b\"\n  ,]\n}\n", block + " {\n  version = \"1.0.0\"\n}\n\n" + block + " {\n  version = \"1.0.0\"\n}\n",
		"module \"a\" {\n  x = 1\n}\n", "module {\n}\n", "module \"a\" \"b\" {\n}\n", block + " {\n  version = \"1.0.0\"\n  x {\n  }\n}\n",
	}, seeds...)
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := terraformtest.New(t, program)
		p.Write(t, "main.tf", "")
		for _, src := range append(slices.Clone(files), stricter...) {
			p.Write(t, lockfile.Name, src)
			out, theirs := p.Try(t, "init", "-no-color", "-input=false")
			if _, ours := lockfile.Parse([]byte(src), ""); (ours == nil) != (theirs == nil) && !slices.Contains(stricter, src) {
				t.Errorf("%q\nhere: %v\nthere: %v\n%s", src, ours, theirs, out)
			}
		}
		for _, src := range stricter {
			if _, err := lockfile.Parse([]byte(src), ""); err == nil {
				t.Errorf("accepted: %q", src)
			}
		}
	})
}
