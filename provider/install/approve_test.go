package install_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// TestApprove: Approve sees each version before its package is fetched, wherever it would come from, and its error is that of the
// provider alone.
func TestApprove(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	s.in.Cache = newDir(t)
	var mu sync.Mutex
	asked := map[addrs.Provider]install.Selection{}
	revoked := errors.New("revoked")
	var refuse addrs.Provider
	s.in.Approve = func(_ context.Context, sel install.Selection) error {
		mu.Lock()
		defer mu.Unlock()
		asked[sel.Provider] = sel
		if sel.Provider == refuse {
			return revoked
		}
		return nil
	}
	lock := must.Get(s.in.Ensure(t.Context(), s.want, nil))(t).Lock
	dir := s.in.Dir
	for _, step := range []struct {
		name   string
		dir    *install.Dir
		run    func(context.Context, install.Requirements, *lockfile.File) (*install.Result, error)
		lock   *lockfile.File
		from   install.Origin
		locked bool
	}{
		{"Ensure with the package in Dir", dir, s.in.Ensure, lock, install.FromDir, true},
		{"Ensure with the package in Cache", newDir(t), s.in.Ensure, lock, install.FromCache, true},
		{"Ensure with a new version", newDir(t), s.in.Ensure, nil, "", false},
		{"Plan", newDir(t), s.in.Plan, nil, "", false},
		{"Lock", newDir(t), s.in.Lock, lock, "", true},
	} {
		refuse, s.in.Dir, s.in.LockPlatforms = numbered(1), step.dir, nil
		if step.name == "Lock" {
			s.in.LockPlatforms = platformsOf[:1]
		}
		clear(asked)
		s.Reset()
		result, err := step.run(t.Context(), s.want, step.lock)
		if refused, ok := errors.AsType[*failure.RefusedError](err); !ok || refused.Err != revoked || !errors.Is(err, revoked) {
			t.Errorf("%s: %v, want a RefusedError with %v", step.name, err, revoked)
		}
		if result.Selections[0].Err != nil || result.Selections[1].Err == nil || result.Selections[1].Dir != "" {
			t.Errorf("%s: %+v, want the second alone to fail", step.name, result.Selections)
		}
		for _, r := range s.Requests() {
			if r.Kind == regtest.Archive && strings.Contains(r.Path, "/"+refuse.Type()+"/") {
				t.Errorf("%s: the refused package was requested: %s", step.name, r.Path)
			}
		}
		for _, p := range slices.Collect(maps.Keys(s.want)) {
			if sel := asked[p]; sel.Version != v110 || sel.From != step.from || sel.Locked != step.locked {
				t.Errorf("%s: asked about %+v, want version %s from %q, locked %t", step.name, sel, v110, step.from, step.locked)
			}
		}
	}
}

// A program refuses versions that are known to be bad, also if they are locked.
func ExampleInstaller_approve() {
	registry := regtest.New("registry.example.com") // instead of the real one
	registry.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0", Platforms: []string{addrs.CurrentPlatform().String()}})
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	revoked := map[string]string{"registry.example.com/acme/alpha 1.2.0": "it sends the state to strangers"}
	installer := &install.Installer{
		Source: &regclient.Client{Transport: &transport.Settings{HTTP: registry.Client()}},
		Dir:    &install.Dir{Path: dir},
		Approve: func(_ context.Context, s install.Selection) error {
			if why, bad := revoked[s.Provider.String()+" "+s.Version.String()]; bad {
				return errors.New(why)
			}
			return nil
		},
	}
	alpha := addrs.MustParseProvider("registry.example.com/acme/alpha")
	_, err = installer.Ensure(context.Background(), install.Requirements{alpha: {}}, nil)
	fmt.Println(err)
	// Output:
	// approve registry.example.com/acme/alpha 1.2.0: refused by this program: it sends the state to strangers
}
