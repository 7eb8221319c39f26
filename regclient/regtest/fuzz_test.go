package regtest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// FuzzRequest: no request makes the registry panic, and each gets an answer
// that is as long as it says.
func FuzzRequest(f *testing.F) {
	const files = "/releases/registry.example.com/acme/alpha/1.0.0/terraform-provider-alpha_1.0.0"
	for _, path := range []string{
		"", "/", "*", "//", "/.well-known/terraform.json", "/v1/providers/acme/alpha/versions",
		"/v1/providers/acme/alpha/1.0.0/download/linux/amd64", "/redirect-1-of-2/x", "/redirect-loop/x", "/redirect-1-of-1/v1/providers/acme/alpha/versions",
		"/v1/modules/acme/network/aws/versions", "/v1/modules/acme/network/aws/1.0.0/download", packagePath,
		"/packages/registry.example.com/acme/network/aws/1.0.0/page-1", "/packages/x/page-99999999999999999999",
		"/mirror/registry.example.com/acme/alpha/index.json", "/mirror/registry.example.com/acme/alpha/1.0.0.json",
		"/mirror/registry.example.com/acme/alpha/download/terraform-provider-alpha_1.0.0_linux_amd64.zip", "/mirror/%2e%2e/a/b/.json",
		files + "_SHA256SUMS", files + "_SHA256SUMS.sig", files + "_linux_amd64.zip", "/get", "/oauth/authorization", "/v1/providers/%2e%2e/%00/versions",
	} {
		f.Add("GET", path, "id=2f", "bytes=0-1")
	}
	f.Add("HEAD", "/", "", "bytes=-1,0-5")
	f.Add("", "/get", "id=2f72656c65617365732f", "bytes=x")
	f.Add("GET", "/v1/modules/acme/network/aws/versions", "limit=99999999999999999999&offset=-1", "")
	f.Add("GET", "/v1/modules/acme/network/aws/versions", "limit=1&offset=9223372036854775807", "")
	reg, _ := start()
	reg.AddModule(regtest.Module{Address: "acme/network/aws", Size: 100, Pages: -1})
	reg.ModuleList.PageSize = 1
	reg.Login = &regtest.Login{}
	f.Add("GET", "/oauth/authorization", "client_id=regtest&redirect_uri=http://localhost:5000/&state=%00", "")
	f.Add("POST", "/oauth/token", "grant_type=authorization_code", "")
	f.Fuzz(func(t *testing.T, method, path, query, ranges string) {
		u := &url.URL{Scheme: "https", Host: "registry.example.com", Path: path, RawQuery: query}
		req := (&http.Request{Method: method, URL: u, Header: http.Header{"Range": {ranges}}}).WithContext(t.Context())
		resp := must.Get(reg.RoundTrip(req))(t)
		body, err := io.ReadAll(resp.Body)
		if err != nil || method != "HEAD" && int64(len(body)) != resp.ContentLength || resp.StatusCode < 200 {
			t.Errorf("%s, %d bytes of %d, %v", resp.Status, len(body), resp.ContentLength, err)
		}
		resp.Body.Close()
		w := httptest.NewRecorder()
		reg.ServeHTTP(w, req)
		if w.Code != resp.StatusCode {
			t.Errorf("by RoundTrip %s, by ServeHTTP %d", resp.Status, w.Code)
		}
		reg.Reset()
	})
}

var _ http.RoundTripper = (*regtest.Registry)(nil)
