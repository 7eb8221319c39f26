package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestPlan: Plan returns what Ensure does then, and writes nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.in.Cache = &install.Dir{Path: filepath.Join(t.TempDir(), "cache")}
	s.in.LockPlatforms = platformsOf[:2]
	cold, err := s.in.Plan(t.Context(), s.want, nil)
	must(t, err)
	s.counts(t, map[regtest.Kind]int{regtest.Discovery: 1, regtest.Versions: 2, regtest.Package: 2})
	for _, sel := range cold.Selections {
		e, ok := cold.Lock.Get(sel.Provider)
		if sel.Version != v110 || sel.From != install.FromSource || sel.Package == nil || sel.Dir != "" || !slices.Equal(sel.Unlocked, platformsOf[1:2]) ||
			!ok || e.Version != v110 || len(e.Hashes) > 0 {
			t.Errorf("%+v, entry %+v", sel, e)
		}
	}
	for _, dir := range []*install.Dir{s.in.Dir, s.in.Cache} {
		if _, err := os.Stat(dir.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", dir.Path, err)
		}
	}

	first := s.ensure(t, nil)
	s.Reset()
	warm, err := s.in.Plan(t.Context(), s.want, first.Lock)
	if err != nil || !warm.Lock.Equal(first.Lock) {
		t.Errorf("%v\n%s", err, warm.Lock.Bytes())
	}
	for _, sel := range warm.Selections {
		if sel.From != install.FromDir || sel.Executable == "" || len(sel.Unlocked) > 0 {
			t.Errorf("%+v", sel)
		}
	}
	s.elsewhere(t)
	cached, err := s.in.Plan(t.Context(), s.want, first.Lock)
	if sel := cached.Selections[0]; err != nil || sel.From != install.FromCache || sel.Dir != "" {
		t.Errorf("%v: %+v", err, sel)
	}
	s.counts(t, nil)
}

// TestPlanFails: Plan fails like Ensure and keeps the lock file.
func TestPlanFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	lock := s.ensure(t, nil).Lock
	s.want[numbered(0)] = constraintOf("~> 3.0")
	s.in.Upgrade = true
	result, err := s.in.Plan(t.Context(), s.want, lock)
	if !errors.Is(err, provider.ErrNoVersion) || !result.Lock.Equal(lock) {
		t.Errorf("%v\n%s", err, result.Lock.Bytes())
	}
	s.in.Platform = addrs.MustParsePlatform("plan9_mips")
	if _, err := s.in.Plan(t.Context(), s.want, lock); !errors.Is(err, provider.ErrNoPlatform) {
		t.Errorf("error %v, want %v", err, provider.ErrNoPlatform)
	}
}
