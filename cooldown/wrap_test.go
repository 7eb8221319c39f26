package cooldown_test

import (
	"context"
	"testing"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/storage"
)

// opaque has the methods of Dates only, transparent also Unwrap, and embedding has those of a Ledger.
type (
	opaque      struct{ cooldown.Dates }
	transparent struct{ cooldown.Dates }
	embedding   struct{ *cooldown.Ledger }
)

func (w transparent) Unwrap() cooldown.Dates { return w.Dates }

// generous records nothing, and has listed all versions once.
type generous struct{ cooldown.Dates }

func (generous) Record(_ context.Context, look cooldown.Look, decide func(int, time.Time, bool) bool) error {
	for i := range look.List {
		decide(i, time.Time{}, true)
	}
	return nil
}

// TestWrappedLedger: what was listed once stays listed if the ledger is wrapped with Unwrap, and a Record of the wrapper is called
// first. Without Unwrap, dates are known, and a version that is too young is held back again.
func TestWrappedLedger(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wrap        func(*cooldown.Ledger) cooldown.Dates
		stays, date bool // whether a version stays listed, and whether a version is held back until it is old enough
	}{
		"ledger":                    {func(l *cooldown.Ledger) cooldown.Dates { return l }, true, true},
		"wrapped twice":             {func(l *cooldown.Ledger) cooldown.Dates { return transparent{transparent{l}} }, true, true},
		"without Unwrap":            {func(l *cooldown.Ledger) cooldown.Dates { return opaque{l} }, false, true},
		"behind one without Unwrap": {func(l *cooldown.Ledger) cooldown.Dates { return transparent{opaque{l}} }, false, true},
		"embedded":                  {func(l *cooldown.Ledger) cooldown.Dates { return embedding{l} }, false, true},
		"another Record":            {func(l *cooldown.Ledger) cooldown.Dates { return transparent{generous{l}} }, true, false},
	} {
		ledger := &cooldown.Ledger{Store: &storage.Memory{}}
		list := func(age time.Duration, now time.Time, versions dated) string {
			ledger.Now = at(now)
			return listed(t, versions, cooldown.Rule{Age: age, Dates: test.wrap(ledger), Now: at(now)})
		}
		young := map[bool]string{true: "[1.0.0]", false: "1.0.0"}[test.date]
		if got := list(2*24*time.Hour, day(1), dated{"1.0.0": {}}); got != young {
			t.Errorf("%s: on the first day the list is %q, want %q", name, got, young)
		}
		if got := list(2*24*time.Hour, day(3), dated{"1.0.0": {}}); got != "1.0.0" {
			t.Errorf("%s: on the third day the list is %q, want 1.0.0", name, got)
		}
		want := map[bool]string{true: "1.0.0", false: "[1.0.0]"}[test.stays]
		if got := list(week, day(4), dated{"1.0.0": {}}); got != want { // as if the age was raised
			t.Errorf("%s: after it was listed, the list is %q, want %q (held back in brackets)", name, got, want)
		}
	}
}

// silent is a Recorder that decides about no version.
type silent struct{}

func (silent) FirstSeen(context.Context, cooldown.Subject, []cooldown.Version) ([]time.Time, error) {
	return nil, nil
}

func (silent) Record(context.Context, cooldown.Look, func(int, time.Time, bool) bool) error {
	return nil
}

// TestSilentRecorder: a version about which a Recorder does not decide is held back.
func TestSilentRecorder(t *testing.T) {
	t.Parallel()
	p := &cooldown.Providers{Source: providers{dated: dated{"1.0.0": {}}}, Rule: cooldown.Rule{Age: time.Hour, Dates: silent{}, AllowUnknown: true}}
	list, err := p.ProviderVersions(t.Context(), addrs.MustParseProvider("acme/alpha"))
	if err != nil || len(list.Versions) != 0 || len(list.Held) != 1 {
		t.Errorf("ProviderVersions with a Recorder that does not decide: %+v, %v, want 1.0.0 held back", list, err)
	}
}
