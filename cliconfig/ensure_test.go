package cliconfig_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
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

func ensure(t *testing.T, in *install.Installer, p addrs.Provider, lock *lockfile.File) (*install.Result, error) {
	t.Helper()
	return in.Ensure(t.Context(), map[addrs.Provider]addrs.ProviderConstraint{p: {}}, lock)
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

// noHashes removes the hashes from the documents of a mirror.
func noHashes() regtest.Fault {
	return regtest.Fault{Kind: regtest.MirrorVersion, Edit: func(doc map[string]any) {
		for _, a := range doc["archives"].(map[string]any) {
			delete(a.(map[string]any), "hashes")
		}
	}}
}

// movedHashes moves the hashes in the documents of a mirror to another platform.
func movedHashes() regtest.Fault {
	return regtest.Fault{Kind: regtest.MirrorVersion, Edit: func(doc map[string]any) {
		archives := doc["archives"].(map[string]any)
		own := archives[here.String()].(map[string]any)
		archives["plan9_arm"] = map[string]any{"url": own["url"], "hashes": own["hashes"]}
		delete(own, "hashes")
	}}
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
	past, strange, revoked := keyed(oldKey(), nil), keyed(newKey(), newKey()), keyed(regtest.NewKey(regtest.KeyOptions{Revoked: true}), nil)
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
			cfg := installation(t, c.methods, c.env)
			cfg.HTTP = reg.Client()
			result, err := ensure(t, installer(t, cfg), c.p, nil)
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
			if err != nil {
				t.Fatal(err)
			}
			if trust := result.Selections[0].Reports[here].Trust; trust != c.trust {
				t.Errorf("trust is %v, want %v", trust, c.trust)
			}
		})
	}
}
