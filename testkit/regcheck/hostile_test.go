package regcheck_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/testkit/regcheck"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestExamineHangs: a server that does not answer, or not to the end, holds up no check for
// longer than its time.
func TestExamineHangs(t *testing.T) {
	t.Parallel()
	const short, long = 30 * time.Second, 5 * time.Minute
	for name, test := range map[string]struct {
		fault regtest.Fault
		by    []string // the checks that fail
		took  time.Duration
	}{
		"no answer":          {regtest.Fault{Kind: regtest.Discovery, Delay: time.Hour}, []string{"discovery"}, short},
		"half an answer":     {regtest.Fault{Kind: regtest.Discovery, Break: "stall", After: 9}, []string{"discovery"}, short},
		"an endless trickle": {regtest.Fault{Kind: regtest.Versions, Path: "/alpha/", PadTo: 1 << 20, Rate: 100}, []string{"provider versions"}, short},
		"sums":               {regtest.Fault{Kind: regtest.Sums, Break: "stall", After: 9}, []string{"sums"}, short},
		"unknown":            {regtest.Fault{Kind: regtest.Versions, Path: "regcheck-unknown", Delay: time.Hour}, []string{"unknown provider"}, short},
		"an archive":         {regtest.Fault{Kind: regtest.Archive, Path: "/releases/", Break: "stall", After: 9}, []string{"archive"}, long},
		"a module":           {regtest.Fault{Kind: regtest.ModulePackage, Break: "stall", After: 1}, []string{"module package"}, short},
		"a mirror":           {regtest.Fault{Kind: regtest.MirrorVersion, Delay: time.Hour}, []string{"mirror version"}, long},
		"mirrored archives":  {regtest.Fault{Kind: regtest.Archive, Path: "/mirror/", Break: "stall", After: 9}, []string{"mirror archive"}, long},
		"a slow mirror":      {regtest.Fault{Kind: regtest.MirrorVersion, Delay: 3 * time.Minute}, []string{"mirror version"}, long},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for _, timeout := range []time.Duration{0, 7 * time.Second} {
					reg, o := exemplary()
					reg.AddFault(test.fault)
					o.Timeout = timeout
					start := time.Now()
					found := regcheck.Examine(t.Context(), exemplaryURL, o)
					want := test.took
					if timeout > 0 {
						want = timeout
					}
					if took := time.Since(start); took != want {
						t.Errorf("took %v, want %v", took, want)
					}
					if got := failed(found); !slices.Equal(got, test.by) {
						t.Errorf("the checks %q have failed, want %q", got, test.by)
					}
					if text := fmt.Sprint(found); !strings.Contains(text, fmt.Sprintf("no answer to the end within %v", want)) {
						t.Errorf("found %s", text)
					}
				}
			})
		})
	}
}

// endless answers each request for a list with one as large as it may be, all of whose
// elements are wrong in themselves.
type endless struct{ requests int }

func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.requests++; e.requests > 1000 {
		return nil, errors.New("there is no end to the requests")
	}
	var doc strings.Builder
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "terraform.json"):
		doc.WriteString(`{"providers.v1":"/p/","modules.v1":"/m/"}`)
	case strings.HasPrefix(path, "/p/"):
		doc.WriteString(`{"versions":[` + strings.Repeat(`{"version":"x"},`, 10_000) + `{}]}`)
	case strings.HasPrefix(path, "/m/"):
		doc.WriteString(`{"modules":[{"versions":[` + strings.Repeat(`{"version":"x"},`, 10_000) + `{}]}]}`)
	default: // each version of the mirror is missing
		doc.WriteString(`{"versions":{`)
		for i := range 5_000 {
			fmt.Fprintf(&doc, `"1.0.%d":{},`, i)
		}
		doc.WriteString(`"1.1.0":{}}}`)
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	resp.Body = io.NopCloser(strings.NewReader(doc.String()))
	if strings.HasPrefix(r.URL.Path, "/mirror/") && !strings.HasSuffix(r.URL.Path, "index.json") {
		resp.StatusCode = 404
	}
	return resp, nil
}

// TestExamineManyFindings: there is an end to what is told, and to what is asked for after
// so much has been found.
func TestExamineManyFindings(t *testing.T) {
	t.Parallel()
	server := &endless{}
	found := regcheck.Examine(t.Context(), exemplaryURL, regcheck.Options{
		Client: &http.Client{Transport: server}, Provider: "acme/alpha", Module: "acme/network/aws", Mirror: exemplaryURL + "/mirror/",
	})
	count := map[string]int{}
	for _, f := range found {
		count[f.Check]++
	}
	for _, check := range []string{"provider versions", "module versions", "mirror version"} {
		if count[check] != 21 {
			t.Errorf("%d findings of the check %s, want 20 and one that says that there are more", count[check], check)
		}
	}
	if server.requests > 30 {
		t.Errorf("%d requests", server.requests)
	}
}

// TestExamineManyAdvices: however much advice there is, what fails behind it is found.
func TestExamineManyAdvices(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.Mirror.NoHashes = true
	for i := range 6 {
		reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: fmt.Sprintf("1.%d.0", i),
			Platforms: []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64"}})
	}
	reg.AddFault(regtest.Fault{Kind: regtest.MirrorVersion, Path: "/1.5.0.json", Status: 404})
	o := regcheck.Options{Client: reg.Client(), Mirror: reg.MirrorURL(), MirrorProvider: "registry.example.com/acme/alpha"}
	found := regcheck.Examine(t.Context(), "", o)
	if got := failed(found); !slices.Equal(got, []string{"mirror version"}) {
		t.Errorf("the checks %q have failed", got)
	}
	advices := 0
	for _, f := range found {
		if f.Level == regcheck.Advice {
			advices++
		}
	}
	if advices != 21 {
		t.Errorf("%d pieces of advice, want 20 and one that says that there are more", advices)
	}
}

// TestExamineDiscreet: no secret is in a Referer or in a text.
func TestExamineDiscreet(t *testing.T) {
	t.Parallel()
	reg, o := exemplary()
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "/releases/", Redirect: "https://files.example.com", Hops: 2})
	reg.AddFault(edit(regtest.Package, func(doc map[string]any) { doc["download_url"] = doc["download_url"].(string) + "?signature=s3cret" }))
	reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Header: http.Header{"X-Terraform-Get": {"ssh://user:s3cret@example.com/x?token=s3cret"}}})
	found := regcheck.Examine(t.Context(), exemplaryURL, o)
	if text := fmt.Sprint(found); strings.Contains(text, "s3cret") {
		t.Errorf("found %s", text)
	}
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Status: http.StatusFound, Header: http.Header{"Location": {"/%zz?token=s3cret"}}})
	if text := fmt.Sprint(regcheck.Examine(t.Context(), exemplaryURL, o)); strings.Contains(text, "s3cret") || !strings.Contains(text, "/%zz?...") {
		t.Errorf("with a Location that cannot be parsed, found %s", text)
	}
	for _, q := range reg.Requests() {
		if q.Referer != "" {
			t.Errorf("%s has the Referer %s", q, q.Referer)
		}
		if q.Kind&(regtest.Sums|regtest.Signature) != 0 && q.Header.Get("Accept") != "*/*" {
			t.Errorf("%s has Accept: %s", q, q.Header.Get("Accept"))
		}
	}
}

// TestExamineLocations: what registries have as locations is good, wherever it leads.
func TestExamineLocations(t *testing.T) {
	t.Parallel()
	for _, location := range []string{
		"git::https://github.com/acme/network?ref=v1.0.0", "git::ssh://git@github.com/acme/network.git//sub?ref=x", "git@github.com:acme/network.git",
		"git::git@github.com:acme/network.git", "github.com/acme/network", "s3::https://s3.amazonaws.com/bucket/network.zip", "hg::https://example.com/x",
		"https://files.example.com/profile:1/network.tar.gz", "https://files.example.com/x.zip?archive=zip&checksum=md5:5eed&a=b%20c",
	} {
		reg, o := exemplary()
		o.Client = &http.Client{Transport: anyArchive{RoundTripper: reg}}
		reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Header: http.Header{"X-Terraform-Get": {location}}})
		if found := regcheck.Examine(t.Context(), exemplaryURL, o); len(found) != 0 {
			t.Errorf("%s: found %v", location, found)
		}
	}
	for answer, want := range map[string]string{
		`{"location":"./other.zip"}`: "name different locations",
		`{"location":7}`:             "the value of location is of type number, want string",
	} {
		reg, o := exemplary()
		reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Status: 200, Raw: []byte(answer), Header: http.Header{"X-Terraform-Get": {"./x.zip"}}})
		if found := fmt.Sprint(regcheck.Examine(t.Context(), exemplaryURL, o)); !strings.Contains(found, want) {
			t.Errorf("%s: found %s", answer, found)
		}
	}
	for answer, test := range map[string]struct{ sent, advice string }{
		`{"location":"x.zip","use_registry_credentials":true}`:                            {"Bearer secret", ""},
		`{"location":"https://files.example.com/x.zip","use_registry_credentials":false}`: {"", ""},
		`{"location":"https://files.example.com/x.zip","use_registry_credentials":true}`:  {"", "some clients send no token"},
	} {
		reg, o := exemplary()
		var last *http.Request
		o.Client = &http.Client{Transport: anyArchive{RoundTripper: reg, last: &last}}
		reg.AddFault(regtest.Fault{Kind: regtest.ModuleLocation, Status: 200, Raw: []byte(answer), Header: http.Header{"X-Terraform-Get": nil}})
		found := regcheck.Examine(t.Context(), exemplaryURL, o)
		if len(found) == 0 || !strings.Contains(found[0].String(), "module location: advice: ") || !strings.Contains(found[0].Text, "Terraform") {
			t.Errorf("%s: found %v, want advice that names Terraform", answer, found)
		} else if rest := fmt.Sprint(found[1:]); (rest != "[]") != (test.advice != "") || !strings.Contains(rest, test.advice) {
			t.Errorf("%s: found %s, want advice %q", answer, rest, test.advice)
		}
		if last == nil || last.Header.Get("Authorization") != test.sent {
			t.Errorf("%s: the request for the package is %v", answer, last)
		}
	}
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Answer: "body"})
	found := regcheck.Examine(t.Context(), exemplaryURL, regcheck.Options{Client: reg.Client(), Module: "acme/network/aws"})
	if len(found) != 1 || found[0].Level != regcheck.Failed || found[0].Check != "module location" || !strings.Contains(found[0].Text, "Terraform") {
		t.Errorf("a location in the body alone: found %v, want a failure that names Terraform", found)
	}
	if n := reg.Count(regtest.ModulePackage); n != 1 {
		t.Errorf("a location in the body alone: %d requests for the package, want 1", n)
	}
}

// TestExaminePages: what may be a page is asked for with the parameter that tells servers
// that a client asks. Archives are asked for as they are: their URLs may be signed.
func TestExaminePages(t *testing.T) {
	t.Parallel()
	const files = "/packages/registry.example.com/acme/network/aws/1.0.0/"
	direct := true
	for name, test := range map[string]struct {
		module regtest.Module
		page   bool
		query  string // in front of that parameter
	}{
		"page":                 {regtest.Module{Pages: 1}, true, ""},
		"page with a tag":      {regtest.Module{Pages: 1, MetaTag: true}, true, ""},
		"page with a query":    {regtest.Module{Pages: 1, Location: files + "page-1//modules/a?b=%2f&a=1"}, true, "b=%2f&a=1"},
		"archive":              {regtest.Module{}, false, ""},
		"archive with a query": {regtest.Module{Query: "b=%2f&a=1"}, false, "b=%2f&a=1"},
		"named by a parameter": {regtest.Module{Pages: 1, Location: files + "page-1?archive=zip"}, false, ""},
		"no archive by one":    {regtest.Module{Location: files + "network-1.0.0.zip?archive=false"}, true, ""},
		"direct":               {regtest.Module{Pages: 1, Location: files + "page-1", UseRegistryCredentials: &direct}, false, ""},
	} {
		reg := regtest.New("registry.example.com")
		test.module.Address = "acme/network/aws"
		reg.AddModule(test.module)
		found := regcheck.Examine(t.Context(), exemplaryURL, regcheck.Options{Client: reg.Client(), Module: "acme/network/aws"})
		want := test.query
		if test.page {
			want = strings.TrimPrefix(want+"&terraform-get=1", "&")
		}
		asked := false
		for _, q := range reg.Requests() {
			if strings.HasPrefix(q.Path, files) {
				if asked = true; q.Query != want {
					t.Errorf("%s: asked with the query %q, want %q", name, q.Query, want)
				}
			}
		}
		if !asked {
			t.Errorf("%s: not asked for: %v", name, found)
		}
	}
}

// TestExamineBrowserPage: a page that is there for clients alone is found.
func TestExamineBrowserPage(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Pages: 1})
	client := &http.Client{Transport: browserPage{reg}}
	if found := regcheck.Examine(t.Context(), exemplaryURL, regcheck.Options{Client: client, Module: "acme/network/aws"}); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

// browserPage answers a request for a page that does not say that a client asks.
type browserPage struct{ http.RoundTripper }

func (b browserPage) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/page-1") || r.URL.Query().Get("terraform-get") == "1" {
		return b.RoundTripper.RoundTrip(r)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("<html>Network</html>")), Request: r}, nil
}

// anyArchive has an archive under each URL of another host, and wherever x.zip is.
type anyArchive struct {
	http.RoundTripper
	last **http.Request // for one of them, if not nil
}

func (a anyArchive) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "files.example.com" && !strings.HasSuffix(r.URL.Path, "/x.zip") {
		return a.RoundTripper.RoundTrip(r)
	}
	if a.last != nil {
		*a.last = r
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("PK\x03\x04")), Request: r}
	if r.URL.RawQuery != "" && r.URL.RawQuery != "a=b%20c" {
		resp.StatusCode = 403 // as for a presigned URL that was changed
	}
	return resp, nil
}

// insecure makes a document name a file under an http URL.
func insecure(kind regtest.Kind, change func(doc map[string]any, plain func(any) any)) regtest.Fault {
	return edit(kind, func(doc map[string]any) {
		change(doc, func(v any) any { return strings.Replace(v.(string), "https:", "http:", 1) })
	})
}

// TestExamineHTTP: the CLIs install from http URLs. Without AllowHTTP such a URL is a failure, and
// every check that does not need the file runs. With AllowHTTP the URL is asked without the token.
func TestExamineHTTP(t *testing.T) {
	t.Parallel()
	property := func(name string) regtest.Fault {
		return insecure(regtest.Package, func(doc map[string]any, plain func(any) any) { doc[name] = plain(doc[name]) })
	}
	for name, test := range map[string]struct {
		fault         regtest.Fault
		fails         string   // without AllowHTTP
		skipped, done []string // without AllowHTTP
		file          regtest.Kind
	}{
		"archive":   {property("download_url"), "provider package", []string{"archive", "ranges"}, []string{"sums", "signature"}, regtest.Archive},
		"sums":      {property("shasums_url"), "provider package", []string{"sums", "signature"}, []string{"archive"}, regtest.Sums},
		"signature": {property("shasums_signature_url"), "provider package", []string{"signature"}, []string{"sums", "archive"}, regtest.Signature},
		"mirror": {insecure(regtest.MirrorVersion, func(doc map[string]any, plain func(any) any) {
			a := doc["archives"].(map[string]any)["linux_amd64"].(map[string]any)
			a["url"] = "http://registry.example.com/mirror/registry.example.com/acme/alpha/" + a["url"].(string)
		}), "mirror version", []string{"mirror archive"}, []string{"archive"}, regtest.Archive},
		"module": {regtest.Fault{Kind: regtest.ModuleLocation, Header: map[string][]string{
			"X-Terraform-Get": {"http://registry.example.com/packages/registry.example.com/acme/network/aws/1.0.0/network-1.0.0.tar.gz"},
		}}, "module location", []string{"module package"}, []string{"unknown module"}, regtest.ModulePackage},
		"service": {insecure(regtest.Discovery, func(doc map[string]any, plain func(any) any) {
			doc["modules.v1"] = "http://registry.example.com/v1/modules/"
		}), "discovery", []string{"provider versions", "module versions"}, []string{"mirror index"}, regtest.ModuleVersions},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, o := exemplary()
			reg.AddFault(test.fault)
			found := regcheck.Examine(t.Context(), exemplaryURL, o)
			if got := failed(found); !slices.Equal(got, []string{test.fails}) {
				t.Errorf("without AllowHTTP the checks %q have failed, want %q:\n%v", got, test.fails, found)
			}
			for _, check := range append(slices.Clone(test.skipped), test.done...) {
				skipped := slices.ContainsFunc(found, func(f regcheck.Finding) bool { return f.Check == check && f.Level == regcheck.Skipped })
				if want := slices.Contains(test.skipped, check); skipped != want {
					t.Errorf("without AllowHTTP the check %s was skipped: %t, want %t:\n%v", check, skipped, want, found)
				}
			}
			for _, q := range reg.Requests() {
				if q.Scheme == "http" {
					t.Errorf("without AllowHTTP there was %s", q)
				}
			}

			o.AllowHTTP = true
			if name == "service" {
				reg.Require("", 0)
				o.Token = ""
			}
			reg.Reset()
			if found := regcheck.Examine(t.Context(), exemplaryURL, o); len(found) != 0 {
				t.Errorf("with AllowHTTP: found %v", found)
			}
			plain := 0
			for _, q := range reg.Requests() {
				if q.Scheme != "http" {
					continue
				}
				if plain++; q.Kind != test.file && name != "service" || q.Authorization != "" {
					t.Errorf("with AllowHTTP there was %s with Authorization %q", q, q.Authorization)
				}
			}
			if plain == 0 {
				t.Error("with AllowHTTP nothing was asked over http")
			}
		})
	}
}

// TestExamineHTTPLooks: with AllowHTTP an archive behind an http URL is checked like any other.
func TestExamineHTTPLooks(t *testing.T) {
	t.Parallel()
	reg, o := exemplary()
	o.AllowHTTP = true
	reg.AddFault(regtest.Fault{Kind: regtest.Archive, Path: "/releases/", Corrupt: true})
	reg.AddFault(insecure(regtest.Package, func(doc map[string]any, plain func(any) any) { doc["download_url"] = plain(doc["download_url"]) }))
	if found := regcheck.Examine(t.Context(), exemplaryURL, o); !slices.Equal(failed(found), []string{"archive"}) {
		t.Errorf("found %v, want a failure of the check archive", found)
	}
}

// TestExamineAlwaysHTTPS: AllowHTTP concerns neither the base URLs, which users write, nor other schemes.
func TestExamineAlwaysHTTPS(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(reg *regtest.Registry, o *regcheck.Options) (baseURL, check string){
		"mirror": func(reg *regtest.Registry, o *regcheck.Options) (string, string) {
			o.Mirror = strings.Replace(o.Mirror, "https:", "http:", 1)
			return exemplaryURL, "mirror index"
		},
		"registry": func(reg *regtest.Registry, o *regcheck.Options) (string, string) {
			o.Mirror = ""
			return strings.Replace(exemplaryURL, "https:", "http:", 1), "discovery"
		},
		"ftp": func(reg *regtest.Registry, o *regcheck.Options) (string, string) {
			reg.AddFault(set(regtest.Package, "download_url", "ftp://registry.example.com/a.zip"))
			return exemplaryURL, "provider package"
		},
	} {
		reg, o := exemplary()
		o.AllowHTTP = true
		baseURL, check := change(reg, &o)
		if found := regcheck.Examine(t.Context(), baseURL, o); !slices.Equal(failed(found), []string{check}) {
			t.Errorf("%s: found %v, want a failure of the check %s", name, found, check)
		}
	}
}

// TestExamineUniversal: one archive for two platforms is stated with one zh, at one URL.
func TestExamineUniversal(t *testing.T) {
	t.Parallel()
	reg, o := exemplary()
	reg.AddFault(edit(regtest.MirrorVersion, func(doc map[string]any) {
		archives := doc["archives"].(map[string]any)
		archives["darwin_arm64"] = archives["linux_amd64"]
	}))
	if found := regcheck.Examine(t.Context(), exemplaryURL, o); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

// TestExamineMirrorPort: neither CLI can install a provider whose host has a port from a mirror.
func TestExamineMirrorPort(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com:8443")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
	o := regcheck.Options{Client: reg.Client(), Mirror: reg.MirrorURL(), MirrorProvider: "registry.example.com:8443/acme/alpha"}
	found := regcheck.Examine(t.Context(), "", o)
	if len(found) != 1 || found[0].Level != regcheck.Advice || !strings.Contains(found[0].Text, "unsupported protocol scheme") {
		t.Errorf("found %v, want advice that quotes the error of the CLIs", found)
	}
}
