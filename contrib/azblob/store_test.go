package azblob_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/tofureg/tofureg/contrib/azblob"
	"github.com/tofureg/tofureg/contrib/azblob/internal/must"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/storage/bucket"
	"github.com/tofureg/tofureg/testkit/storagetest"
)

// TestStore: the store does what package storage demands, also for several processes.
func TestStore(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "team/mirror/"} {
		t.Run(cmp.Or(prefix, "top"), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			if err := storagetest.TestStore(t.Context(), s.store(t, prefix), s.store(t, prefix), s.store(t, prefix)); err != nil {
				t.Error(err)
			}
			left, err := s.store(t, "").List(t.Context(), ".")
			if err != nil || len(left) != 0 {
				t.Errorf("the test has left %v, %v", left, err)
			}
		})
	}
}

// TestRaceWrites: of concurrent writes on the same condition one succeeds, in thousands of rounds.
func TestRaceWrites(t *testing.T) {
	t.Parallel()
	s := start(t)
	if err := storagetest.RaceWrites(t.Context(), 2000, s.store(t, ""), s.store(t, ""), s.store(t, "")); err != nil {
		t.Error(err)
	}
}

// TestPublish: 20 processes publish to a registry in the container.
func TestPublish(t *testing.T) {
	t.Parallel()
	s := start(t)
	must.Do(t, storagetest.TestPublish(t.Context(), func() storage.Store { return s.store(t, "registry/") }))
}

// TestMirror: a mirror in the container is filled, read, also by signed URLs, checked and shrunk.
func TestMirror(t *testing.T) {
	t.Parallel()
	s := start(t)
	must.Do(t, storagetest.TestMirror(t.Context(), func() storage.Store { return s.store(t, "") }, http.DefaultClient))
}

// section returns a content.
func section(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

// TestStoreURL: a client without credentials gets a blob by its signed URL, and by no other.
func TestStoreURL(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := s.store(t, "p/")
	const name = "a b/ö+$&=:@~.zip"
	must.Do(t, store.Write(t.Context(), name, section("content"), ""))
	link := must.Get(store.URL(t.Context(), name, time.Minute))(t)
	get := func(method, url string) (int, string) {
		resp := must.Get(http.DefaultClient.Do(must.Get(http.NewRequestWithContext(t.Context(), method, url, nil))(t)))(t)
		defer resp.Body.Close()
		return resp.StatusCode, string(must.Get(io.ReadAll(resp.Body))(t))
	}
	if status, text := get("GET", link); status != http.StatusOK || text != "content" {
		t.Errorf("GET %s: %d %q, want the content", link, status, text)
	}
	if status, _ := get("HEAD", link); status != http.StatusOK {
		t.Errorf("HEAD %s: %d, want 200", link, status)
	}
	expired := must.Get(store.URL(t.Context(), name, -time.Minute))(t)
	for _, other := range []string{link[:strings.Index(link, "?")], strings.Replace(link, "a%20b", "b", 1), expired} {
		if status, _ := get("GET", other); status/100 != 4 {
			t.Errorf("GET %s: %d, want an error", other, status)
		}
	}
	if status, _ := get("DELETE", link); status/100 != 4 {
		t.Errorf("DELETE %s: %d, want an error", link, status)
	}
	if _, err := store.URL(t.Context(), "../x", time.Minute); err == nil {
		t.Error("URL of ../x: no error")
	}
	keyless := &azblob.Store{Container: s.url + "/mirror", AllowHTTP: true}
	if _, err := keyless.URL(t.Context(), name, time.Minute); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("URL without a key: %v, want ErrUnsupported", err)
	}
}

// calls are the methods of a store with requests.
var calls = map[string]func(context.Context, *azblob.Store, string) error{
	"Open": func(ctx context.Context, s *azblob.Store, name string) error {
		f, err := s.Open(ctx, name)
		if err == nil {
			f.Close()
		}
		return err
	},
	"Stat": func(ctx context.Context, s *azblob.Store, name string) error { _, err := s.Stat(ctx, name); return err },
	"Write": func(ctx context.Context, s *azblob.Store, name string) error {
		return s.Write(ctx, name, section("y"), "")
	},
	"List":   func(ctx context.Context, s *azblob.Store, name string) error { _, err := s.List(ctx, "."); return err },
	"Delete": func(ctx context.Context, s *azblob.Store, name string) error { return s.Delete(ctx, name) },
}

// TestStoreErrors: what goes wrong is said with the name, is not taken for a missing file, and has no secret.
func TestStoreErrors(t *testing.T) {
	t.Parallel()
	s := start(t)
	must.Do(t, s.store(t, "").Write(t.Context(), "file", section("x"), ""))
	once := container.ClientOptions{}
	once.Retry = policy.RetryOptions{MaxRetries: -1}
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Ms-Error-Code"] = []string{"x\u009b"}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<Error><Message>\x1b[2J signed %s</Message></Error>", r.URL)
	}))
	t.Cleanup(hostile.Close)
	const signature = "?sv=2026-01-01&sig=s3cr3t"
	for name, test := range map[string]struct {
		url, key string
		want     string
		kind     error // nil: any
	}{
		"no container":    {s.url + "/another", secret, "ContainerNotFound", nil},
		"another key":     {s.url + "/mirror", "d3JvbmctczNjcjN0", "status 403", failure.ErrUnauthorized},
		"no key":          {s.url + "/mirror", "", "status 403", failure.ErrUnauthorized},
		"a bad signature": {s.url + "/mirror" + signature, "", "status 403", failure.ErrUnauthorized},
		"no server":       {"http://127.0.0.1:1/mirror" + signature, "", "refused", nil},
		"a hostile text":  {hostile.URL + "/mirror" + signature, "", "status 403", failure.ErrUnauthorized},
		"no URL":          {"", secret, "Container must be a URL", nil},
		"a user":          {"https://s3cr3t@example.com/mirror", secret, "Container must be a URL", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, do := range calls {
				for _, file := range []string{"file", "missing"} {
					store := &azblob.Store{Container: test.url, Options: once, AllowHTTP: true}
					if test.key != "" {
						store.SharedKey = key(t, test.key)
					}
					err := do(t.Context(), store, file)
					if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrConflict) || test.kind != nil && !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
						t.Errorf("%s of %s: %v, want an error with %q that wraps neither fs.ErrNotExist nor storage.ErrConflict", what, file, err, test.want)
					} else if text := err.Error(); strings.Contains(text, "s3cr3t") || strings.ContainsAny(text, "\x1b\u009b\n") {
						t.Errorf("%s of %s: the error has a secret, or is not printable: %q", what, file, text)
					}
				}
			}
		})
	}
	long := strings.Repeat("x", 254)
	for name, want := range map[string]error{
		long: fs.ErrNotExist, long + "x": fs.ErrInvalid, strings.Repeat(long+"/", 4) + "1234": fs.ErrNotExist, strings.Repeat(long+"/", 4) + "12345": fs.ErrInvalid,
		"a./b": fs.ErrInvalid, "a/b.": fs.ErrInvalid, `a\b`: fs.ErrInvalid, "../a": fs.ErrInvalid,
		strings.Repeat("a/", 253) + "a": fs.ErrNotExist, strings.Repeat("a/", 254) + "a": fs.ErrInvalid,
	} {
		if _, err := s.store(t, "").Open(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("Open(%.10q, %d bytes) = %v, want %v", name, len(name), err, want)
		}
	}
}

// TestOneRequest: a file is one request with the media type that network clients require, and the condition and the
// digest are in it.
func TestOneRequest(t *testing.T) {
	t.Parallel()
	s := start(t)
	var requests requests
	store := s.store(t, "p/")
	options := container.ClientOptions{}
	options.PerRetryPolicies = []policy.Policy{&requests}
	link := must.Get(s.client(t).GetSASURL(permissions, time.Now().Add(time.Hour), nil))(t)
	watched := &azblob.Store{Container: link, Options: options, Prefix: "p/", AllowHTTP: true}
	for name, media := range map[string]string{"a.json": "application/json", "a.zip": "application/zip", "a": "application/octet-stream"} {
		requests.list = nil
		must.Do(t, watched.Write(t.Context(), name, section(strings.Repeat("x", 9<<20)), ""))
		if want := []string{"PUT BlockBlob * MD5: true"}; !slices.Equal(requests.list, want) {
			t.Errorf("Write(%q) made the requests %q, want %q", name, requests.list, want)
		}
		resp := must.Get(http.Get(must.Get(store.URL(t.Context(), name, time.Minute))(t)))(t)
		resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); got != media {
			t.Errorf("%q has the media type %q, want %q", name, got, media)
		}
		if got, want := resp.Header.Get("Cache-Control"), bucket.CacheControl(name, nil); got != want {
			t.Errorf("%q has the Cache-Control %q, want %q", name, got, want)
		}
	}
}

var permissions = sas.ContainerPermissions{Read: true, Write: true, Create: true}

// requests are the requests of a client.
type requests struct {
	mu   sync.Mutex
	list []string
}

// Do implements policy.Policy.
func (r *requests) Do(req *policy.Request) (*http.Response, error) {
	header := func(name string) (value string) {
		for key, values := range req.Raw().Header { // the SDK does not write the keys as net/http
			if strings.EqualFold(key, name) {
				value = values[0]
			}
		}
		return value
	}
	r.mu.Lock()
	r.list = append(r.list, fmt.Sprint(req.Raw().Method, " ", header("x-ms-blob-type"), " ", header("If-None-Match"), " MD5: ", header("Content-MD5") != ""))
	r.mu.Unlock()
	return req.Next()
}

// TestHostile: a server that lies gets the credentials of the store, and nothing else from it.
func TestHostile(t *testing.T) {
	t.Parallel()
	page := func(objects []bucket.Object, token string) string {
		text := `<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://x/" ContainerName="mirror"><Blobs>`
		for _, o := range objects {
			text += fmt.Sprintf("<Blob><Name>%s</Name><Properties><Content-Length>%d</Content-Length></Properties></Blob>", o.Name, o.Size)
		}
		return text + "</Blobs><NextMarker>" + token + "</NextMarker></EnumerationResults>"
	}
	for name, change := range map[string]func(*azblob.Store){
		"SharedKey": func(s *azblob.Store) { s.SharedKey = key(t, secret) },
		"signature": func(s *azblob.Store) { s.Container += "?sv=2026-01-01&sig=" + storagetest.Secret },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			must.Do(t, storagetest.TestServer(t.Context(), func(url string, client *http.Client) storage.Store {
				s := &azblob.Store{Container: url + "/mirror", Prefix: "m/"}
				s.Options.Transport, s.Options.Retry.MaxRetries = client, -1
				change(s)
				return s
			}, page))
		})
	}
	other := &azblob.Store{Container: "https://x.example.com/mirror"}
	other.Options.Transport = transporter{}
	if _, err := other.Stat(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "*http.Client") {
		t.Errorf("Stat with another Transport: %v, want an error that names *http.Client", err)
	}
}

type transporter struct{}

func (transporter) Do(*http.Request) (*http.Response, error) { return nil, errors.New("called") }

// TestCore: the core requires no module of this package.
func TestCore(t *testing.T) {
	t.Parallel()
	file := string(must.Get(os.ReadFile("../../go.mod"))(t))
	for _, path := range []string{"Azure/"} {
		if strings.Contains(file, path) {
			t.Errorf("../../go.mod requires a module with %q", path)
		}
	}
}
