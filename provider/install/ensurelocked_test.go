package install_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/mirrorclient"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestLockIsNotMutated: Ensure does not change the given lock file, whether it selects, removes or
// refuses.
func TestLockIsNotMutated(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.want[numbered(0)] = constraintOf("1.0.0")
	lock := s.ensure(t, nil).Lock
	before := string(lock.Bytes())
	s.want[numbered(0)] = constraintOf("~> 1.0")
	delete(s.want, numbered(1))
	s.in.Upgrade = true
	result := s.ensure(t, lock)
	if string(lock.Bytes()) != before || lock.Len() != 2 {
		t.Errorf("the lock changed:\n%s\ninto\n%s", before, lock.Bytes())
	}
	if e, _ := result.Lock.Get(numbered(0)); result.Lock.Len() != 1 || e.Version.String() != "1.1.0" || slices.Contains(e.Hashes, lock.Accept(numbered(0), addrs.MustParseVersion("1.0.0"))[0]) {
		t.Errorf("after the upgrade:\n%s", result.Lock.Bytes())
	}
}

// TestLockedVersion: a locked version is kept if possible, otherwise refused.
func TestLockedVersion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		constraint string
		upgrade    bool
		version    string // "": LockedError
		locked     bool
	}{
		"kept":                {"~> 1.0", false, "1.0.0", true},
		"upgraded":            {"~> 1.0", true, "1.1.0", false},
		"upgraded to itself":  {"1.0.0", true, "1.0.0", true},
		"any release":         {"", false, "1.0.0", true},
		"not allowed":         {"~> 2.0", false, "", true},
		"not allowed, anyway": {"~> 2.0", true, "2.0.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1)
			s.want[numbered(0)] = constraintOf("1.0.0")
			lock := s.ensure(t, nil).Lock
			s.want[numbered(0)] = constraintOf(test.constraint)
			s.in.Upgrade = test.upgrade
			if test.version == "" {
				result, err := s.in.Ensure(t.Context(), s.want, lock)
				var locked *install.LockedError
				if !errors.As(err, &locked) || locked.Version.String() != "1.0.0" || locked.Constraint != s.want[numbered(0)] || locked.Provider != numbered(0) ||
					!strings.Contains(err.Error(), "upgrade") || strings.Contains(err.Error(), "\n") {
					t.Errorf("%v", err)
				}
				if !result.Lock.Equal(lock) {
					t.Errorf("the lock became\n%s", result.Lock.Bytes())
				}
				return
			}
			result := s.ensure(t, lock)
			sel := only(t, result)
			if sel.Version.String() != test.version || sel.Locked != test.locked {
				t.Errorf("version %s, locked %v", sel.Version, sel.Locked)
			}
			if e, _ := result.Lock.Get(sel.Provider); e.Version != sel.Version || e.Constraints != s.want[sel.Provider] {
				t.Errorf("locked %+v", e)
			}
		})
	}
}

// TestNothingReplacesTheLock: a signed package without a locked hash is refused. A package with a
// locked hash needs no signature.
func TestNothingReplacesTheLock(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	e, _ := lock.Get(numbered(0))
	hashes := e.Hashes
	e.Hashes = []checksum.Hash{checksum.ZHSum([32]byte{1})}
	must(t, lock.Set(e))
	result, err := s.in.Ensure(t.Context(), s.want, lock)
	if !errors.Is(err, verify.ErrNotAccepted) || only(t, result).Err == nil || only(t, result).Dir != "" || !result.Lock.Equal(lock) {
		t.Errorf("%v: %+v", err, result)
	}

	e.Hashes = hashes
	must(t, lock.Set(e))
	s.AddFault(regtest.Fault{Kind: regtest.Signature, Raw: []byte("nonsense")})
	fresh := *s.in
	fresh.Dir = &install.Dir{Path: filepath.Join(t.TempDir(), "other")}
	s.in = &fresh
	if sel := only(t, s.ensure(t, lock)); sel.Reports[s.in.Platform].Trust != verify.Accepted {
		t.Errorf("%+v", sel)
	}

	// Unless the policy requires one: then an installed directory is not accepted, either.
	s.in.Policy = func(addrs.Provider) verify.Policy { return verify.Policy{RequireSignature: true} }
	if _, err := s.in.Ensure(t.Context(), s.want, lock); !errors.Is(err, verify.ErrBadSignature) {
		t.Errorf("a signature is required: %v", err)
	}
	s.ClearFaults()
	if sel := only(t, s.ensure(t, lock)); sel.Reports[s.in.Platform].Trust != verify.Signed {
		t.Errorf("%+v", sel)
	}
}

// TestLockedWithoutHashes: a locked version without hashes is kept, and the caller's policy
// decides.
func TestLockedWithoutHashes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := &lockfile.File{Header: lockfile.HeaderTerraform}
	must(t, lock.Set(lockfile.Entry{Provider: numbered(0), Version: addrs.MustParseVersion("1.0.0")}))
	result := s.ensure(t, lock)
	if sel := only(t, result); sel.Version.String() != "1.0.0" || !sel.Locked || sel.Reports[s.in.Platform].Trust != verify.Signed {
		t.Errorf("%+v", sel)
	}
	if result.Lock.Header != lockfile.HeaderTerraform {
		t.Errorf("header %q", result.Lock.Header)
	}
}

// TestPredecessor: a lock file of Terraform gives the versions, but not the hashes, of providers
// that OpenTofu's registry has rebuilt.
func TestPredecessor(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	for _, version := range []string{"3.5.0", "3.6.0"} {
		s.AddProvider(regtest.Provider{Address: "registry.opentofu.org/hashicorp/random", Version: version, Platforms: []string{"linux_amd64"}})
	}
	random := addrs.MustParseProvider("hashicorp/random")
	s.want[random] = constraintOf("~> 3.0")
	lock := &lockfile.File{}
	for _, name := range []string{"random", "aws"} {
		e := lockfile.Entry{Provider: addrs.MustParseProvider("registry.terraform.io/hashicorp/" + name), Version: addrs.MustParseVersion("3.5.0"), Hashes: []checksum.Hash{checksum.ZHSum([32]byte{1})}}
		must(t, lock.Set(e))
	}
	result := s.ensure(t, lock)
	if sel := only(t, result); sel.Version.String() != "3.5.0" || result.Lock.Len() != 1 {
		t.Errorf("%+v\n%s", sel, result.Lock.Bytes())
	}
}

// TestLockedVersionWithdrawn: if the source no longer lists a locked version, the error says so and
// names the remedy.
func TestLockedVersionWithdrawn(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	lock := s.ensure(t, nil).Lock
	s.Registry = regtest.New("registry.example.com")
	for _, version := range []string{"1.0.0", "2.0.0"} {
		s.AddProvider(regtest.Provider{Address: "acme/p0", Version: version, Platforms: inText(platformsOf)})
	}
	s.elsewhere(t)
	for name, source := range map[string]provider.Source{
		"registry": &regclient.Client{Transport: &transport.Client{HTTP: s.Client(), Retries: -1}},
		"mirror":   &mirrorclient.Client{BaseURL: s.MirrorURL(), Transport: &transport.Client{HTTP: s.Client(), Retries: -1}},
	} {
		s.in.Source = source
		for _, work := range []func(context.Context, requirements, *lockfile.File) (*install.Result, error){s.in.Ensure, s.in.Plan} {
			_, err := work(t.Context(), s.want, lock)
			locked, ok := errors.AsType[*install.LockedError](err)
			if !ok || locked.Version != v110 || !errors.Is(err, provider.ErrNoVersion) {
				t.Fatalf("%s: Ensure returned %v, want a LockedError that wraps ErrNoVersion", name, err)
			}
			want := "the locked version 1.1.0 is no longer available, the newest is 2.0.0; upgrade to choose another one"
			if !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "matches") {
				t.Errorf("%s: Ensure returned %q, want it to end with %q", name, err, want)
			}
		}
	}
	s.in.Upgrade, s.in.Source = true, &regclient.Client{Transport: &transport.Client{HTTP: s.Client(), Retries: -1}}
	if sel := only(t, s.ensure(t, lock)); sel.Version.String() != "1.0.0" {
		t.Errorf("after an upgrade %s is installed, want 1.0.0", sel.Version)
	}
}
