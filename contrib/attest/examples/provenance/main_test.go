package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/golang/snappy"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/contrib/attest/internal/attesttest"
	"github.com/tofureg/tofureg/contrib/attest/internal/must"
	"github.com/tofureg/tofureg/examples/program"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify/checksum"
)

// world is a registry, and GitHub with a bundle for each digest.
type world struct {
	*regtest.Registry
	bundles map[string]string
}

func (w world) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(body string) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body)), Request: r, Header: http.Header{}}, nil
	}
	bundle := w.bundles[strings.TrimPrefix(path.Base(r.URL.Path), "sha256:")]
	switch {
	case r.URL.Host == "blobs.example.com":
		return answer(string(snappy.Encode(nil, []byte(bundle))))
	case r.URL.Host == "api.github.com" && bundle == "":
		return answer("{}")
	case r.URL.Host == "api.github.com":
		return answer(`{"attestations": [{"bundle": null, "bundle_url": "https://blobs.example.com/` + path.Base(r.URL.Path) + `"}]}`)
	}
	return w.Registry.RoundTrip(r)
}

// TestRun: each provider is signed, attested, both, or neither. What cannot be asked for is unknown.
func TestRun(t *testing.T) {
	t.Parallel()
	w := world{regtest.New("registry.opentofu.org"), map[string]string{}}
	platform := addrs.CurrentPlatform().String()
	var lock lockfile.File
	add := func(typ string, attested bool, change func(*regtest.Provider)) {
		p := regtest.Provider{Address: "acme/" + typ, Version: "1.2.0", Platforms: []string{platform}}
		change(&p)
		rel := w.AddProvider(p)
		zh := rel.ZH(platform)
		if attested {
			w.bundles[zh.Value()] = attesttest.Shared().Bundle(attesttest.With(func(a *attesttest.Attestation) {
				a.Repository, a.Subjects = "https://github.com/acme/terraform-provider-"+typ, []checksum.Hash{zh}
			}))
		}
		must.Do(t, lock.Merge(addrs.MustParseProvider(p.Address), addrs.MustParseVersion(p.Version), addrs.ProviderConstraint{}, []checksum.Hash{zh}))
	}
	unsigned := func(p *regtest.Provider) { p.NoSums = true }
	add("attested", true, unsigned)
	add("both", true, func(*regtest.Provider) {})
	add("neither", false, unsigned)
	add("signed", false, func(*regtest.Provider) {})
	other := checksum.MustParseHash("zh:" + strings.Repeat("0", 64))
	must.Do(t, lock.Merge(addrs.MustParseProvider("acme/zmissing"), addrs.MustParseVersion("1.2.0"), addrs.ProviderConstraint{}, []checksum.Hash{other}))

	dir := t.TempDir()
	file, root := filepath.Join(dir, lockfile.Name), filepath.Join(dir, "root.json")
	must.Do(t, os.WriteFile(file, lock.Bytes(), 0o600))
	must.Do(t, os.WriteFile(root, attesttest.Shared().JSON, 0o600))
	var out, terminal bytes.Buffer
	web := &transport.Settings{HTTP: &http.Client{Transport: w}, Retries: -1}
	if err := run(t.Context(), []string{"-lockfile", file, "-root", root}, web, &out, &terminal); err != nil {
		t.Fatalf("provenance: %v", err)
	}
	signed := fmt.Sprintf("signed by key %s, which the source lists", w.Key().Fingerprint()[24:])
	want := []string{
		"acme/attested 1.2.0: built from https://github.com/acme/terraform-provider-attested at refs/tags/v1.2.0\n",
		"acme/both 1.2.0: " + signed + ", built from https://github.com/acme/terraform-provider-both at refs/tags/v1.2.0\n",
		"acme/neither 1.2.0: neither signed nor attested: package is not signed",
		"acme/signed 1.2.0: " + signed + "\n",
		"acme/zmissing 1.2.0: unknown: ",
	}
	lines := strings.SplitAfter(out.String(), "\n")
	for i, text := range want {
		if i >= len(lines) || !strings.HasPrefix(lines[i], "registry.opentofu.org/"+text) {
			t.Errorf("line %d of\n%s\nwant %s", i+1, &out, text)
		}
	}
	if n := w.Count(regtest.Archive); n != 0 {
		t.Errorf("%d archives downloaded, want none", n)
	}
}

// TestArguments checks bad input.
func TestArguments(t *testing.T) {
	t.Parallel()
	web := &transport.Settings{}
	if err := run(t.Context(), []string{"-nope"}, web, io.Discard, io.Discard); err == nil {
		t.Error("an unknown flag: no error")
	} else if _, ok := err.(*program.UsageError); !ok {
		t.Errorf("an unknown flag: %v, want a *program.UsageError", err)
	}
	if err := run(t.Context(), []string{"-lockfile", filepath.Join(t.TempDir(), "missing")}, web, io.Discard, io.Discard); err == nil {
		t.Error("a missing lock file: no error")
	}
}
