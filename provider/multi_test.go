package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
)

// stub is a Source that has one provider, or fails.
type stub struct {
	name     string
	versions *provider.Versions // nil if the provider is unknown
	err      error              // of all answers; may be nil
	delay    time.Duration      // of finding

	lists, finds atomic.Int32
	mu           sync.Mutex
	found        *provider.Package // the last one
	fetched      []string          // Via of the packages that were fetched
}

func (s *stub) wait(ctx context.Context) error {
	select {
	case <-time.After(s.delay):
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stub) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	s.lists.Add(1)
	err := s.wait(ctx)
	if err == nil && s.versions == nil {
		err = failure.ErrNotFound
	}
	if err != nil {
		return nil, s.failed("list versions of", p.String(), err)
	}
	return s.versions.Clone(), nil
}

func (s *stub) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	s.finds.Add(1)
	pkg := &provider.Package{Provider: p, Version: v, Platform: platform, URL: "https://" + s.name + ".example.com/demo.zip"}
	err := s.wait(ctx)
	switch {
	case err != nil:
	case s.versions == nil:
		err = failure.ErrNotFound
	default:
		if r, ok := s.versions.Find(v); !ok || len(r.Platforms) > 0 && !slices.Contains(r.Platforms, platform) {
			err = s.versions.Unavailable(v, platform)
		}
	}
	if err != nil {
		return nil, s.failed("find", pkg.String(), err)
	}
	s.found = pkg
	return pkg, nil
}

func (s *stub) failed(op, subject string, err error) error {
	if _, ok := err.(*failure.Error); ok {
		return err
	}
	return &failure.Error{Op: op, Subject: subject, Err: &failure.RequestError{URL: "https://" + s.name + ".example.com/", Attempts: 1, Status: 404, Err: err}}
}

func (s *stub) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched = append(s.fetched, via(pkg))
	return verify.Evidence{Filename: s.name}, nil
}

func (s *stub) Open(_ context.Context, pkg *provider.Package) (*provider.Body, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched = append(s.fetched, via(pkg))
	return body(strings.NewReader(s.name)), nil
}

// skipped collects the calls of a Skipped field.
type skipped []string

func (p *skipped) add(source string, err error) { *p = append(*p, source+": "+reason(err)) }

// reason names the kind of an error.
func reason(err error) string {
	for word, target := range map[string]error{
		"no version": failure.ErrNoVersion, "no platform": provider.ErrNoPlatform, "excluded": provider.ErrExcluded,
	} {
		if errors.Is(err, target) {
			return word
		}
	}
	if errors.Is(err, failure.ErrNotFound) {
		return "not found"
	}
	return "fault"
}

// sources returns a source for each stub, with its name.
func sources(stubs ...*stub) []provider.NamedSource {
	var list []provider.NamedSource
	for _, s := range stubs {
		list = append(list, provider.NamedSource{Name: s.name, Source: s})
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

func wantError(t *testing.T, err error) *failure.Error {
	t.Helper()
	e, ok := errors.AsType[*failure.Error](err)
	if !ok || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Fatalf("%T %q, want a *failure.Error in one line", err, err)
	}
	return e
}

// TestMultiVersions: the union of all lists. Platforms that one source does not list are
// unknown.
func TestMultiVersions(t *testing.T) {
	t.Parallel()
	a := &stub{name: "a", versions: list("2.0.0 5.0 linux_amd64", "1.1.0 - plan9_arm", "1.0.0 5.0 linux_amd64")}
	a.versions.Warnings = []string{"old"}
	b := &stub{name: "b", versions: list("1.0.0 6.0,5.0 darwin_arm64", "3.0.0-beta - -", "1.1.0 5.1 -")}
	var p skipped
	m := &provider.Multi{Sources: sources(a, &stub{name: "empty"}, b), Skipped: p.add}
	got := must.Get(m.ProviderVersions(t.Context(), demo))(t)
	want := list("3.0.0-beta - -", "2.0.0 5.0 linux_amd64", "1.1.0 5.1 -", "1.0.0 5.0,6.0 darwin_arm64,linux_amd64")
	want.Warnings = []string{"a: old"}
	if diff := cmp.Diff(want, got, values, cmp.Comparer(func(a, b []addrs.Platform) bool { return slices.Equal(a, b) })); diff != "" {
		t.Error(diff)
	}
	if want := (skipped{"empty: not found"}); !slices.Equal(p, want) {
		t.Errorf("skipped %v, want %v", p, want)
	}
	if r, _ := a.versions.Find(version("1.0.0")); len(r.Platforms) != 1 || len(r.Protocols) != 1 {
		t.Errorf("the list of a source was changed: %v", r)
	}
}

// TestMultiPackage: the order decides, and sources without the package are skipped.
func TestMultiPackage(t *testing.T) {
	t.Parallel()
	older := &stub{name: "older", versions: list("1.0.0 5.0 linux_amd64")}
	unknown := &stub{name: "unknown"}
	fewer := &stub{name: "fewer", versions: list("2.0.0 5.0 plan9_arm", "1.0.0 5.0 linux_amd64")}
	all := &stub{name: "all", versions: list("2.0.0 5.0 linux_amd64,plan9_arm", "1.0.0 5.0 linux_amd64")}
	never := &stub{name: "never", err: errors.New("must not be asked")}
	m := &provider.Multi{Sources: sources(unknown, older, fewer, all, never)}
	for _, test := range []struct {
		version string
		via     string
		skipped skipped
	}{
		{"1.0.0", "older", skipped{"unknown: not found"}},
		{"2.0.0", "all", skipped{"unknown: not found", "older: no version", "fewer: no platform"}},
	} {
		var p skipped
		m.Skipped = p.add
		pkg := must.Get(m.ProviderPackage(t.Context(), demo, version(test.version), linux))(t)
		if via(pkg) != test.via || pkg.URL != "https://"+test.via+".example.com/demo.zip" || !slices.Equal(p, test.skipped) {
			t.Errorf("%s: %s at %s, skipped %v", test.version, pkg.Via, pkg.URL, p)
		}
		// Both come from the source that answered.
		ev, err := m.Evidence(t.Context(), pkg)
		if err != nil || ev.Filename != test.via {
			t.Errorf("%s: evidence of %s, %v", test.version, ev.Filename, err)
		}
		opened := must.Get(m.Open(t.Context(), pkg))(t)
		if content, err := io.ReadAll(opened); err != nil || string(content) != test.via {
			t.Errorf("%s: archive of %s, %v", test.version, content, err)
		}
	}
}

// TestMultiPatterns: Exclude has precedence over Include, an empty Include selects all, and
// a more specific pattern has no precedence.
func TestMultiPatterns(t *testing.T) {
	t.Parallel()
	all := func(name string) *stub { return &stub{name: name, versions: list("1.0.0 5.0 linux_amd64")} }
	first, second := all("first"), all("second")
	for _, test := range []struct {
		include, exclude []provider.Pattern // of the first
		via              string
	}{
		{nil, nil, "first"},
		{patterns("*/*/*"), nil, "first"},
		{patterns("registry.opentofu.org/*/*"), nil, "first"},
		{patterns("example.com/*/*", "registry.opentofu.org/acme/*"), nil, "first"},
		{patterns("example.com/*/*"), nil, "second"},
		{patterns("registry.example.com/acme/demo"), nil, "second"},
		{nil, patterns("registry.opentofu.org/acme/demo"), "second"},
		{patterns("registry.opentofu.org/acme/demo"), patterns("*/*/*"), "second"},
		{[]provider.Pattern{{}}, nil, "second"},
		{nil, []provider.Pattern{{}}, "first"},
	} {
		m := &provider.Multi{Sources: sources(first, second)}
		m.Sources[0].Include, m.Sources[0].Exclude = test.include, test.exclude
		m.Sources[1].Include = patterns("registry.opentofu.org/acme/demo")
		pkg, err := m.ProviderPackage(t.Context(), demo, version("1.0.0"), linux)
		if err != nil || via(pkg) != test.via {
			t.Errorf("include %v, exclude %v: via %v, %v; want %s", test.include, test.exclude, pkg, err, test.via)
		}
		before := first.lists.Load()
		if _, err := m.ProviderVersions(t.Context(), demo); err != nil {
			t.Errorf("ProviderVersions returned %v, want no error", err)
		}
		if asked := first.lists.Load() > before; asked != (test.via == "first") {
			t.Errorf("include %v, exclude %v: the first was asked: %t", test.include, test.exclude, asked)
		}
	}
}

// TestMultiNothing: the error has the reason of each source, and the kind of the closest one.
func TestMultiNothing(t *testing.T) {
	t.Parallel()
	unknown := &stub{name: "unknown"}
	older := &stub{name: "older", versions: list("1.0.0 5.0 linux_amd64")}
	fewer := &stub{name: "fewer", versions: list("2.0.0 5.0 plan9_arm")}
	excluded := provider.NamedSource{Name: "direct", Source: &stub{name: "direct"}, Patterns: provider.Patterns{Exclude: patterns("*/*/*")}}
	for name, test := range map[string]struct {
		sources []provider.NamedSource
		kind    error
		text    string
	}{
		"none": {nil, failure.ErrNotFound, "there are no sources"},
		"left out": {[]provider.NamedSource{excluded}, provider.ErrExcluded,
			`no source has it: "direct": excluded by the patterns of the source`},
		"unknown": {append(sources(unknown), excluded), failure.ErrNotFound,
			`no source has it: "unknown": https://unknown.example.com/: HTTP status 404: not found; "direct": excluded by the patterns of the source`},
		"no version": {sources(unknown, older), failure.ErrNoVersion,
			`no source has it: "unknown": https://unknown.example.com/: HTTP status 404: not found; "older": https://older.example.com/: HTTP status 404: no version matches "2.0.0", the newest is 1.0.0`},
		"no platform": {sources(older, fewer, unknown), provider.ErrNoPlatform, "only for plan9_arm"},
	} {
		m := &provider.Multi{Sources: test.sources}
		_, err := m.ProviderPackage(t.Context(), demo, version("2.0.0"), linux)
		e := wantError(t, err)
		if !errors.Is(err, test.kind) || !errors.Is(err, failure.ErrNotFound) {
			t.Errorf("%s: ProviderPackage returned %v, want %v", name, err, test.kind)
		}
		want := "find registry.opentofu.org/acme/demo 2.0.0 linux_amd64: "
		if text := e.Error(); !strings.HasPrefix(text, want) || !strings.Contains(text, test.text) || strings.Count(text, "find ") != 1 {
			t.Errorf("%s: error %q, want %q and %q in it", name, text, want, test.text)
		}
	}
	m := &provider.Multi{Sources: sources(unknown, &stub{name: "too"})}
	_, err := m.ProviderVersions(t.Context(), demo)
	want := `list versions of registry.opentofu.org/acme/demo: no source has it: "unknown": https://unknown.example.com/: HTTP status 404: not found; "too": https://too.example.com/: HTTP status 404: not found`
	if e := wantError(t, err); e.Error() != want || !errors.Is(err, failure.ErrNotFound) {
		t.Errorf("\n got %s\nwant %s", err, want)
	}
	if unavailable, ok := errors.AsType[*provider.UnavailableError](err); ok {
		t.Errorf("ProviderVersions returned %v, want no *UnavailableError", unavailable)
	}
}

// outage is the error of an unavailable mirror.
func outage() error {
	return &failure.Error{Op: "list versions of", Subject: demo.String(), Err: &failure.RequestError{URL: "https://down.example.com/", Status: 503,
		RetryAfter: time.Minute, HadToken: true, Attempts: 3, Err: errors.New("service unavailable")}}
}

// TestMultiFails: any error except "not found" ends the search.
func TestMultiFails(t *testing.T) {
	t.Parallel()
	good := &stub{name: "good", versions: list("1.0.0 5.0 linux_amd64")}
	down := &stub{name: "down", err: outage()}
	m := &provider.Multi{Sources: sources(down, good)}
	_, listErr := m.ProviderVersions(t.Context(), demo)
	_, findErr := m.ProviderPackage(t.Context(), demo, version("1.0.0"), linux)
	for _, err := range []error{listErr, findErr} {
		wantError(t, err)
		e, _ := errors.AsType[*failure.RequestError](err)
		if e == nil || !strings.Contains(err.Error(), `: source "down": `) || e.Status != 503 || e.RetryAfter != time.Minute || !e.HadToken || e.Attempts != 3 || errors.Is(err, failure.ErrNotFound) {
			t.Errorf("error %v with the request %+v, want the failure of the source down", err, e)
		}
	}
	want := `list versions of registry.opentofu.org/acme/demo: source "down": https://down.example.com/: HTTP status 503: service unavailable (3 attempts)`
	if listErr.Error() != want {
		t.Errorf("\n got %s\nwant %s", listErr, want)
	}
	// A later source is not asked for the package.
	m.Sources = sources(good, down)
	if pkg, err := m.ProviderPackage(t.Context(), demo, version("1.0.0"), linux); err != nil || via(pkg) != "good" || down.finds.Load() != 1 {
		t.Errorf("ProviderPackage returned %v, %v, want the package of good", pkg, err)
	}
}

// TestMultiAsksAtOnce: a list takes as long as the slowest source, and ends with the first
// failure.
func TestMultiAsksAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &stub{name: "slow", delay: time.Minute, versions: list("1.0.0 - -")}
		quick := &stub{name: "quick", delay: time.Second, versions: list("2.0.0 - -")}
		begin := time.Now()
		m := &provider.Multi{Sources: sources(slow, quick)}
		if v, err := m.ProviderVersions(t.Context(), demo); err != nil || len(v.Versions) != 2 || time.Since(begin) != time.Minute {
			t.Errorf("%v, %v after %v", v, err, time.Since(begin))
		}
		begin = time.Now()
		quick.err = errors.New("broken")
		if _, err := m.ProviderVersions(t.Context(), demo); !errors.Is(err, quick.err) || time.Since(begin) != time.Second {
			t.Errorf("ProviderVersions returned %v after %v, want the failure after 1s", err, time.Since(begin))
		}
	})
}

// TestSearchEndsWithContext: when the context ends, no further source is asked.
func TestSearchEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &stub{name: "slow", delay: time.Minute}
		next := &stub{name: "next", versions: list("1.0.0 - -")}
		for _, src := range []provider.Source{&provider.Multi{Sources: sources(slow, next)}, &provider.Multi{Failover: true, Sources: sources(slow, next)}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := src.ProviderPackage(ctx, demo, version("1.0.0"), linux); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%T: ProviderPackage returned %v, want DeadlineExceeded", src, err)
			}
			if _, err := src.ProviderVersions(ctx, demo); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%T: ProviderVersions returned %v, want DeadlineExceeded", src, err)
			}
			cancel()
		}
		if n := next.finds.Load(); n != 0 {
			t.Errorf("the next one was asked %d times", n)
		}
	})
}

// via returns the names in pkg.Via.
func via(pkg *provider.Package) string { return strings.Join(pkg.Via, "|") }

// TestVia: files are fetched from the source that found the package, also through several
// levels and the JSON form.
func TestVia(t *testing.T) {
	t.Parallel()
	eu := &stub{name: "eu", versions: list("1.0.0 - -")}
	us := &stub{name: "us", versions: list("2.0.0 - -")}
	direct := &stub{name: "direct", versions: list("3.0.0 - -")}
	inner := &provider.Multi{Sources: sources(eu, us)}
	m := &provider.Multi{Sources: append([]provider.NamedSource{{Name: "mirrors", Source: &provider.Multi{
		Failover: true,
		Sources:  []provider.NamedSource{{Name: "https://mirror.example.com/ > x", Source: inner}},
	}}}, sources(direct)...)}
	for v, test := range map[string]struct {
		via  string
		from *stub
	}{
		"1.0.0": {"mirrors|https://mirror.example.com/ > x|eu", eu},
		"2.0.0": {"mirrors|https://mirror.example.com/ > x|us", us},
		"3.0.0": {"direct", direct},
	} {
		pkg, err := m.ProviderPackage(t.Context(), demo, version(v), linux)
		if err != nil || via(pkg) != test.via {
			t.Fatalf("%v, %v, want %s", pkg, err, test.via)
		}
		data := must.Get(json.Marshal(pkg))(t)
		var stored provider.Package
		must.Do(t, json.Unmarshal(data, &stored))
		if ev, err := m.Evidence(t.Context(), &stored); err != nil || ev.Filename != test.from.name {
			t.Errorf("%s: Evidence of %s, %v, want %s", v, ev.Filename, err, test.from.name)
		}
		if !slices.Equal(test.from.fetched, []string{""}) || test.from.found.Via != nil || via(&stored) != test.via {
			t.Errorf("%s: the source saw %q and has %q, the caller has %q", v, test.from.fetched, test.from.found.Via, stored.Via)
		}
	}
}

func TestViaUnknown(t *testing.T) {
	t.Parallel()
	good := &stub{name: "good", versions: list("1.0.0 - -")}
	for _, src := range []provider.Source{&provider.Multi{Sources: sources(good)}, &provider.Multi{Failover: true, Sources: sources(good)}} {
		for text, via := range map[string][]string{"Via is empty": nil, `unknown source "goo"`: {"goo"}, `"good\x1b"`: {"good\x1b"}, `"a"`: {"a", "good"}} {
			pkg := &provider.Package{Provider: demo, Version: version("1.0.0"), Platform: linux, URL: "https://x.example.com/", Via: via}
			_, openErr := src.Open(t.Context(), pkg)
			_, evidenceErr := src.Evidence(t.Context(), pkg)
			for _, err := range []error{openErr, evidenceErr} {
				if wantError(t, err); !strings.Contains(err.Error(), text) || errors.Is(err, failure.ErrNotFound) {
					t.Errorf("via %q: %v", via, err)
				}
			}
		}
		if _, err := src.Open(t.Context(), nil); err == nil {
			t.Errorf("%T: Open(nil) returned no error", src)
		}
		if _, err := src.Evidence(t.Context(), nil); err == nil {
			t.Errorf("%T has evidence of nil", src)
		}
	}
}

func TestBadSources(t *testing.T) {
	t.Parallel()
	good := &stub{name: "good", versions: list("1.0.0 - -")}
	for reason, bad := range map[string][]provider.NamedSource{
		"has no name":                   {{Source: good}},
		"has a duplicate name":          append(sources(good), sources(good)...),
		`source 2, "bad", has no Sourc`: append(sources(good), provider.NamedSource{Name: "bad"}),
	} {
		for _, src := range []provider.Source{&provider.Multi{Sources: bad}, &provider.Multi{Failover: true, Sources: bad}} {
			_, listErr := src.ProviderVersions(t.Context(), demo)
			_, findErr := src.ProviderPackage(t.Context(), demo, version("1.0.0"), linux)
			_, openErr := src.Open(t.Context(), &provider.Package{Via: []string{"good"}})
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

// timeoutError is a timeout of the network.
type timeoutError struct{}

func (timeoutError) Error() string        { return "no answer within 10s" }
func (timeoutError) Timeout() bool        { return true }
func (timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// request returns the error of a request, with a wrapped cause.
func request(status, attempts int, cause error) error {
	return &failure.Error{Op: "find", Subject: "x", Err: &failure.RequestError{URL: "https://a.example.com/", Status: status, Attempts: attempts, Err: fmt.Errorf("asking: %w", cause)}}
}

// TestFailoverAfterFault: the next source is asked after a fault only.
func TestFailoverAfterFault(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, test := range map[string]struct {
		err  error
		over bool
	}{
		"500":                      {request(500, 3, other), true},
		"501":                      {request(501, 1, other), true},
		"502":                      {request(502, 3, other), true},
		"503":                      {request(503, 3, other), true},
		"429":                      {request(429, 3, other), true},
		"408":                      {request(408, 3, other), true},
		"refused connection":       {request(0, 3, refused), true},
		"no certificate":           {request(0, 1, other), true},
		"broken document":          {request(200, 3, io.ErrUnexpectedEOF), true},
		"no time to resume":        {request(200, 1, fault.ErrNoTime), true},
		"reset within a document":  {request(200, 3, syscall.ECONNRESET), true},
		"timeout":                  {request(0, 3, timeoutError{}), true},
		"timeout within":           {request(200, 3, timeoutError{}), true},
		"no time left for a retry": {request(503, 1, fmt.Errorf("%w: the next attempt would be too late", fault.ErrNoTime)), true},
		"unreadable directory":     {&failure.Error{Op: "find", Subject: "x", Err: &fs.PathError{Op: "open", Path: "dir", Err: syscall.EIO}}, true},
		"bare timeout":             {timeoutError{}, true},

		"not found":          {request(404, 1, failure.ErrNotFound), false},
		"no version":         {request(404, 1, failure.ErrNoVersion), false},
		"no platform":        {request(200, 1, provider.ErrNoPlatform), false},
		"500 for a version":  {request(500, 3, failure.ErrNoVersion), false},
		"no protocol":        {request(200, 1, provider.ErrProtocol), false},
		"unauthorised":       {request(401, 1, failure.ErrUnauthorized), false},
		"forbidden":          {request(403, 1, failure.ErrUnauthorized), false},
		"insecure":           {request(302, 1, failure.ErrInsecure), false},
		"too large":          {request(200, 1, failure.ErrTooLarge), false},
		"other status":       {request(418, 1, other), false},
		"unusable answer":    {request(200, 1, other), false},
		"refused redirect":   {request(302, 1, other), false},
		"helper fails":       {request(0, 0, &fs.PathError{Op: "exec", Path: "helper", Err: syscall.ENOENT}), false},
		"vetoed host":        {request(0, 0, other), false},
		"verification":       {verify.ErrUnsigned, false},
		"any other":          {other, false},
		"end of the call":    {context.Canceled, false},
		"its deadline":       {context.DeadlineExceeded, false},
		"deadline within":    {request(200, 1, context.DeadlineExceeded), false},
		"cancelled wait":     {request(503, 1, context.Canceled), false},
		"deadline of second": {request(0, 1, fmt.Errorf("%w; before that: %w", context.DeadlineExceeded, syscall.ECONNRESET)), false},
	} {
		a, b := &stub{name: "a", err: test.err}, &stub{name: "b", versions: list("1.0.0 - -")}
		var p skipped
		src := &provider.Multi{Failover: true, Sources: sources(a, b), Skipped: p.add}
		if provider.IsFault(test.err) != test.over {
			t.Errorf("%s: IsFault(%v) is not %v", name, test.err, test.over)
		}
		pkg, findErr := src.ProviderPackage(t.Context(), demo, version("1.0.0"), linux)
		versions, listErr := src.ProviderVersions(t.Context(), demo)
		if !test.over {
			for _, err := range []error{findErr, listErr} {
				if !strings.Contains(err.Error(), `: source "a": `) || !errors.Is(err, test.err) || b.lists.Load()+b.finds.Load() != 0 || p != nil {
					t.Errorf("%s: %v, skipped %v", name, err, p)
				}
			}
			continue
		}
		if findErr != nil || listErr != nil || via(pkg) != "b" || len(versions.Versions) != 1 || !slices.Equal(p, skipped{"a: fault", "a: fault"}) {
			t.Errorf("%s: %v, %v, %v, skipped %v", name, pkg, findErr, listErr, p)
		}
	}
}

// TestPartial: a list is partial if that of a source is, or if a source at fault was skipped.
func TestPartial(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failover bool
		first    *stub
		second   bool
		want     bool
	}{
		"complete":             {false, &stub{versions: &provider.Versions{Provider: demo}}, false, false},
		"one of two":           {false, &stub{versions: &provider.Versions{Provider: demo}}, true, true},
		"unknown at one":       {false, &stub{}, false, false},
		"failover, first":      {true, &stub{versions: &provider.Versions{Provider: demo}}, true, false},
		"failover after fault": {true, &stub{err: outage()}, false, true},
	} {
		test.first.name = "first"
		second := &stub{name: "second", versions: &provider.Versions{Provider: demo, Partial: test.second}}
		multi := &provider.Multi{Sources: sources(test.first, second), Failover: test.failover}
		if list := must.Get(multi.ProviderVersions(t.Context(), demo))(t); list.Partial != test.want || second.versions.Partial != test.second {
			t.Errorf("%s: Partial is %t, want %t", name, list.Partial, test.want)
		}
	}
}

// TestFailoverStays: after the first answer no other source is asked.
func TestFailoverStays(t *testing.T) {
	t.Parallel()
	a := &stub{name: "a", versions: list("1.0.0 - -")}
	b := &stub{name: "b", versions: list("2.0.0 - -")}
	src := &provider.Multi{Failover: true, Sources: sources(a, b)}
	if v, err := src.ProviderVersions(t.Context(), demo); err != nil || len(v.Versions) != 1 || b.lists.Load() != 0 {
		t.Errorf("ProviderVersions returned %v, %v and asked the second source %d times; want the list of the first", v, err, b.lists.Load())
	}
	// The second source has the version, but must not add it to the first.
	if _, err := src.ProviderPackage(t.Context(), demo, version("2.0.0"), linux); !errors.Is(err, failure.ErrNoVersion) || b.finds.Load() != 0 {
		t.Errorf("ProviderPackage returned %v and asked the second source %d times, want ErrNoVersion of the first", err, b.finds.Load())
	}
}

// TestFailoverAllFail: the error is the first fault, lists all, and is not "not found".
func TestFailoverAllFail(t *testing.T) {
	t.Parallel()
	down := outage()
	src := &provider.Multi{Failover: true, Sources: []provider.NamedSource{
		{Name: "out", Source: &stub{name: "out"}, Patterns: provider.Patterns{Exclude: patterns("*/*/*")}},
		{Name: "a", Source: &stub{name: "a", err: down}},
		{Name: "b", Source: &stub{name: "b", err: timeoutError{}}},
	}}
	_, err := src.ProviderVersions(t.Context(), demo)
	wantError(t, err)
	e, _ := errors.AsType[*failure.RequestError](err)
	if e == nil || e.Status != 503 || !errors.Is(err, down) || errors.Is(err, failure.ErrNotFound) {
		t.Errorf("ProviderVersions returned %v with the request %+v, want the first fault and three sources", err, e)
	}
	for _, text := range []string{
		"list versions of registry.opentofu.org/acme/demo: no source answers: ",
		`"out": excluded by the patterns of the source; "a": https://down.example.com/: HTTP status 503: service unavailable (3 attempts); "b": `,
	} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s, want %q in it", err, text)
		}
	}
	// An outer Multi with Failover treats that as a fault, too, and skips one that excludes the provider.
	backup := &stub{name: "backup", versions: list("1.0.0 - -")}
	others := &provider.Multi{Failover: true, Sources: src.Sources[:1]}
	outer := &provider.Multi{Failover: true, Sources: append([]provider.NamedSource{{Name: "inner", Source: src}, {Name: "others", Source: others}}, sources(backup)...)}
	if pkg, err := outer.ProviderPackage(t.Context(), demo, version("1.0.0"), linux); err != nil || via(pkg) != "backup" {
		t.Errorf("ProviderPackage returned %v, %v, want the package of backup", pkg, err)
	}
}

// astray is a Source that answers with changed answers.
type astray struct {
	provider.Source
	list func(*provider.Versions) *provider.Versions
	pkg  func(*provider.Package) *provider.Package
}

func (a *astray) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	versions, err := a.Source.ProviderVersions(ctx, p)
	if a.list != nil && err == nil {
		versions = a.list(versions)
	}
	return versions, err
}

func (a *astray) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*provider.Package, error) {
	pkg, err := a.Source.ProviderPackage(ctx, p, v, platform)
	if a.pkg != nil && err == nil {
		pkg = a.pkg(pkg)
	}
	return pkg, err
}

// TestAnswerIsAnother: a nil answer or another package than the requested one is an error.
func TestAnswerIsAnother(t *testing.T) {
	t.Parallel()
	edit := func(change func(*provider.Package)) func(*provider.Package) *provider.Package {
		return func(pkg *provider.Package) *provider.Package {
			pkg = pkg.Clone()
			change(pkg)
			return pkg
		}
	}
	for name, a := range map[string]astray{
		"no versions": {list: func(*provider.Versions) *provider.Versions { return nil }},
		"no package":  {pkg: func(*provider.Package) *provider.Package { return nil }},
		"provider":    {pkg: edit(func(p *provider.Package) { p.Provider = addrs.MustParseProvider("registry.opentofu.org/acme/other") })},
		"version":     {pkg: edit(func(p *provider.Package) { p.Version = version("2.0.0") })},
		"platform":    {pkg: edit(func(p *provider.Package) { p.Platform = addrs.MustParsePlatform("plan9_386") })},
		"nothing set": {pkg: edit(func(p *provider.Package) { *p = provider.Package{} })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, client := serveDemo(demoRelease())
			a.Source = client
			if pkg, err := provider.Find(t.Context(), &a, demo, addrs.ProviderConstraint{}, provider.Need{Platforms: five[:1]}); pkg != nil || !typed(err) {
				t.Errorf("Find: %v, %v", pkg, err)
			}
			if got, err := provider.Hashes(t.Context(), &a, demo, v123, five[:1], provider.HashOptions{}); a.pkg != nil && (len(got) > 0 || !typed(err)) {
				t.Errorf("Hashes: %v, %v", got, err)
			}
			named := []provider.NamedSource{{Name: "a", Source: &a}}
			for what, src := range map[string]provider.Source{
				"ShareEvidence": provider.ShareEvidence(&a), "CheckAnswers": provider.CheckAnswers(&a),
				"Multi": &provider.Multi{Sources: named}, "Failover": &provider.Multi{Failover: true, Sources: named},
			} {
				versions, listErr := src.ProviderVersions(t.Context(), demo)
				pkg, findErr := src.ProviderPackage(t.Context(), demo, v123, five[0])
				if (versions == nil) == (pkg == nil) || (listErr == nil) == (findErr == nil) || !typed(errors.Join(listErr, findErr)) || errors.Is(errors.Join(listErr, findErr), failure.ErrNotFound) {
					t.Errorf("%s: %v, %v, %v, %v", what, versions, listErr, pkg, findErr)
				}
			}
		})
	}
}

// bodiless is a Source whose Open returns neither an archive nor an error.
type bodiless struct{ provider.Source }

func (bodiless) Open(context.Context, *provider.Package) (*provider.Body, error) { return nil, nil }

// TestNoBody: a source that returns no archive is an error of all that call it.
func TestNoBody(t *testing.T) {
	t.Parallel()
	_, _, client := serveDemo(demoRelease())
	src := bodiless{client}
	multi := &provider.Multi{Sources: []provider.NamedSource{{Name: "a", Source: src}}}
	pkg := must.Get(client.ProviderPackage(t.Context(), demo, v123, five[0]))(t)
	via := must.Get(multi.ProviderPackage(t.Context(), demo, v123, five[0]))(t)
	for name, open := range map[string]func() (*provider.Body, error){
		"CheckAnswers":  func() (*provider.Body, error) { return provider.CheckAnswers(src).Open(t.Context(), pkg) },
		"ShareEvidence": func() (*provider.Body, error) { return provider.ShareEvidence(src).Open(t.Context(), pkg) },
		"Multi":         func() (*provider.Body, error) { return multi.Open(t.Context(), via) },
		"Download": func() (*provider.Body, error) {
			_, err := provider.Download(t.Context(), src, pkg, filepath.Join(t.TempDir(), "a.zip"), provider.DownloadOptions{})
			return nil, err
		},
	} {
		if body, err := open(); body != nil || !typed(err) || !strings.Contains(err.Error(), "neither an archive nor an error") {
			t.Errorf("%s: %v, %v, want an error", name, body, err)
		}
	}
}

// typed reports whether err is an *Error with an operation and a subject.
func typed(err error) bool {
	e, ok := errors.AsType[*failure.Error](err)
	return ok && e.Op != "" && e.Subject != "" && e.Err != nil
}

// TestHashesOfAnother: if a source returns another version for one platform, its statements about
// other platforms are not recorded.
func TestHashesOfAnother(t *testing.T) {
	t.Parallel()
	reg, _, client := serveDemo(statingRelease())
	newer := statingRelease()
	newer.Version = "2.0.0"
	reg.AddProvider(newer)
	answer := must.Get(client.ProviderPackage(t.Context(), demo, version("2.0.0"), five[0]))(t)
	src := &astray{Source: client, pkg: func(*provider.Package) *provider.Package { return answer }}
	got, err := provider.Hashes(t.Context(), src, demo, v123, five[:2], believing(verify.Policy{}))
	if len(got) > 0 || !typed(err) {
		t.Errorf("reports %v, %v", got, err)
	}
	// A source may return something beside its error.
	both := &lister{Opener: client, find: func(addrs.Platform) (*provider.Package, error) { return answer, failure.ErrNotFound }}
	if got, err := provider.Hashes(t.Context(), both, demo, v123, five[:2], believing(verify.Policy{})); len(got) > 0 || !errors.Is(err, failure.ErrNotFound) {
		t.Errorf("beside an error: reports %v, %v", got, err)
	}
	if n := reg.Count(regtest.Archive); n > 0 {
		t.Errorf("%d archives were fetched", n)
	}
}
