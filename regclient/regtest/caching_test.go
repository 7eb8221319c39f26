package regtest_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/tofureg/tofureg/regclient/regtest"
)

func TestCaching(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	reg.Caching = regtest.Caching{Control: "max-age=60", Vary: "Accept", Tags: true}
	reg.AddProvider(regtest.Provider{Address: "acme/alpha"})
	get := func(path, tag string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://registry.example.com"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tag != "" {
			req.Header.Set("If-None-Match", tag)
		}
		resp, err := reg.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || (len(body) > 0) != (resp.StatusCode != http.StatusNotModified) {
			t.Errorf("%s: status %d with %d bytes, %v", path, resp.StatusCode, len(body), err)
		}
		return resp
	}
	const versions = "/v1/providers/acme/alpha/versions"
	first := get(versions, "")
	tag := first.Header.Get("Etag")
	if first.StatusCode != http.StatusOK || first.Header.Get("Cache-Control") != "max-age=60" || first.Header.Get("Vary") != "Accept" || tag == "" {
		t.Errorf("status %d, headers %v", first.StatusCode, first.Header)
	}
	if again := get(versions, tag); again.StatusCode != http.StatusNotModified || again.Header.Get("Cache-Control") != "max-age=60" {
		t.Errorf("asked with its tag: status %d, headers %v", again.StatusCode, again.Header)
	}
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Edit: func(doc map[string]any) { doc["warnings"] = []string{"x"} }})
	if changed := get(versions, tag); changed.StatusCode != http.StatusOK || changed.Header.Get("Etag") == tag {
		t.Errorf("after a change: status %d, headers %v", changed.StatusCode, changed.Header)
	}
	reg.AddFault(regtest.Fault{Kind: regtest.Versions, Header: http.Header{"Etag": nil, "Cache-Control": {"no-store"}}})
	if h := get(versions, "").Header; h.Get("Etag") != "" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("with a fault: headers %v", h)
	}
	reg.ClearFaults()
	if h := get("/v1/providers/acme/none/versions", "").Header; h.Get("Etag") != "" || h.Get("Cache-Control") != "" {
		t.Errorf("not found: headers %v", h)
	}
}

// TestCachingDate: a document has no date by which a client could take it for unchanged.
func TestCachingDate(t *testing.T) {
	t.Parallel()
	reg, _ := start()
	reg.Caching.Tags = true
	a := get(t, reg.Client(), listURL, "If-Modified-Since", "Sat, 01 Jan 2000 00:00:00 GMT")
	if a.StatusCode != 200 || a.Header.Get("Last-Modified") != "" || a.Header.Get("Etag") == "" {
		t.Errorf("%s %v", a.Status, a.Header)
	}
}
