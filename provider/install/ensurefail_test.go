package install_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
)

// TestFailuresAreIndependent: all failures are reported in order, and the other providers are
// installed.
func TestFailuresAreIndependent(t *testing.T) {
	t.Parallel()
	s := newSite(t, 6)
	s.want[numbered(0)] = constraintOf("~> 9.0")
	s.AddFault(regtest.Fault{Kind: regtest.Package, Path: "/p1/", Status: 500})
	s.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "p2_", Corrupt: true})
	s.AddFault(regtest.Fault{Kind: regtest.Signature, Path: "p3_", Raw: []byte("nonsense")})
	s.want[addrs.MustParseProvider("registry.example.com/acme/zzz")] = addrs.ProviderConstraint{}
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

// TestNoExecutable: a package without a program is refused, as by the CLI.
func TestNoExecutable(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	release := s.AddProvider(regtest.Provider{Address: "acme/other"})
	zip := make([]byte, release.Archive("linux_amd64").Size())
	if _, err := release.Archive("linux_amd64").ReadAt(zip, 0); err != nil {
		t.Fatal(err)
	}
	s.AddProvider(regtest.Provider{Address: "acme/p0", Zip: zip})
	s.want[numbered(0)] = addrs.ProviderConstraint{}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	if !errors.Is(err, install.ErrNoExecutable) || result.Lock.Len() != 0 || only(t, result).Dir != "" {
		t.Errorf("error %v, want %v", err, install.ErrNoExecutable)
	}
}

// TestProtocols: versions with unsupported protocols are neither selected nor downloaded.
func TestProtocols(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0)
	s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.0.0"})
	s.AddProvider(regtest.Provider{Address: "acme/p0", Version: "1.1.0", Protocols: []string{"7.0"}})
	s.want[numbered(0)] = addrs.ProviderConstraint{}
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
	must(t, lock.Set(lockfile.Entry{Provider: numbered(0), Version: addrs.MustParseVersion("1.1.0")}))
	s.Reset()
	if _, err := s.in.Ensure(t.Context(), s.want, lock); !errors.Is(err, provider.ErrProtocol) || s.Count(regtest.Archive) > 0 {
		t.Errorf("error %v, want %v", err, provider.ErrProtocol)
	}
}

// TestLongConstraint: a constraint that is too long for a lock file is a failure of its provider.
func TestLongConstraint(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	for i := range 500 {
		s.want[numbered(0)] = s.want[numbered(0)].And(constraintOf(fmt.Sprintf("!= 2.0.%d", i)))
	}
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Op != "lock" || only(t, result).Err == nil || result.Lock.Len() != 0 {
		t.Errorf("%v", err)
	}
}

// TestSomeHang: providers that hang do not stop the others, and end with the context.
func TestSomeHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 50)
		s.in.LockPlatforms = platformsOf[:2]
		s.Latency = delay
		s.AddFault(regtest.Fault{Kind: regtest.Package, Path: "/p7/", Delay: time.Hour})
		s.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "p8_", Break: "stall", After: 10})
		ctx, cancel := context.WithTimeout(t.Context(), 9*delay)
		defer cancel()
		result, err := s.in.Ensure(ctx, s.want, nil)
		if !errors.Is(err, context.DeadlineExceeded) || result.Lock.Len() != 48 {
			t.Errorf("%d are locked, %v", result.Lock.Len(), err)
		}
		for _, sel := range result.Selections {
			hangs := sel.Provider == numbered(7) || sel.Provider == numbered(8)
			if hangs != (sel.Err != nil) || hangs != (sel.Dir == "") || !hangs && len(sel.Reports) != 2 {
				t.Errorf("%+v", sel)
			}
		}
	})
}

// TestNoRoomForOthers: if the packages of other platforms cannot be stored, the package for this
// platform is installed and locked.
func TestNoRoomForOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.in.LockPlatforms = platformsOf[:2]
	s.in.TempDir = filepath.Join(t.TempDir(), "missing")
	result, err := s.in.Ensure(t.Context(), s.want, nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "darwin_arm64") {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
	s.check(t, result)
	s.in.TempDir = t.TempDir()
	result = s.ensure(t, result.Lock)
	if left, err := os.ReadDir(s.in.TempDir); err != nil || len(left) > 0 || len(only(t, result).Reports) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestTotalFailureWritesNothing: Save after a failed Ensure neither creates nor changes the lock
// file.
func TestTotalFailureWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	path := filepath.Join(t.TempDir(), lockfile.Name)
	lock := s.ensure(t, nil).Lock
	s.AddFault(regtest.Fault{Status: 500})
	s.in.Dir = newDir(t)
	for _, before := range []string{"", "# Ask the platform team.\n\n" + string(lock.Bytes())} {
		if err := os.WriteFile(path, []byte(before), 0o600); before != "" && err != nil {
			t.Fatal(err)
		} else if before == "" {
			os.Remove(path)
		}
		lock, err := lockfile.Load(path)
		must(t, err)
		result, err := s.in.Ensure(t.Context(), s.want, lock)
		if err == nil {
			t.Fatal("Ensure returned no error")
		}
		must(t, result.Lock.Save(path))
		if data, err := os.ReadFile(path); string(data) != before || before == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Save made of %q this: %v, %q", before, err, data)
		}
	}
}
