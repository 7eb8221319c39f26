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
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// clients are the programs that the files are compared with, and the header that each
// gives to its files.
var clients = map[string]string{"terraform": lockfile.HeaderTerraform, "tofu": lockfile.HeaderOpenTofu}

// platforms are those for which files are locked.
var platforms = []string{"darwin_arm64", "linux_amd64", "windows_amd64"}

// A project is a directory with a configuration that wants three providers from a
// registry.
type project struct {
	*terraformtest.Project
	header string
	wants  []want
}

// A want is a provider that the configuration requires.
type want struct {
	release    *regtest.Release
	source     addrs.Provider
	version    addrs.Version
	constraint addrs.ProviderConstraint
}

func newProject(t *testing.T, program string) *project {
	t.Helper()
	reg := regtest.New("registry.example.com")
	server, err := reg.ServeTLS()
	must(t, err)
	t.Cleanup(server.Close)
	p := &project{Project: terraformtest.New(t, program)}
	p.header = clients[p.Name()]
	p.Trust(t, server.CertPEM)
	all := append([]string{addrs.CurrentPlatform().String(), "plan9_mips"}, platforms...)
	required := ""
	for _, r := range []struct{ name, version, constraint string }{
		{"acme/alpha", "1.2.3", "~>1.2"}, {"acme/beta", "2.0.0-rc.1+meta", "2.0.0-rc.1+meta"}, {"zeta/alpha", "0.1.0", ""},
	} {
		w := want{
			release:    reg.AddProvider(regtest.Provider{Address: r.name, Version: r.version, Platforms: all}),
			source:     addrs.MustParseProvider(server.Addr + "/" + r.name),
			version:    addrs.MustParseVersion(r.version),
			constraint: constraint(r.constraint),
		}
		p.wants = append(p.wants, w)
		required += fmt.Sprintf("    %s = {\n      source = %q\n      version = %q\n    }\n", strings.ReplaceAll(r.name, "/", "-"), w.source, r.constraint)
	}
	p.Write(t, "main.tf", strings.ReplaceAll("terraform {\n  required_providers {\n"+required+"  }\n}\n", "      version = \"\"\n", ""))
	return p
}

func (p *project) path() string { return filepath.Join(p.Dir, lockfile.Name) }

// lockWith has the client write a lock file and returns it.
func (p *project) lockWith(t *testing.T, args ...string) string {
	t.Helper()
	p.Run(t, args...)
	return p.Read(t, lockfile.Name)
}

// lock returns the lock file for the platforms as this package writes it, from reports
// about the archives that the registry serves.
func (p *project) lock(t *testing.T, platforms ...string) *lockfile.File {
	t.Helper()
	f := &lockfile.File{Header: p.header}
	for _, w := range p.wants {
		release := w.release
		var reports []lockfile.Recorder
		for _, platform := range platforms {
			archive := release.Archive(platform)
			_, tree, err := checksum.H1Zip(t.Context(), archive, archive.Size(), checksum.Limits{})
			must(t, err)
			report, err := verify.Policy{}.Judge(verify.Evidence{
				Filename: release.Filename(platform), Sums: release.Sums(), Signature: release.Signature(),
				Keys: []verify.Key{release.Key().Public()},
			}, archive.Size(), []checksum.Hash{release.ZH(platform), tree})
			must(t, err)
			reports = append(reports, report)
		}
		must(t, f.Merge(w.source, w.version, w.constraint, reports...))
	}
	return f
}

// TestReadsWhatClientsWrite has the clients write lock files, which this package then
// writes again byte for byte.
func TestReadsWhatClientsWrite(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := newProject(t, program)
		checkSame(t, p.lockWith(t, "init", "-no-color", "-input=false"))
		checkSame(t, p.lockWith(t, "providers", "lock", "-platform=plan9_mips", "-platform=linux_amd64"))
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

// TestClientsAcceptWhatIsWritten has the clients use lock files from here, and leave
// them as they are.
func TestClientsAcceptWhatIsWritten(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := newProject(t, program)
		here := addrs.CurrentPlatform().String()
		f := p.lock(t, here)
		must(t, f.Save(p.path()))
		for _, args := range [][]string{{"init", "-no-color", "-input=false", "-lockfile=readonly"}, {"init", "-no-color", "-input=false"}} {
			if got := p.lockWith(t, args...); got != string(f.Bytes()) {
				t.Errorf("%q changed\n%s\ninto\n%s", args, f.Bytes(), got)
			}
		}
	})
}

// TestSameAsProvidersLock compares a file for several platforms with what the command
// for that writes.
func TestSameAsProvidersLock(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := newProject(t, program)
		args := []string{"providers", "lock", "-no-color"}
		for _, platform := range platforms {
			args = append(args, "-platform="+platform)
		}
		want := p.lockWith(t, args...)
		f := p.lock(t, platforms...)
		if got := string(f.Bytes()); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// TestClientsObey makes sure that the clients do read these files: with a wrong hash
// they refuse the package.
func TestClientsObey(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, func(t *testing.T, program string) {
		p := newProject(t, program)
		f := p.lock(t, addrs.CurrentPlatform().String())
		for e := range f.All() {
			e.Hashes = []checksum.Hash{zh1}
			must(t, f.Set(e))
		}
		must(t, f.Save(p.path()))
		if out, err := p.Try(t, "init", "-no-color", "-input=false"); err == nil || !strings.Contains(out, "checksum") {
			t.Errorf("wrong hashes: %v\n%s", err, out)
		}
	})
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
