package s3_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/tofureg/tofureg/contrib/s3"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

const emptyPage = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken></ListBucketResult>`

const placeholderPage = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken><Contents><Key>dir/</Key></Contents></ListBucketResult>`

// signed returns a Fetcher that signs requests for all hosts.
func signed(t *testing.T, server *httptest.Server) *s3.Fetcher {
	t.Helper()
	return &s3.Fetcher{
		Credentials: credentials.NewStaticCredentialsProvider("id", "s3cr3t", ""),
		Hosts:       func(string) error { return nil },
		Transport:   &transport.Client{HTTP: server.Client(), Retries: -1},
	}
}

// TestListRules: lists follow the rules of transport.Client, too.
func TestListRules(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for _, code := range []int{301, 302, 307, 308} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, code)
		}))
		t.Cleanup(server.Close)
		if _, err := download(t, signed(t, server), "s3::"+server.URL+"/modules/dir"); err == nil || elsewhere.Load() > 0 {
			t.Errorf("a list that redirects with %d: %v and %d requests elsewhere, want an error and none", code, err, elsewhere.Load())
		}
	}
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(plain.Close)
	for _, path := range []string{"/modules/dir", "/modules/a.zip"} {
		if _, err := download(t, signed(t, plain), "s3::"+plain.URL+path); !errors.Is(err, module.ErrInsecure) || elsewhere.Load() > 0 {
			t.Errorf("http%s: %v and %d requests, want ErrInsecure and none", path, err, elsewhere.Load())
		}
	}
}

// TestHostsOfRequests: the region of a location cannot lead to another domain, and VetoHost gets canonical
// hosts.
func TestHostsOfRequests(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for _, text := range []string{
		"s3::https://s3.amazonaws.com/modules/a.zip?region=cn-north-1", "s3::https://s3.amazonaws.com/modules/dir?region=us-iso-east-1",
	} {
		f := signed(t, server)
		f.Hosts = nil
		f.Transport.HTTP = &http.Client{Transport: noNetwork{t}}
		if _, err := download(t, f, text); !errors.Is(err, s3.ErrHost) {
			t.Errorf("%s: %v, want ErrHost", text, err)
		}
	}
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]"} {
		f := signed(t, server)
		f.Transport.VetoHost = func(host string) error { return fmt.Errorf("vetoed %s", host) }
		_, err := download(t, f, "s3::https://"+host+port+"/modules/dir")
		if !errors.Is(err, s3.ErrHost) || !strings.Contains(err.Error(), "vetoed 127.0.0.1"+port) {
			t.Errorf("host %s: %v, want a veto of 127.0.0.1%s", host, err, port)
		}
	}
}

type noNetwork struct{ t *testing.T }

func (n noNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("request to %s", r.URL.Host)
	return nil, errors.New("no network")
}

// TestListAtLimits: 100 empty pages and a page of 1 MiB are accepted.
func TestListAtLimits(t *testing.T) {
	t.Parallel()
	const begin, end = "<ListBucketResult>", "<IsTruncated>false</IsTruncated></ListBucketResult>"
	var pages atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if pages.Add(1) < 100 {
			fmt.Fprint(w, emptyPage)
			return
		}
		fmt.Fprint(w, begin+strings.Repeat(" ", 1<<20-len(begin+end))+end)
	}))
	t.Cleanup(server.Close)
	_, err := download(t, signed(t, server), "s3::"+server.URL+"/modules/dir")
	if !errors.Is(err, module.ErrNotFound) || pages.Load() != 100 {
		t.Errorf("a list at the limits: %v after %d pages, want ErrNotFound after 100", err, pages.Load())
	}
}

// TestListLimits: a list has limited pages, and a page a limited size.
func TestListLimits(t *testing.T) {
	t.Parallel()
	var pages, placeholders atomic.Int32
	for name, serve := range map[string]http.HandlerFunc{
		"empty pages": func(w http.ResponseWriter, _ *http.Request) { pages.Add(1); fmt.Fprint(w, emptyPage) },
		"large page": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<ListBucketResult>"+strings.Repeat(" ", 1<<20))
		},
		"nested page":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("<a>", 16<<20/3)) },
		"placeholders": func(w http.ResponseWriter, _ *http.Request) { placeholders.Add(1); fmt.Fprint(w, placeholderPage) },
	} {
		o := module.Options{Limits: checksum.Limits{Entries: 10}}
		server := httptest.NewTLSServer(serve)
		t.Cleanup(server.Close)
		if _, err := downloadWith(t, signed(t, server), "s3::"+server.URL+"/modules/dir", o); !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
	if got, of := pages.Load(), placeholders.Load(); got != 101 || of != 11 {
		t.Errorf("%d empty pages and %d placeholders were read, want 101 and 11", got, of)
	}
}

// TestErrorsArePrintable: text of a server does not control a terminal, and signed URLs are not shown.
func TestErrorsArePrintable(t *testing.T) {
	t.Parallel()
	const evil = "\u009b31m\u202e\x1b[2J"
	object := func(key string) string {
		return "<ListBucketResult><Contents><Key>" + key + "</Key><Size>1</Size></Contents></ListBucketResult>"
	}
	for name, serve := range map[string]http.HandlerFunc{
		"message": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<Error><Code>x\u009b\u202e</Code><Message>\u009b\u202e https://x.example.com/?X-Amz-Signature=s3cr3t</Message></Error>")
		},
		"redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://x.example.com/?X-Amz-Signature=s3cr3t&x="+"\u009b")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"bad redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://x.example.com:port/?X-Amz-Signature=s3cr3t")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"key":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, object("dir/\u009b\u202e/../../x")) },
		"other key": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, object("\u009b\u202e")) },
		"no XML":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, evil) },
	} {
		server := httptest.NewTLSServer(serve)
		t.Cleanup(server.Close)
		_, err := download(t, signed(t, server), "s3::"+server.URL+"/modules/dir")
		if err == nil || strings.ContainsAny(err.Error(), "\u009b\u202e\x1b") || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: error %q, want a printable one without the signature", name, err)
		}
	}
}

// asked returns the host that the Fetcher contacts for a location.
func asked(t *testing.T, text string) string {
	t.Helper()
	loc, err := module.ParseLocation(text)
	if err != nil {
		return "" // refused before
	}
	host, stop := "", errors.New("stop")
	f := &s3.Fetcher{Hosts: func(h string) error { host = h; return stop }}
	if _, err := f.FetchModule(t.Context(), loc, t.TempDir(), module.Options{}); !errors.Is(err, stop) {
		host = ""
	}
	return host
}

func TestLocations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3::https://s3.amazonaws.com/bucket/key.zip":               "s3.amazonaws.com",
		"s3::https://s3-eu-west-1.amazonaws.com/bucket/key.zip":     "s3-eu-west-1.amazonaws.com",
		"s3::https://s3.eu-west-1.amazonaws.com/bucket/key.zip":     "s3.eu-west-1.amazonaws.com",
		"s3::https://bucket.s3.eu-west-1.amazonaws.com/key.zip":     "bucket.s3.eu-west-1.amazonaws.com",
		"bucket.s3.amazonaws.com/key.zip":                           "s3.amazonaws.com",
		"s3::https://a.b.s3-eu-west-1.amazonaws.com/dir/key.tar.gz": "a.b.s3-eu-west-1.amazonaws.com",
		"s3::https://s3.amazonaws.com/bucket":                       "",
		"s3::https://s3.amazonaws.com/":                             "",
	} {
		if got := asked(t, text); got != want {
			t.Errorf("%s is fetched from %q, want %q", text, got, want)
		}
	}
}

// FuzzLocation checks that no location makes the Fetcher panic.
func FuzzLocation(f *testing.F) {
	for _, text := range []string{"s3::https://s3.amazonaws.com/bucket/key.zip", "s3::https://x/y/z?region=r&version=v", "s3::https://.s3.amazonaws.com//"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { asked(t, text) })
}
