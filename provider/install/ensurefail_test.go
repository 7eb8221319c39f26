package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestFailuresAreIndependent: each of many failures is told, in order, and the others are
// installed.
func TestFailuresAreIndependent(t *testing.T) {
	t.Parallel()
	s := newSite(t, 6)
	s.want[numbered(0)] = constraintOf("~> 9.0")
	s.AddFault(regtest.Fault{Kind: regtest.Package, Path: "/p1/", Status: 500})
	s.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "p2_", Corrupt: true})
	s.AddFault(regtest.Fault{Kind: regtest.Signature, Path: "p3_", Raw: []byte("nonsense")})
	s.want[addrs.MustParseProvider("registry.example.com/acme/zzz")] = addrs.Constraint{}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 5 {
		t.Fatalf("%v", err)
	}
	for i, e := range joined.Unwrap() {
		name := []string{"acme/p0", "acme/p1", "acme/p2", "acme/p3", "acme/zzz"}[i]
		var pe *provider.Error
		if !errors.As(e, &pe) || !strings.Contains(e.Error(), name) || strings.Contains(e.Error(), "\n") {
			t.Errorf("error %d: %v", i, e)
		}
	}
	for _, want := range []error{provider.ErrNoVersion, verify.ErrBadSignature, provider.ErrNotFound} {
		if !errors.Is(err, want) {
			t.Errorf("%v is missing", want)
		}
	}
	for i := range 6 {
		sel := selection(result, numbered(i))
		if failed := i < 4; failed != (sel.Err != nil) || failed != (sel.Dir == "") || failed == result.Lock.Covers(sel.Provider, sel.Version) {
			t.Errorf("%+v", sel)
		}
	}
}

// TestFailureKeepsTheEntry: what fails stays locked as it was.
func TestFailureKeepsTheEntry(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.want[numbered(0)] = constraintOf("1.0.0")
	lock := s.ensure(t, nil).Lock
	s.want[numbered(0)] = constraintOf("~> 1.0")
	s.in.Upgrade = true
	s.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "p0_", Status: 404})
	result, err := s.in.Ensure(t.Context(), s.want, lock)
	if err == nil || !result.Lock.Equal(lock) {
		t.Errorf("%v: the lock is\n%s", err, result.Lock.Bytes())
	}
}

// TestNoExecutable: a package without a program is of no use, as for the CLI.
func TestNoExecutable(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	release := s.AddProvider(regtest.Provider{Address: "acme/other"})
	zip := make([]byte, release.Archive("linux_amd64").Size())
	if _, err := release.Archive("linux_amd64").ReadAt(zip, 0); err != nil {
		t.Fatal(err)
	}
	s.AddProvider(regtest.Provider{Address: "acme/p0", Zip: zip})
	s.want[numbered(0)] = addrs.Constraint{}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	if !errors.Is(err, install.ErrNoExecutable) || result.Lock.Len() != 0 || only(t, result).Dir != "" {
		t.Errorf("%v", err)
	}
}

// TestProtocols: what the caller cannot speak is not chosen, and not downloaded.
func TestProtocols(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.0.0"})
	s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.1.0", Protocols: []string{"7.0"}})
	s.want[numbered(0)] = addrs.Constraint{}
	if sel := only(t, s.ensure(t, nil)); sel.Version.String() != "1.0.0" {
		t.Errorf("%+v", sel)
	}
	s.in.Protocols = constraintOf(">= 5")
	if sel := only(t, s.ensure(t, nil)); sel.Version.String() != "1.1.0" {
		t.Errorf("%+v", sel)
	}
	s.elsewhere(t)
	s.in.Protocols = constraintOf("~> 6.0")
	lock := &lockfile.File{}
	if err := lock.Set(lockfile.Entry{Provider: numbered(0), Version: addrs.MustParseVersion("1.1.0")}); err != nil {
		t.Fatal(err)
	}
	s.Reset()
	if _, err := s.in.Ensure(t.Context(), s.want, lock); !errors.Is(err, provider.ErrProtocol) || s.Count(regtest.Archive) > 0 {
		t.Errorf("%v", err)
	}
}

// TestExempt: what is built in or overridden is not resolved, hashed or locked; what can
// be neither is refused.
func TestExempt(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	lock := s.ensure(t, nil).Lock
	dev := t.TempDir()
	builtIn := addrs.MustParseProvider("terraform.io/builtin/terraform")
	s.in.DevOverrides = map[addrs.Provider]string{numbered(0): dev, numbered(5): t.TempDir()}
	want := requirements{numbered(0): constraintOf("~> 9.0"), numbered(1): constraintOf("~> 1.0"), numbered(5): {}, builtIn: {}}
	program := filepath.Join(dev, "terraform-provider-p0")
	if err := os.WriteFile(program, []byte("under development"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Reset()
	result, err := s.in.Ensure(t.Context(), want, lock)
	if err != nil {
		t.Fatal(err)
	}
	s.counts(t, nil)
	if sel := selection(result, numbered(0)); sel.From != install.FromOverride || sel.Dir != dev || sel.Executable != program || !sel.Version.IsZero() || sel.Reports != nil {
		t.Errorf("%+v", sel)
	}
	if sel := selection(result, numbered(5)); sel.From != install.FromOverride || sel.Executable != "" || sel.Err != nil {
		t.Errorf("%+v", sel)
	}
	if sel := selection(result, builtIn); sel.From != install.FromBuiltIn || sel.Dir != "" {
		t.Errorf("%+v", sel)
	}
	// An override is for a while: what was locked before stays.
	if !result.Lock.Equal(lock) {
		t.Errorf("locked\n%s\nwant\n%s", result.Lock.Bytes(), lock.Bytes())
	}

	for name, test := range map[string]struct {
		provider   addrs.Provider
		constraint string
		want       error
	}{
		"built in, but limited": {builtIn, "~> 1.0", nil},
		"not built in":          {addrs.MustParseProvider("terraform.io/builtin/unknown"), "", provider.ErrNotFound},
		"legacy":                {addrs.MustParseProvider("-/p0"), "", lockfile.ErrNotLockable},
		"none":                  {addrs.Provider{}, "", nil},
	} {
		_, err := s.in.Ensure(t.Context(), requirements{test.provider: constraintOf(test.constraint)}, nil)
		var e *provider.Error
		if err == nil || !errors.As(err, &e) || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestForeignConstraint: one on modules cannot be locked, and is told as a failure of its
// provider.
func TestForeignConstraint(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	c, err := addrs.ParseModuleConstraint("~> 1")
	if err != nil {
		t.Fatal(err)
	}
	s.want[numbered(0)] = c
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Op != "lock" || only(t, result).Err == nil || result.Lock.Len() != 0 {
		t.Errorf("%v", err)
	}
}

// TestMisuse: an Installer that cannot work says so, beside a result.
func TestMisuse(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	for name, in := range map[string]*install.Installer{
		"Dir": {Source: s.in.Source}, "Parallel": {Dir: s.in.Dir, Parallel: -1},
	} {
		result, err := in.Ensure(t.Context(), s.want, nil)
		if err == nil || !strings.Contains(err.Error(), name) || result == nil || result.Lock == nil {
			t.Errorf("%s: %v, %v", name, result, err)
		}
	}
	s.want = nil
	if result := s.ensure(t, nil); result.Lock.Len() != 0 {
		t.Errorf("%s", result.Lock.Bytes())
	}
}

// TestEvents: one call at a time, with a beginning and an end for each provider.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t, 10)
	s.in.LockPlatforms = platformsOf[:2]
	s.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "p9_", Status: 404})
	busy := false
	seen := map[addrs.Provider][]provider.EventKind{}
	s.in.Progress = func(e provider.Event) {
		if busy {
			t.Error("two calls at once")
		}
		busy = true
		if e.Platform == s.in.Platform {
			seen[e.Provider] = append(seen[e.Provider], e.Kind)
		}
		if (e.Kind == install.EventFailed) != (e.Err != nil) {
			t.Errorf("%+v", e)
		}
		busy = false
	}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for p, kinds := range seen {
		last := provider.EventInstalled
		if p == numbered(9) {
			last = install.EventFailed
		}
		if kinds[0] != provider.EventResolving || kinds[len(kinds)-1] != last || slices.Contains(kinds[:len(kinds)-1], last) || last == provider.EventInstalled && !slices.Contains(kinds, provider.EventBytes) {
			t.Errorf("%s: %v", p, kinds)
		}
	}
	if len(seen) != 10 {
		t.Errorf("events of %d providers", len(seen))
	}
	clear(seen)
	delete(s.want, numbered(9))
	s.ensure(t, result.Lock)
	for p, kinds := range seen {
		if !slices.Equal(kinds, []provider.EventKind{provider.EventReused, provider.EventInstalled}) {
			t.Errorf("again, %s: %v", p, kinds)
		}
	}
}
