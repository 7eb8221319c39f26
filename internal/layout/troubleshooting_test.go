package layout_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// troubles make the errors of docs/troubleshooting.md, by their headings.
var troubles = map[string]func(*testing.T, *trouble) error{
	"list versions of … HTTP status 404: not found": func(t *testing.T, w *trouble) error { return w.find("acme/unknown", "") },
	"no version matches":                            func(t *testing.T, w *trouble) error { return w.find("hashicorp/random", "~> 9.0") },
	"has no package for … only for": func(t *testing.T, w *trouble) error {
		_, err := w.registry.ProviderPackage(w.ctx, random, randomV363, addrs.MustParsePlatform("plan9_mips"))
		return err
	},
	"HTTP status 401": func(t *testing.T, w *trouble) error { return w.fault(regtest.Fault{Status: 401}) },
	"HTTP status 429": func(t *testing.T, w *trouble) error { return w.fault(regtest.Fault{Status: 429, RetryAfter: "3600"}) },
	"unusable answer: media type is": func(t *testing.T, w *trouble) error {
		return w.fault(regtest.Fault{Kind: regtest.Discovery, Raw: []byte("<html>"), Header: http.Header{"Content-Type": {"text/html"}}})
	},
	"set AllowHTTP to permit that": func(t *testing.T, w *trouble) error {
		return w.fault(regtest.Fault{Kind: regtest.Versions, Redirect: "http://registry.opentofu.org/x"})
	},
	"package is not signed": func(t *testing.T, w *trouble) error {
		return w.download(t, verify.Policy{}, regtest.Provider{NoSums: true})
	},
	"expired signature: the key expired on": func(t *testing.T, w *trouble) error {
		key := regtest.NewKey(regtest.KeyOptions{Expires: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)})
		return w.download(t, verify.Policy{RequireCurrent: true}, regtest.Provider{Keys: []*regtest.Key{key}})
	},
	"use package regclient for a registry": func(t *testing.T, w *trouble) error {
		_, err := (&mirrorclient.Client{BaseURL: "https://registry.opentofu.org/v1/providers/", Transport: w.registry.Transport}).ProviderVersions(w.ctx, random)
		return err
	},
	"no accepted hash matches": func(t *testing.T, w *trouble) error {
		return w.download(t, verify.Policy{Accept: checksum.NewSet(checksum.ZHSum([32]byte{}))}, regtest.Provider{})
	},
	"upgrade to choose another one": func(t *testing.T, w *trouble) error {
		lock := &lockfile.File{}
		must.Do(t, lock.Set(lockfile.Entry{Provider: random, Version: addrs.MustParseVersion("3.5.9"), Hashes: []checksum.Hash{checksum.ZHSum([32]byte{})}}))
		_, err := (&install.Installer{Source: w.registry, Dir: &install.Dir{Path: t.TempDir()}}).Ensure(w.ctx, required, lock)
		return err
	},
	"offline: the provider is not in the lock file": func(t *testing.T, w *trouble) error {
		_, err := (&install.Installer{Dir: &install.Dir{Path: t.TempDir()}}).Ensure(w.ctx, required, nil)
		return err
	},
	"unresolved merge conflict": func(t *testing.T, w *trouble) error {
		_, err := lockfile.Parse([]byte("<<<<<<< HEAD\n"), lockfile.Name)
		return err
	},
	"held back until it is old enough": func(t *testing.T, w *trouble) error {
		src := &cooldown.Providers{Source: w.registry, Rule: cooldown.Rule{Age: 24 * time.Hour}}
		_, err := provider.Find(w.ctx, src, random, addrs.ProviderConstraint{}, provider.Need{})
		return err
	},
	"invalid token": func(t *testing.T, w *trouble) error {
		_, err := auth.Environ([]string{"TF_TOKEN_registry_opentofu_org=a\nb"}).Token(w.ctx, svchost.MustParse("registry.opentofu.org"))
		return err
	},
	"this program does not support OCI mirrors": func(t *testing.T, w *trouble) error {
		return w.configuration(t, "provider_installation {\n  oci_mirror {\n    repository_template = \"ghcr.example.com/${namespace}/${type}\"\n    include = [\"registry.opentofu.org/*/*\"]\n  }\n}\n")
	},
	"needs Options.Git or Options.Fetcher":             func(t *testing.T, w *trouble) error { return w.module(t, "git::https://example.com/network.git") },
	"location on this machine: set Options.AllowLocal": func(t *testing.T, w *trouble) error { return w.module(t, "/srv/network") },
	"set Options.Replace to replace it": func(t *testing.T, w *trouble) error {
		w.reg.AddModule(regtest.Module{Address: "acme/network/aws"})
		dir := t.TempDir()
		must.Do(t, os.WriteFile(filepath.Join(dir, "main.tf"), nil, 0o600))
		_, err := module.Download(w.ctx, w.registry, module.Request{Source: addrs.MustParseModuleSource("acme/network/aws"), Dir: dir}, module.Options{})
		return err
	},
	"run Mirror.Reindex to correct the document": func(t *testing.T, w *trouble) error {
		dir := t.TempDir()
		m := must.Get(mirrordir.Open(dir))(t)
		must.Get(m.Add(w.ctx, w.registry, []mirrordir.Want{{Provider: random, Version: randomV363, Platforms: []addrs.Platform{linux}}}, mirrordir.AddOptions{}))(t)
		document := filepath.Join(dir, "registry.opentofu.org/hashicorp/random/3.6.3.json")
		text := regexp.MustCompile(`zh:\w{6}`).ReplaceAll(must.Get(os.ReadFile(document))(t), []byte("zh:000000"))
		must.Do(t, os.WriteFile(document, text, 0o600))
		before := must.Get(m.Check(w.ctx, mirrordir.CheckOptions{}))(t)
		must.Get(m.Reindex(w.ctx, mirrordir.CheckOptions{}))(t)
		if after := must.Get(m.Check(w.ctx, mirrordir.CheckOptions{}))(t); !after.OK() {
			t.Errorf("Reindex leaves %v", after.Problems)
		}
		return fmt.Errorf("%v", before.Problems)
	},
}

var linux = addrs.MustParsePlatform("linux_amd64")

// A trouble has a registry with hashicorp/random, and a client that makes each request once.
type trouble struct {
	ctx      context.Context
	reg      *regtest.Registry
	registry *regclient.Client
}

func (w *trouble) find(name, constraint string) error {
	var c addrs.ProviderConstraint
	if constraint != "" {
		c = addrs.MustParseProviderConstraint(constraint)
	}
	_, err := provider.Find(w.ctx, w.registry, addrs.MustParseProvider(name), c, provider.Need{})
	return err
}

func (w *trouble) fault(f regtest.Fault) error {
	w.reg.AddFault(f)
	return w.find("hashicorp/random", "")
}

func (w *trouble) download(t *testing.T, policy verify.Policy, p regtest.Provider) error {
	p.Address, p.Version = "acme/alpha", "1.0.0"
	w.reg.AddProvider(p)
	pkg := must.Get(w.registry.ProviderPackage(w.ctx, addrs.MustParseProvider("acme/alpha"), addrs.MustParseVersion("1.0.0"), linux))(t)
	_, err := provider.Download(w.ctx, w.registry, pkg, filepath.Join(t.TempDir(), "x"), provider.DownloadOptions{Policy: policy})
	return err
}

func (w *trouble) module(t *testing.T, location string) error {
	_, err := module.Download(w.ctx, w.registry, module.Request{Location: must.Get(module.ParseLocation(location))(t), Dir: filepath.Join(t.TempDir(), "x")}, module.Options{})
	return err
}

func (w *trouble) configuration(t *testing.T, text string) error {
	dir := t.TempDir()
	file := filepath.Join(dir, "tofurc")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	config, err := cliconfig.Load(w.ctx, cliconfig.System{Environ: []string{"TF_CLI_CONFIG_FILE=" + file}, Home: dir, Dir: dir})
	if err == nil {
		_, err = provider.Find(w.ctx, config.ProviderSource(), random, addrs.ProviderConstraint{}, provider.Need{})
	}
	return err
}

// TestTroubleshooting checks that the messages of docs/troubleshooting.md are in the programs tofu and terraform, or in errors that
// troubles makes.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	clis, own, _ := strings.Cut(readFile(t, "docs/troubleshooting.md"), "\n## Messages of tofureg\n")
	heading := regexp.MustCompile("(?m)^### `(.*)`$")
	messages := heading.FindAllStringSubmatch(own, -1)
	for _, m := range messages {
		t.Run(m[1], func(t *testing.T) {
			t.Parallel()
			produce := troubles[m[1]]
			if produce == nil {
				t.Fatal("troubles does not make this error")
			}
			reg, registry := snippetRegistry()
			registry.Transport.Retries = -1
			if err := produce(t, &trouble{t.Context(), reg, registry}); err == nil || !matches(m[1], []byte(err.Error())) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if len(messages) != len(troubles) {
		t.Errorf("the page has %d messages, troubles %d", len(messages), len(troubles))
	}
	of := heading.FindAllStringSubmatch(clis, -1)
	if n := len(of) + len(messages); n < 30 {
		t.Errorf("the page has %d messages, want at least 30", n)
	}
	t.Run("clis", func(t *testing.T) {
		t.Parallel()
		var programs [][]byte
		for _, name := range []string{"tofu", "terraform"} {
			file, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("skipped: %s is not installed", name)
			}
			programs = append(programs, must.Get(os.ReadFile(file))(t))
		}
		for _, m := range of {
			if !slices.ContainsFunc(programs, func(text []byte) bool { return matches(m[1], text) }) {
				t.Errorf("neither tofu nor terraform has the message %q", m[1])
			}
		}
	})
}

// matches reports whether the text has all parts of the message between dots, in any order.
func matches(message string, text []byte) bool {
	for part := range strings.SplitSeq(message, "…") {
		if !bytes.Contains(text, []byte(strings.TrimSpace(part))) {
			return false
		}
	}
	return true
}
