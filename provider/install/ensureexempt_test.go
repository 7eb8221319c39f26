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
)

// TestExempt: providers that are built in or overridden are not resolved, hashed or locked.
func TestExempt(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	lock := s.ensure(t, nil).Lock
	dev := t.TempDir()
	builtIn := addrs.MustParseProvider("terraform.io/builtin/terraform")
	s.in.DevOverrides = map[addrs.Provider]string{numbered(0): dev, numbered(5): t.TempDir()}
	want := requirements{numbered(0): constraintOf("~> 9.0"), numbered(1): constraintOf("~> 1.0"), numbered(5): {}, builtIn: {}}
	program := filepath.Join(dev, "terraform-provider-p0")
	must(t, os.WriteFile(program, []byte("under development"), 0o755))
	s.Reset()
	result, err := s.in.Ensure(t.Context(), want, lock)
	must(t, err)
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
	// An override is temporary: the locked entry stays.
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

// TestMisuse: an invalid Installer returns an error and a result.
func TestMisuse(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	for name, in := range map[string]*install.Installer{
		"Dir":           {Source: s.in.Source},
		"LockPlatforms": {Dir: s.in.Dir, LockPlatforms: make([]addrs.Platform, 1)},
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

// TestEvents: calls of Progress do not overlap, and each provider has a first and a last event.
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
