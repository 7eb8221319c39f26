package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/transport/throttle"
	"github.com/tofureg/tofureg/verify"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/telemetry"
	"github.com/tofureg/tofureg/contrib/telemetry/internal/must"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/serve/access"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/serve/regserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
)

// recorder is a Telemetry with its reports.
type recorder struct {
	*telemetry.Telemetry
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	var err error
	r.Telemetry, err = telemetry.New(trace.NewTracerProvider(trace.WithSyncer(r.spans)), sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader)))
	must.Do(t, err)
	return r
}

func (r *recorder) metrics(t *testing.T) map[string]metricdata.Aggregation {
	t.Helper()
	var all metricdata.ResourceMetrics
	must.Do(t, r.reader.Collect(t.Context(), &all))
	found := map[string]metricdata.Aggregation{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			found[m.Name] = m.Data
		}
	}
	return found
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTransportHidesSecrets checks that the server gets the real URL, but spans and metrics
// get no secrets.
func TestTransportHidesSecrets(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.s3cr3t"
	long := strings.Repeat("s3cr3T", 20)
	raw := "https://user:s3cr3t@files.example.com/a%2Fb/" + jwt + "/" + long + "/c.zip?X-Amz-Signature=s3cr3t"
	asked := ""
	refused := errors.New("https://files.example.com/?token=s3cr3t is refused")
	rt := r.Transport(roundTripper(func(q *http.Request) (*http.Response, error) {
		asked = q.URL.String()
		if h := q.Header.Get("Traceparent"); h != "" {
			t.Errorf("the server got the trace header %q", h)
		}
		switch {
		case q.URL.Path == "/refused":
			return nil, refused
		case q.URL.Path == "/broken":
			return &http.Response{StatusCode: 200, Body: io.NopCloser(iotest.ErrReader(refused)), Header: http.Header{}, Request: q}, nil
		}
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("x")), Header: http.Header{}, Request: q}, nil
	}))
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, raw, nil))(t)
	req.Header.Set("Authorization", "Bearer s3cr3t")
	resp := must.Get(rt.RoundTrip(req))(t)
	resp.Body.Close()
	if asked != raw || resp.Request.URL.String() != raw {
		t.Errorf("asked %s, response of %s; want both to be %s", asked, resp.Request.URL, raw)
	}
	redirect := req.Clone(t.Context())
	redirect.Response, redirect.URL.Path, redirect.URL.RawPath = resp, "/s3cr3t", ""
	must.Get(rt.RoundTrip(redirect))(t).Body.Close()
	for _, path := range []string{"/refused", "/broken"} {
		failing := req.Clone(t.Context())
		failing.URL.Path, failing.URL.RawPath = path, ""
		resp, err := rt.RoundTrip(failing)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		if err != refused {
			t.Errorf("%s: error %v, want the error of the transport", path, err)
		}
	}
	seen := fmt.Sprintf("%+v %+v", r.spans.GetSpans(), r.metrics(t))
	if strings.Contains(strings.ToLower(seen), "s3cr3t") || strings.Contains(seen, "eyJ") {
		t.Errorf("a secret is in %s", seen)
	}
	if !strings.Contains(seen, "https://files.example.com/a%2Fb/.../.../c.zip?...") {
		t.Errorf("the span does not have the redacted URL: %s", seen)
	}
	if _, ok := r.metrics(t)["http.client.request.duration"]; !ok {
		t.Errorf("metrics %v, want http.client.request.duration", r.metrics(t))
	}
}

// failing is a source whose calls and archives fail.
type failing struct{ err error }

func (f failing) ProviderVersions(context.Context, addrs.Provider) (*provider.Versions, error) {
	return nil, f.err
}

func (f failing) ProviderPackage(context.Context, addrs.Provider, addrs.Version, addrs.Platform) (*provider.Package, error) {
	return nil, f.err
}

func (f failing) Evidence(context.Context, *provider.Package) (verify.Evidence, error) {
	return verify.Evidence{}, f.err
}

func (f failing) Open(_ context.Context, pkg *provider.Package) (*provider.Body, error) {
	if pkg == nil {
		return nil, f.err
	}
	return &provider.Body{ReadCloser: io.NopCloser(io.MultiReader(bytes.NewReader([]byte("half")), iotest.ErrReader(f.err)))}, nil
}

func TestFailures(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	p, v, on := addrs.MustParseProvider("acme/alpha"), addrs.MustParseVersion("1.0.0"), addrs.MustParsePlatform("linux_amd64")
	secret := fmt.Errorf("the server says s3cr3t: %w", failure.ErrNotFound)
	src := r.Source(failing{secret})
	_, err1 := src.ProviderVersions(t.Context(), p)
	_, err2 := src.ProviderPackage(t.Context(), p, v, on)
	_, err3 := src.Evidence(t.Context(), nil)
	_, err4 := src.Open(t.Context(), nil)
	body := must.Get(src.Open(t.Context(), &provider.Package{Provider: p, Version: v, Platform: on}))(t)
	_, err5 := io.ReadAll(body)
	body.Close()
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if !errors.Is(err, failure.ErrNotFound) {
			t.Errorf("call %d: error %v, want the error of the source", i+1, err)
		}
	}
	spans := r.spans.GetSpans()
	if len(spans) != 5 {
		t.Errorf("%d spans, want 5", len(spans))
	}
	for _, s := range spans {
		if s.Status.Code != codes.Error || s.Status.Description != failure.ErrNotFound.Error() {
			t.Errorf("span %s has the status %v, want the kind of the error alone", s.Name, s.Status)
		}
		if !slices.Contains(s.Attributes, attribute.String("error.type", failure.ErrNotFound.Error())) {
			t.Errorf("span %s has the attributes %v, want error.type", s.Name, s.Attributes)
		}
	}
}

// TestDelayIsNoTimeout: the time for which a throttle.Transport below delays a request
// does not count towards its timeout.
func TestDelayIsNoTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := regtest.New("registry.example.com")
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
		limits := &throttle.Transport{Base: reg, PerSecond: 1.0 / 60, Burst: 1}
		client := &regclient.Client{Transport: &transport.Settings{
			HTTP: &http.Client{Transport: newRecorder(t).Transport(limits)}, Timeout: 5 * time.Second, Retries: -1,
		}}
		start := time.Now()
		_, err := client.ProviderVersions(t.Context(), addrs.MustParseProvider("registry.example.com/acme/alpha"))
		if took := time.Since(start); err != nil || took != time.Minute {
			t.Errorf("two requests, the second delayed by a minute: ProviderVersions returned %v after %v, want success after 1m", err, took)
		}
	})
}

// TestProgress checks that packages and bytes are counted once, bytes again after a restart.
func TestProgress(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	ctx, span := r.Start(t.Context(), "download")
	var passed []progress.Kind
	report := r.Progress(ctx, func(e progress.Event) { passed = append(passed, e.Kind) })
	p := addrs.MustParseProvider("acme/alpha")
	for _, e := range []progress.Event{
		{Kind: progress.Bytes}, {Kind: progress.Bytes, Bytes: 10}, {Kind: progress.Bytes, Bytes: 10},
		{Kind: progress.Restarted}, {Kind: progress.Bytes, Bytes: 5}, {Kind: progress.Verified}, {Kind: progress.Installed},
	} {
		e.Provider = p
		report(e)
	}
	telemetry.End(span, nil)
	if len(passed) != 7 {
		t.Errorf("%d events were passed on, want 7", len(passed))
	}
	sum, _ := r.metrics(t)["tofureg.package.bytes"].(metricdata.Sum[int64])
	if len(sum.DataPoints) != 1 || sum.DataPoints[0].Value != 15 {
		t.Errorf("tofureg.package.bytes is %+v, want 15", sum)
	}
	sum, _ = r.metrics(t)["tofureg.packages"].(metricdata.Sum[int64])
	if len(sum.DataPoints) != 1 || sum.DataPoints[0].Value != 1 {
		t.Errorf("tofureg.packages is %+v, want 1", sum)
	}
	if events := r.spans.GetSpans()[0].Events; len(events) != 3 || events[0].Name != "restarted" || events[1].Name != "verified" {
		t.Errorf("the span has the events %v, want restarted, verified and installed", events)
	}
}

// TestModules checks the spans of a module, and of a module that does not exist.
func TestModules(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Version: "1.0.0", Files: map[string]string{"main.tf": ""}})
	src := r.ModuleSource(&regclient.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: r.Transport(reg)}}})
	ctx, span := r.Start(t.Context(), "download")
	_, err := module.Download(ctx, src, module.Request{Source: addrs.MustParseModuleSource("registry.example.com/acme/network/aws"), Dir: filepath.Join(t.TempDir(), "m")}, module.Options{})
	telemetry.End(span, err)
	must.Do(t, err)
	want := "download\n  fetch module\n    GET\n  find module\n    GET\n  list module versions\n    GET\n    GET\n"
	if got := tree(r.spans.GetSpans(), ""); got != want {
		t.Errorf("spans\n%swant\n%s", got, want)
	}
	for _, s := range r.spans.GetSpans() {
		if strings.Contains(s.Name, "module") && !slices.Contains(s.Attributes, attribute.String("tofureg.module", "registry.example.com/acme/network/aws")) {
			t.Errorf("span %s has the attributes %v, want the module", s.Name, s.Attributes)
		}
	}
	r.spans.Reset()
	if _, err := src.ModuleVersions(t.Context(), addrs.MustParseModuleSource("registry.example.com/acme/none/aws").Module); !errors.Is(err, failure.ErrNotFound) {
		t.Fatal(err)
	}
	for _, s := range r.spans.GetSpans() {
		if s.Name == "list module versions" && !slices.Contains(s.Attributes, attribute.String("error.type", "not found")) {
			t.Errorf("span %s has the attributes %v, want error.type", s.Name, s.Attributes)
		}
	}
}

// TestAccess: answers of a server become durations and bytes by kind, status and result of the cache, without
// what was requested.
func TestAccess(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.0.0", Platforms: []string{"linux_amd64"}})
	var seen []access.Entry
	h := &regserve.Handler{
		Providers: &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}, Host: svchost.MustParse("registry.example.com"),
		Access: r.Access(func(_ context.Context, e access.Entry) { seen = append(seen, e) }),
	}
	for _, path := range []string{"versions", "versions", "1.0.0/download/linux/amd64/archive.zip", "2.0.0/download/linux/amd64"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/providers/acme/alpha/"+path, nil))
	}
	metrics, got := r.metrics(t), map[string]uint64{}
	for _, point := range metrics["tofureg.served.duration"].(metricdata.Histogram[float64]).DataPoints {
		var text []string
		for _, a := range point.Attributes.ToSlice() {
			text = append(text, a.Value.String())
			if strings.Contains(a.Value.String(), "acme") {
				t.Errorf("the attribute %s has the value %s", a.Key, a.Value.String())
			}
		}
		got[strings.Join(text, " ")] += point.Count
	}
	want := map[string]uint64{"200 false miss versions": 2, "200 false miss archive": 1, "404 false miss package": 1}
	if !maps.Equal(got, want) {
		t.Errorf("durations %v, want %v", got, want)
	}
	var sent, reported int64
	for _, point := range metrics["tofureg.served.bytes"].(metricdata.Sum[int64]).DataPoints {
		sent += point.Value
	}
	for _, e := range seen {
		reported += e.Bytes
	}
	if sent != reported || sent == 0 || len(seen) != 4 {
		t.Errorf("%d bytes of %d entries, want the %d of 4", sent, len(seen), reported)
	}
}

// TestSourceUnwraps: a server of a cache behind Source states the recorded hashes, asks the registry as often and leaves the same
// files as a server of the cache, and each call has a span. Archives are not copied, and ranges work.
func TestSourceUnwraps(t *testing.T) {
	t.Parallel()
	type result struct {
		Document string
		Requests map[regtest.Kind]int
		Files    []string
		Part     string
	}
	serve := func(wrap func(provider.Source) provider.Source) (got result) {
		const home, archive = "registry.example.com/acme/alpha", "/terraform-provider-alpha_1.0.0_linux_amd64.zip"
		reg, dir := regtest.New("registry.example.com"), t.TempDir()
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}})
		client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client(), Retries: -1}}
		m := must.Get(mirrordir.Open(dir))(t)
		none := filepath.Join(t.TempDir(), "missing") // for temporary files, so that there can be none
		h := &mirrorserve.Handler{Source: wrap(&mirrorserve.Cache{Source: client, Mirror: m}), TempDir: none}
		for _, s := range []struct {
			path, ranges string
		}{{home + archive, "bytes=-1"}, {home + archive, ""}, {home + "/1.0.0.json", ""}} {
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+s.path, nil)
			r.Header.Set("Range", s.ranges)
			if s.ranges == "" {
				r.Header.Del("Range")
			}
			h.ServeHTTP(w, r)
			if w.Code >= 300 {
				t.Errorf("GET %s: status %d: %s", s.path, w.Code, w.Body)
			}
			if got.Document = w.Body.String(); s.ranges != "" {
				got.Part = fmt.Sprint(w.Code, w.Header().Get("Content-Range"))
			}
		}
		got.Requests, got.Files = map[regtest.Kind]int{}, nil
		must.Do(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
			got.Files = append(got.Files, name)
			return err
		}))
		for _, kind := range []regtest.Kind{regtest.Discovery, regtest.Versions, regtest.Package, regtest.Sums, regtest.Archive} {
			got.Requests[kind] = reg.Count(kind)
		}
		return got
	}
	r := newRecorder(t)
	want, got := serve(func(src provider.Source) provider.Source { return src }), serve(func(src provider.Source) provider.Source { return r.Source(r.Source(src)) })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("a cache behind Source is served as %+v, want %+v", got, want)
	}
	if !strings.HasPrefix(got.Part, "206") || !strings.Contains(got.Document, "h1:") {
		t.Errorf("status and range %s, document %s; want 206 and the recorded h1", got.Part, got.Document)
	}
	count := map[string]int{}
	for _, s := range r.spans.GetSpans() {
		count[s.Name]++
	}
	if count["find package"] == 0 || count["fetch archive"] != 4 || count["list archives"] != 2 {
		t.Errorf("spans %v, want 4 of archives and 2 of lists of archives", count)
	}
}
