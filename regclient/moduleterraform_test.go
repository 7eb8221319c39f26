package regclient_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// TestSameAsClient: Download and the CLIs install the same files and the same directory of the module, and the
// CLIs send the token of the registry with no package.
func TestSameAsClient(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, sameAsClient)
}

// shared are files that every CLI should unpack in the same way.
var shared = map[string]string{
	"main.tf": "# a module\n", "modules/subnet/main.tf": "# one in it\n", "modules/subnet/docs/": "", "empty": "",
	".gitignore": "x\n", "modules/subnet/.hidden/a b": "\x00\xff\r\n", "größe.txt": "é", strings.Repeat("long/", 30) + "name.tf": "# deep\n",
}

// clientModules are the ways of serving that every client knows. Some know nothing of a
// body and of use_registry_credentials, and none takes a "*" in a directory that a
// registry names.
func clientModules(t *testing.T) map[string]regtest.Module {
	t.Helper()
	tarBzip2 := must.Get(os.ReadFile("../internal/archive/testdata/tar/plain.tar.bz2"))(t)
	return map[string]regtest.Module{
		"plain":     {},
		"zip":       {Format: "zip", Deflate: true, URLs: "root-relative"},
		"xz":        {Format: "tar.xz", URLs: "relative", Checksum: true},
		"bzip2":     {Format: "tar.bz2", Package: tarBzip2, URLs: "opaque"},
		"both":      {Answer: "both", Checksum: true},
		"beside":    {Answer: "empty object", Origin: "https://files.example.com", Query: "archive=tar.gz&signature=5eed"},
		"page":      {Pages: 1},
		"pages":     {Pages: 3, MetaTag: true},
		"subdir":    {Subdir: "modules/subnet"},
		"paged zip": {Format: "zip", Pages: 1, MetaTag: true, Subdir: "modules/subnet"},
		"large":     {Size: 1 << 20},
		"user's":    {}, // with a directory that the configuration names
	}
}

func sameAsClient(t *testing.T, program string) {
	reg := regtest.New("registry.example.com")
	server := must.Get(reg.ServeTLS())(t)
	t.Cleanup(server.Close)
	reg.Require(secret, regtest.ModuleVersions|regtest.ModuleLocation)
	// The client takes a module for one of a registry if its host has a dot.
	host := strings.Replace(server.Addr, "localhost", "127.0.0.1", 1)
	sources := map[string]addrs.ModuleSource{}
	var config strings.Builder
	for name, m := range clientModules(t) {
		key := fmt.Sprintf("m%d", len(sources))
		if m.Files == nil {
			m.Files = shared
		}
		m.Address = "acme/" + key + "/aws"
		reg.AddModule(m)
		text := host + "/" + m.Address
		if name == "user's" {
			text += "//modules/subnet"
		}
		sources[key] = addrs.MustParseModuleSource(text)
		fmt.Fprintf(&config, "module %q { # %s\n  source = %q\n}\n", key, name, text)
	}
	project := terraformtest.New(t, program)
	project.Trust(t, server.CertPEM)
	project.Write(t, "main.tf", config.String())
	project.Configure(t, fmt.Sprintf("credentials %q {\n  token = %q\n}\n", host, secret))
	project.Run(t, "get", "-no-color")
	for _, q := range reg.Requests() {
		if q.Kind&(regtest.ModulePage|regtest.ModulePackage) != 0 && q.Authorization != "" {
			t.Errorf("%s sent its token with %v", program, q)
		}
	}

	c := &regclient.Client{Transport: &transport.Settings{HTTP: server.Client(), Credentials: auth.MustNewToken(secret).For(svchost.MustParse(host))}}
	for key, source := range sources {
		dest := filepath.Join(t.TempDir(), "module")
		report := must.Get(module.Download(t.Context(), c, module.Request{Source: source, Dir: dest}, module.Options{}))(t)
		sameTree(t, project.Dir, key, report)
	}
}

// TestSameRepositoryAsClient is TestSameAsClient for git, with attributes, settings and forms of refs.
func TestSameRepositoryAsClient(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("skipped: git is not installed")
	}
	terraformtest.Each(t, sameRepositoryAsClient)
}

func sameRepositoryAsClient(t *testing.T, program string) {
	origin := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir, cmd.Env = origin, append(os.Environ(), noConfig...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--initial-branch=main")
	writeFiles(t, origin, shared)
	git("add", "--all")
	git("commit", "--quiet", "-m", "first")
	git("tag", "v1.0.0")
	first := git("rev-parse", "HEAD")
	writeFiles(t, origin, map[string]string{
		".gitattributes": "*.bat text eol=crlf\n*.id ident\n*.no export-ignore\n*.sub export-subst\n",
		"a.bat":          "a\nb\n", "a.id": "$Id$\n", "a.no": "here\n", "a.sub": "$Format:%H$\n",
	})
	git("add", "--all")
	git("commit", "--quiet", "-m", "attributes")
	git("branch", "topic/x")

	var config strings.Builder
	sources := map[string]string{}
	// Each source is another package, because the CLI copies a package that it has, without files
	// whose names start with a dot.
	for i, rest := range []string{"", "?ref=v1.0.0", "?ref=" + first, "?ref=topic/x", "//modules/subnet?ref=refs/tags/v1.0.0", "?ref=v1.0.0&depth=1", "//modules/sub*?ref=main"} {
		key := fmt.Sprintf("m%d", i)
		sources[key] = "git::file://" + filepath.ToSlash(origin) + rest
		fmt.Fprintf(&config, "module %q {\n  source = %q\n}\n", key, sources[key])
	}
	project := terraformtest.New(t, program)
	project.Env = noConfig
	project.Write(t, "main.tf", config.String())
	project.Run(t, "get", "-no-color")
	for key, source := range sources {
		loc := must.Get(module.ParseLocation(source))(t)
		options := module.Options{Git: &module.Git{Env: append(os.Environ(), noConfig...)}, AllowLocal: true}
		report := must.Get(module.Download(t.Context(), nil, module.Request{Location: loc, Dir: filepath.Join(t.TempDir(), "module")}, options))(t)
		sameTree(t, project.Dir, key, report)
	}
}

// noConfig has variables with which git reads no configuration, copies no sample hooks, packs nothing
// and does not sync.
var noConfig = []string{
	"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_TEMPLATE_DIR=",
	"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_2=core.fsync", "GIT_CONFIG_VALUE_2=none",
	"GIT_CONFIG_KEY_0=gc.auto", "GIT_CONFIG_VALUE_0=0", "GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false",
}

// sameTree compares a package with the directory of the CLI.
func sameTree(t *testing.T, dir, key string, report *module.Report) {
	t.Helper()
	root := filepath.Join(".terraform", "modules", key)
	for _, m := range manifest(t, dir) {
		if m.Key != key {
			continue
		}
		if want := filepath.Join(root, filepath.FromSlash(report.Subdir)); filepath.Clean(m.Dir) != want {
			t.Errorf("%s: the client has the module in %s, not in %s", report.Location, m.Dir, want)
		}
	}
	if diff := cmp.Diff(readFiles(t, filepath.Join(dir, root)), readFiles(t, report.Dir)); diff != "" {
		t.Errorf("%s: files (-client +got):\n%s", report.Location, diff)
	}
}

// installed is an entry of the modules.json of the CLI.
type installed struct{ Key, Version, Dir string }

func manifest(t *testing.T, dir string) []installed {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(dir, ".terraform", "modules", "modules.json")))(t)
	var doc struct{ Modules []installed }
	must.Do(t, json.Unmarshal(data, &doc))
	return doc.Modules
}

// TestSelectsAsClient: from many versions, or 0.0.0, the CLI and this module choose the same one.
func TestSelectsAsClient(t *testing.T) {
	t.Parallel()
	terraformtest.Each(t, selectsAsClient)
}

func selectsAsClient(t *testing.T, program string) {
	reg := regtest.New("registry.example.com")
	server := must.Get(reg.ServeTLS())(t)
	t.Cleanup(server.Close)
	for name, versions := range map[string][]string{
		"many": {"0.0.0", "0.9.0", "1.0.0-beta", "1.0.0", "1.2.3", "1.2.3.4", "1.3.0-rc1", "2.0.0-beta1", "2.1.0"},
		"zero": {"0.0.0", "1.0.0-beta"},
	} {
		for _, v := range versions {
			reg.AddModule(regtest.Module{Address: "acme/" + name + "/aws", Version: v})
		}
	}
	host := strings.Replace(server.Addr, "localhost", "127.0.0.1", 1)
	client := &regclient.Client{Transport: &transport.Settings{HTTP: server.Client()}}
	want := map[string]string{}
	var config strings.Builder
	for i, c := range []struct{ name, constraint string }{
		{"zero", ""}, {"zero", "0.0.0"}, {"zero", ">= 0"}, {"zero", "1.0.0-beta"}, {"zero", "!= 0.0.1"},
		{"many", ""}, {"many", "< 0.9"}, {"many", "~> 1.2.3.0"}, {"many", "~> 1"}, {"many", "~> 1.0"}, {"many", "=1.3.0-rc1"}, {"many", "<= 2.0.0-beta1"},
	} {
		source := host + "/acme/" + c.name + "/aws"
		versions := must.Get(client.ModuleVersions(t.Context(), addrs.MustParseModule(source)))(t)
		newest, err := versions.Newest(addrs.MustParseModuleConstraint(c.constraint))
		if err != nil {
			t.Errorf("%s %q: %v", c.name, c.constraint, err)
		}
		key := fmt.Sprintf("m%d", i)
		want[key] = newest.String()
		fmt.Fprintf(&config, "module %q {\n  source = %q\n", key, source)
		if c.constraint != "" {
			fmt.Fprintf(&config, "  version = %q\n", c.constraint)
		}
		config.WriteString("}\n")
	}
	project := terraformtest.New(t, program)
	project.Trust(t, server.CertPEM)
	project.Write(t, "main.tf", config.String())
	project.Run(t, "get", "-no-color")
	got := map[string]string{}
	for _, m := range manifest(t, project.Dir) {
		if m.Key != "" {
			got[m.Key] = m.Version
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("versions (-client +here):\n%s\n%s", diff, config.String())
	}
}

// readFiles returns the files below a directory, except the files of git.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[filepath.ToSlash(name)] = string(data)
		return err
	})
	must.Do(t, err)
	return found
}

// writeFiles writes files below a directory. Names that end in a slash are directories.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must.Do(t, os.MkdirAll(path, 0o755))
			continue
		}
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
}
