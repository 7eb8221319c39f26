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

const emptyPage = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken></ListBucketResult>`

const placeholderPage = `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken><Contents><Key>dir/</Key><Size>0</Size></Contents></ListBucketResult>`

// signed returns a Fetcher that signs requests for all hosts.
func signed(t *testing.T, server *httptest.Server) *s3.Fetcher {
	t.Helper()
	return &s3.Fetcher{
		Region:      "eu-west-1",
		Credentials: credentials.NewStaticCredentialsProvider("id", "s3cr3t", ""),
		Hosts:       func(string) error { return nil },
		Transport:   &transport.Settings{HTTP: server.Client(), Retries: -1},
	}
}

// TestListRules: lists follow the rules of transport.Settings, too.
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
		if _, err := download(t, signed(t, plain), "s3::"+plain.URL+path); !errors.Is(err, failure.ErrInsecure) || elsewhere.Load() > 0 {
			t.Errorf("http%s: %v and %d requests, want ErrInsecure and none", path, err, elsewhere.Load())
		}
	}
}

// TestHostsOfRequests: VetoHost gets canonical hosts.
func TestHostsOfRequests(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
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

// TestListAtLimits: 250 empty pages and a page of 1 MiB are accepted.
func TestListAtLimits(t *testing.T) {
	t.Parallel()
	const begin, end = "<ListBucketResult>", "<IsTruncated>false</IsTruncated></ListBucketResult>"
	var pages atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n := pages.Add(1); n < 250 {
			fmt.Fprintf(w, emptyPage, n)
			return
		}
		fmt.Fprint(w, begin+strings.Repeat(" ", 1<<20-len(begin+end))+end)
	}))
	t.Cleanup(server.Close)
	_, err := download(t, signed(t, server), "s3::"+server.URL+"/modules/dir")
	if !errors.Is(err, failure.ErrNotFound) || pages.Load() != 250 {
		t.Errorf("a list at the limits: %v after %d pages, want ErrNotFound after 250", err, pages.Load())
	}
}

// TestListLimits: a list has limited pages, and a page a limited size.
func TestListLimits(t *testing.T) {
	t.Parallel()
	var pages, placeholders atomic.Int32
	for name, serve := range map[string]http.HandlerFunc{
		"empty pages": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, emptyPage, pages.Add(1)) },
		"large page": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<ListBucketResult>"+strings.Repeat(" ", 1<<20))
		},
		"nested page":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("<a>", 16<<20/3)) },
		"placeholders": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, placeholderPage, placeholders.Add(1)) },
	} {
		o := module.Options{Limits: checksum.Limits{Entries: 10}}
		server := httptest.NewTLSServer(serve)
		t.Cleanup(server.Close)
		if _, err := downloadWith(t, signed(t, server), "s3::"+server.URL+"/modules/dir", o); !errors.Is(err, failure.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
	if got, of := pages.Load(), placeholders.Load(); got != 250 || of != 11 {
		t.Errorf("%d empty pages and %d placeholders were read, want 250 and 11", got, of)
	}
}

// TestErrorsArePrintable: text of a server does not control a terminal, and signed URLs are not shown.
func TestErrorsArePrintable(t *testing.T) {
	t.Parallel()
	const evil = "\u009b31m\u202e\x1b[2J"
	object := func(key string) string {
		return "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>" + key + "</Key><Size>1</Size></Contents></ListBucketResult>"
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

// TestForms: each form of a host of S3 is asked itself, for the region that it names, with the right bucket, and never for
// a region that it does not name.
func TestForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3.amazonaws.com/b-1/k.zip":                                                       "s3.amazonaws.com/b-1/k.zip us-east-1",
		"s3.amazonaws.com/b-1/k.zip?region=us-east-1":                                      "s3.amazonaws.com/b-1/k.zip us-east-1",
		"s3.amazonaws.com/b-1/k.zip?region=eu-west-1":                                      "s3.eu-west-1.amazonaws.com/b-1/k.zip eu-west-1",
		"b-1.s3.amazonaws.com/k.zip?region=us-gov-west-1":                                  "s3.us-gov-west-1.amazonaws.com/b-1/k.zip us-gov-west-1",
		"b-1.s3.amazonaws.com/k.zip":                                                       "s3.amazonaws.com/b-1/k.zip us-east-1",
		"s3-external-1.amazonaws.com/b-1/k.zip":                                            "s3-external-1.amazonaws.com/b-1/k.zip us-east-1",
		"s3-eu-west-1.amazonaws.com/b-1/k.zip":                                             "s3-eu-west-1.amazonaws.com/b-1/k.zip eu-west-1",
		"s3-eu-west-1.amazonaws.com/b-1/k.zip?region=us-east-1":                            "s3-eu-west-1.amazonaws.com/b-1/k.zip eu-west-1",
		"b-1.s3-eu-west-1.amazonaws.com/k.zip":                                             "s3-eu-west-1.amazonaws.com/b-1/k.zip eu-west-1",
		"s3.ap-southeast-5.amazonaws.com/b-1/k.zip":                                        "s3.ap-southeast-5.amazonaws.com/b-1/k.zip ap-southeast-5",
		"b-1.S3.EU-West-1.Amazonaws.com/k.zip":                                             "s3.eu-west-1.amazonaws.com/b-1/k.zip eu-west-1",
		"a.b.s3.eu-west-1.amazonaws.com/k.zip":                                             "s3.eu-west-1.amazonaws.com/a.b/k.zip eu-west-1",
		"s3.us-gov-east-1.amazonaws.com/b-1/k.zip":                                         "s3.us-gov-east-1.amazonaws.com/b-1/k.zip us-gov-east-1",
		"s3-us-gov-west-1.amazonaws.com/b-1/k.zip":                                         "s3-us-gov-west-1.amazonaws.com/b-1/k.zip us-gov-west-1",
		"s3-fips-us-gov-west-1.amazonaws.com/b-1/k.zip":                                    "s3-fips-us-gov-west-1.amazonaws.com/b-1/k.zip us-gov-west-1",
		"b-1.s3-fips.us-east-2.amazonaws.com/k.zip":                                        "s3-fips.us-east-2.amazonaws.com/b-1/k.zip us-east-2",
		"b-1.s3-fips.dualstack.us-east-2.amazonaws.com/k.zip":                              "s3-fips.dualstack.us-east-2.amazonaws.com/b-1/k.zip us-east-2",
		"s3.dualstack.eu-west-1.amazonaws.com/b-1/k.zip":                                   "s3.dualstack.eu-west-1.amazonaws.com/b-1/k.zip eu-west-1",
		"b-1.s3.dualstack.eu-west-1.amazonaws.com/k.zip":                                   "s3.dualstack.eu-west-1.amazonaws.com/b-1/k.zip eu-west-1",
		"s3.cn-north-1.amazonaws.com.cn/b-1/k.zip":                                         "s3.cn-north-1.amazonaws.com.cn/b-1/k.zip cn-north-1",
		"b-1.s3.dualstack.cn-northwest-1.amazonaws.com.cn/k.zip":                           "s3.dualstack.cn-northwest-1.amazonaws.com.cn/b-1/k.zip cn-northwest-1",
		"b-1.s3-accelerate.amazonaws.com/k.zip?region=eu-west-1":                           "s3-accelerate.amazonaws.com/b-1/k.zip eu-west-1",
		"b-1.s3-accelerate.dualstack.amazonaws.com/k.zip?region=eu-west-1":                 "s3-accelerate.dualstack.amazonaws.com/b-1/k.zip eu-west-1",
		"b-1.s3-accelerate.amazonaws.com/k.zip":                                            "the region of bucket",
		"ap-123456789012.s3-accesspoint.eu-west-1.amazonaws.com/k.zip":                     "s3-accesspoint.eu-west-1.amazonaws.com/ap-123456789012/k.zip eu-west-1",
		"ap-123456789012.s3-accesspoint-fips.dualstack.us-east-1.amazonaws.com/k.zip":      "s3-accesspoint-fips.dualstack.us-east-1.amazonaws.com/ap-123456789012/k.zip us-east-1",
		"ap-123456789012.s3-accesspoint.cn-north-1.amazonaws.com.cn/k.zip":                 "s3-accesspoint.cn-north-1.amazonaws.com.cn/ap-123456789012/k.zip cn-north-1",
		"b-1.bucket.vpce-1a2b-5e6f.s3.eu-west-1.vpce.amazonaws.com/k.zip":                  "bucket.vpce-1a2b-5e6f.s3.eu-west-1.vpce.amazonaws.com/b-1/k.zip eu-west-1",
		"bucket.vpce-1a2b-5e6f-eu-west-1a.s3.eu-west-1.vpce.amazonaws.com/b-1/k.zip":       "bucket.vpce-1a2b-5e6f-eu-west-1a.s3.eu-west-1.vpce.amazonaws.com/b-1/k.zip eu-west-1",
		"ap-123456789012.accesspoint.vpce-1a2b-5e6f.s3.us-east-1.vpce.amazonaws.com/k.zip": "accesspoint.vpce-1a2b-5e6f.s3.us-east-1.vpce.amazonaws.com/ap-123456789012/k.zip us-east-1",
		"s3.cn-north-1.amazonaws.com/b-1/k.zip":                                            "regions of China",
		"s3.eu-west-1.amazonaws.com.cn/b-1/k.zip":                                          "regions of China",
		"s3.amazonaws.com.cn/b-1/k.zip":                                                    "regions of China",
		"s3.amazonaws.com/b-1/k.zip?region=cn-north-1":                                     "regions of China",
		"s3.amazonaws.com/b-1/k.zip?region=x.evil.example.com/":                            "invalid region",
		"b-1.s3-website-eu-west-1.amazonaws.com/b-1/k.zip":                                 "not a host of S3",
		"b-1.s3-website.eu-west-1.amazonaws.com/b-1/k.zip":                                 "not a host of S3",
		"b-1.s3-object-lambda.eu-west-1.amazonaws.com/b-1/k.zip":                           "not a host of S3",
		"m.mrap.accesspoint.s3-global.amazonaws.com/b-1/k.zip":                             "not a host of S3",
		"b-1--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com/b-1/k.zip":         "not a host of S3",
		"s3-accelerate.amazonaws.com/b-1/k.zip":                                            "not a host of S3",
		"s3.eu-west-1.amazonaws.com.evil.example.com/b-1/k.zip":                            "not a host of S3",
		"evils3.amazonaws.com/b-1/k.zip":                                                   "not a host of S3",
		"s3.eu-west-1.amazonaws.com:8443/b-1/k.zip":                                        "not a host of S3",
		"objects.example.com/b-1/k.zip":                                                    "not a host of S3",
		"s3.amazonaws.com/b-1":                                                             "missing object",
		"s3.amazonaws.com/":                                                                "missing object",
	} {
		for _, key := range []string{"k.zip", "dir"} {
			text := "s3::https://" + strings.Replace(text, "k.zip", key, 1)
			asked := &recorder{}
			f := &s3.Fetcher{
				Credentials: credentials.NewStaticCredentialsProvider("id", "s3cr3t", ""),
				Transport:   &transport.Settings{HTTP: &http.Client{Transport: asked}, Retries: -1},
			}
			_, err := f.FetchModule(t.Context(), location(t, text), t.TempDir(), module.Options{})
			if asked.got == "" && err != nil {
				asked.got = err.Error()
			}
			if want := strings.Replace(want, "/k.zip", "/"+key, 1); asked.got != want && !(strings.Contains(asked.got, want) && !strings.Contains(want, "/")) {
				t.Errorf("%s: %q, want %q", text, asked.got, want)
			}
		}
	}
}

// recorder keeps the host, the bucket and the key of the last request, as in path style, and the region of its signature.
type recorder struct{ got string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	scope := req.URL.Query().Get("X-Amz-Credential") + req.Header.Get("Authorization")
	parts := append(strings.Split(scope, "/"), "", "", "")
	host, path := req.URL.Host, req.URL.Path+strings.TrimSuffix(req.URL.Query().Get("prefix"), "/")
	for _, bucket := range []string{"b-1", "ap-123456789012"} {
		if rest, ok := strings.CutPrefix(host, bucket+"."); ok {
			host, path = rest, "/"+bucket+path
		}
	}
	if req.URL.Query().Has("prefix") {
		bucket, key, _ := strings.Cut(strings.Trim(path, "/"), "/")
		if key == "" { // path style: /BUCKETdir
			bucket, key = strings.TrimSuffix(bucket, "dir"), "dir"
		}
		path = "/" + bucket + "/" + key
	}
	r.got = host + path + " " + parts[2]
	return nil, errors.New("no network")
}

// TestRegion: where neither the host nor a parameter names the region, nothing is signed before the caller names it, and a
// wrong region is explained.
func TestRegion(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Error("a request without a region") }))
	t.Cleanup(server.Close)
	for _, path := range []string{"/modules/a.zip", "/modules/dir"} {
		f := signed(t, server)
		f.Region = ""
		if _, err := download(t, f, "s3::"+server.URL+path); err == nil || !strings.Contains(err.Error(), "set Fetcher.Region") || !strings.Contains(err.Error(), "region=REGION") {
			t.Errorf("%s without a region: %v, want the remedies", path, err)
		}
	}
	for key, answer := range map[string]*http.Response{
		"k.zip": {StatusCode: http.StatusBadRequest},
		"dir":   {StatusCode: http.StatusMovedPermanently, Header: http.Header{"X-Amz-Bucket-Region": {"eu-west-1"}}},
		"dir2":  {StatusCode: http.StatusMovedPermanently, Header: http.Header{"X-Amz-Bucket-Region": {"evil\x1b"}}},
	} {
		f := &s3.Fetcher{
			Credentials: credentials.NewStaticCredentialsProvider("id", "s3cr3t", ""),
			Transport:   &transport.Settings{HTTP: &http.Client{Transport: answers{answer}}, Retries: -1},
		}
		want := "s3.REGION.amazonaws.com"
		if key == "dir" {
			want = "s3.eu-west-1.amazonaws.com"
		}
		_, err := download(t, f, "s3::https://s3.amazonaws.com/b/"+key)
		if err == nil || !strings.Contains(err.Error(), `the region "us-east-1"`) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s in another region: %v, want the region of the request and %s", key, err, want)
		}
	}
}

type answers struct{ resp *http.Response }

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := *a.resp
	resp.Request, resp.Body, resp.ProtoMajor, resp.ProtoMinor = r, http.NoBody, 1, 1
	return &resp, nil
}

// FuzzLocation checks that no location makes the Fetcher panic.
func FuzzLocation(f *testing.F) {
	for _, text := range []string{"s3::https://s3.amazonaws.com/bucket/key.zip", "s3::https://x/y/z?region=r&version=v", "s3::https://.s3.amazonaws.com//"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { asked(t, text) })
}
