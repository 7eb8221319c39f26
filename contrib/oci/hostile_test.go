package oci_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/oci"
	"github.com/tofureg/tofureg/contrib/oci/internal/must"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

func isBlob(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/")
}

func isManifestGet(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/")
}

// answer returns the answer of the registry.
func (f *fakeRegistry) answer(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.store.ServeHTTP(w, r)
	return w
}

// TestDigests uses a registry that sends other bytes than described.
func TestDigests(t *testing.T) {
	t.Parallel()
	change := map[string]func([]byte) []byte{
		"another byte": func(b []byte) []byte { b = bytes.Clone(b); b[len(b)-1] ^= 1; return b },
		"less":         func(b []byte) []byte { return b[:len(b)-1] },
		"more":         func(b []byte) []byte { return append(bytes.Clone(b), 'x') },
		"nothing":      func(b []byte) []byte { return nil },
	}
	for what, selects := range map[string]func(*http.Request) bool{"blob": isBlob, "manifest": isManifestGet} {
		for name, how := range change {
			t.Run(what+" "+name, func(t *testing.T) {
				t.Parallel()
				f := newRegistry(t)
				f.provider("p", "1.0.0", "linux_amd64")
				f.Before = func(w http.ResponseWriter, r *http.Request) bool {
					if !selects(r) {
						return false
					}
					got := f.answer(r)
					w.Header().Set("Content-Type", got.Header().Get("Content-Type"))
					w.(http.Flusher).Flush() // without a declared length
					_, _ = w.Write(how(got.Body.Bytes()))
					return true
				}
				_, err := download(t, f.mirror("p"))
				if !errors.Is(err, checksum.ErrMismatch) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("Download: %v, want a DigestError or ErrUnexpectedEOF", err)
				}
				if _, ok := errors.AsType[*oci.DigestError](err); !ok && name == "another byte" {
					t.Errorf("Download: %v, want a DigestError", err)
				}
			})
		}
	}
}

// TestManifestLimit uses an index of the maximum size, and of one byte more.
func TestManifestLimit(t *testing.T) {
	t.Parallel()
	for extra, want := range []error{nil, failure.ErrTooLarge} {
		f := newRegistry(t)
		layer := f.blob("p", zipOf(map[string]string{"x": "x"}))
		at := target(f.manifest("p", "", ocispec.MediaTypeImageManifest, image(typeTarget, layer)), "linux_amd64")
		text := fmt.Sprintf(`{"mediaType":%q,"artifactType":%q,"manifests":[{"mediaType":%q,"artifactType":%q,"digest":%q,"size":%d,"platform":{"os":"linux","architecture":"amd64"}}]}`,
			ocispec.MediaTypeImageIndex, typeProvider, at.MediaType, typeTarget, at.Digest, at.Size)
		data := append([]byte(text), bytes.Repeat([]byte(" "), oci.MaxManifest+extra-len(text))...)
		f.manifest("p", "1.0.0", ocispec.MediaTypeImageIndex, data)
		var asked atomic.Bool
		f.Before = func(_ http.ResponseWriter, r *http.Request) bool {
			asked.Store(asked.Load() || isManifestGet(r))
			return false
		}
		_, err := f.mirror("p").ProviderPackage(t.Context(), alpha, v1, linux)
		if !errors.Is(err, want) || want == nil && err != nil || asked.Load() != (want == nil) {
			t.Errorf("index of %d bytes: %v, asked for: %v; want %v", len(data), err, asked.Load(), want)
		}
	}
}

// TestManifestMembers: a manifest has at most 150,000 members and elements, because decoded ones need much memory.
func TestManifestMembers(t *testing.T) {
	t.Parallel()
	for extra, want := range []error{nil, failure.ErrTooLarge} {
		f := newRegistry(t)
		layer := f.blob("p", zipOf(map[string]string{"x": "x"}))
		at := target(f.manifest("p", "", ocispec.MediaTypeImageManifest, image(typeTarget, layer)), "linux_amd64")
		text := fmt.Sprintf(`{"mediaType":%q,"artifactType":%q,"manifests":[{"mediaType":%q,"artifactType":%q,"digest":%q,"size":%d,"platform":{"os":"linux","architecture":"amd64"}}`,
			ocispec.MediaTypeImageIndex, typeProvider, at.MediaType, typeTarget, at.Digest, at.Size)
		text += strings.Repeat(`,{}`, 150_000-1-strings.Count(text, ",")+extra) + "]}"
		f.manifest("p", "1.0.0", ocispec.MediaTypeImageIndex, []byte(text))
		if _, err := f.mirror("p").ProviderPackage(t.Context(), alpha, v1, linux); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("index with %d members: %v, want %v", 150_000+extra, err, want)
		}
	}
}

// TestTagsEnd uses lists of tags that are too long or endless.
func TestTagsEnd(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(w http.ResponseWriter, n int64){
		"long page": func(w http.ResponseWriter, _ int64) {
			_, _ = io.WriteString(w, `{"tags":["`+strings.Repeat("x", oci.MaxManifest)+`"]}`)
		},
		"many pages": func(w http.ResponseWriter, n int64) {
			w.Header().Set("Link", fmt.Sprintf("</v2/p/tags/list?last=%d>; rel=\"next\"", n))
			_, _ = io.WriteString(w, `{"tags":["1.0.0"]}`)
		},
		"many versions": func(w http.ResponseWriter, n int64) {
			w.Header().Set("Link", fmt.Sprintf("</v2/p/tags/list?last=%d>; rel=\"next\"", n))
			tags := make([]string, 10_000)
			for i := range tags {
				tags[i] = fmt.Sprintf("1.%d.%d", n, i)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"tags": tags})
			if n > 11 {
				t.Errorf("page %d of 10,000 versions is asked for", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRegistry(t)
			var n atomic.Int64
			f.Before = func(w http.ResponseWriter, r *http.Request) bool { serve(w, n.Add(1)); return true }
			if _, err := f.mirror("p").ProviderVersions(t.Context(), alpha); !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("ProviderVersions: %v, want ErrTooLarge", err)
			}
			if n.Load() > 1001 {
				t.Errorf("%d requests", n.Load())
			}
		})
	}
}

// TestVersionsLimit lists as many versions as a list of tags may have, and one more.
func TestVersionsLimit(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	for n, want := range map[int]error{limit: nil, limit + 1: failure.ErrTooLarge} {
		f := newRegistry(t)
		f.Before = func(w http.ResponseWriter, r *http.Request) bool {
			first, _ := strconv.Atoi(r.URL.Query().Get("last"))
			last := min(n, first+10_000)
			if last < n {
				w.Header().Set("Link", fmt.Sprintf("</v2/p/tags/list?last=%d>; rel=\"next\"", last))
			}
			var tags []string
			for i := first; i < last; i++ {
				tags = append(tags, fmt.Sprintf("1.0.%d", i))
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"tags": tags})
			return true
		}
		if _, err := f.mirror("p").ProviderVersions(t.Context(), alpha); !errors.Is(err, want) {
			t.Errorf("ProviderVersions of %d versions: %v, want %v", n, err, want)
		}
	}
}

// TestRedirects uses redirects to another origin and to http.
func TestRedirects(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.provider("p", "1.0.0", "linux_amd64")
	var asked []string // with the header Authorization
	storage := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Host+r.Header.Get("Authorization"))
		_, _ = w.Write(f.answer(httptest.NewRequest("GET", r.URL.Path, nil)).Body.Bytes())
	})
	plain, secure := httptest.NewServer(storage), httptest.NewUnstartedServer(storage)
	t.Cleanup(plain.Close)
	secure.TLS = f.server.TLS.Clone()
	secure.StartTLS()
	t.Cleanup(secure.Close)
	var to string
	f.Before = wantBasic("u", "p", func(w http.ResponseWriter, r *http.Request) bool {
		if isBlob(r) {
			http.Redirect(w, r, to+r.URL.Path+"?signature=never-shown", http.StatusTemporaryRedirect)
		}
		return isBlob(r)
	})
	vetoed := errors.New("vetoed")
	for name, test := range map[string]struct {
		to        string
		allowHTTP bool
		veto      error
		want      error
	}{
		"other origin": {to: secure.URL},
		"other host":   {to: secure.URL, veto: vetoed, want: vetoed},
		"http":         {to: plain.URL, want: failure.ErrInsecure},
		"allowed http": {to: plain.URL, allowHTTP: true},
	} {
		to, asked = test.to, nil
		_, client := load(t, f, credentials(f.host, "p"))
		client.Transport.Retries, client.Transport.ArchiveRetries, client.Transport.AllowHTTP = -1, 0, test.allowHTTP
		client.Transport.VetoHost = func(host string) error {
			if host != f.host {
				return test.veto
			}
			return nil
		}
		_, err := download(t, client.Mirror(func(addrs.Provider) string { return f.host + "/p" }))
		if !errors.Is(err, test.want) || err != nil && strings.Contains(err.Error(), "never-shown") {
			t.Errorf("%s: %v, want %v without the query", name, err, test.want)
		}
		wantAsked := []string{to[strings.LastIndexByte(to, '/')+1:]}
		if test.want != nil {
			wantAsked = nil
		}
		if !slices.Equal(asked, wantAsked) {
			t.Errorf("%s: requests to %q, want %q without credentials", name, asked, wantAsked)
		}
		if e, ok := errors.AsType[*failure.RequestError](err); test.want == failure.ErrInsecure && (!ok || !strings.HasPrefix(e.URL, plain.URL)) {
			t.Errorf("%s: %#v, want a RequestError of %s", name, e, plain.URL)
		}
	}
}

// TestRefusedLocation: an error of net/http about a Location shows no secret of it.
func TestRefusedLocation(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"HTTPS://u:never-shown@127.0.0.1:1/x?signature=never-shown", "https://127.0.0.1:1/%zz?signature=never-shown",
		"/%zz/x?signature=never-shown", "ftp://u:never-shown@127.0.0.1/x?signature=never-shown",
		"https://127.0.0.1:1/never1shown2never3shown4/x",
	} {
		f := newRegistry(t)
		f.provider("p", "1.0.0", "linux_amd64")
		f.Before = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}
		_, client := load(t, f, "")
		client.Transport.Retries = -1
		_, err := client.Mirror(func(addrs.Provider) string { return f.host + "/p" }).ProviderVersions(t.Context(), alpha)
		if err == nil || strings.Contains(err.Error(), "never") {
			t.Errorf("Location %s: error %v, want one without secrets", location, err)
		}
	}
}

// TestCanonicalVeto checks that VetoHost gets the canonical form of the host of a redirect.
func TestCanonicalVeto(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.provider("p", "1.0.0", "linux_amd64")
	var asked atomic.Int32
	secret := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	secret.TLS = f.server.TLS.Clone()
	secret.StartTLS()
	t.Cleanup(secret.Close)
	port := secret.URL[strings.LastIndexByte(secret.URL, ':'):]
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if isBlob(r) {
			http.Redirect(w, r, "https://[::ffff:127.0.0.1]"+port+r.URL.Path, http.StatusTemporaryRedirect)
		}
		return isBlob(r)
	}
	vetoed := errors.New("vetoed")
	client := f.client()
	client.Transport.VetoHost = func(host string) error {
		if host == "127.0.0.1"+port {
			return vetoed
		}
		return nil
	}
	_, err := download(t, client.Mirror(func(addrs.Provider) string { return f.host + "/p" }))
	if !errors.Is(err, vetoed) || asked.Load() > 0 {
		t.Errorf("redirect to another form of a vetoed host: %v and %d requests, want a veto and none", err, asked.Load())
	}
}

// TestRealm uses a registry whose token service is at another URL.
func TestRealm(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.provider("p", "1.0.0", "linux_amd64")
	realm := "http://" + f.host + "/token?secret=never-shown"
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			if u, p, _ := r.BasicAuth(); u == "u" && p == "p" {
				_, _ = io.WriteString(w, `{"token":"t"}`)
			}
			return true
		}
		if r.Header.Get("Authorization") != "Bearer t" {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"s\"", realm))
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	}
	_, client := load(t, f, credentials(f.host, "p"))
	src := client.Mirror(func(addrs.Provider) string { return f.host + "/p" })
	if _, err := download(t, src); err == nil || strings.Contains(err.Error(), "never-shown") {
		t.Errorf("token over http: %v, want an error without the query", err)
	}
	realm = "https://" + f.host + "/token"
	must.Get(download(t, src))(t)
}

// TestRetries uses a registry with temporary failures.
func TestRetries(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.provider("p", "1.0.0", "linux_amd64")
	var heads, blobs atomic.Int64
	var ranges atomic.Value
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodHead && heads.Add(1) == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		case isBlob(r) && blobs.Add(1) == 1:
			got := f.answer(r)
			w.Header().Set("Accept-Ranges", "bytes")
			w.Header().Set("Content-Length", strconv.Itoa(got.Body.Len()))
			_, _ = w.Write(got.Body.Bytes()[:100]) // then the connection breaks
			return true
		case isBlob(r):
			ranges.Store(r.Header.Get("Range"))
		}
		return false
	}
	client := f.client()
	client.Transport.Retries = 0
	must.Get(download(t, client.Mirror(func(addrs.Provider) string { return f.host + "/p" })))(t)
	if got, _ := ranges.Load().(string); !strings.HasPrefix(got, "bytes=100-") || heads.Load() != 2 {
		t.Errorf("%d HEAD requests, range %q; want 2, and bytes=100-", heads.Load(), got)
	}
}

// TestUnauthorized uses no credential, and a wrong one.
func TestUnauthorized(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.Before = wantBasic("u", "right", nil)
	for _, block := range []string{"", credentials(f.host, "never-shown")} {
		_, client := load(t, f, "oci_default_credentials {\n  discover_ambient_credentials = false\n}\n"+block)
		_, err := client.Mirror(func(addrs.Provider) string { return f.host + "/p" }).ProviderVersions(t.Context(), alpha)
		if !errors.Is(err, failure.ErrUnauthorized) || strings.Contains(err.Error(), "never-shown") {
			t.Errorf("ProviderVersions: %v, want ErrUnauthorized and no secrets", err)
		}
		if e, ok := errors.AsType[*failure.RequestError](err); block != "" && (!ok || !e.HadToken || e.Status != 401) {
			t.Errorf("ProviderVersions: %v, want a RequestError that had a token", err)
		}
	}
}

// TestAnonymousToken uses a registry that gives anonymous users a token and then refuses it.
func TestAnonymousToken(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/token":
			_, _ = io.WriteString(w, `{"token":"t"}`)
		case r.Header.Get("Authorization") != "Bearer t":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"s\"", "https://"+f.host+"/token"))
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
		return true
	}
	for block, had := range map[string]bool{"": false, credentials(f.host, "p"): true} {
		_, client := load(t, f, "oci_default_credentials {\n  discover_ambient_credentials = false\n}\n"+block)
		src := client.Mirror(func(addrs.Provider) string { return f.host + "/p" })
		for range 2 { // the second time with the token of the first
			_, err := src.ProviderVersions(t.Context(), alpha)
			if e, ok := errors.AsType[*failure.RequestError](err); !ok || e.Status != 403 || e.HadToken != had {
				t.Errorf("with %q: %v, want status 403 and HadToken %v", block, err, had)
			}
		}
	}
}

// TestManyRepositories: a client keeps little for the repositories that others invent, and the tokens of
// those in use.
func TestManyRepositories(t *testing.T) {
	t.Parallel()
	var tokens atomic.Int64
	f := newRegistry(t)
	_, client := load(t, f, credentials(f.host, "p"))
	client.Transport.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(`{"tags":[],"token":"t"}`))}
		switch {
		case r.URL.Path == "/token":
			tokens.Add(1)
		case r.Header.Get("Authorization") != "Bearer t":
			resp.StatusCode = 401
			resp.Header.Set("Www-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"s\"", "https://"+f.host+"/token"))
		}
		return resp, nil
	})}
	list := func(name string, want int64) {
		t.Helper()
		before := tokens.Load()
		must.Get(client.Mirror(func(addrs.Provider) string { return f.host + "/" + name }).ProviderVersions(t.Context(), alpha))(t)
		if got := tokens.Load() - before; got != want {
			t.Errorf("repository %s: %d requests for a token, want %d", name, got, want)
		}
	}
	list("first", 1)
	for i := range 255 {
		list(fmt.Sprintf("r%d", i), 1)
	}
	list("first", 0) // the 256th
	list("another", 1)
	list("r0", 1) // was dropped, because "first" was used after it
	list("first", 0)
}

// TestHelperKeys: a helper that has the credential under any key of Docker or OpenTofu is understood.
// Docker Hub has a key of its own, and its API is at another host.
func TestHelperKeys(t *testing.T) {
	for _, c := range []struct{ host, key, want string }{
		{"oci.test", "oci.test", "oci.test helper:oci.test"},
		{"oci.test", "https://oci.test", "oci.test helper:https://oci.test"},
		{"oci.test", "https://index.docker.io/v1/", "oci.test none"},
		{"oci.test:5000", "oci.test:5000", "oci.test:5000 helper:oci.test:5000"},
		{"docker.io", "docker.io", "registry-1.docker.io helper:docker.io"},
		{"docker.io", "https://docker.io", "registry-1.docker.io helper:https://docker.io"},
		{"docker.io", "https://index.docker.io/v1/", "registry-1.docker.io helper:https://index.docker.io/v1/"},
		{"docker.io", "registry-1.docker.io", "registry-1.docker.io none"},
		{"docker.io", "broken", "registry-1.docker.io none"},
	} {
		t.Run(c.host+" "+c.key, func(t *testing.T) {
			installHelper(t, c.key)
			_, client := load(t, newRegistry(t), `oci_default_credentials { docker_credentials_helper = "test" }`)
			got, err := sentTo(t, client, c.host)
			if failed, ok := errors.AsType[*oci.CredentialError](err); c.key == "broken" && (!ok || failed.Registry != c.host || strings.Contains(err.Error(), "never-shown")) {
				t.Errorf("ProviderVersions: %v, want a CredentialError for %s", err, c.host)
			}
			if last := got[len(got)-1]; last != c.want {
				t.Errorf("requests %q, want the last one %q", got, c.want)
			}
		})
	}
}

// TestDockerHub: a credential for docker.io goes to its API, which is at another host. OpenTofu does not
// send it.
func TestDockerHub(t *testing.T) {
	t.Parallel()
	_, client := load(t, newRegistry(t), credentials("docker.io", "p"))
	got, err := sentTo(t, client, "docker.io")
	if want := []string{"registry-1.docker.io none", "registry-1.docker.io u:p"}; !errors.Is(err, failure.ErrUnauthorized) || !slices.Equal(got, want) {
		t.Errorf("ProviderVersions: %v, after requests %q; want ErrUnauthorized after %q", err, got, want)
	}
}

// sentTo returns the hosts and the basic credentials of the requests for a repository at host, which are
// all refused.
func sentTo(t *testing.T, client *oci.Client, host string) (sent []string, err error) {
	t.Helper()
	client.Transport.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		what := " none"
		if user, password, ok := r.BasicAuth(); ok {
			what = " " + user + ":" + password
		}
		sent = append(sent, r.URL.Host+what)
		h := http.Header{"Www-Authenticate": {`Basic realm="x"`}}
		return &http.Response{StatusCode: 401, Header: h, Request: r, Body: http.NoBody}, nil
	})}
	_, err = client.Mirror(func(addrs.Provider) string { return host + "/p" }).ProviderVersions(t.Context(), alpha)
	return sent, err
}

// TestContextEnds cancels before an answer and during a blob.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	f := newRegistry(t)
	f.provider("p", "1.0.0", "linux_amd64")
	ctx, cancel := context.WithCancel(t.Context())
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		cancel()
		<-r.Context().Done()
		return true
	}
	if _, err := f.mirror("p").ProviderVersions(ctx, alpha); !errors.Is(err, context.Canceled) {
		t.Errorf("ProviderVersions: %v, want context.Canceled", err)
	}
	f = newRegistry(t)
	f.provider("p", "1.0.0", "linux_amd64")
	src := f.mirror("p")
	pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	f.Before = func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = w.Write(f.answer(r).Body.Bytes()[:50])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
	ctx, cancel = context.WithCancel(t.Context())
	body := must.Get(src.Open(ctx, pkg))(t)
	defer body.Close()
	must.Get(io.ReadFull(body, make([]byte, 50)))(t)
	cancel()
	if _, err := io.ReadAll(body); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %v, want context.Canceled", err)
	}
}

// FuzzManifest uses any text as manifest.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"mediaType":"`+ocispec.MediaTypeImageIndex+`","artifactType":"`+typeProvider+`","manifests":[{"digest":"md5:x","platform":{"os":"linux"}}]}`), ocispec.MediaTypeImageIndex)
	f.Add([]byte(`{"mediaType":"`+ocispec.MediaTypeImageManifest+`","artifactType":"`+typeTarget+`","layers":[{"mediaType":"archive/zip","digest":"sha256:x","size":-1}]}`), ocispec.MediaTypeImageManifest)
	f.Add([]byte("null"), "")
	f.Fuzz(func(t *testing.T, data []byte, mediaType string) {
		answers := roundTripper(func(r *http.Request) (*http.Response, error) {
			h := http.Header{"Content-Type": {mediaType}, "Docker-Content-Digest": {digest.FromBytes(data).String()}}
			resp := &http.Response{StatusCode: 200, Header: h, Request: r, ContentLength: int64(len(data)), Body: http.NoBody}
			if r.Method == http.MethodGet {
				resp.Body = io.NopCloser(bytes.NewReader(data))
			}
			return resp, nil
		})
		c := &oci.Client{Transport: &transport.Settings{HTTP: &http.Client{Transport: answers}, Retries: -1}}
		pkg, err := c.Mirror(func(addrs.Provider) string { return "oci.test/p" }).ProviderPackage(t.Context(), alpha, v1, linux)
		if err == nil && (pkg.SHA256.IsZero() || pkg.Size < 0) {
			t.Errorf("ProviderPackage: %+v", pkg)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
