package cliconfig_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/internal/testing/terraformtest"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// official is a provider of the default registry.
var official = addrs.MustParseProvider("registry.opentofu.org/acme/alpha")

// installer returns the Installer of a configuration for a new directory.
func installer(t *testing.T, cfg *cliconfig.Config) *install.Installer {
	t.Helper()
	return cfg.Installer(filepath.Join(t.TempDir(), "providers"))
}

func ensure(t *testing.T, in *install.Installer, p addrs.Provider) (*install.Result, error) {
	t.Helper()
	return in.Ensure(t.Context(), install.Requirements{p: {}}, nil)
}

func noKeys(p *regtest.Provider) { p.Keys = []*regtest.Key{} }

// keyed lists a key and signs with the key by; nil is the listed key.
func keyed(key *regtest.Key, by *regtest.Key) func(*regtest.Provider) {
	return func(p *regtest.Provider) { p.Keys, p.SignedBy = []*regtest.Key{key}, by }
}

func newKey() *regtest.Key { return regtest.NewKey(regtest.KeyOptions{}) }

// oldKey returns a key that signs after it has expired.
func oldKey() *regtest.Key {
	day := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)
	return regtest.NewKey(regtest.KeyOptions{Expires: day, Signs: day.AddDate(0, 0, 1)})
}

// agedKey returns a key that has expired since it signed.
func agedKey() *regtest.Key {
	day := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)
	return regtest.NewKey(regtest.KeyOptions{Expires: day})
}

// ofArchives changes the archives in the documents of a mirror.
func ofArchives(change func(archives, own map[string]any)) regtest.Fault {
	return regtest.Fault{Kind: regtest.MirrorVersion, Edit: func(doc map[string]any) {
		archives := doc["archives"].(map[string]any)
		change(archives, archives[here.String()].(map[string]any))
	}}
}

// noHashes removes the hashes, and movedHashes moves them to another platform.
func noHashes() regtest.Fault {
	return ofArchives(func(_, own map[string]any) { delete(own, "hashes") })
}

func movedHashes() regtest.Fault {
	return ofArchives(func(archives, own map[string]any) {
		archives["plan9_arm"] = map[string]any{"url": own["url"], "hashes": own["hashes"]}
		delete(own, "hashes")
	})
}

// without removes a property from the package documents of a registry.
func without(property string) regtest.Fault {
	return regtest.Fault{Kind: regtest.Package, Edit: func(doc map[string]any) { delete(doc, property) }}
}

const (
	enforceSigned  = "OPENTOFU_ENFORCE_GPG_VALIDATION=true"
	enforceCurrent = "OPENTOFU_ENFORCE_GPG_EXPIRATION=true"
	direct         = "direct {}\n"
	mirror         = "network_mirror {\n  url = \"https://mirror.example.com/mirror/\"\n}\n"
	trustingMirror = "network_mirror {\n  url = \"https://mirror.example.com/mirror/\"\n  trust_all_hashes = true\n}\n"
	// mirrorWithout has an empty mirror, so that packages come from direct with the policy
	// of mirrors.
	mirrorWithout = "network_mirror {\n  url = \"https://mirror.example.com/none/\"\n}\n" + direct
)

// errMismatch stands for a *checksum.MismatchError.
var errMismatch = errors.New("mismatch")

// TestTrust installs packages by the policy of the CLI.
func TestTrust(t *testing.T) {
	t.Parallel()
	past, since, strange, revoked := keyed(oldKey(), nil), keyed(agedKey(), nil), keyed(newKey(), newKey()), keyed(regtest.NewKey(regtest.KeyOptions{Revoked: true}), nil)
	corrupt := regtest.Fault{Kind: regtest.Archive, Corrupt: true}
	noSums := func(p *regtest.Provider) { p.NoSums = true }
	for _, c := range []struct {
		name    string
		p       addrs.Provider
		methods string
		env     string
		edit    func(*regtest.Provider)
		fault   regtest.Fault
		err     error
		trust   verify.Trust
	}{
		{name: "signed", p: alpha, methods: direct, trust: verify.Signed},
		{name: "no keys", p: alpha, methods: direct, edit: noKeys, err: verify.ErrUnsigned},
		{name: "no keys, beside a mirror", p: alpha, methods: mirrorWithout, edit: noKeys, err: verify.ErrUnsigned},
		{name: "no sums", p: alpha, methods: direct, edit: noSums, err: verify.ErrUnsigned},
		{name: "no sums, beside a mirror", p: alpha, methods: mirrorWithout, edit: noSums, err: verify.ErrUnsigned},
		{name: "no signature", p: alpha, methods: direct, fault: without("shasums_signature_url"), err: verify.ErrUnsigned},
		{name: "no signature, beside a mirror", p: alpha, methods: mirrorWithout, fault: without("shasums_signature_url"), err: verify.ErrUnsigned},
		{name: "no sums, but a signature, beside a mirror", p: alpha, methods: mirrorWithout, fault: without("shasums_url"), err: verify.ErrUnsigned},
		{name: "default registry, no signature, but keys", p: official, methods: mirrorWithout, fault: without("shasums_signature_url"), err: verify.ErrUnsigned},
		{name: "default registry, no sums, but keys", p: official, methods: direct, edit: noSums, err: verify.ErrUnsigned},
		{name: "default registry, signed", p: official, methods: direct, trust: verify.Signed},
		{name: "default registry, no keys", p: official, methods: direct, edit: noKeys, trust: verify.Checked},
		{name: "default registry, no keys, beside a mirror", p: official, methods: mirrorWithout, edit: noKeys, trust: verify.Checked},
		{name: "default registry, no keys, enforced", p: official, methods: direct, env: enforceSigned, edit: noKeys, err: verify.ErrUnsigned},
		{name: "default registry, no keys, enforced beside a mirror", p: official, methods: mirrorWithout, env: enforceSigned, edit: noKeys, err: verify.ErrUnsigned},
		{name: "default registry, no keys, corrupt", p: official, methods: direct, edit: noKeys, fault: corrupt, err: errMismatch},
		{name: "default registry, stranger", p: official, methods: direct, edit: strange, err: verify.ErrUnknownKey},
		{name: "stranger beside a mirror", p: alpha, methods: mirrorWithout, edit: strange, err: verify.ErrUnknownKey},
		{name: "revoked", p: alpha, methods: mirrorWithout, edit: revoked, err: verify.ErrRevoked},
		{name: "expired", p: alpha, methods: direct, edit: past, trust: verify.Signed},
		{name: "expired, enforced", p: alpha, methods: direct, env: enforceCurrent, edit: past, err: verify.ErrExpired},
		{name: "expired, enforced beside a mirror", p: alpha, methods: mirrorWithout, env: enforceCurrent, edit: past, err: verify.ErrExpired},
		{name: "expired since", p: alpha, methods: direct, edit: since, trust: verify.Signed},
		{name: "expired since, enforced", p: alpha, methods: direct, env: enforceCurrent, edit: since, err: verify.ErrExpired},
		{name: "expired since, enforced beside a mirror", p: alpha, methods: mirrorWithout, env: enforceCurrent, edit: since, err: verify.ErrExpired},
		{name: "not expired, enforced", p: alpha, methods: direct, env: enforceCurrent, trust: verify.Signed},
		{name: "enforced, but not by true", p: official, methods: direct, env: "OPENTOFU_ENFORCE_GPG_VALIDATION=1", edit: noKeys, trust: verify.Checked},
		{name: "mirror", p: alpha, methods: mirror, edit: noKeys, trust: verify.Checked},
		{name: "mirror, enforced", p: alpha, methods: mirror, env: enforceSigned, edit: noKeys, trust: verify.Checked},
		{name: "mirror, corrupt", p: alpha, methods: mirror, fault: corrupt, err: errMismatch},
		{name: "mirror, no hashes", p: alpha, methods: mirror, fault: noHashes(), trust: verify.Unchecked},
		{name: "mirror, hashes of another platform", p: alpha, methods: mirror, fault: movedHashes(), err: verify.ErrUnchecked},
		{name: "mirror, hashes of another platform, all trusted", p: alpha, methods: trustingMirror, fault: movedHashes(), trust: verify.Checked},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			reg := regtest.New(c.p.Host().String())
			add(reg, c.p, c.edit)
			if c.fault.Kind != 0 {
				reg.AddFault(c.fault)
			}
			result, err := ensure(t, installer(t, installation(t, reg, c.methods, c.env)), c.p)
			if c.err != nil {
				_, mismatch := errors.AsType[*checksum.MismatchError](err)
				if c.err == errMismatch && !mismatch || c.err != errMismatch && !errors.Is(err, c.err) {
					t.Errorf("%v, want %v", err, c.err)
				}
				if _, locked := result.Lock.Get(c.p); locked {
					t.Error("the refused package is in the lock file")
				}
				return
			}
			must.Do(t, err)
			if trust := result.Selections[0].Reports[here].Trust; trust != c.trust {
				t.Errorf("trust is %v, want %v", trust, c.trust)
			}
		})
	}
}

const (
	realHost      = "host \"{HOST}\" {\n  services = {\n    \"providers.v1\" = \"https://{REGISTRY}/v1/providers/\"\n  }\n}\n"
	realMirror    = "  network_mirror {\n    url = \"https://{MIRROR}/mirror/\"\n  }\n"
	realDir       = "  filesystem_mirror {\n    path = \"{DIR}\"\n  }\n"
	realNotDirect = "  direct {\n    exclude = [\"{HOST}/*/*\"]\n  }\n"
	realNone      = "  filesystem_mirror {\n    path = \"{HOME}/project\"\n  }\n"
)

// An installCase is a realCase in which the init command and an Installer install a
// package.
type installCase struct {
	realCase
	methods string        // of provider_installation, or "" for no block
	more    string        // other settings
	unpack  bool          // the mirror directory is unpacked
	fails   bool          // both refuse the package
	unused  bool          // the CLI also locks a package that it does not use
	fault   regtest.Fault // at the mirror
}

func installCases() []installCase {
	past, strange := keyed(oldKey(), nil), keyed(newKey(), newKey())
	corrupt := regtest.Fault{Kind: regtest.Archive, Corrupt: true}
	return []installCase{
		{realCase: realCase{name: "signed"}},
		{realCase: realCase{name: "signed, official", official: true}, more: realHost},
		{realCase: realCase{name: "no keys", edit: noKeys}, fails: true},
		{realCase: realCase{name: "no keys beside a directory", edit: noKeys}, methods: realNone + direct, fails: true},
		{realCase: realCase{name: "expired", edit: past}},
		{realCase: realCase{name: "expired since", edit: keyed(agedKey(), nil)}},
		{realCase: realCase{name: "stranger", edit: strange}, fails: true},
		{realCase: realCase{name: "stranger beside a directory", edit: strange}, methods: realNone + direct, fails: true},
		{realCase: realCase{name: "mirror", portless: true, edit: noKeys}, methods: realMirror},
		{realCase: realCase{name: "mirror without hashes", portless: true, edit: noKeys}, methods: realMirror, fault: noHashes()},
		{realCase: realCase{name: "mirror, corrupt", portless: true, edit: noKeys}, methods: realMirror, fault: corrupt, fails: true},
		{realCase: realCase{name: "packed directory", none: true}, methods: realDir},
		{realCase: realCase{name: "unpacked directory", none: true}, methods: realDir, unpack: true},
		{unused: true, realCase: realCase{name: "override"}, methods: "  dev_overrides {\n    \"{HOST}/acme/alpha\" = \"{HOME}/project\"\n  }\n" + direct},
		{realCase: realCase{name: "no method"}, methods: realNotDirect, fails: true},
		{realCase: realCase{name: "plugin cache", files: map[string]string{"cache/.keep": ""}}, more: "plugin_cache_dir = \"$HOME/cache\"\n"},
	}
}

// TestRealInstall compares whether a package is accepted, and its hashes in the lock file.
func TestRealInstall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: Windows has other places")
	}
	cases := installCases()
	terraformtest.Each(t, func(t *testing.T, program string) {
		// For Terraform, no registry can omit keys.
		official := installCase{realCase: realCase{name: "no keys, official", official: true, edit: noKeys}, more: realHost}
		official.fails = filepath.Base(program) == "terraform"
		// Only OpenTofu refuses expired keys on demand, and at a time when they had not expired yet too.
		expired := installCase{realCase: realCase{name: "expired, enforced", env: []string{enforceCurrent}, edit: keyed(oldKey(), nil)}}
		since := installCase{realCase: realCase{name: "expired since, enforced", env: []string{enforceCurrent}, edit: keyed(agedKey(), nil)}}
		expired.fails = filepath.Base(program) != "terraform"
		since.fails = expired.fails
		for _, c := range append(slices.Clone(cases), official, expired, since) {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.compare(t, program)
			})
		}
	})
}

func (c installCase) compare(t *testing.T, program string) {
	c.main = c.more
	if c.methods != "" {
		c.main += "provider_installation {\n" + c.methods + "}\n"
	}
	w := newWorld(t, c.realCase)
	if c.fault.Kind != 0 {
		w.mirror.AddFault(c.fault)
	}
	if c.unpack {
		w.unpackDirectory(t)
	}
	ours, err := w.ensure(t)
	theirs, out, realErr := w.init(t, program)
	if (err != nil) != c.fails || (realErr != nil) != c.fails {
		t.Fatalf("here: %v, %s: %v\n%s", err, program, realErr, out)
	}
	if c.unused {
		theirs = ""
	}
	if diff := cmp.Diff(theirs, withoutMore(ours, theirs)); diff != "" {
		t.Errorf("-%s +tofureg\n%s", program, diff)
	}
}

// withoutMore returns a lock file without the zh hashes that another lock file lacks. The CLI
// records the zh hash of an archive only if the registry states it.
func withoutMore(text, other string) string {
	kept := ""
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"zh:`) || strings.Contains(other, line) {
			kept += line
		}
	}
	return kept
}

// ensure installs with an Installer and returns the text of the lock file, or "" if it is
// empty.
func (w *world) ensure(t *testing.T) (string, error) {
	t.Helper()
	cfg := load(t, w.system)
	cfg.HTTP = w.http
	lock := &lockfile.File{Header: lockfile.HeaderOpenTofu}
	if w.system.Terraform {
		lock.Header = lockfile.HeaderTerraform
	}
	required := install.Requirements{w.alpha: addrs.MustParseProviderConstraint("1.2.0")}
	result, err := installer(t, cfg).Ensure(t.Context(), required, lock)
	if result.Lock.Len() == 0 {
		return "", err
	}
	if cacheDir(cfg) != "" {
		err = errors.Join(err, os.RemoveAll(cacheDir(cfg)), os.Mkdir(cacheDir(cfg), 0o755))
	}
	return string(result.Lock.Bytes()), err
}

// init installs with the CLI and returns the text of the lock file.
func (w *world) init(t *testing.T, program string) (lock, out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "init", "-no-color", "-input=false")
	cmd.Dir, cmd.Env = w.dir, w.system.Environ
	printed, err := cmd.CombinedOutput()
	text, missing := os.ReadFile(filepath.Join(w.dir, lockfile.Name))
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		t.Fatal(missing)
	}
	return string(text), string(printed), err
}

// unpackDirectory replaces the packed mirror directory by an unpacked one.
func (w *world) unpackDirectory(t *testing.T) {
	t.Helper()
	cfg := load(t, w.system)
	in := installer(t, cfg)
	must.Get(ensure(t, in, w.alpha))(t)
	dir := cfg.Methods()[0].Location
	must.Do(t, errors.Join(os.RemoveAll(dir), os.Rename(in.Dir.Path, dir)))
}

// TestInstallersShareTheCache: what one installer knows about the cache, all know.
func TestInstallersShareTheCache(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	cfg := load(t, cliconfig.System{Environ: []string{"TF_PLUGIN_CACHE_DIR=" + cache}, Home: t.TempDir()})
	first, second := installer(t, cfg), installer(t, cfg)
	if first.Cache == nil || first.Cache.Path != cache || first.Cache != second.Cache || first.Dir == second.Dir {
		t.Errorf("installers have the caches %+v and %+v, want one with path %s", first.Cache, second.Cache, cache)
	}
}

// TestStamps: stamps are kept in the cache directory of the user, and only if the caller asks.
func TestStamps(t *testing.T) {
	t.Parallel()
	home, cache := t.TempDir(), t.TempDir()
	for name, test := range map[string]struct {
		sys    cliconfig.System
		stamps bool
		want   string
	}{
		"not asked for": {cliconfig.System{GOOS: "linux", Home: home}, false, ""},
		"home":          {cliconfig.System{GOOS: "linux", Home: home}, true, home + "/.cache/tofureg/stamps"},
		"variable":      {cliconfig.System{GOOS: "linux", Home: home, Environ: []string{"XDG_CACHE_HOME=" + cache}}, true, cache + "/tofureg/stamps"},
		"relative":      {cliconfig.System{GOOS: "linux", Home: home, Environ: []string{"XDG_CACHE_HOME=x"}}, true, home + "/.cache/tofureg/stamps"},
		"no home":       {cliconfig.System{GOOS: "linux", Environ: []string{}}, true, ""},
		"macOS":         {cliconfig.System{GOOS: "darwin", Home: home}, true, ""},
	} {
		if runtime.GOOS == "windows" && test.want != "" {
			continue // the paths of this test are those of Windows
		}
		test.sys.Environ = append(test.sys.Environ, "TF_PLUGIN_CACHE_DIR="+cache)
		cfg := load(t, test.sys)
		cfg.Stamps = test.stamps
		in := installer(t, cfg)
		if in.Dir.Stamps != test.want || in.Cache.Stamps != test.want {
			t.Errorf("%s: stamps in %q and %q, want %q", name, in.Dir.Stamps, in.Cache.Stamps, test.want)
		}
	}
}
