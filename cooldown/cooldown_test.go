package cooldown_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/memtest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

func TestMain(m *testing.M) { memtest.Main(m) }

const week = 7 * 24 * time.Hour

var (
	alpha   = addrs.MustParseProvider("registry.example.com/acme/alpha")
	network = addrs.MustParseModule("registry.example.com/acme/network/aws")
)

// dated is a source of providers and modules that lists these versions with these dates.
type dated map[string]time.Time

func (d dated) ProviderVersions(_ context.Context, p addrs.Provider) (*provider.Versions, error) {
	list := &provider.Versions{Provider: p}
	for text, at := range d {
		list.Versions = append(list.Versions, provider.Release{Version: addrs.MustParseVersion(text), Discovered: at})
	}
	slices.SortFunc(list.Versions, func(a, b provider.Release) int { return b.Version.Compare(a.Version) })
	return list, nil
}

func (d dated) ModuleVersions(_ context.Context, m addrs.Module) (*module.Versions, error) {
	list := &module.Versions{Module: m}
	for text, at := range d {
		list.Versions = append(list.Versions, module.Release{Version: addrs.MustParseVersion(text), Discovered: at})
	}
	slices.SortFunc(list.Versions, func(a, b module.Release) int { return b.Version.Compare(a.Version) })
	return list, nil
}

// providers and modules have methods that no test calls.
type providers struct {
	provider.Source
	dated
}

func (p providers) ProviderVersions(ctx context.Context, a addrs.Provider) (*provider.Versions, error) {
	return p.dated.ProviderVersions(ctx, a)
}

type modules struct {
	module.Source
	dated
}

func (m modules) ModuleVersions(ctx context.Context, a addrs.Module) (*module.Versions, error) {
	return m.dated.ModuleVersions(ctx, a)
}

// listed describes what rule makes of the lists of d, "1.0.0 [1.1.0]" for a version and a held one. The lists of
// providers and modules must agree.
func listed(t *testing.T, d dated, rule cooldown.Rule) string {
	t.Helper()
	p := must.Get((&cooldown.Providers{Source: providers{dated: d}, Rule: rule}).ProviderVersions(t.Context(), alpha))(t)
	m := must.Get((&cooldown.Modules{Source: modules{dated: d}, Rule: rule}).ModuleVersions(t.Context(), network))(t)
	var ofProvider, ofModule []string
	for _, r := range p.Versions {
		ofProvider = append(ofProvider, r.Version.String())
	}
	for _, h := range p.Held {
		ofProvider = append(ofProvider, "["+h.Release.Version.String()+"]")
	}
	for _, r := range m.Versions {
		ofModule = append(ofModule, r.Version.String())
	}
	for _, h := range m.Held {
		ofModule = append(ofModule, "["+h.Release.Version.String()+"]")
	}
	if !slices.Equal(ofProvider, ofModule) {
		t.Errorf("of a provider there are %q, of a module %q", ofProvider, ofModule)
	}
	return strings.Join(ofProvider, " ")
}

// registry returns a client of a registry that lists versions of alpha and network with these texts as dates.
func registry(dates map[string]string) (*regclient.Client, *regtest.Registry) {
	reg := regtest.New("registry.example.com")
	for v, at := range dates {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: v, Discovered: at, Platforms: []string{"linux_amd64"}})
		reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: v, Discovered: at})
	}
	return &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}, reg
}

// TestAge: with the dates of the lists, a version is chosen when it has the age, and not a second earlier. Its error
// names the version, its date and the day. Unknown, malformed and future dates are held back.
func TestAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UTC()
		client, _ := registry(map[string]string{
			"1.0.0": now.Add(-week).Format(time.RFC3339),
			"1.1.0": now.Add(time.Second - week).In(time.FixedZone("", 3600)).Format(time.RFC3339), // the same instant in another zone
			"1.2.0": "",
			"1.3.0": "last Tuesday",
			"1.4.0": now.AddDate(1, 0, 0).Format(time.RFC3339),
			"1.5.0": "9999-12-31T23:00:00-05:00", // has no JSON form in UTC
		})
		rule := cooldown.Rule{Age: week}
		p, m := &cooldown.Providers{Source: client, Rule: rule}, &cooldown.Modules{Source: client, Rule: rule}
		check := func(wantVersion string) {
			t.Helper()
			providers := must.Get(p.ProviderVersions(t.Context(), alpha))(t)
			modules := must.Get(m.ModuleVersions(t.Context(), network))(t)
			if v, err := providers.Newest(addrs.ProviderConstraint{}); err != nil || v.String() != wantVersion {
				t.Errorf("the newest provider is %s, %v; want %s", v, err, wantVersion)
			}
			if v, err := modules.Newest(addrs.ModuleConstraint{}); err != nil || v.String() != wantVersion {
				t.Errorf("the newest module is %s, %v; want %s", v, err, wantVersion)
			}
		}
		check("1.0.0")

		providers := must.Get(p.ProviderVersions(t.Context(), alpha))(t)
		var held []string
		for _, h := range providers.Held {
			until := "unknown"
			if !h.Until.IsZero() {
				until = h.Until.Sub(now).String()
			}
			held = append(held, h.Release.Version.String()+" "+until)
		}
		if want := []string{"1.5.0 unknown", "1.4.0 8952h0m0s", "1.3.0 unknown", "1.2.0 unknown", "1.1.0 1s"}; !slices.Equal(held, want) {
			t.Errorf("held are %q, want %q", held, want)
		}

		_, err := provider.Find(t.Context(), p, alpha, addrs.MustParseProviderConstraint("= 1.1.0"), provider.Need{})
		young, ok := errors.AsType[*provider.HeldError](err)
		if !ok || !errors.Is(err, failure.ErrNoVersion) || len(young.Held) != 1 || !young.Held[0].Until.Equal(now.Add(time.Second)) {
			t.Errorf("Find returned %v", err)
		}
		if text := fmt.Sprint(err); !strings.Contains(text, `"1.1.0" is held back until it is old enough: 1.1.0 (seen 1999-12-25 00:00 UTC, old enough 2000-01-01 00:00 UTC)`) || strings.Contains(text, "Ledger") {
			t.Errorf("the error is %q", text)
		}
		_, err = must.Get(m.ModuleVersions(t.Context(), network))(t).Newest(addrs.MustParseModuleConstraint("1.3.0"))
		if e, ok := errors.AsType[*module.HeldError](err); !ok || !errors.Is(err, failure.ErrNoVersion) || len(e.Held) != 1 || !strings.Contains(err.Error(), "1.3.0 (seen at an unknown time); the source states no date of it: use a cooldown.Ledger") {
			t.Errorf("the error of a module is %v", err)
		}
		if _, err := providers.Newest(addrs.MustParseProviderConstraint("= 3.0.0")); errors.As(err, new(*provider.HeldError)) || !errors.As(err, new(*provider.UnavailableError)) {
			t.Errorf("of a version that does not exist, the error is %v", err)
		}

		// What is not filtered: packages and locations.
		if _, err := p.ProviderPackage(t.Context(), alpha, addrs.MustParseVersion("1.1.0"), addrs.MustParsePlatform("linux_amd64")); err != nil {
			t.Errorf("the package of a held version: %v", err)
		}
		if _, err := m.ModuleLocation(t.Context(), network, addrs.MustParseVersion("1.1.0")); err != nil {
			t.Errorf("the location of a held version: %v", err)
		}
		if r, ok := providers.Find(addrs.MustParseVersion("1.1.0")); !ok || len(r.Platforms) != 1 {
			t.Errorf("Find of a held version returned %v, %v", r, ok)
		}

		time.Sleep(time.Second)
		check("1.1.0")
	})
}

// TestRuleOff: without an age, and for what the patterns do not select, all is listed, without a date and a look at Dates.
func TestRuleOff(t *testing.T) {
	t.Parallel()
	d := dated{"1.0.0": {}, "1.1.0": time.Now().Add(time.Hour)}
	fails := failing{errors.New("asked")}
	if got := listed(t, d, cooldown.Rule{Dates: fails}); got != "1.1.0 1.0.0" {
		t.Errorf("without an age: %s", got)
	}
	for _, test := range casetest.Read[struct {
		Include, Exclude []string
		Want             string
	}](t, "rules-off.txt") {
		p := &cooldown.Providers{Source: providers{dated: d}, Rule: cooldown.Rule{Age: week}}
		m := &cooldown.Modules{Source: modules{dated: d}, Rule: cooldown.Rule{Age: week}}
		for _, text := range test.Include {
			p.Include = append(p.Include, provider.MustParsePattern(text))
			m.Include = append(m.Include, module.MustParsePattern(asModule(text)))
		}
		for _, text := range test.Exclude {
			p.Exclude = append(p.Exclude, provider.MustParsePattern(text))
			m.Exclude = append(m.Exclude, module.MustParsePattern(asModule(text)))
		}
		ofProvider, ofModule := must.Get(p.ProviderVersions(t.Context(), alpha))(t), must.Get(m.ModuleVersions(t.Context(), network))(t)
		held := map[string]int{"held": 2, "listed": 0}[test.Want]
		if len(ofProvider.Held) != held || len(ofModule.Held) != held {
			t.Errorf("include %q, exclude %q: %d versions of a provider and %d of a module are held, want %d", test.Include, test.Exclude, len(ofProvider.Held), len(ofModule.Held), held)
		}
	}
}

// TestFilterCopies: the result of Filter belongs to the caller, whether the Rule applies or not.
func TestFilterCopies(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*cooldown.Providers{
		"nil": nil, "no age": {}, "all old enough": {Rule: cooldown.Rule{Age: week}},
		"other provider": {Rule: cooldown.Rule{Age: week}, Patterns: provider.Patterns{Exclude: []provider.Pattern{provider.MustParsePattern("*/*/*")}}},
	} {
		list := &provider.Versions{Provider: alpha, Warnings: []string{"a"}, Held: []provider.Held{{}}, Versions: []provider.Release{
			{Version: addrs.MustParseVersion("1.0.0"), Discovered: time.Unix(0, 0)},
		}}
		before := list.Clone()
		got := must.Get(p.Filter(t.Context(), alpha, list))(t)
		if !reflect.DeepEqual(got, before) {
			t.Errorf("%s: Filter = %+v, want %+v", name, got, before)
		}
		got.Versions[0].Listed, got.Warnings[0], got.Held[0].Release.Listed = "changed", "changed", "changed"
		if !reflect.DeepEqual(list, before) {
			t.Errorf("%s: a change of the result of Filter changes its argument to %+v", name, list)
		}
		if got, err := p.Filter(t.Context(), alpha, nil); got != nil || err != nil {
			t.Errorf("%s: Filter(nil) = %v, %v; want nil", name, got, err)
		}
	}
}

// asModule returns the pattern of modules like one of providers.
func asModule(pattern string) string {
	return strings.NewReplacer("alpha", "network/aws", "beta", "beta/aws", "acme/*", "acme/*/*", "/*/*", "/*/*/*").Replace(pattern)
}

// failing is a Dates that fails.
type failing struct{ err error }

func (f failing) FirstSeen(context.Context, cooldown.Subject, []cooldown.Version) ([]time.Time, error) {
	return nil, f.err
}

// known is a Dates that knows these times.
type known map[string]time.Time

func (k known) FirstSeen(_ context.Context, _ cooldown.Subject, list []cooldown.Version) (times []time.Time, _ error) {
	for _, v := range list {
		times = append(times, k[v.Version.String()])
	}
	return times, nil
}

// TestDates: of the date of the list and that of Dates the later one counts, and one of them is enough. Errors of Dates, and
// a wrong number of times, are errors of the list.
func TestDates(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old, young := now.Add(-week), now.Add(time.Minute-week)
	list := dated{"1.0.0": old, "1.1.0": old, "1.2.0": young, "1.3.0": {}, "1.4.0": old, "1.5.0": {}, "1.6.0": {}}
	rule := cooldown.Rule{Age: week, Now: func() time.Time { return now }, Dates: known{"1.0.0": old, "1.1.0": young, "1.2.0": old, "1.3.0": old, "1.5.0": young}}
	if got, want := listed(t, list, rule), "1.4.0 1.3.0 1.0.0 [1.6.0] [1.5.0] [1.2.0] [1.1.0]"; got != want {
		t.Errorf("listed is\n%s, want\n%s", got, want)
	}
	rule.AllowUnknown = true
	if got, want := listed(t, list, rule), "1.6.0 1.4.0 1.3.0 1.0.0 [1.5.0] [1.2.0] [1.1.0]"; got != want {
		t.Errorf("with AllowUnknown, listed is\n%s, want\n%s", got, want)
	}
	for _, dates := range []cooldown.Dates{failing{storage.ErrConflict}, failing{}} {
		rule.Dates = dates
		p, err := (&cooldown.Providers{Source: providers{dated: list}, Rule: rule}).ProviderVersions(t.Context(), alpha)
		if e, ok := errors.AsType[*failure.Error](err); p != nil || !ok || e.Subject != alpha.String() || errors.Is(err, failure.ErrNotFound) {
			t.Errorf("ProviderVersions returned %v, %v", p, err)
		}
		m, err := (&cooldown.Modules{Source: modules{dated: list}, Rule: rule}).ModuleVersions(t.Context(), network)
		if e, ok := errors.AsType[*failure.Error](err); m != nil || !ok || e.Subject != network.String() {
			t.Errorf("ModuleVersions returned %v, %v", m, err)
		}
	}
}

// TestPermit: Permit lists exact versions, whatever their age.
func TestPermit(t *testing.T) {
	t.Parallel()
	list := dated{"1.0.0": {}, "1.1.0": time.Now(), "1.2.0": time.Now()}
	permitted := addrs.MustParseVersion("1.1.0")
	p := &cooldown.Providers{Source: providers{dated: list}, Rule: cooldown.Rule{Age: week}, Permit: func(p addrs.Provider, v addrs.Version) bool { return p == alpha && v == permitted }}
	m := &cooldown.Modules{Source: modules{dated: list}, Rule: cooldown.Rule{Age: week}, Permit: func(m addrs.Module, v addrs.Version) bool { return m == network && v == permitted }}
	if v, err := must.Get(p.ProviderVersions(t.Context(), alpha))(t).Newest(addrs.ProviderConstraint{}); err != nil || v != permitted {
		t.Errorf("the newest provider is %s, %v", v, err)
	}
	if v, err := must.Get(m.ModuleVersions(t.Context(), network))(t).Newest(addrs.ModuleConstraint{}); err != nil || v != permitted {
		t.Errorf("the newest module is %s, %v", v, err)
	}
	other := addrs.MustParseProvider("registry.example.com/acme/beta")
	if list := must.Get(p.ProviderVersions(t.Context(), other))(t); len(list.Versions) != 0 {
		t.Errorf("of another provider, listed are %s", list)
	}
}

// TestMultiWithOneWrapped: a Multi lists a version that one source holds back and another lists, and holds back what no source
// lists, until the first of the sources lists it.
func TestMultiWithOneWrapped(t *testing.T) {
	t.Parallel()
	now := time.Now()
	rule := cooldown.Rule{Age: week, Now: func() time.Time { return now }}
	hour := cooldown.Rule{Age: time.Hour, Now: rule.Now}
	wrapped := func(d dated, r cooldown.Rule) provider.Source {
		return &cooldown.Providers{Source: providers{dated: d}, Rule: r}
	}
	multi := &provider.Multi{Sources: []provider.NamedSource{
		{Name: "wrapped", Source: wrapped(dated{"1.0.0": now.Add(-week), "1.1.0": now, "1.2.0": now, "1.3.0": {}, "1.4.0": now}, rule)},
		{Name: "plain", Source: providers{dated: dated{"1.1.0": {}}}},
		{Name: "hour", Source: wrapped(dated{"1.2.0": now, "1.3.0": now, "1.4.0": {}}, hour)},
	}}
	list := must.Get(multi.ProviderVersions(t.Context(), alpha))(t)
	var held []string
	for _, h := range list.Held {
		held = append(held, fmt.Sprint(h.Release.Version, " ", h.Until.Sub(now)))
	}
	slices.Sort(held)
	if got, want := list.String(), alpha.String()+": 1.1.0, 1.0.0"; got != want || !slices.Equal(held, []string{"1.2.0 1h0m0s", "1.3.0 1h0m0s", "1.4.0 168h0m0s"}) {
		t.Errorf("the list is %s, held are %q", got, held)
	}
	// The dates of a version in several sources unite to the latest.
	if r, _ := list.Find(addrs.MustParseVersion("1.0.0")); !r.Discovered.Equal(now.Add(-week)) {
		t.Errorf("1.0.0 was seen %v", r.Discovered)
	}
	// A Multi that is wrapped holds back the versions of all sources.
	all := must.Get((&cooldown.Providers{Source: multi, Rule: rule}).ProviderVersions(t.Context(), alpha))(t)
	if got := all.String(); got != alpha.String()+": 1.0.0" || len(all.Held) != 4 {
		t.Errorf("the list of a wrapped Multi is %s, %d are held", got, len(all.Held))
	}
}

// TestFailoverWithOneWrapped: a Multi with Failover stops at a source that holds all versions back, so a later source adds none.
func TestFailoverWithOneWrapped(t *testing.T) {
	t.Parallel()
	first := &provider.Multi{Failover: true, Sources: []provider.NamedSource{
		{Name: "wrapped", Source: &cooldown.Providers{Source: providers{dated: dated{"1.1.0": time.Now()}}, Rule: cooldown.Rule{Age: week}}},
		{Name: "plain", Source: providers{dated: dated{"1.1.0": {}, "1.0.0": {}}}},
	}}
	list := must.Get(first.ProviderVersions(t.Context(), alpha))(t)
	if _, err := list.Newest(addrs.ProviderConstraint{}); len(list.Versions) != 0 || len(list.Held) != 1 || !errors.As(err, new(*provider.HeldError)) {
		t.Errorf("the list is %s, %d are held, and Newest returned %v", list, len(list.Held), err)
	}
}

// TestParseAge: the units of the RFC, and its limits.
func TestParseAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"7d": week, "72h": 72 * time.Hour, "90m": 90 * time.Minute, "1s": time.Second, "0d": 0, "007d": week,
		"36500d": 36500 * 24 * time.Hour, "876000h": 36500 * 24 * time.Hour, "3153600000s": 36500 * 24 * time.Hour,
	} {
		if got, err := cooldown.ParseAge(text); err != nil || got != want {
			t.Errorf("ParseAge(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "7", "7w", "7D", "-7d", "+7d", "7 d", " 7d", "7d ", "1d12h", "1.5d", "0x7d", "7_0d", "36501d", "876001h", "3153600001s", "99999999999999999999d", "٧d"} {
		if got, err := cooldown.ParseAge(text); err == nil || !strings.Contains(err.Error(), "invalid age") || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseAge(%q) = %v, %v; want an error", text, got, err)
		}
	}
}

func FuzzParseAge(f *testing.F) {
	f.Add("7d")
	f.Add("9223372036854775807s")
	f.Fuzz(func(t *testing.T, text string) {
		age, err := cooldown.ParseAge(text)
		if err != nil {
			return
		}
		if age < 0 || age > 36500*24*time.Hour {
			t.Errorf("ParseAge(%q) = %v", text, age)
		}
		if again, err := cooldown.ParseAge(fmt.Sprintf("%ds", age/time.Second)); err != nil || again != age {
			t.Errorf("%q is %v, and in seconds %v, %v", text, age, again, err)
		}
	})
}
