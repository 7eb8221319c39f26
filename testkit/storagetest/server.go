package storagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/storage"
	"github.com/tofureg/tofureg/storage/bucket"
)

// Secret is a text in the credentials of a store that must not be in an error; see [TestServer].
const Secret = "s3cr3t"

// calls are the methods of a store with requests.
var calls = map[string]func(context.Context, storage.Store) error{
	"Open": func(ctx context.Context, s storage.Store) error {
		f, err := s.Open(ctx, "dir/file")
		if err == nil {
			_, err = io.Copy(io.Discard, f)
			f.Close()
		}
		return err
	},
	"Stat": func(ctx context.Context, s storage.Store) error { _, err := s.Stat(ctx, "dir/file"); return err },
	"Write": func(ctx context.Context, s storage.Store) error {
		return s.Write(ctx, "dir/file", io.NewSectionReader(strings.NewReader("x"), 0, 1), "")
	},
	"List":   func(ctx context.Context, s storage.Store) error { _, err := s.List(ctx, "dir"); return err },
	"Delete": func(ctx context.Context, s storage.Store) error { return s.Delete(ctx, "dir/file") },
}

// TestServer tests a store of a bucket whose server lies, redirects, is silent or does not end. The store must
// refuse http, follow no redirect, check names and sizes of a list, and limit a page to 1 MiB.
//
// open returns a store with the prefix "m/" for the server at url, which client trusts. The store makes no request
// twice, and its credentials contain Secret. page returns a page of a list, with these objects and, if not empty,
// the token of the next page.
func TestServer(ctx context.Context, open func(url string, client *http.Client) storage.Store, page func(objects []bucket.Object, token string) string) error {
	var found failures
	var parts sync.WaitGroup
	parts.Go(func() { hostileAnswers(ctx, &found, open) })
	parts.Go(func() { hostileLists(ctx, &found, open, page) })
	parts.Go(func() { hostileLengths(ctx, &found, open) })
	parts.Go(func() { silent(ctx, &found, open) })
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { found.addf("request over http: %s", r.Method) }))
	defer server.Close()
	s := open(server.URL, server.Client())
	for what, do := range calls {
		if err := do(ctx, s); !errors.Is(err, failure.ErrInsecure) {
			found.addf("%s at http: %v, want ErrInsecure", what, err)
		}
	}
	if linker, ok := storage.As[storage.Linker](s); ok {
		if link, err := linker.URL(ctx, "dir/file", time.Minute); !errors.Is(err, failure.ErrInsecure) {
			found.addf("URL at http: %q, %v, want ErrInsecure", link, err)
		}
	}
	parts.Wait()
	return found.err()
}

// failures are errors of concurrent tests.
type failures struct {
	mu   sync.Mutex
	list []error
}

func (f *failures) addf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fmt.Errorf(format, args...))
}

func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.list...)
}

// hostileAnswers answers each request in the same way: no call may succeed, and no other server gets a request.
func hostileAnswers(ctx context.Context, found *failures, open func(string, *http.Client) storage.Store) {
	var elsewhere atomic.Int32
	welcome := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Add(1)
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("X-Goog-Generation", "1")
		fmt.Fprint(w, `{"generation":"1","size":"1"}`)
	})
	secure, plain := httptest.NewTLSServer(welcome), httptest.NewServer(welcome)
	defer secure.Close()
	defer plain.Close()
	answers := map[string]http.HandlerFunc{
		"HTML": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!DOCTYPE html><html><body>Log in to the network</body></html>")
		},
		"XHTML": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprint(w, "<html><body>Log in to the network</body></html>")
		},
		"JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{}")
		},
		"nothing": func(w http.ResponseWriter, _ *http.Request) {},
		"an endless error": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			for chunk := []byte(strings.Repeat("<a>", 10_000)); r.Method != http.MethodHead && r.Context().Err() == nil; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
		"a broken error": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusNotFound)
		},
	}
	for _, status := range []int{300, 301, 302, 303, 305, 307, 308} {
		for to, url := range map[string]string{"https": secure.URL, "http": plain.URL} {
			answers[fmt.Sprint(status, " to ", to)] = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", url+r.URL.RequestURI())
				w.WriteHeader(status)
			}
		}
		answers[fmt.Sprint(status, " to itself")] = func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/other") {
				welcome(w, r)
				return
			}
			w.Header().Set("Location", "/other")
			w.WriteHeader(status)
		}
	}
	for name, answer := range answers {
		server := httptest.NewTLSServer(answer)
		defer server.Close()
		s := open(server.URL, server.Client())
		for what, do := range calls {
			err := do(ctx, s)
			if broken := name == "a broken error" && what != "List"; err == nil && !broken || !broken && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrConflict)) {
				found.addf("%s of an answer with %s: %v, want another error", what, name, err)
			} else if err != nil && (strings.Contains(err.Error(), Secret) || strings.ContainsAny(err.Error(), "\n\x1b")) {
				found.addf("%s of an answer with %s: the error has a secret or a line end: %v", what, name, err)
			}
			if n := elsewhere.Swap(0); n != 0 {
				found.addf("%s of an answer with %s: %d requests elsewhere", what, name, n)
			}
		}
	}
}

// sizeOf matches the size of an object in a list of each kind of store.
var sizeOf = regexp.MustCompile(`<Size>1</Size>|<Content-Length>1</Content-Length>|,"size":"1"`)

// hostileLists lists directories in lists that lie or do not end.
func hostileLists(ctx context.Context, found *failures, open func(string, *http.Client) storage.Store, page func([]bucket.Object, string) string) {
	one := []bucket.Object{{Name: "m/dir/a", Size: 1}}
	last := page(one, "")
	pad := func(size int) string {
		end := strings.LastIndexAny(last, "<}")
		return last[:end] + strings.Repeat(" ", size-len(last)) + last[end:]
	}
	for name, test := range map[string]struct {
		answer   func(n int) string // n counts requests from 1
		requests int32
		want     error // nil: any error, unless text is empty
		text     string
	}{
		"one":           {func(int) string { return last }, 1, nil, ""},
		"250 pages":     {func(n int) string { return page(one, strings.Repeat("x", n%250)) }, 250, nil, ""},
		"endless":       {func(n int) string { return page(one, fmt.Sprint(n)) }, 250, failure.ErrTooLarge, ""},
		"endless empty": {func(n int) string { return page(nil, fmt.Sprint(n)) }, 250, failure.ErrTooLarge, ""},
		"same token":    {func(int) string { return page(one, "x") }, 2, nil, "same token"},
		"1 MiB":         {func(int) string { return pad(1 << 20) }, 1, nil, ""},
		"1 MiB + 1":     {func(int) string { return pad(1<<20 + 1) }, 1, failure.ErrTooLarge, ""},
		"negative size": {func(int) string { return page([]bucket.Object{{Name: "m/dir/a", Size: -1}}, "") }, 1, nil, "size -1"},
		"no size":       {func(int) string { return sizeOf.ReplaceAllString(last, "") }, 1, nil, "size"},
		"outside":       {func(int) string { return page([]bucket.Object{{Name: "m/a"}}, "") }, 1, nil, "has the object"},
		"below":         {func(int) string { return page([]bucket.Object{{Name: "m/dir/a/../../b"}}, "") }, 1, nil, "below"},
		"cut off":       {func(int) string { return last[:len(last)/2] }, 1, nil, "dir"},
	} {
		if name == "no size" && !sizeOf.MatchString(last) {
			continue // another form of lists
		}
		var requests atomic.Int32
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			answer := test.answer(int(requests.Add(1)))
			w.Header().Set("Content-Type", "application/xml")
			if strings.HasPrefix(answer, "{") {
				w.Header().Set("Content-Type", "application/json")
			}
			fmt.Fprint(w, answer)
		}))
		defer server.Close()
		list, err := open(server.URL, server.Client()).List(ctx, "dir")
		if ok := test.want == nil && test.text == ""; ok != (err == nil) || ok && (len(list) == 0 || list[0] != (storage.Entry{Name: "a", Size: 1})) || test.want != nil && !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.text) || requests.Load() != test.requests {
			found.addf("%s: List = %.20v, %v after %d requests, want %d, and %v with %q", name, list, err, requests.Load(), test.requests, test.want, test.text)
		}
	}
}

// hostileLengths opens an object of 5 bytes whose body has no declared length. No store returns another number of bytes
// without an error.
func hostileLengths(ctx context.Context, found *failures, open func(string, *http.Client) storage.Store) {
	for _, body := range []string{"", "1234", "12345", "123456", strings.Repeat("x", 1<<20)} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("X-Goog-Generation", "1")
			w.Header().Set("X-Goog-Stored-Content-Length", "5")
			w.(http.Flusher).Flush()
			fmt.Fprint(w, body)
		}))
		defer server.Close()
		var got []byte
		f, err := open(server.URL, server.Client()).Open(ctx, "dir/file")
		if err == nil {
			got, err = io.ReadAll(f)
			f.Close()
		}
		if err == nil && len(got) != 5 || len(got) > 5 {
			found.addf("a body of %d bytes of an object with 5: read %d bytes, %v, want an error", len(body), len(got), err)
		}
	}
}

// silent: a call ends with its context, whether the server does not answer or does not go on.
func silent(ctx context.Context, found *failures, open func(string, *http.Client) storage.Store) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"no answer": func(http.ResponseWriter) {},
		"a part of one": func(w http.ResponseWriter) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("X-Goog-Generation", "1")
			w.Header().Set("Content-Length", "9")
			fmt.Fprint(w, "<")
		},
		"a part of a 403": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "9")
			w.WriteHeader(403)
			fmt.Fprint(w, "<")
		},
		"another attempt": func(w http.ResponseWriter) { w.Header().Set("Retry-After", "20"); w.WriteHeader(503) },
	} {
		for what, do := range calls {
			if what == "Stat" && name == "a part of one" {
				continue // a HEAD has no body
			}
			ctx, cancel := context.WithCancel(ctx)
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if begin != nil {
					begin(w)
					w.(http.Flusher).Flush()
				}
				cancel()
				<-r.Context().Done()
				panic(http.ErrAbortHandler) // not an answer
			}))
			err := do(ctx, open(server.URL, server.Client()))
			if !errors.Is(err, context.Canceled) {
				found.addf("%s of %s with a context that ends: %v, want context.Canceled", what, name, err)
			}
			server.CloseClientConnections()
			server.Close()
		}
	}
}
