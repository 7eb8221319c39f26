package regtest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regtest"
)

const (
	base    = "https://registry.example.com"
	listURL = base + "/v1/providers/acme/alpha/versions"
)

// metadataURL is the URL of the metadata of acme/alpha.
func metadataURL(version, platform string) string {
	return base + "/v1/providers/acme/alpha/" + version + "/download/" + strings.Replace(platform, "_", "/", 1)
}

// start returns a registry with acme/alpha 1.0.0 for linux_amd64.
func start() (*regtest.Registry, *regtest.Release) {
	reg := regtest.New("registry.example.com")
	return reg, reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}})
}

type answer struct {
	*http.Response
	body []byte
	err  error // of reading the body
}

// do asks for a URL. The header is a list of names and values.
func do(t *testing.T, client *http.Client, method, url string, header ...string) answer {
	t.Helper()
	return must.Get(try(t.Context(), client, method, url, header...))(t)
}

func get(t *testing.T, client *http.Client, url string, header ...string) answer {
	t.Helper()
	return do(t, client, http.MethodGet, url, header...)
}

func try(ctx context.Context, client *http.Client, method, url string, header ...string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{Response: resp}
	a.body, a.err = io.ReadAll(resp.Body)
	return a, nil
}

// object asks for a JSON document.
func object(t *testing.T, client *http.Client, url string) map[string]any {
	t.Helper()
	a := get(t, client, url)
	if a.StatusCode != http.StatusOK || a.err != nil {
		t.Fatalf("GET %s: %s, %v: %s", url, a.Status, a.err, a.body)
	}
	var doc map[string]any
	must.Do(t, json.Unmarshal(a.body, &doc))
	return doc
}

// archiveURL asks for the metadata of acme/alpha 1.0.0 and returns where its
// archive is. It leaves no trace in the record.
func archiveURL(t *testing.T, reg *regtest.Registry) string {
	t.Helper()
	doc := object(t, reg.Client(), metadataURL("1.0.0", "linux_amd64"))
	reg.Reset()
	return doc["download_url"].(string)
}

func content(t *testing.T, rel *regtest.Release, platform string) []byte {
	t.Helper()
	return must.Get(io.ReadAll(rel.Archive(platform)))(t)
}
