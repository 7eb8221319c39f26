package regtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofureg/tofureg/testkit/regtest"
)

// TestFaults checks what one fault makes of one answer.
func TestFaults(t *testing.T) {
	t.Parallel()
	const list = "/v1/providers/acme/alpha/versions"
	const files = "/releases/registry.example.com/acme/alpha/1.0.0/terraform-provider-alpha_1.0.0"
	tests := map[string]struct {
		fault regtest.Fault
		path  string
		want  func(a answer, plain answer) bool
	}{
		"status": {regtest.Fault{Status: 503, RetryAfter: "30"}, list, func(a, _ answer) bool {
			return a.StatusCode == 503 && a.Header.Get("Retry-After") == "30" && string(a.body) == `{"errors":["Service Unavailable"]}`
		}},
		"error of the caller's": {regtest.Fault{Status: 404, Raw: []byte("<h1>no</h1>"), Header: http.Header{"content-type": {"text/html"}}}, list, func(a, _ answer) bool {
			return a.StatusCode == 404 && string(a.body) == "<h1>no</h1>" && a.Header.Get("Content-Type") == "text/html"
		}},
		"raw archive": {regtest.Fault{Raw: []byte("PK")}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return string(a.body) == "PK" && a.Header.Get("Content-Type") == "application/zip"
		}},
		"no size": {regtest.Fault{Header: http.Header{"Content-Length": nil}}, files + "_linux_amd64.zip", func(a, p answer) bool { return a.ContentLength == -1 && bytes.Equal(a.body, p.body) }},
		"size too large": {regtest.Fault{Header: http.Header{"Content-Length": {"1000000"}}}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return a.ContentLength == 1000000 && a.err == io.ErrUnexpectedEOF && bytes.Equal(a.body, p.body)
		}},
		"no validator": {regtest.Fault{Header: http.Header{"ETag": nil}}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return len(a.Header["Etag"]) == 0 && len(a.Header["Last-Modified"]) == 0 && p.Header.Get("Last-Modified") != "" && bytes.Equal(a.body, p.body)
		}},
		"corrupt file": {regtest.Fault{Corrupt: true}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return differ(a.body, p.body) == 1 && a.Header.Get("Etag") == p.Header.Get("Etag")
		}},
		"changed file": {regtest.Fault{Changed: true}, files + "_linux_amd64.zip", func(a, p answer) bool {
			return differ(a.body, p.body) == 1 && a.Header.Get("Etag") != p.Header.Get("Etag") && a.Header.Get("Etag")[0] == '"' &&
				a.Header.Get("Last-Modified") != p.Header.Get("Last-Modified")
		}},
		"cut": {regtest.Fault{Break: "cut", After: 10}, list, func(a, p answer) bool {
			return a.err == io.ErrUnexpectedEOF && bytes.Equal(a.body, p.body[:10]) && a.ContentLength == p.ContentLength
		}},
		"cut after all": {regtest.Fault{Break: "cut", After: 1 << 40}, list, func(a, p answer) bool { return a.err == nil && bytes.Equal(a.body, p.body) }},
		"short": {regtest.Fault{Break: "short", After: 10}, list, func(a, p answer) bool {
			return a.err == nil && bytes.Equal(a.body, p.body[:10]) && a.ContentLength == 10
		}},
		"other content": {regtest.Fault{Path: "_SHA256SUMS.sig", Instead: "_SHA256SUMS"}, files + "_SHA256SUMS.sig", func(a, p answer) bool { return strings.HasSuffix(string(a.body), "_linux_amd64.zip\n") }},
		"edit":          {regtest.Fault{Edit: func(d map[string]any) { d["x"] = 1 }}, list, func(a, p answer) bool { return strings.HasSuffix(string(a.body), `"x":1}`) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, _ := start()
			plain := get(t, reg.Client(), base+test.path)
			reg.AddFault(test.fault)
			a := get(t, reg.Client(), base+test.path)
			if !test.want(a, plain) {
				t.Errorf("%s %v, %v\n%.500s", a.Status, a.Header, a.err, a.body)
			}
			if got := reg.Requests()[1].Status; got != a.StatusCode {
				t.Errorf("the record says %d", got)
			}
			reg.ClearFaults()
			if a := get(t, reg.Client(), base+test.path); !bytes.Equal(a.body, plain.body) {
				t.Error("the fault stays after ClearFaults")
			}
		})
	}
}

// differ returns in how many bits a and b differ, or -1 if in size.
func differ(a, b []byte) int {
	if len(a) != len(b) {
		return -1
	}
	n := 0
	for i := range a {
		for x := a[i] ^ b[i]; x != 0; x &= x - 1 {
			n++
		}
	}
	return n
}

// TestWhich checks which requests a fault affects.
func TestWhich(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		faults []regtest.Fault
		want   []int
	}{
		"all":             {[]regtest.Fault{{Status: 500}}, []int{500, 500, 500, 500}},
		"skip, first":     {[]regtest.Fault{{Status: 500, Skip: 1, First: 2}}, []int{200, 500, 500, 200}},
		"kind":            {[]regtest.Fault{{Kind: regtest.Discovery | regtest.Versions, Status: 500}}, []int{500, 500, 500, 500}},
		"every":           {[]regtest.Fault{{Status: 500, Skip: 1, Every: 2, First: 1}}, []int{200, 200, 500, 200, 200}},
		"drop":            {[]regtest.Fault{{Drop: true, Skip: 1, First: 1}}, []int{200, 0, 200}},
		"host":            {[]regtest.Fault{{Host: "registry.example.com", Status: 500}}, []int{500, 500, 500, 500}},
		"path":            {[]regtest.Fault{{Path: "/alpha/", Status: 500}}, []int{500, 500, 500, 500}},
		"one by one":      {[]regtest.Fault{{Status: 500, First: 1}, {Status: 502, Skip: 1, First: 1}, {Status: 503, Skip: 2}}, []int{500, 502, 503, 503}},
		"first decides":   {[]regtest.Fault{{Status: 500}, {Raw: []byte("{}")}}, []int{500, 500, 500, 500}},
		"redirect alone":  {[]regtest.Fault{{Redirect: "/"}, {Status: 500, First: 2}}, []int{302, 500, 302, 500}},
		"before redirect": {[]regtest.Fault{{Status: 500, First: 1}, {Redirect: "/"}}, []int{500, 302, 200, 302}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, _ := start()
			for _, f := range test.faults {
				reg.AddFault(f)
			}
			for len(reg.Requests()) < len(test.want) {
				if _, err := try(t.Context(), reg.Client(), "GET", listURL); err != nil && !errors.Is(err, syscall.ECONNRESET) {
					t.Fatal(err)
				}
			}
			var got []int
			for _, q := range reg.Requests() {
				got = append(got, q.Status)
			}
			if got = got[:len(test.want)]; !cmp.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestHeaders: of two faults the first has the header, as it has the status.
func TestHeaders(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.AddFault(regtest.Fault{Status: 503, RetryAfter: "1"})
	reg.AddFault(regtest.Fault{Status: 500, RetryAfter: "2", Header: http.Header{"X-Other": {"3"}}})
	a := get(t, reg.Client(), listURL)
	if a.StatusCode != 503 || a.Header.Get("Retry-After") != "1" || a.Header.Get("X-Other") != "3" {
		t.Errorf("%s %v", a.Status, a.Header)
	}
}

// TestRedirectHost: the target of a redirect has discovery until ClearFaults.
func TestRedirectHost(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	const target = "https://other.example.com/.well-known/terraform.json"
	reg.AddFault(regtest.Fault{Kind: regtest.Discovery, First: 1, Redirect: target})
	for _, want := range []int{200, 404} {
		if a := get(t, reg.Client(), base+"/.well-known/terraform.json"); a.StatusCode != 200 {
			t.Errorf("discovery: %s", a.Status)
		}
		if a := get(t, reg.Client(), target); a.StatusCode != want {
			t.Errorf("target: %s, want %d", a.Status, want)
		}
		reg.ClearFaults()
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	const list = "/v1/providers/acme/alpha/versions?x=1"
	tests := map[string]struct {
		fault regtest.Fault
		want  []string
	}{
		"by hops":    {regtest.Fault{Hops: 2}, []string{base + list, base + "/redirect-1-of-2" + list, base + "/redirect-2-of-2" + list}},
		"other port": {regtest.Fault{Redirect: base + ":8443/", Hops: 2}, []string{base + list, base + ":8443/redirect-1-of-2" + list, base + ":8443/redirect-2-of-2" + list}},
		"presigned":  {regtest.Fault{Redirect: "https://s3.example.com?X-Amz-Signature=1"}, []string{base + list, "https://s3.example.com/redirect-1-of-1" + list + "&X-Amz-Signature=1"}},
		"as it is":   {regtest.Fault{Redirect: "/v1/providers/acme/alpha/versions", Skip: 0, First: 1}, []string{base + list, base + "/v1/providers/acme/alpha/versions"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, _ := start()
			reg.AddFault(test.fault)
			if a := get(t, reg.Client(), base+list); a.StatusCode != 200 {
				t.Errorf("in the end: %s", a.Status)
			}
			var urls []string
			for _, q := range reg.Requests() {
				urls = append(urls, q.URL())
				if q.Kind != regtest.Versions {
					t.Errorf("%v has another kind", q)
				}
			}
			if diff := cmp.Diff(test.want, urls); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// elapsed runs f in a bubble and returns how long it has taken there.
func elapsed(t *testing.T, f func(t *testing.T, reg *regtest.Registry)) (d time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		reg, _ := start()
		begin := time.Now()
		f(t, reg)
		d = time.Since(begin)
	})
	return d
}

func TestTime(t *testing.T) {
	t.Parallel()
	const size = 1000
	big := regtest.Provider{Address: "acme/big", Zip: make([]byte, size)}
	const bigURL = base + "/releases/registry.example.com/acme/big/1.0.0/terraform-provider-big_1.0.0_linux_amd64.zip"
	tests := map[string]struct {
		faults []regtest.Fault
		want   time.Duration
	}{
		"delay":          {[]regtest.Fault{{Delay: time.Hour}}, time.Hour},
		"pause":          {[]regtest.Fault{{Break: "stall", After: 10, Pause: time.Minute}}, time.Minute},
		"pause too late": {[]regtest.Fault{{Break: "stall", After: size, Pause: time.Minute}}, 0},
		"rate":           {[]regtest.Fault{{Rate: 10}}, 100 * time.Second},
		"rates":          {[]regtest.Fault{{Rate: 20}, {Rate: 10}, {Delay: time.Second}, {Rate: 1 << 30}}, 101 * time.Second},
		"rate and pause": {[]regtest.Fault{{Rate: 100, Break: "stall", After: 1, Pause: time.Minute}}, 70 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := elapsed(t, func(t *testing.T, reg *regtest.Registry) {
				reg.AddProvider(big)
				for _, f := range test.faults {
					reg.AddFault(f)
				}
				if a := get(t, reg.Client(), bigURL); a.err != nil || len(a.body) != size {
					t.Errorf("%s, %v, %d bytes", a.Status, a.err, len(a.body))
				}
			})
			if got != test.want {
				t.Errorf("took %v, want %v", got, test.want)
			}
		})
	}
}

// TestCancel: a request ends with its context wherever it waits, and so does
// the body.
func TestCancel(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]regtest.Fault{
		"before the answer": {Delay: time.Hour},
		"at the start":      {Break: "stall"},
		"in the body":       {Break: "stall", After: 10},
		"in a pause":        {Break: "stall", After: 10, Pause: time.Hour},
		"slow":              {Rate: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := elapsed(t, func(t *testing.T, reg *regtest.Registry) {
				reg.AddFault(fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				a, err := try(ctx, reg.Client(), "GET", listURL)
				if err == nil {
					err = a.err
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error: %v", err)
				}
				ctx, cancelCause := context.WithCancelCause(t.Context())
				cancelCause(io.ErrNoProgress)
				if _, err := try(ctx, reg.Client(), "GET", listURL); !errors.Is(err, io.ErrNoProgress) {
					t.Errorf("error: %v", err)
				}
			})
			if got != time.Minute {
				t.Errorf("took %v", got)
			}
		})
	}
}
