package gcs_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/tofureg/tofureg/contrib/gcs"
	"github.com/tofureg/tofureg/contrib/gcs/internal/must"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/storage/bucket"
	"github.com/tofureg/tofureg/testkit/storagetest"
	"github.com/tofureg/tofureg/transport"
)

// TestStore: the store does what package storage demands, also for several processes.
func TestStore(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "team/mirror/"} {
		t.Run(cmp.Or(prefix, "top"), func(t *testing.T) {
			t.Parallel()
			s := start(t)
			if err := storagetest.TestStore(t.Context(), s.store(prefix), s.store(prefix), s.store(prefix)); err != nil {
				t.Error(err)
			}
			left, err := s.store("").List(t.Context(), ".")
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
	if err := storagetest.RaceWrites(t.Context(), 2000, s.store(""), s.store(""), s.store("")); err != nil {
		t.Error(err)
	}
}

// checkSignature checks a signed URL as the server does: the rules for the parts of a signature are those of
// https://cloud.google.com/storage/docs/authentication/canonical-requests.
func checkSignature(r *http.Request) error {
	query := r.URL.Query()
	signature, err := hex.DecodeString(query.Get("X-Goog-Signature"))
	if err != nil {
		return err
	}
	canonical, _, ok := strings.Cut(r.URL.RawQuery, "&X-Goog-Signature=")
	at, err := time.Parse("20060102T150405Z", query.Get("X-Goog-Date"))
	lifetime, errLifetime := time.ParseDuration(query.Get("X-Goog-Expires") + "s")
	if !ok || err != nil || errLifetime != nil || time.Until(at.Add(lifetime)) < 0 {
		return errors.New("expired")
	}
	account, scope, _ := strings.Cut(query.Get("X-Goog-Credential"), "/")
	if account != "mirror@project.iam.gserviceaccount.com" || scope != at.Format("20060102")+"/auto/storage/goog4_request" {
		return errors.New("unknown account")
	}
	request := fmt.Sprintf("%s\n%s\n%s\nhost:%s\n\nhost\nUNSIGNED-PAYLOAD", r.Method, r.URL.EscapedPath(), canonical, r.Host)
	text := fmt.Sprintf("GOOG4-RSA-SHA256\n%s\n%s\n%x", query.Get("X-Goog-Date"), scope, sha256.Sum256([]byte(request)))
	sum := sha256.Sum256([]byte(text))
	return rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, sum[:], signature)
}

// section returns a content.
func section(text string) *io.SectionReader {
	return io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))
}

// TestStoreURL: a client without credentials gets an object by its signed URL, and by no other.
func TestStoreURL(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := s.store("p/")
	const name = "a b/ö+$&=:@~.zip"
	must.Do(t, store.Write(t.Context(), name, section("content"), ""))
	link := must.Get(store.URL(t.Context(), name, time.Minute))(t)
	get := func(url string) (int, string) {
		resp := must.Get(s.Client().Get(url))(t)
		defer resp.Body.Close()
		return resp.StatusCode, string(must.Get(io.ReadAll(resp.Body))(t))
	}
	if status, text := get(link); status != http.StatusOK || text != "content" {
		t.Errorf("GET %s: %d %q, want the content", link, status, text)
	}
	for _, other := range []string{link[:strings.Index(link, "?")], strings.Replace(link, "a%20b", "b", 1), strings.Replace(link, "Expires=60", "Expires=61", 1)} {
		if status, _ := get(other); status != http.StatusUnauthorized && status != http.StatusForbidden {
			t.Errorf("GET %s: %d, want 401 or 403", other, status)
		}
	}
	for _, lifetime := range []time.Duration{0, 7*24*time.Hour + 1} {
		if _, err := store.URL(t.Context(), name, lifetime); err == nil {
			t.Errorf("URL with lifetime %v: no error", lifetime)
		}
	}
	must.Get(store.URL(t.Context(), name, 7*24*time.Hour))(t)
	if _, err := store.URL(t.Context(), "../x", time.Minute); err == nil {
		t.Error("URL of ../x: no error")
	}
	unsigned := s.store("")
	for _, file := range []string{"", "{", `{"type":"authorized_user","client_secret":"s3cr3t"}`} {
		unsigned.Credentials.JSON = []byte(file)
		if _, err := unsigned.URL(t.Context(), name, time.Minute); !errors.Is(err, errors.ErrUnsupported) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("URL with the credentials %q: %v, want ErrUnsupported", file, err)
		}
	}
}

// TestPublish: 20 processes publish to a registry in the bucket.
func TestPublish(t *testing.T) {
	t.Parallel()
	s := start(t)
	must.Do(t, storagetest.TestPublish(t.Context(), func() storage.Store { return s.store("registry/") }))
}

// TestMirror: a mirror in the bucket is filled, read, also by signed URLs, checked and shrunk.
func TestMirror(t *testing.T) {
	t.Parallel()
	s := start(t)
	must.Do(t, storagetest.TestMirror(t.Context(), func() storage.Store { return s.store("") }, s.Client()))
}

// TestStoreErrors: what goes wrong is said with the name, is not taken for a missing file, and has no secret.
func TestStoreErrors(t *testing.T) {
	t.Parallel()
	s := start(t)
	must.Do(t, s.store("").Write(t.Context(), "file", section("x"), ""))
	for name, test := range map[string]struct {
		change func(*gcs.Store)
		want   string
	}{
		"no bucket":            {func(s *gcs.Store) { s.Bucket = "another" }, "not found"},
		"the bucket's name":    {func(s *gcs.Store) { s.Bucket = "" }, "the name of the bucket is missing"},
		"another token":        {func(g *gcs.Store) { g.Credentials = account(t, "wr0ng-s3cr3t") }, "Invalid Credentials"},
		"no token":             {func(s *gcs.Store) { s.Credentials = nil }, "Anonymous caller"},
		"a token that fails":   {func(s *gcs.Store) { s.Credentials = &google.Credentials{TokenSource: failing{}} }, "no metadata server"},
		"no server":            {func(s *gcs.Store) { s.Endpoint = "https://127.0.0.1:1"; s.Transport = &transport.Settings{Retries: -1} }, "refused"},
		"http":                 {func(s *gcs.Store) { s.Endpoint = "http://storage.example.com" }, "http"},
		"a vetoed host":        {func(s *gcs.Store) { s.Transport.VetoHost = func(string) error { return errors.New("vetoed") } }, "vetoed"},
		"a path of the server": {func(s *gcs.Store) { s.Endpoint += "/x" }, "https://HOST"},
		"a user of the server": {func(s *gcs.Store) { s.Endpoint = "https://u:s3cr3t@storage.example.com" }, "https://HOST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, do := range calls {
				store := s.store("")
				test.change(store)
				for _, file := range []string{"file", "missing"} {
					err := do(t.Context(), store, file)
					if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrConflict) || !strings.Contains(err.Error(), test.want) {
						t.Errorf("%s of %s: %v, want an error with %q that wraps neither fs.ErrNotExist nor storage.ErrConflict", what, file, err, test.want)
					} else if text := err.Error(); strings.Contains(text, "s3cr3t") || strings.Contains(text, "uploadType") || strings.Contains(text, "?alt") {
						t.Errorf("%s of %s: the error has a secret or a query: %v", what, file, err)
					}
				}
			}
		})
	}
	for name, want := range map[string]error{
		strings.Repeat("x", 1024): fs.ErrNotExist, strings.Repeat("x", 1025): fs.ErrInvalid, "a\nb": fs.ErrInvalid, "../a": fs.ErrInvalid,
	} {
		if _, err := s.store("").Open(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("Open(%.10q, %d bytes) = %v, want %v", name, len(name), err, want)
		}
	}
	if _, err := s.store("p").Open(t.Context(), strings.Repeat("x", 1024)); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a name of 1025 bytes with its prefix: %v, want ErrInvalid", err)
	}
}

// calls are the methods of a store with requests.
var calls = map[string]func(context.Context, *gcs.Store, string) error{
	"Open": func(ctx context.Context, s *gcs.Store, name string) error {
		f, err := s.Open(ctx, name)
		if err == nil {
			f.Close()
		}
		return err
	},
	"Stat": func(ctx context.Context, s *gcs.Store, name string) error { _, err := s.Stat(ctx, name); return err },
	"Write": func(ctx context.Context, s *gcs.Store, name string) error {
		return s.Write(ctx, name, section("y"), "")
	},
	"List":   func(ctx context.Context, s *gcs.Store, name string) error { _, err := s.List(ctx, "."); return err },
	"Delete": func(ctx context.Context, s *gcs.Store, name string) error { return s.Delete(ctx, name) },
}

type failing struct{}

func (failing) Token() (*oauth2.Token, error) { return nil, errors.New("no metadata server") }

// TestSlowToken: a source of tokens that does not answer does not outlast the context.
func TestSlowToken(t *testing.T) {
	t.Parallel()
	for what, do := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		s := &gcs.Store{Bucket: "mirror", Credentials: &google.Credentials{TokenSource: endless{t.Context()}}, Endpoint: "https://storage.example.com"}
		if err := do(ctx, s, "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s with an endless source of tokens: %v, want DeadlineExceeded", what, err)
		}
	}
}

type endless struct{ until context.Context }

func (e endless) Token() (*oauth2.Token, error) { <-e.until.Done(); return nil, e.until.Err() }

// TestServerAnswers: temporary failures are repeated with the same body, answers that violate the protocol are errors, and no
// answer puts a secret or control characters into an error.
func TestServerAnswers(t *testing.T) {
	t.Parallel()
	s := start(t)
	var busy atomic.Int32
	var first, second []byte
	s.proxy.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || busy.Add(1) > 2 {
			return false
		}
		data, _ := io.ReadAll(r.Body)
		first, second = second, data
		w.Header().Set("Retry-After", "0")
		refuse(w, []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[busy.Load()-1], "slow down")
		return true
	}
	must.Do(t, s.store("").Write(t.Context(), "file", section("content"), ""))
	if busy.Load() != 3 || len(first) == 0 || !bytes.Equal(first, second) {
		t.Errorf("Write to a busy server made %d requests with the bodies\n%s\n%s\nwant 3 with the same", busy.Load(), first, second)
	}
	for name, answer := range map[string]func(w http.ResponseWriter){
		"echo": func(w http.ResponseWriter) { refuse(w, http.StatusForbidden, "not with "+token+"\x1b[2J\u009b") },
		"text": func(w http.ResponseWriter) { http.Error(w, "see https://x.example.com/?X-Goog-Signature=s3cr3t", 400) },
		"redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://x.example.com/?a=s3cr3t")
			w.WriteHeader(307)
		},
		"nothing": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json"); w.WriteHeader(304) },
	} {
		other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w) }))
		t.Cleanup(other.Close)
		for what, do := range calls {
			store := &gcs.Store{Bucket: "mirror", Credentials: s.account, Endpoint: other.URL, Transport: &transport.Settings{HTTP: other.Client(), Retries: -1}}
			err := do(t.Context(), store, "x")
			if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrConflict) || strings.ContainsAny(err.Error(), "\x1b\u009b") || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%s of an answer with %s: %v, want a printable error without a secret", what, name, err)
			}
		}
	}
	for want, header := range map[string]http.Header{
		"the size or the generation is missing":  {},
		"the size or the generation is missing.": {"X-Goog-Stored-Content-Length": {"2"}},
		"":                                       {"X-Goog-Stored-Content-Length": {"2"}, "X-Goog-Generation": {"7"}},
	} {
		chunked := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), header)
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "{}")
		}))
		t.Cleanup(chunked.Close)
		store := &gcs.Store{Bucket: "mirror", Endpoint: chunked.URL, Transport: &transport.Settings{HTTP: chunked.Client(), Retries: -1}}
		if f, err := store.Open(t.Context(), "x"); want == "" && (err != nil || f.Size != 2 || f.Revision != "7") || want != "" && (err == nil || !strings.Contains(err.Error(), strings.Trim(want, "."))) {
			t.Errorf("Open of an answer with %v: %+v, %v, want an error with %q", header, f, err, want)
		} else if err == nil {
			f.Close()
		}
		if _, err := store.Stat(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "the generation is missing") {
			t.Errorf("Stat of an answer without a generation: %v", err)
		}
	}
}

// TestOneRequest: a file is one request with the media type that network clients require, and the condition is in it.
func TestOneRequest(t *testing.T) {
	t.Parallel()
	s := start(t)
	var requests []string
	s.proxy.before = func(w http.ResponseWriter, r *http.Request) bool {
		requests = append(requests, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("uploadType")+" "+r.URL.Query().Get("ifGenerationMatch"))
		return false
	}
	store := s.store("p/")
	for name, media := range map[string]string{"a.json": "application/json", "a.zip": "application/zip", "a": "application/octet-stream"} {
		requests = nil
		must.Do(t, store.Write(t.Context(), name, section(strings.Repeat("x", 9<<20)), ""))
		if want := []string{"POST /upload/storage/v1/b/mirror/o multipart 0"}; !slices.Equal(requests, want) {
			t.Errorf("Write(%q) made the requests %q, want %q", name, requests, want)
		}
		resp := must.Get(s.Client().Get(must.Get(store.URL(t.Context(), name, time.Minute))(t)))(t)
		resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); got != media {
			t.Errorf("%q has the media type %q, want %q", name, got, media)
		}
		var object struct{ CacheControl string }
		must.Do(t, json.Unmarshal(s.metadata(t, "p/"+name), &object))
		if want := bucket.CacheControl(name, nil); object.CacheControl != want {
			t.Errorf("%q has the Cache-Control %q, want %q", name, object.CacheControl, want)
		}
	}
}

// metadata returns what the server has about an object.
func (s server) metadata(t *testing.T, name string) []byte {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/storage/v1/b/mirror/o/"+url.PathEscape(name), nil))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	resp := must.Get(s.Client().Do(r))(t)
	defer resp.Body.Close()
	return must.Get(io.ReadAll(resp.Body))(t)
}

// TestHostile: a server that lies gets the token of the store, and nothing else from it.
func TestHostile(t *testing.T) {
	t.Parallel()
	credentials := account(t, storagetest.Secret)
	must.Do(t, storagetest.TestServer(t.Context(), func(url string, client *http.Client) storage.Store {
		return &gcs.Store{Bucket: "mirror", Prefix: "m/", Credentials: credentials, Endpoint: url, Transport: &transport.Settings{HTTP: client, Retries: -1}}
	}, func(objects []bucket.Object, token string) string {
		items := []map[string]string{}
		for _, o := range objects {
			items = append(items, map[string]string{"name": o.Name, "size": fmt.Sprint(o.Size), "generation": "1"})
		}
		page, _ := json.Marshal(map[string]any{"kind": "storage#objects", "items": items, "nextPageToken": token})
		return string(page)
	}))
}

// TestCore: the core requires no module of this package.
func TestCore(t *testing.T) {
	t.Parallel()
	file := string(must.Get(os.ReadFile("../../go.mod"))(t))
	for _, path := range []string{"cloud.google.com/", "google.golang.org/"} {
		if strings.Contains(file, path) {
			t.Errorf("../../go.mod requires a module with %q", path)
		}
	}
}
