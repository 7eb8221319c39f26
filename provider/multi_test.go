package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// shelf is a Source that holds one provider, or fails.
type shelf struct {
	name  string
	holds *provider.Versions // nil: it does not know the provider
	err   error              // not nil: what finding returns
	delay time.Duration      // of finding

	lists, finds atomic.Int32
	mu           sync.Mutex
	fetched      []string // Via of the packages that were fetched
}

func (s *shelf) wait(ctx context.Context) error {
	select {
	case <-time.After(s.delay):
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *shelf) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	s.lists.Add(1)
	err := s.wait(ctx)
	if err == nil && s.holds == nil {
		err = provider.ErrNotFound
	}
	if err != nil {
		return nil, s.failed("list versions of", p.String(), err)
	}
	return s.holds.Clone(), nil
}

func (s *shelf) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	s.finds.Add(1)
	pkg := &provider.Package{Provider: p, Version: v, Platform: platform, URL: "https://" + s.name + ".example.com/demo.zip"}
	err := s.wait(ctx)
	switch {
	case err != nil:
	case s.holds == nil:
		err = provider.ErrNotFound
	default:
		if r, ok := s.holds.Find(v); !ok || len(r.Platforms) > 0 && !slices.Contains(r.Platforms, platform) {
			err = s.holds.Unavailable(v, platform)
		}
	}
	if err != nil {
		return nil, s.failed("find", pkg.String(), err)
	}
	return pkg, nil
}

func (s *shelf) failed(op, subject string, err error) error {
	if _, ok := err.(*provider.Error); ok {
		return err
	}
	return &provider.Error{Op: op, Subject: subject, Err: &failure.RequestError{URL: "https://" + s.name + ".example.com/", Attempts: 1, Status: 404, Err: err}}
}

func (s *shelf) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched = append(s.fetched, pkg.Via)
	return verify.Evidence{Filename: s.name}, nil
}

func (s *shelf) Open(_ context.Context, pkg *provider.Package) (*provider.Body, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched = append(s.fetched, pkg.Via)
	return body(strings.NewReader(s.name)), nil
}

// passed collects what a Passed field is told.
type passed []string

func (p *passed) add(method string, err error) { *p = append(*p, method+": "+reason(err)) }

// reason is the kind of an error, in a word.
func reason(err error) string {
	for word, target := range map[string]error{
		"no version": provider.ErrNoVersion, "no platform": provider.ErrNoPlatform, "excluded": provider.ErrExcluded,
	} {
		if errors.Is(err, target) {
			return word
		}
	}
	if errors.Is(err, provider.ErrNotFound) {
		return "not found"
	}
	return "fault"
}

// methods names sources by their own names.
func methods(shelves ...*shelf) []provider.Method {
	var list []provider.Method
	for _, s := range shelves {
		list = append(list, provider.Method{Name: s.name, Source: s})
	}
	return list
}

func patterns(list ...string) []provider.Pattern {
	var all []provider.Pattern
	for _, s := range list {
		all = append(all, provider.MustParsePattern(s))
	}
	return all
}

func wantError(t *testing.T, err error) *provider.Error {
	t.Helper()
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Fatalf("%T %q, want a *provider.Error in one line", err, err)
	}
	return e
}

// TestMultiVersions: the union, with what is unknown to one unknown to all where it
// could rule something out.
func TestMultiVersions(t *testing.T) {
	t.Parallel()
	a := &shelf{name: "a", holds: list("2.0.0 5.0 linux_amd64", "1.1.0 - plan9_arm", "1.0.0 5.0 linux_amd64")}
	a.holds.Warnings = []string{"old"}
	b := &shelf{name: "b", holds: list("1.0.0 6.0,5.0 darwin_arm64", "3.0.0-beta - -", "1.1.0 5.1 -")}
	var p passed
	m := &provider.Multi{Methods: methods(a, &shelf{name: "empty"}, b), Passed: p.add}
	got, err := m.ProviderVersions(t.Context(), demo)
	if err != nil {
		t.Fatal(err)
	}
	want := list("3.0.0-beta - -", "2.0.0 5.0 linux_amd64", "1.1.0 5.1 -", "1.0.0 5.0,6.0 darwin_arm64,linux_amd64")
	want.Warnings = []string{"a: old"}
	if diff := cmp.Diff(want, got, values, cmp.Comparer(func(a, b []addrs.Platform) bool { return slices.Equal(a, b) })); diff != "" {
		t.Error(diff)
	}
	if want := (passed{"empty: not found"}); !slices.Equal(p, want) {
		t.Errorf("passed over %v, want %v", p, want)
	}
	if r, _ := a.holds.Find(version("1.0.0")); len(r.Platforms) != 1 || len(r.Protocols) != 1 {
		t.Errorf("the list of a source was changed: %v", r)
	}
}

// TestMultiPackage: the order decides, and whoever does not have the package is passed
// over.
func TestMultiPackage(t *testing.T) {
	t.Parallel()
	older := &shelf{name: "older", holds: list("1.0.0 5.0 linux_amd64")}
	unknown := &shelf{name: "unknown"}
	fewer := &shelf{name: "fewer", holds: list("2.0.0 5.0 plan9_arm", "1.0.0 5.0 linux_amd64")}
	all := &shelf{name: "all", holds: list("2.0.0 5.0 linux_amd64,plan9_arm", "1.0.0 5.0 linux_amd64")}
	never := &shelf{name: "never", err: errors.New("must not be asked")}
	m := &provider.Multi{Methods: methods(unknown, older, fewer, all, never)}
	for _, test := range []struct {
		version string
		via     string
		passed  passed
	}{
		{"1.0.0", "older", passed{"unknown: not found"}},
		{"2.0.0", "all", passed{"unknown: not found", "older: no version", "fewer: no platform"}},
	} {
		var p passed
		m.Passed = p.add
		pkg, err := m.ProviderPackage(t.Context(), demo, version(test.version), linux)
		if err != nil {
			t.Fatal(err)
		}
		if pkg.Via != test.via || pkg.URL != "https://"+test.via+".example.com/demo.zip" || !slices.Equal(p, test.passed) {
			t.Errorf("%s: %s at %s, passed over %v", test.version, pkg.Via, pkg.URL, p)
		}
		// Both come from the method that answered, whatever the others have.
		ev, err := m.Evidence(t.Context(), pkg)
		if err != nil || ev.Filename != test.via {
			t.Errorf("%s: evidence of %s, %v", test.version, ev.Filename, err)
		}
		opened, err := m.Open(t.Context(), pkg)
		if err != nil {
			t.Fatal(err)
		}
		if content, err := io.ReadAll(opened); err != nil || string(content) != test.via {
			t.Errorf("%s: archive of %s, %v", test.version, content, err)
		}
	}
}

// TestMultiPatterns: exclude beats include, no include means all, and no pattern is
// stronger for being more specific.
func TestMultiPatterns(t *testing.T) {
	t.Parallel()
	all := func(name string) *shelf { return &shelf{name: name, holds: list("1.0.0 5.0 linux_amd64")} }
	first, second := all("first"), all("second")
	for _, test := range []struct {
		include, exclude []provider.Pattern // of the first
		via              string
	}{
		{nil, nil, "first"},
		{patterns("*/*/*"), nil, "first"},
		{patterns("registry.example.com/*/*"), nil, "first"},
		{patterns("example.com/*/*", "registry.example.com/acme/*"), nil, "first"},
		{patterns("example.com/*/*"), nil, "second"},
		{patterns("acme/demo"), nil, "second"},
		{nil, patterns("registry.example.com/acme/demo"), "second"},
		{patterns("registry.example.com/acme/demo"), patterns("*/*/*"), "second"},
		{[]provider.Pattern{{}}, nil, "second"},
		{nil, []provider.Pattern{{}}, "first"},
	} {
		m := &provider.Multi{Methods: methods(first, second)}
		m.Methods[0].Include, m.Methods[0].Exclude = test.include, test.exclude
		m.Methods[1].Include = patterns("registry.example.com/acme/demo")
		pkg, err := m.ProviderPackage(t.Context(), demo, version("1.0.0"), linux)
		if err != nil || pkg.Via != test.via {
			t.Errorf("include %v, exclude %v: via %v, %v; want %s", test.include, test.exclude, pkg, err, test.via)
		}
		before := first.lists.Load()
		if _, err := m.ProviderVersions(t.Context(), demo); err != nil {
			t.Error(err)
		}
		if asked := first.lists.Load() > before; asked != (test.via == "first") {
			t.Errorf("include %v, exclude %v: the first was asked: %t", test.include, test.exclude, asked)
		}
	}
}

// TestMultiNothing: the error says of each method why it was passed over, and is of the
// kind that came closest.
func TestMultiNothing(t *testing.T) {
	t.Parallel()
	unknown := &shelf{name: "unknown"}
	older := &shelf{name: "older", holds: list("1.0.0 5.0 linux_amd64")}
	fewer := &shelf{name: "fewer", holds: list("2.0.0 5.0 plan9_arm")}
	excluded := provider.Method{Name: "direct", Source: &shelf{name: "direct"}, Exclude: patterns("*/*/*")}
	for name, test := range map[string]struct {
		methods []provider.Method
		kind    error
		text    string
	}{
		"none": {nil, provider.ErrNotFound, "there is no method to ask"},
		"left out": {[]provider.Method{excluded}, provider.ErrExcluded,
			`no method has it: "direct": left out by the method's patterns`},
		"unknown": {append(methods(unknown), excluded), provider.ErrNotFound,
			`no method has it: "unknown": https://unknown.example.com/: HTTP status 404: not found; "direct": left out by the method's patterns`},
		"no version": {methods(unknown, older), provider.ErrNoVersion,
			`no method has it: "unknown": https://unknown.example.com/: HTTP status 404: not found; "older": https://older.example.com/: HTTP status 404: no version matches "2.0.0", the newest is 1.0.0`},
		"no platform": {methods(older, fewer, unknown), provider.ErrNoPlatform, "only for plan9_arm"},
	} {
		m := &provider.Multi{Methods: test.methods}
		_, err := m.ProviderPackage(t.Context(), demo, version("2.0.0"), linux)
		e := wantError(t, err)
		none, ok := errors.AsType[*provider.NoMethodError](err)
		if !ok || len(none.Passed) != len(test.methods) || !errors.Is(err, test.kind) || !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		want := "find registry.example.com/acme/demo 2.0.0 linux_amd64: "
		if text := e.Error(); !strings.HasPrefix(text, want) || !strings.Contains(text, test.text) || strings.Count(text, "find ") != 1 {
			t.Errorf("%s: %s", name, text)
		}
	}
	m := &provider.Multi{Methods: methods(unknown, &shelf{name: "too"})}
	_, err := m.ProviderVersions(t.Context(), demo)
	want := `list versions of registry.example.com/acme/demo: no method has it: "unknown": https://unknown.example.com/: HTTP status 404: not found; "too": https://too.example.com/: HTTP status 404: not found`
	if e := wantError(t, err); e.Error() != want || !errors.Is(err, provider.ErrNotFound) {
		t.Errorf("\n got %s\nwant %s", err, want)
	}
	if unavailable, ok := errors.AsType[*provider.UnavailableError](err); ok {
		t.Errorf("%v", unavailable)
	}
}

// outage is the error of a mirror that is down.
func outage() error {
	return &provider.Error{Op: "list versions of", Subject: demo.String(), Err: &failure.RequestError{URL: "https://down.example.com/", Status: 503,
		RetryAfter: time.Minute, HadToken: true, Attempts: 3, Err: errors.New("service unavailable")}}
}

// TestMultiFails: any error but "not found" ends the search, since with it the answer
// might be another one.
func TestMultiFails(t *testing.T) {
	t.Parallel()
	good := &shelf{name: "good", holds: list("1.0.0 5.0 linux_amd64")}
	down := &shelf{name: "down", err: outage()}
	m := &provider.Multi{Methods: methods(down, good)}
	_, listErr := m.ProviderVersions(t.Context(), demo)
	_, findErr := m.ProviderPackage(t.Context(), demo, version("1.0.0"), linux)
	for _, err := range []error{listErr, findErr} {
		wantError(t, err)
		e, _ := errors.AsType[*failure.RequestError](err)
		failed, ok := errors.AsType[*provider.MethodError](err)
		if !ok || e == nil || failed.Method != "down" || e.Status != 503 || e.RetryAfter != time.Minute || !e.HadToken || e.Attempts != 3 || errors.Is(err, provider.ErrNotFound) {
			t.Errorf("%+v", e)
		}
	}
	want := `list versions of registry.example.com/acme/demo: method "down": https://down.example.com/: HTTP status 503: service unavailable (3 attempts)`
	if listErr.Error() != want {
		t.Errorf("\n got %s\nwant %s", listErr, want)
	}
	// One that comes later is not needed for a package.
	m.Methods = methods(good, down)
	if pkg, err := m.ProviderPackage(t.Context(), demo, version("1.0.0"), linux); err != nil || pkg.Via != "good" || down.finds.Load() != 1 {
		t.Errorf("%v, %v", pkg, err)
	}
}

// TestMultiAsksAtOnce: versions take as long as the slowest method, and a failure as long
// as it takes itself.
func TestMultiAsksAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &shelf{name: "slow", delay: time.Minute, holds: list("1.0.0 - -")}
		quick := &shelf{name: "quick", delay: time.Second, holds: list("2.0.0 - -")}
		begin := time.Now()
		m := &provider.Multi{Methods: methods(slow, quick)}
		if v, err := m.ProviderVersions(t.Context(), demo); err != nil || len(v.List) != 2 || time.Since(begin) != time.Minute {
			t.Errorf("%v, %v after %v", v, err, time.Since(begin))
		}
		begin = time.Now()
		quick.err = errors.New("broken")
		if _, err := m.ProviderVersions(t.Context(), demo); !errors.Is(err, quick.err) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// TestSearchEndsWithContext: nobody else is asked, whatever the one that was asked makes
// of it.
func TestSearchEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &shelf{name: "slow", delay: time.Minute}
		next := &shelf{name: "next", holds: list("1.0.0 - -")}
		for _, src := range []provider.Source{&provider.Multi{Methods: methods(slow, next)}, &provider.FirstOf{Methods: methods(slow, next)}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := src.ProviderPackage(ctx, demo, version("1.0.0"), linux); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%T: %v", src, err)
			}
			if _, err := src.ProviderVersions(ctx, demo); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%T: %v", src, err)
			}
			cancel()
		}
		if n := next.finds.Load(); n != 0 {
			t.Errorf("the next one was asked %d times", n)
		}
	})
}

// TestVia: a package goes back to the method that it came from, through any number of
// levels and through its JSON form.
func TestVia(t *testing.T) {
	t.Parallel()
	eu := &shelf{name: "eu", holds: list("1.0.0 - -")}
	us := &shelf{name: "us", holds: list("2.0.0 - -")}
	direct := &shelf{name: "direct", holds: list("3.0.0 - -")}
	inner := &provider.Multi{Methods: methods(eu, us)}
	m := &provider.Multi{Methods: append([]provider.Method{{Name: "mirrors", Source: &provider.FirstOf{
		Methods: []provider.Method{{Name: "https://mirror.example.com/", Source: inner}},
	}}}, methods(direct)...)}
	for v, test := range map[string]struct {
		via  string
		from *shelf
	}{
		"1.0.0": {"mirrors > https://mirror.example.com/ > eu", eu},
		"2.0.0": {"mirrors > https://mirror.example.com/ > us", us},
		"3.0.0": {"direct", direct},
	} {
		pkg, err := m.ProviderPackage(t.Context(), demo, version(v), linux)
		if err != nil || pkg.Via != test.via {
			t.Fatalf("%v, %v, want %s", pkg, err, test.via)
		}
		data, err := json.Marshal(pkg)
		if err != nil {
			t.Fatal(err)
		}
		var stored provider.Package
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
		if ev, err := m.Evidence(t.Context(), &stored); err != nil || ev.Filename != test.from.name {
			t.Errorf("%s: %v, %v", v, ev.Filename, err)
		}
		if !slices.Equal(test.from.fetched, []string{""}) || stored.Via != test.via {
			t.Errorf("%s: the source saw %q, the caller has %q", v, test.from.fetched, stored.Via)
		}
	}
}

func TestViaUnknown(t *testing.T) {
	t.Parallel()
	good := &shelf{name: "good", holds: list("1.0.0 - -")}
	for _, src := range []provider.Source{&provider.Multi{Methods: methods(good)}, &provider.FirstOf{Methods: methods(good)}} {
		for via, text := range map[string]string{"": "Via is empty", "goo": `the method "goo"`, "good\x1b": `"good\x1b"`, "a > good": `"a"`} {
			pkg := &provider.Package{Provider: demo, Version: version("1.0.0"), Platform: linux, URL: "https://x.example.com/", Via: via}
			_, openErr := src.Open(t.Context(), pkg)
			_, evidenceErr := src.Evidence(t.Context(), pkg)
			for _, err := range []error{openErr, evidenceErr} {
				if wantError(t, err); !strings.Contains(err.Error(), text) || errors.Is(err, provider.ErrNotFound) {
					t.Errorf("via %q: %v", via, err)
				}
			}
		}
		if _, err := src.Open(t.Context(), nil); err == nil {
			t.Errorf("%T opened nil", src)
		}
		if _, err := src.Evidence(t.Context(), nil); err == nil {
			t.Errorf("%T has evidence of nil", src)
		}
	}
}

// odd is a Source that answers with something else, or nothing.
type odd struct {
	provider.Source
	pkg *provider.Package
}

func (o odd) ProviderVersions(context.Context, addrs.Provider) (*provider.Versions, error) {
	return nil, nil
}

func (o odd) ProviderPackage(context.Context, addrs.Provider, addrs.Version, addrs.Platform) (*provider.Package, error) {
	return o.pkg, nil
}

// TestOddSources: a package of another version is no answer.
func TestOddSources(t *testing.T) {
	t.Parallel()
	right := provider.Package{Provider: demo, Version: version("1.0.0"), Platform: linux, URL: "https://x.example.com/"}
	version2, platform2, provider2 := right, right, right
	version2.Version, platform2.Platform, provider2.Provider = version("2.0.0"), plan9, addrs.MustParseProvider("acme/demo")
	for _, pkg := range []*provider.Package{nil, &version2, &platform2, &provider2} {
		list := []provider.Method{{Name: "odd", Source: odd{pkg: pkg}}}
		for _, src := range []provider.Source{&provider.Multi{Methods: list}, &provider.FirstOf{Methods: list}} {
			if got, err := src.ProviderPackage(t.Context(), demo, right.Version, linux); got != nil || errors.Is(err, provider.ErrNotFound) {
				t.Errorf("%T, %v: %v, %v", src, pkg, got, err)
			} else {
				wantError(t, err)
			}
			if _, err := src.ProviderVersions(t.Context(), demo); err == nil {
				t.Errorf("%T: no error", src)
			}
		}
	}
	m := &provider.Multi{Methods: []provider.Method{{Name: "kept", Source: odd{pkg: &right}}}}
	if got, err := m.ProviderPackage(t.Context(), demo, right.Version, linux); err != nil || got.Via != "kept" || right.Via != "" {
		t.Errorf("%v, %v; the source's own has Via %q", got, err, right.Via)
	}
}

func TestBadMethods(t *testing.T) {
	t.Parallel()
	good := &shelf{name: "good", holds: list("1.0.0 - -")}
	for reason, bad := range map[string][]provider.Method{
		"has no name":                   {{Source: good}},
		"has the name of another one":   append(methods(good), methods(good)...),
		`has " > " in its name`:         {{Name: "a > b", Source: good}},
		`method 2, "bad", has no Sourc`: append(methods(good), provider.Method{Name: "bad"}),
	} {
		for _, src := range []provider.Source{&provider.Multi{Methods: bad}, &provider.FirstOf{Methods: bad}} {
			_, listErr := src.ProviderVersions(t.Context(), demo)
			_, findErr := src.ProviderPackage(t.Context(), demo, version("1.0.0"), linux)
			_, openErr := src.Open(t.Context(), &provider.Package{Via: "good"})
			for _, err := range []error{listErr, findErr, openErr} {
				if wantError(t, err); !strings.Contains(err.Error(), reason) {
					t.Errorf("%T: %v, want %q in it", src, err, reason)
				}
			}
		}
	}
	if good.lists.Load()+good.finds.Load() != 0 {
		t.Error("a source was asked")
	}
}

// TestMethodErrorText: errors that a program makes itself print too.
func TestMethodErrorText(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`method "a": unknown cause`: &provider.MethodError{Method: "a"},
		`method "a": b`:             &provider.MethodError{Method: "a", Err: errors.New("b")},
		"there is no method to ask": &provider.NoMethodError{},
	} {
		if err.Error() != want {
			t.Errorf("got %s, want %s", err, want)
		}
	}
}

func TestMultiConcurrently(t *testing.T) {
	t.Parallel()
	a := &shelf{name: "a", holds: list("1.0.0 - linux_amd64")}
	b := &shelf{name: "b", holds: list("2.0.0 - linux_amd64", "1.0.0 - plan9_arm")}
	m := &provider.Multi{Methods: methods(a, b), Passed: func(string, error) {}}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if v, err := m.ProviderVersions(t.Context(), demo); err != nil || len(v.List) != 2 {
				t.Error(v, err)
			}
			pkg, err := m.ProviderPackage(t.Context(), demo, version(fmt.Sprintf("%d.0.0", i%2+1)), linux)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := m.Evidence(t.Context(), pkg); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
