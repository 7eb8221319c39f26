package attest_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/theupdateframework/go-tuf/v2/metadata"

	"github.com/tofureg/tofureg/auth"
	"github.com/tofureg/tofureg/contrib/attest"
	"github.com/tofureg/tofureg/contrib/attest/internal/attesttest"
	"github.com/tofureg/tofureg/contrib/attest/internal/must"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/transport"
)

// A host is a server on a host of its own, as a transport. Requests that have the token of the test are recorded.
type hosts map[string]http.HandlerFunc

// secret is the token for each host, and part of the queries of presigned URLs.
const secret = "secret0123456789"

// client returns settings with these hosts, and what they log.
func (h hosts) client() (*transport.Settings, *bytes.Buffer) {
	var log bytes.Buffer
	tokens := map[svchost.Hostname]auth.Token{}
	for host := range h {
		tokens[svchost.MustParse(host)] = auth.MustNewToken(secret)
	}
	return &transport.Settings{
		HTTP: &http.Client{Transport: h}, Credentials: auth.Static(tokens), Retries: -1,
		Logger: slog.New(slog.NewTextHandler(&synced{w: &log}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, &log
}

type synced struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *synced) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	handler, ok := h[r.URL.Host]
	if !ok {
		return nil, fmt.Errorf("unexpected request to %s", r.URL.Host)
	}
	w := httptest.NewRecorder()
	handler(w, r)
	return w.Result(), nil
}

// onGitHub is who may build the demo provider.
var onGitHub = attest.OnGitHub(demo)

// list is an answer with attestations, each a bundle or the URL of one.
func list(entries ...string) string {
	for i, e := range entries {
		if u, ok := strings.CutPrefix(e, "https:"); ok {
			entries[i] = `{"bundle": null, "repository_id": 1, "bundle_url": "https:` + u + `"}`
		} else {
			entries[i] = `{"bundle": ` + e + `, "repository_id": 1}`
		}
	}
	return `{"attestations": [` + strings.Join(entries, ",") + `]}`
}

// TestGitHub: all pages are read, bundles elsewhere are fetched without a token, and no query is logged.
func TestGitHub(t *testing.T) {
	t.Parallel()
	var asked []string
	h := hosts{
		"api.github.com": func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.String())
			if got := r.Header.Get("Authorization"); got != "Bearer "+secret {
				t.Errorf("Authorization of a request to the API: %q, want the token", got)
			}
			switch r.URL.Query().Get("after") {
			case "":
				w.Header().Add("Link", `<https://api.github.com/x?per_page=30&before=a>; rel="prev", <https://evil.example.com/x?after=cur%2B1&per_page=9>; rel="next"`)
				io.WriteString(w, list(`{"n": 1}`, "https://blobs.example.com/2?sig="+secret))
			case "cur+1":
				w.Header().Set("Link", `<https://api.github.com/x?before=a>; rel="prev"`)
				io.WriteString(w, list(`{"n": 3}`))
			}
		},
		"blobs.example.com": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" || r.URL.Query().Get("sig") != secret {
				t.Errorf("request of a bundle: %s with %v, want its query and no token", r.URL, r.Header)
			}
			w.Header().Set("Content-Type", "application/x-snappy")
			w.Write(snappy.Encode(nil, []byte(`{"n": 2}`)))
		},
	}
	web, log := h.client()
	got, err := (&attest.GitHub{Transport: web}).Bundles(t.Context(), onGitHub, nil, archive)
	if want := []string{`{"n": 1}`, `{"n": 2}`, `{"n": 3}`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Bundles: %q, %v, want %q", got, err, want)
	}
	base := "https://api.github.com/repos/acme/terraform-provider-demo/attestations/sha256:" + archive.Value() + "?per_page=30"
	if want := []string{base, base + "&after=cur%2B1"}; !slices.Equal(asked, want) {
		t.Errorf("requests to the API:\n%q\nwant\n%q", asked, want)
	}
	if text := log.String(); strings.Contains(text, secret) || !strings.Contains(text, "blobs.example.com") {
		t.Errorf("log: %s\nwant the host of the bundle, and neither the token nor the query", text)
	}
}

// TestGitHubAnswers: what the API answers that is not a list with bundles.
func TestGitHubAnswers(t *testing.T) {
	t.Parallel()
	bomb := append([]byte{0xff, 0xff, 0xff, 0x7f}, make([]byte, 100)...) // says that it has 256 MiB
	large := snappy.Encode(nil, make([]byte, attest.MaxBundle+1))
	just := snappy.Encode(nil, bytes.Repeat([]byte{' '}, attest.MaxBundle))
	blobs := map[string][]byte{"/bomb": bomb, "/large": large, "/just": just, "/damaged": []byte("\x05damaged")}
	status := func(code int, header, value, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set(header, value)
			}
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	ok := func(body string) http.HandlerFunc { return status(200, "", "", body) }
	const limited = `{"message": "API rate limit exceeded for 192.0.2.1."}`
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		count  int
		is     error
		text   string // part of the error
	}{
		"empty list":            {ok(`{"attestations": []}`), 0, nil, ""},
		"no list":               {ok(`{}`), 0, nil, ""},
		"not found":             {status(404, "", "", `{"message": "Not Found"}`), 0, nil, ""},
		"one that is gone":      {ok(list("https://blobs.example.com/gone?x="+secret, `{}`)), 1, nil, ""},
		"only one that is gone": {ok(list("https://blobs.example.com/gone?x=" + secret)), 0, failure.ErrNotFound, "https://blobs.example.com/gone?...: "},
		"one at fault":          {ok(list("{}", "https://blobs.example.com/fault", `{}`)), 0, nil, "503"},
		"http":                  {ok(strings.ReplaceAll(list("https://blobs.example.com/just"), "https:", "http:")), 0, failure.ErrInsecure, "bundle_url"},
		"without a URL":         {ok(`{"attestations": [{"bundle": null}]}`), 0, nil, "bundle_url"},
		"largest bundle":        {ok(list("https://blobs.example.com/just")), 1, nil, ""},
		"largest inline bundle": {ok(list(`"` + strings.Repeat("x", attest.MaxBundle-2) + `"`)), 1, nil, ""},
		"large inline bundle":   {ok(list(`"` + strings.Repeat("x", attest.MaxBundle-1) + `"`)), 0, failure.ErrTooLarge, ""},
		"large bundle":          {ok(list("https://blobs.example.com/large")), 0, failure.ErrTooLarge, ""},
		"snappy bomb":           {ok(list("https://blobs.example.com/bomb")), 0, failure.ErrTooLarge, ""},
		"damaged snappy":        {ok(list("https://blobs.example.com/damaged")), 0, nil, "snappy"},
		"not JSON":              {ok("<html>"), 0, nil, "JSON"},
		"wrong type":            {ok(`{"attestations": 1}`), 0, nil, "JSON"},
		"large answer":          {ok(list(`"` + strings.Repeat("x", 8<<20) + `"`)), 0, failure.ErrTooLarge, ""},
		"many members":          {ok(`{"x": [1` + strings.Repeat(",1", 600_000) + `]}`), 0, failure.ErrTooLarge, ""},
		"more than counts":      {ok(list(slices.Repeat([]string{"{}"}, attest.MaxBundles+5)...)), attest.MaxBundles, nil, ""},
		"endless pages": {status(200, "Link", `<https://api.github.com/x?after=1>; rel="next"`, list("{}", "https://blobs.example.com/gone")),
			attest.MaxBundles / 2, nil, ""},
		"endless empty pages": {status(200, "Link", `<https://api.github.com/x?after=1>; rel="next"`, list()), 0, nil, ""},
		"rate limit":          {status(403, "X-RateLimit-Reset", fmt.Sprint(time.Now().Add(10*time.Minute+20*time.Second).Unix()), limited), 0, attest.ErrRateLimit, "for 10m"},
		"secondary limit":     {status(403, "Retry-After", "60", ""), 0, attest.ErrRateLimit, "for 1m0s; a token for api.github.com"},
		"too many requests":   {status(429, "Retry-After", "7", ""), 0, attest.ErrRateLimit, "for 7s"},
		"forbidden":           {status(403, "X-RateLimit-Reset", fmt.Sprint(time.Now().Add(time.Hour).Unix()), `{"message": "Resource not accessible"}`), 0, failure.ErrUnauthorized, "Resource not accessible"},
		"server error":        {status(500, "", "", ""), 0, nil, "500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web, _ := hosts{"api.github.com": test.answer, "blobs.example.com": func(w http.ResponseWriter, r *http.Request) {
				if blob, ok := blobs[r.URL.Path]; ok {
					w.Write(blob)
				} else if r.URL.Path == "/fault" {
					w.WriteHeader(503)
				} else {
					w.WriteHeader(404)
				}
			}}.client()
			got, err := (&attest.GitHub{Transport: web}).Bundles(t.Context(), onGitHub, nil, archive)
			if test.is == nil && test.text == "" {
				if err != nil || len(got) != test.count {
					t.Errorf("Bundles: %d, %v, want %d", len(got), err, test.count)
				}
				return
			}
			if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("Bundles: %v, want %v with %q", err, test.is, test.text)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("Bundles: %v contains a query", err)
			}
			if e, ok := errors.AsType[*failure.RequestError](err); test.is == attest.ErrRateLimit && (!ok || e.RetryAfter == 0) {
				t.Errorf("Bundles: %v, want a *failure.RequestError with RetryAfter", err)
			} else if errors.Is(err, attest.ErrRateLimit) != (test.is == attest.ErrRateLimit) {
				t.Errorf("Bundles: %v is %v", err, attest.ErrRateLimit)
			}
		})
	}
}

// TestGitHubRepositories: only repositories of the host of the API are looked up there.
func TestGitHubRepositories(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ api, repository, want string }{
		"github.com":         {"", "https://github.com/acme/x", "https://api.github.com/repos/acme/x/"},
		"in capitals":        {"", "https://GitHub.com/acme/x", "https://api.github.com/repos/acme/x/"},
		"elsewhere":          {"", "https://gitlab.com/acme/x", ""},
		"a group":            {"", "https://github.com/acme/x/y", ""},
		"no name":            {"", "https://github.com/acme", ""},
		"own server":         {"https://git.example.com/api/v3/", "https://git.example.com/acme/x", "https://git.example.com/api/v3/repos/acme/x/"},
		"query in the name":  {"", "https://github.com/acme/x?y", "https://api.github.com/repos/acme/x%3Fy/"},
		"escape in the name": {"", "https://github.com/acme/%2e", "https://api.github.com/repos/acme/%252e/"},
	} {
		asked := ""
		record := func(w http.ResponseWriter, r *http.Request) { asked = r.URL.String(); io.WriteString(w, "{}") }
		web, _ := hosts{"api.github.com": record, "git.example.com": record}.client()
		_, err := (&attest.GitHub{Transport: web, API: test.api}).Bundles(t.Context(), attest.Identity{Repository: test.repository}, nil, archive)
		if err != nil || !strings.HasPrefix(asked, test.want) || test.want == "" && asked != "" {
			t.Errorf("%s: Bundles requests %q, %v, want %q", name, asked, err, test.want)
		}
	}
	if _, err := (&attest.GitHub{API: "http://git.example.com"}).Bundles(t.Context(), onGitHub, nil, archive); !errors.Is(err, failure.ErrInsecure) {
		t.Errorf("Bundles of an API over http: %v, want %v", err, failure.ErrInsecure)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	web, _ := hosts{}.client()
	if _, err := (&attest.GitHub{Transport: web}).Bundles(ctx, onGitHub, nil, archive); !errors.Is(err, context.Canceled) {
		t.Errorf("Bundles with an ended context: %v, want %v", err, context.Canceled)
	}
}

// TestBeside: a bundle lies beside the archive, on a server with the query of the archive and without the token, or in a directory.
func TestBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "a b.zip.sigstore.json"), []byte("{}"), 0o600))
	must.Do(t, os.WriteFile(filepath.Join(dir, "large.zip.sigstore.json"), make([]byte, attest.MaxBundle+1), 0o600))
	must.Do(t, os.Mkdir(filepath.Join(dir, "dir.zip.sigstore.json"), 0o700))
	local := func(name string) string {
		return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(dir, name)), "/")}).String()
	}
	web, log := hosts{"files.example.com": func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "" || (r.URL.RawQuery == "sig="+secret) != strings.HasPrefix(r.URL.Path, "/a b"):
			t.Errorf("request for %s with %v, want the query of the archive and no token", r.URL, r.Header)
		case r.URL.Path == "/a b.zip.sigstore.json":
			io.WriteString(w, "{}")
		case r.URL.Path == "/large.zip.sigstore.json":
			w.Write(make([]byte, attest.MaxBundle+1))
		default:
			w.WriteHeader(404)
		}
	}}.client()
	for from, want := range map[string]error{
		"https://files.example.com/a%20b.zip?sig=" + secret: nil,
		"https://files.example.com/missing.zip":             errNone,
		"https://files.example.com/large.zip":               failure.ErrTooLarge,
		"http://files.example.com/a%20b.zip":                failure.ErrInsecure,
		local("a b.zip"):                                    nil,
		local("missing.zip"):                                errNone,
		local("large.zip"):                                  failure.ErrTooLarge,
		"":                                                  errNone,
		"://":                                               errNone,
	} {
		got, err := (&attest.Beside{Transport: web}).Bundles(t.Context(), onGitHub, &provider.Package{URL: from}, archive)
		if want == nil && (err != nil || !slices.Equal(got, []string{"{}"})) || want == errNone && (err != nil || got != nil) ||
			want != nil && want != errNone && !errors.Is(err, want) {
			t.Errorf("Bundles of %q: %.100q, %v, want %v", from, got, err, want)
		}
	}
	if _, err := (&attest.Beside{}).Bundles(t.Context(), onGitHub, &provider.Package{URL: local("dir.zip")}, archive); err == nil {
		t.Error("Bundles of a directory: no error")
	}
	if strings.Contains(log.String(), secret) {
		t.Errorf("log: %s\nwant no query", log)
	}
}

// TestGitHubEnds: when the context ends, the bundles so far are not taken for all.
func TestGitHubEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	web, _ := hosts{
		"api.github.com": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, list("{}", "https://blobs.example.com/1"))
		},
		"blobs.example.com": func(http.ResponseWriter, *http.Request) { cancel() },
	}.client()
	if got, err := (&attest.GitHub{Transport: web}).Bundles(ctx, onGitHub, nil, archive); !errors.Is(err, context.Canceled) {
		t.Errorf("Bundles whose context ends: %q, %v, want %v", got, err, context.Canceled)
	}
}

var errNone = errors.New("no bundles")

// A repository is a TUF repository.
type tufRepository struct {
	files    map[string][]byte
	requests atomic.Int32
}

func newTUFRepository(trusted []byte) *tufRepository {
	expires := time.Now().Add(time.Hour)
	_, private, err := ed25519.GenerateKey(nil)
	key := attesttest.Need(metadata.KeyFromPublicKey(attesttest.Need(private, err).Public()))
	signer := attesttest.Need(signature.LoadSigner(private, crypto.Hash(0)))
	root, targets, snapshot, timestamp := metadata.Root(expires), metadata.Targets(expires), metadata.Snapshot(expires), metadata.Timestamp(expires)
	for _, role := range []string{"root", "targets", "snapshot", "timestamp"} {
		if err := root.Signed.AddKey(key, role); err != nil {
			panic(err)
		}
	}
	target := attesttest.Need(metadata.TargetFile().FromBytes("trusted_root.json", trusted, "sha256"))
	targets.Signed.Targets["trusted_root.json"] = target
	for _, sign := range []func(signature.Signer) (*metadata.Signature, error){root.Sign, targets.Sign, snapshot.Sign, timestamp.Sign} {
		attesttest.Need(sign(signer))
	}
	r := &tufRepository{files: map[string][]byte{
		"/1.root.json": attesttest.Need(root.ToBytes(false)), "/1.targets.json": attesttest.Need(targets.ToBytes(false)),
		"/1.snapshot.json": attesttest.Need(snapshot.ToBytes(false)), "/timestamp.json": attesttest.Need(timestamp.ToBytes(false)),
	}}
	r.files["/targets/"+target.Hashes["sha256"].String()+".trusted_root.json"] = trusted
	return r
}

func (r *tufRepository) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.requests.Add(1)
	data, ok := r.files[req.URL.Path]
	if !ok || req.Header.Get("Authorization") != "" {
		w.WriteHeader(404)
		return
	}
	w.Write(data)
}

// TestTUF: the trusted root is fetched, kept for a day, and refused if it is not signed.
func TestTUF(t *testing.T) {
	t.Parallel()
	r := newTUFRepository(sigstore().JSON)
	web, _ := hosts{"tuf.example.com": r.ServeHTTP}.client()
	for name, dir := range map[string]string{"kept": t.TempDir(), "not kept": ""} {
		source := &attest.TUF{Dir: dir, URL: "https://tuf.example.com", Root: r.files["/1.root.json"], Transport: web}
		for again := range 2 {
			r.requests.Store(0)
			got, err := source.TrustedRoot(t.Context())
			if err != nil || !bytes.Equal(got, sigstore().JSON) {
				t.Fatalf("%s: TrustedRoot: %.100s, %v, want the root of the instance", name, got, err)
			}
			if n := r.requests.Load(); (n == 0) != (again == 1 && dir != "") {
				t.Errorf("%s: call %d of TrustedRoot makes %d requests", name, again+1, n)
			}
		}
	}
	source := &attest.TUF{Dir: t.TempDir(), URL: "https://tuf.example.com", Root: r.files["/1.root.json"], Transport: web}
	must.Get(source.TrustedRoot(t.Context()))(t)
	must.Do(t, os.WriteFile(filepath.Join(source.Dir, "tuf.example.com", "timestamp.json"), nil, 0o600))
	if got, err := source.TrustedRoot(t.Context()); err == nil || !strings.Contains(err.Error(), "timestamp.json\" is damaged; remove its directory") {
		t.Errorf("TrustedRoot with an empty file in its directory: %.100s, %v, want an error with the remedy", got, err)
	}
	for name := range r.files {
		changed := newTUFRepository(sigstore().JSON)
		for other, data := range r.files {
			changed.files[other] = data
		}
		changed.files[name] = bytes.Replace(r.files[name], []byte("1"), []byte("2"), 1)
		web, _ := hosts{"tuf.example.com": changed.ServeHTTP}.client()
		source := &attest.TUF{Dir: t.TempDir(), URL: "https://tuf.example.com", Root: r.files["/1.root.json"], Transport: web}
		// A server must not make users remove what protects them from an older state.
		if got, err := source.TrustedRoot(t.Context()); name != "/1.root.json" && (err == nil || strings.Contains(err.Error(), "remove")) {
			t.Errorf("TrustedRoot with a changed %s: %.100s, %v, want an error without the remedy for damaged files", name, got, err)
		}
	}
}

// TestTUFRequests: requests follow the settings, and end with the context.
func TestTUFRequests(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	web, _ := hosts{"tuf-repo-cdn.sigstore.dev": func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.String())
		w.WriteHeader(503)
	}}.client()
	if got, err := (&attest.TUF{Transport: web}).TrustedRoot(t.Context()); err == nil || asked.Load() == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("TrustedRoot of the public instance: %s, %v after a request for %v, want its status", got, err, asked.Load())
	}
	refused := errors.New("refused")
	web.VetoHost = func(string) error { return refused }
	if _, err := (&attest.TUF{Transport: web}).TrustedRoot(t.Context()); !errors.Is(err, refused) {
		t.Errorf("TrustedRoot of a refused host: %v, want %v", err, refused)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&attest.TUF{Transport: web}).TrustedRoot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("TrustedRoot with an ended context: %v, want %v", err, context.Canceled)
	}
}
