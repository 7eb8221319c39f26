package regcheck_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/regclient/regcheck"
	"github.com/tofureg/tofureg/regclient/regtest"
)

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
