package install_test

import (
	"errors"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/progress"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
)

// aged returns a registry with alpha 1.2.0, which is a year old, and the versions 1.3.0 and 1.4.0, which are an hour old. The second
// source is the first with a rule.
func aged() (plain, ruled provider.Source) {
	reg := regtest.New("registry.example.com")
	for version, age := range map[string]time.Duration{"1.2.0": 365 * 24 * time.Hour, "1.3.0": time.Hour, "1.4.0": time.Hour} {
		p := regtest.Provider{Address: alpha.String(), Version: version, Platforms: []string{linux.String(), "darwin_arm64"}, Discovered: time.Now().Add(-age).Format(time.RFC3339)}
		if version == "1.4.0" {
			p.Platforms = []string{"plan9_mips"}
		}
		reg.AddProvider(p)
	}
	plain = &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
	return plain, &cooldown.Providers{Source: plain, Rule: cooldown.Rule{Age: 7 * 24 * time.Hour}}
}

// wantHeld checks that a selection has this version, and 1.3.0 as the only held one.
func wantHeld(t *testing.T, call string, r *install.Result, version string, held int) {
	t.Helper()
	s := r.Selections[0]
	if s.Version.String() != version || len(s.Held) != held {
		t.Errorf("%s selected %s, held are %v; want %s and %d", call, s.Version, s.Held, version, held)
	}
	if held > 0 && (s.Held[0].Release.Version.String() != "1.3.0" || time.Until(s.Held[0].Until).Round(time.Hour) != (7*24-1)*time.Hour) {
		t.Errorf("%s: held is %+v", call, s.Held[0])
	}
}

// TestHeldVersions: Ensure, Plan and Lock choose the version that is old enough, and tell in their selections and in one event which newer
// version that fits is held back, and until when. A young version that is locked is installed and locked as it is.
func TestHeldVersions(t *testing.T) {
	t.Parallel()
	plain, ruled := aged()
	required := requirements{alpha: addrs.MustParseProviderConstraint("~> 1.2")}
	var events []progress.Event
	report := func(e progress.Event) {
		if e.Kind == progress.HeldBack {
			events = append(events, e)
		}
	}
	in := &install.Installer{Source: ruled, Dir: newDir(t), Platform: linux, Progress: report}
	wantHeld(t, "Plan", must.Get(in.Plan(t.Context(), required, nil))(t), "1.2.0", 1)
	wantHeld(t, "Ensure", must.Get(in.Ensure(t.Context(), required, nil))(t), "1.2.0", 1)
	on := []addrs.Platform{linux, addrs.MustParsePlatform("darwin_arm64")}
	wantHeld(t, "Lock", must.Get((&install.Installer{Source: ruled, LockPlatforms: on, Progress: report}).Lock(t.Context(), required, nil))(t), "1.2.0", 1)
	if len(events) != 3 || events[0].Provider != alpha || events[0].Version.String() != "1.2.0" || len(events[0].Held) != 1 {
		t.Errorf("the events are %+v", events)
	}

	young := must.Get((&install.Installer{Source: plain, LockPlatforms: []addrs.Platform{linux}}).Lock(t.Context(), required, nil))(t).Lock
	if e, _ := young.Get(alpha); e.Version.String() != "1.3.0" {
		t.Fatalf("without a rule, %s is locked", e.Version)
	}
	wantHeld(t, "Ensure with a lock", must.Get(in.Ensure(t.Context(), required, young))(t), "1.3.0", 0)
	in.Dir = newDir(t)
	wantHeld(t, "Ensure into an empty directory", must.Get(in.Ensure(t.Context(), required, young))(t), "1.3.0", 0)
	wantHeld(t, "Lock with a lock", must.Get((&install.Installer{Source: ruled, LockPlatforms: on}).Lock(t.Context(), required, young))(t), "1.3.0", 0)
	all := must.Get((&install.Installer{Source: ruled}).Lock(t.Context(), required, young))(t)
	if wantHeld(t, "Lock for all platforms", all, "1.3.0", 0); len(all.Selections[0].Reports) != 2 {
		t.Errorf("Lock for all platforms has %d reports, want 2", len(all.Selections[0].Reports))
	}
	entry, _ := young.Get(alpha)
	if _, err := install.CheckEntry(t.Context(), ruled, entry, verify.Policy{}); err != nil {
		t.Errorf("CheckEntry of a held version: %v", err)
	}
	in.Upgrade = true
	wantHeld(t, "an upgrade", must.Get(in.Ensure(t.Context(), required, young))(t), "1.2.0", 1)

	// Without a lock an exact version is a choice, too.
	required = requirements{alpha: addrs.MustParseProviderConstraint("= 1.3.0")}
	result, err := in.Ensure(t.Context(), required, nil)
	if e, ok := errors.AsType[*provider.HeldError](err); !ok || len(e.Held) != 1 || !errors.Is(err, failure.ErrNoVersion) || !result.Selections[0].Version.IsZero() {
		t.Errorf("Ensure of an exact version returned %v", err)
	}
}
