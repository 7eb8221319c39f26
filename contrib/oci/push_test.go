package oci_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelabs.dev/go/oci/ociregistry/ociserver"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/oci"
	"github.com/tofureg/tofureg/contrib/oci/internal/must"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/verify"
)

var plan9 = addrs.MustParsePlatform("plan9_arm")

var both = []addrs.Platform{linux, addrs.MustParsePlatform("darwin_arm64")}

// sourceOf returns a mirror in a directory with alpha 1.0.0, whose archives have this text.
func sourceOf(t testing.TB, text string, platforms ...addrs.Platform) *mirrordir.Mirror {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "example.com", "acme", "alpha")
	must.Do(t, os.MkdirAll(dir, 0o755))
	for _, on := range platforms {
		name := fmt.Sprintf("terraform-provider-alpha_1.0.0_%s.zip", on)
		must.Do(t, os.WriteFile(filepath.Join(dir, name), zipOf(map[string]string{"terraform-provider-alpha_v1.0.0": "#!" + on.String() + text}), 0o644))
	}
	mirror := must.Get(mirrordir.Open(root))(t)
	must.Get(mirror.Reindex(t.Context(), mirrordir.CheckOptions{}))(t)
	return mirror
}

// push pushes alpha 1.0.0 to the repository "p".
func push(t testing.TB, f *fakeRegistry, c *oci.Client, src provider.Source, platforms ...addrs.Platform) (string, error) {
	t.Helper()
	return c.PushProvider(t.Context(), f.host+"/p", src, alpha, v1, platforms, policy)
}

// debian starts docker-registry, which listens on a socket in a directory.
func debian(t *testing.T) http.Handler {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("skipped: docker-registry is not installed")
	}
	dir := must.Get(os.MkdirTemp("", "oci"))(t) // the path of a socket must be short
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, config := filepath.Join(dir, "s"), filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {net: unix, addr: %q, relativeurls: true}\n", dir, socket)
	must.Do(t, os.WriteFile(config, []byte(text), 0o600))
	cmd := exec.Command(program, "serve", config)
	out := must.Get(cmd.StderrPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(out); !strings.Contains(lines.Text(), "listening on"); {
		if !lines.Scan() {
			t.Fatalf("%s ended: %v", program, lines.Err())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "registry"})
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	return proxy
}

// moduleOf returns the location of a directory with this text in main.tf and in sub.
func moduleOf(t testing.TB, text string) module.Request {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644))
	must.Do(t, os.WriteFile(filepath.Join(dir, "sub", "main.tf"), []byte(text), 0o644))
	return module.Request{Location: must.Get(module.ParseLocation(dir + "//sub"))(t)}
}

// TestPush pushes to registries of three programs, and reads with this package and with tofu.
func TestPush(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) http.Handler{
		"docker-registry":      debian,
		"go-containerregistry": nil,
		"ociregistry":          func(*testing.T) http.Handler { return ociserver.New(ocimem.New(), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRegistry(t)
			if store != nil {
				f.store = store(t)
			}
			here := addrs.CurrentPlatform()
			repository := must.Get(oci.Template(f.host + "/mirror/{namespace}/{type}"))(t)
			src, client := sourceOf(t, "", here, plan9), f.client()
			var writes atomic.Int32
			f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost || r.Method == http.MethodPut {
					writes.Add(1)
				}
				return false
			}
			put := func(src provider.Source, platforms ...addrs.Platform) (string, error) {
				return client.PushProvider(t.Context(), repository(alpha), src, alpha, v1, platforms, policy)
			}
			first := must.Get(put(src, plan9))(t)
			second := must.Get(put(src, here, plan9))(t)
			writes.Store(0)
			if again := must.Get(put(src, plan9, here, plan9))(t); first == second || again != second || writes.Load() > 0 {
				t.Errorf("PushProvider: digests %s, %s and %s and %d writes, want another index only if there is another package", first, second, again, writes.Load())
			}
			if _, err := put(sourceOf(t, "other", plan9), plan9); !errors.Is(err, oci.ErrExists) {
				t.Errorf("PushProvider of another package: %v, want ErrExists", err)
			}
			for _, on := range []addrs.Platform{here, plan9} {
				got := must.Get(client.Mirror(repository).ProviderPackage(t.Context(), alpha, v1, on))(t)
				want := must.Get(src.ProviderPackage(t.Context(), alpha, v1, on))(t)
				if got.SHA256 != want.SHA256 || got.Size != want.Size || got.SHA256.IsZero() {
					t.Errorf("the mirror has %v of %d bytes for %s, want %v of %d", got.SHA256, got.Size, on, want.SHA256, want.Size)
				}
			}

			target := must.Get(module.ParseLocation("oci://" + f.host + "/modules/vpc?tag=1.0.0"))(t)
			one := moduleOf(t, "# one")
			local := module.Options{AllowLocal: true}
			pushed := must.Get(client.PushModule(t.Context(), target, nil, one, local))(t)
			if pushed.Subdir != "sub" || pushed.Digest == "" || pushed.Tag != "" || must.Get(client.PushModule(t.Context(), target, nil, one, local))(t).Source() != pushed.Source() {
				t.Errorf("PushModule: %s, want the same digest twice, and the directory sub", pushed.Source())
			}
			if _, err := client.PushModule(t.Context(), target, nil, moduleOf(t, "# two"), local); !errors.Is(err, oci.ErrExists) {
				t.Errorf("PushModule of other files: %v, want ErrExists", err)
			}
			local.Replace = true
			if other := must.Get(client.PushModule(t.Context(), target, nil, moduleOf(t, "# two"), local))(t); other.Digest == pushed.Digest {
				t.Errorf("PushModule of other files with Replace: %s, want another digest", other.Digest)
			}

			p := tofu(t)
			p.Trust(t, f.authority())
			p.Write(t, "cli.tfrc", fmt.Sprintf("provider_installation {\n  oci_mirror {\n    repository_template = \"%s/mirror/${namespace}/${type}\"\n    include = [\"example.com/*/*\"]\n  }\n}\n", f.host))
			p.Write(t, "main.tf", fmt.Sprintf("terraform {\n  required_providers {\n    alpha = {\n      source = \"example.com/acme/alpha\"\n    }\n  }\n}\nmodule \"a\" {\n  source = %q\n}\nmodule \"b\" {\n  source = %q\n}\n", pushed.Source(), target.Source()))
			p.Run(t, "init", "-no-color", "-input=false")
			for module, want := range map[string]string{"a/sub": "# one", "b": "# two"} {
				got := must.Get(os.ReadFile(filepath.Join(p.Dir, ".terraform", "modules", module, "main.tf")))(t)
				if string(got) != want {
					t.Errorf("tofu has %q in module %s, want %q", got, module, want)
				}
			}
			lock := must.Get(os.ReadFile(filepath.Join(p.Dir, lockfile.Name)))(t)
			if zh := must.Get(src.ProviderPackage(t.Context(), alpha, v1, here))(t).SHA256.String(); !bytes.Contains(lock, []byte(zh)) {
				t.Errorf("lock file of tofu:\n%s\nwant %s", lock, zh)
			}
		})
	}
}

// TestPushEnds ends a push at each of its requests, before or after the registry has obeyed it. Readers have the old
// packages, or old and new ones, and another push completes it.
func TestPushEnds(t *testing.T) {
	t.Parallel()
	for _, obey := range []bool{false, true} {
		for n, done := int32(1), false; !done; n++ {
			f := newRegistry(t)
			f.provider("p", "1.0.0", "plan9_arm")
			ctx, cancel := context.WithCancel(t.Context())
			var count atomic.Int32
			f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
				if count.Add(1) != n {
					return false
				}
				if obey {
					f.store.ServeHTTP(httptest.NewRecorder(), r)
				}
				cancel()
				return true
			}
			src := sourceOf(t, "", both...)
			_, err := f.client().PushProvider(ctx, f.host+"/p", src, alpha, v1, both, policy)
			if done = err == nil; !done && !errors.Is(err, context.Canceled) {
				t.Fatalf("PushProvider, ended at request %d: %v, want context.Canceled", n, err)
			}
			f.Before = nil
			if _, err := f.mirror("p").ProviderPackage(t.Context(), alpha, v1, plan9); err != nil {
				t.Errorf("after request %d: the old package: %v", n, err)
			}
			var found []error
			for _, on := range both {
				if pkg, err := f.mirror("p").ProviderPackage(t.Context(), alpha, v1, on); err == nil {
					_, err = provider.Download(t.Context(), f.mirror("p"), pkg, filepath.Join(t.TempDir(), "x"), policy)
					found = append(found, err)
				}
			}
			if len(found) == 1 || errors.Join(found...) != nil {
				t.Errorf("after request %d: new packages %v, want none or two without an error", n, found)
			}
			must.Get(push(t, f, f.client(), src, both...))(t)
			cancel()
		}
	}
}

// TestPushRaces: with a registry that obeys conditions, no package of two writers is lost.
func TestPushRaces(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} { // whether there is a tag
		f := newRegistry(t)
		var mu sync.Mutex
		etag := func(path string) string {
			return f.answer(httptest.NewRequest("HEAD", path, nil)).Header().Get("Docker-Content-Digest")
		}
		f.Before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/manifests/1.0.0") {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			present := etag(r.URL.Path)
			w.Header().Set("ETag", `"`+present+`"`)
			refused := r.Header.Get("If-None-Match") == "*" && present != "" || r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != `"`+present+`"`
			if refused {
				w.WriteHeader(http.StatusPreconditionFailed)
			}
			return refused
		}
		src := sourceOf(t, "", plan9, both[0], both[1])
		if before {
			must.Get(push(t, f, f.client(), src, plan9))(t)
		}
		slow := racing{src, func() { must.Get(push(t, f, f.client(), src, both[1]))(t) }}
		if _, err := push(t, f, f.client(), slow, both[0]); !errors.Is(err, failure.ErrChanged) {
			t.Errorf("PushProvider beside another one: %v, want ErrChanged", err)
		}
		must.Get(push(t, f, f.client(), src, both[0]))(t)
		for _, on := range both {
			must.Get(f.mirror("p").ProviderPackage(t.Context(), alpha, v1, on))(t)
		}
	}
}

// racing calls other before it opens an archive.
type racing struct {
	provider.Source
	other func()
}

func (r racing) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	r.other()
	return r.Source.Open(ctx, pkg)
}

// TestPushLimits: an index of the maximum size is pushed, and none of one byte more.
func TestPushLimits(t *testing.T) {
	t.Parallel()
	size := 0 // with an empty annotation
	for _, pad := range []int{0, oci.MaxManifest, oci.MaxManifest + 1} {
		f := newRegistry(t)
		layer := f.blob("p", zipOf(map[string]string{"x": "x"}))
		old := index(target(f.manifest("p", "", ocispec.MediaTypeImageManifest, image(typeTarget, layer)), "plan9_arm"))
		old.Annotations = map[string]string{"x": strings.Repeat("x", max(0, pad-size))}
		f.manifest("p", "1.0.0", ocispec.MediaTypeImageIndex, old)
		_, err := push(t, f, f.client(), sourceOf(t, "", linux), linux)
		if want := pad > oci.MaxManifest; errors.Is(err, failure.ErrTooLarge) != want || err != nil && !want {
			t.Errorf("PushProvider makes an index of %d bytes: %v, too large: %v", max(pad, size), err, want)
		}
		if pad == 0 {
			size = f.answer(httptest.NewRequest("GET", "/v2/p/manifests/1.0.0", nil)).Body.Len()
		}
	}
}

// TestPushRefused: what the policy refuses, or is not an index of a provider, makes no request that writes.
func TestPushRefused(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.module("p", "1.0.0", map[string]string{"main.tf": ""})
	f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			t.Errorf("%s %s, want no writes", r.Method, r.URL.Path)
		}
		return false
	}
	src := sourceOf(t, "", linux)
	_, err := f.client().PushProvider(t.Context(), f.host+"/new", src, alpha, v1, []addrs.Platform{linux}, provider.DownloadOptions{})
	if !errors.Is(err, verify.ErrUnsigned) {
		t.Errorf("PushProvider of an unsigned package: %v, want ErrUnsigned", err)
	}
	if _, err := push(t, f, f.client(), src, linux); !errors.Is(err, oci.ErrManifest) {
		t.Errorf("PushProvider to the tag of a module: %v, want ErrManifest", err)
	}
	if _, err := push(t, f, f.client(), src, both[1]); !errors.Is(err, failure.ErrNotFound) && !errors.Is(err, oci.ErrManifest) {
		t.Errorf("PushProvider of a missing package: %v, want ErrNotFound", err)
	}
	one := moduleOf(t, "")
	must.Do(t, os.Symlink("main.tf", filepath.Join(strings.TrimPrefix(one.Location.URL, "file://"), "link.tf")))
	for _, test := range []struct {
		to   string
		want error
	}{{"/m", module.ErrLink}, {"/m//sub", nil}, {"/m?digest=sha256:" + strings.Repeat("0", 64), nil}} {
		to := must.Get(module.ParseLocation("oci://" + f.host + test.to))(t)
		_, err := f.client().PushModule(t.Context(), to, nil, one, module.Options{AllowLocal: true, KeepLinks: true})
		if err == nil || !errors.Is(err, cmp.Or(test.want, err)) {
			t.Errorf("PushModule(%s): %v, want %v", test.to, err, test.want)
		}
	}
}

// TestPushHostile uses registries that lie: no credential leaves the host, no error shows a secret, no call waits.
func TestPushHostile(t *testing.T) {
	t.Parallel()
	isUpload := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/blobs/uploads/") }
	isStart := func(r *http.Request) bool { return isUpload(r) && r.Method == http.MethodPost }
	isEnd := func(r *http.Request) bool { return isUpload(r) && r.Method == http.MethodPut }
	isPut := func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
	}
	isHead := func(r *http.Request) bool { return r.Method == http.MethodHead }
	var other string
	location := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other+r.URL.Path+"?state=never-shown")
			w.WriteHeader(status)
		}
	}
	endless := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			for text := bytes.Repeat([]byte("never-shown "), 4096); ; {
				if _, err := w.Write(text); err != nil {
					return
				}
			}
		}
	}
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice the end of the request
		<-r.Context().Done()
	}
	lie := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
		w.WriteHeader(http.StatusCreated)
	}
	for name, test := range map[string]struct {
		on     func(*http.Request) bool
		answer http.HandlerFunc
		want   error // if nil, any
	}{
		"start elsewhere":  {isStart, location(http.StatusTemporaryRedirect), nil},
		"upload elsewhere": {isStart, location(http.StatusAccepted), nil},
		"upload to http": {isStart, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://"+r.Host+"/x")
			w.WriteHeader(202)
		}, nil},
		"end elsewhere":          {isEnd, location(http.StatusTemporaryRedirect), nil},
		"manifest elsewhere":     {isPut, location(http.StatusPermanentRedirect), nil},
		"wrong digest":           {isPut, lie, nil},
		"endless start":          {isStart, endless(http.StatusAccepted), nil},
		"endless failure":        {isEnd, endless(http.StatusInternalServerError), nil},
		"endless refusal":        {isPut, endless(http.StatusForbidden), failure.ErrUnauthorized},
		"silent start":           {isStart, silent, os.ErrDeadlineExceeded},
		"silent end":             {isEnd, silent, os.ErrDeadlineExceeded},
		"silent manifest":        {isPut, silent, os.ErrDeadlineExceeded},
		"silent head":            {isHead, silent, os.ErrDeadlineExceeded},
		"a strange precondition": {isPut, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPreconditionFailed) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newRegistry(t)
			elsewhere := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					t.Errorf("%s %s has a credential", r.Method, r.URL.Path)
				}
				w.WriteHeader(http.StatusAccepted)
			}))
			elsewhere.TLS = f.server.TLS.Clone()
			elsewhere.StartTLS()
			t.Cleanup(elsewhere.Close)
			other = elsewhere.URL
			f.Before = wantBasic("u", "p", func(w http.ResponseWriter, r *http.Request) bool {
				if test.on(r) {
					test.answer(w, r)
				}
				return test.on(r)
			})
			_, client := load(t, f, credentials(f.host, "p"))
			client.Transport.Retries, client.Transport.ArchiveRetries = -1, -1
			if test.want == os.ErrDeadlineExceeded {
				client.Transport.Timeout, client.Transport.Idle = 300*time.Millisecond, 300*time.Millisecond
			}
			_, err := push(t, f, client, sourceOf(t, "", linux), linux)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || strings.Contains(err.Error(), "never-shown") {
				t.Errorf("PushProvider: %v, want %v, without secrets", err, test.want)
			}
			f.Before = nil
			if versions, err := f.mirror("p").ProviderVersions(t.Context(), alpha); err == nil && len(versions.Versions) > 0 {
				t.Errorf("the mirror has %v, want no version", versions)
			}
		})
	}
}

// TestPushRetries: an upload that fails is repeated with its content.
func TestPushRetries(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	var failed atomic.Bool
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || !failed.CompareAndSwap(false, true) {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	client := f.client()
	client.Transport.ArchiveRetries = 1
	must.Get(push(t, f, client, sourceOf(t, "", linux), linux))(t)
	must.Get(download(t, f.mirror("p")))(t)
}

// TestTemplate has the answers of the package uritemplates that OpenTofu 1.13 uses for -oci-mirror, and of its check of
// addresses. Different are only variables that OpenTofu does not have, and some characters in hosts.
func TestTemplate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"oci.example.com/{namespace}/{type}":                 "oci.example.com/acme/alpha",
		"oci.example.com:5000/{hostname}/{namespace}-{type}": "oci.example.com:5000/example.com/acme-alpha",
		"localhost/x/{type}":                                 "localhost/x/alpha",
		"[::1]:5000/{type}":                                  "[::1]:5000/alpha",
		"{hostname}/{type}":                                  "example.com/alpha",
		"oci.example.com/x":                                  "oci.example.com/x",
		"OCI.example.com/{type}":                             "OCI.example.com/alpha",

		"": "", "{type}": "", "oci.example.com": "", "oci.example.com/": "", "/{type}": "", "oci.example.com/X/{type}": "",
		"oci.example.com/{type": "", "oci.example.com/type}": "", "oci.example.com/{}": "", "oci.example.com/{{type}}": "",
		"oci.example.com/${type}": "", "oci.example.com/{ type }": "", "oci.example.com/{type,namespace}": "",
		"oci.example.com/{+type}": "", "oci.example.com/{#type}": "", "oci.example.com/{.type}": "", "oci.example.com/{/type}": "",
		"oci.example.com/{?type}": "", "oci.example.com/{=type}": "", "oci.example.com/{type:3}": "", "oci.example.com/{type*}": "",
		"oci.example.com/{type}:1.0.0": "", "oci.example.com/{type}@sha256:0": "", "https://oci.example.com/{type}": "",
		"oci.example.com/%61/{type}": "", "oci.example.com/%/{type}": "", "oci.example.com/ä/{type}": "", "oci.example.com/a b/{type}": "",
		"u:p@oci.example.com/{type}": "", "oci.example.com/{type}\n": "", "oci.example.com/{TYPE}": "",

		"oci.example.com/{type}{version}": "", // OpenTofu: oci.example.com/alpha
		"oci!.example.com/{type}":         "", // OpenTofu: oci!.example.com/alpha
	} {
		repository, err := oci.Template(text)
		if _, ok := errors.AsType[*oci.AddressError](err); ok != (want == "") || err == nil && repository(alpha) != want {
			t.Errorf("Template(%q): error %v, want %q", text, err, want)
		}
	}
}
