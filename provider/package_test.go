package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

func somePackage() *provider.Package {
	zh := checksum.ZHSum([32]byte{1})
	return &provider.Package{
		Provider: demo, Version: version("1.2.3"), Platform: linux,
		Protocols: []string{"5.0"}, Filename: "terraform-provider-demo_1.2.3_linux_amd64.zip",
		URL: "https://files.example.com/demo.zip?signature=secret", Size: 1234, SHA256: zh,
		SumsURL: "https://files.example.com/SHA256SUMS", SignatureURL: "https://files.example.com/SHA256SUMS.sig",
		Keys:   []verify.Key{{ID: "51852D87348FFC4C", Armor: "armor"}},
		Hashes: map[addrs.Platform][]checksum.Hash{linux: {zh}, darwin: {checksum.ZHSum([32]byte{2})}},
		Via:    []string{"direct", "eu"}, MustBeSigned: true,
	}
}

func TestPackageJSON(t *testing.T) {
	t.Parallel()
	pkg := somePackage()
	data := must.Get(json.Marshal(pkg))(t)
	var back *provider.Package
	must.Do(t, json.Unmarshal(data, &back))
	if diff := cmp.Diff(pkg, back, values, cmpopts.EquateComparable(checksum.Hash{})); diff != "" {
		t.Errorf("after a round trip through %s: %s", data, diff)
	}
	small, err := json.Marshal(&provider.Package{Provider: demo, Version: version("1.0.0"), Platform: linux, Dir: "d"})
	if want := `{"provider":"registry.opentofu.org/acme/demo","version":"1.0.0","platform":"linux_amd64","dir":"d"}`; err != nil || string(small) != want {
		t.Errorf("JSON\n got %s, %v\nwant %s", small, err, want)
	}
}

func TestPackageStringKeepsSecrets(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"%v", "%s", "%+v"} {
		if got, want := fmt.Sprintf(verb, somePackage()), "registry.opentofu.org/acme/demo 1.2.3 linux_amd64"; got != want {
			t.Errorf("%s: %s, want %s", verb, got, want)
		}
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	pkg := somePackage()
	h1 := checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	pkg.Hashes[linux] = []checksum.Hash{pkg.SHA256, h1}
	got := pkg.Evidence()
	want := verify.Evidence{
		Filename: pkg.Filename, Size: 1234, Hashes: []checksum.Hash{h1, pkg.SHA256}, Keys: pkg.Keys, MustBeSigned: true, OthersStated: true,
		Requested: "demo_1.2.3_linux_amd64",
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(checksum.Hash{})); diff != "" {
		t.Error(diff)
	}
	got.Hashes[0], got.Keys[0].ID = checksum.Hash{}, "changed"
	if pkg.Hashes[linux][1] != h1 || pkg.Keys[0].ID == "changed" {
		t.Error("a change of the evidence reached the package")
	}
}

func TestPackageClone(t *testing.T) {
	t.Parallel()
	pkg := somePackage()
	c := pkg.Clone()
	if diff := cmp.Diff(pkg, c, values, cmpopts.EquateComparable(checksum.Hash{})); diff != "" {
		t.Error(diff)
	}
	c.Protocols[0], c.Keys[0].ID, c.Hashes[linux][0] = "x", "x", checksum.Hash{}
	delete(c.Hashes, darwin)
	if diff := cmp.Diff(somePackage(), pkg, values, cmpopts.EquateComparable(checksum.Hash{})); diff != "" {
		t.Errorf("a change of the clone reached the original: %s", diff)
	}
	if (*provider.Package)(nil).Clone() != nil {
		t.Error("the clone of nothing is something")
	}
}

func TestParseArchiveName(t *testing.T) {
	t.Parallel()
	pkg := somePackage()
	pkg.Filename = "../../evil.zip"
	if got, want := pkg.ArchiveName(), "terraform-provider-demo_1.2.3_linux_amd64.zip"; got != want {
		t.Errorf("ArchiveName() = %s, want %s", got, want)
	}
	const form = "it is not of the form terraform-provider-TYPE_VERSION_OS_ARCH.zip"
	const other = "not the name of an archive"
	const nonce = "abcdefghijklmnopqrstuvwx27"
	for name, want := range map[string]struct{ version, platform, problem string }{
		"terraform-provider-demo_1.2.3_linux_amd64.zip":                                {"1.2.3", "linux_amd64", ""},
		"Terraform-Provider-DEMO_1.0.0-RC1+Build.7_Linux_AMD64.ZIP":                    {"1.0.0-RC1+Build.7", "linux_amd64", ""},
		"terraform-provider-demo_1.2.3_linux_amd64_extra.zip":                          {problem: form},
		"terraform-provider-demo_1.2.3_linux_amd64_.zip":                               {problem: form},
		"terraform-provider-demo_1.2.3_linux_amd64_" + nonce + ".zip":                  {"1.2.3", "linux_amd64", ""},
		"terraform-provider-demo_1.2.3_linux_amd64_" + nonce + "a.zip":                 {problem: form},
		"terraform-provider-demo_1.2.3_linux_amd64_" + nonce[1:] + ".zip":              {problem: form},
		"terraform-provider-demo_1.2.3_linux_amd64_" + nonce[1:] + "1.zip":             {problem: form},
		"TERRAFORM-PROVIDER-demo_1.2.3_linux_amd64_" + strings.ToUpper(nonce) + ".zip": {"1.2.3", "linux_amd64", ""},
		"terraform-provider-demo_1.2.3_linux.zip":                                      {problem: form},
		"terraform-provider-.zip":                                                      {problem: form},
		"terraform-provider-other_1.2.3_linux_amd64.zip":                               {problem: "it is of another provider"},
		"terraform-provider-demo_latest_linux_amd64.zip":                               {problem: "it has an invalid version"},
		"terraform-provider-demo_1.2.3_linux_.zip":                                     {problem: "it has an invalid platform"},
		"terraform-provider-demo_1.2.3_linux_amd64.record.json":                        {problem: other},
		"opentofu-provider-demo_1.2.3_linux_amd64.zip":                                 {problem: other},
		"terraform-provider.zip":                                                       {problem: other},
		"":                                                                             {problem: other},
		archiveName(demo, v123, linux):                                                 {"1.2.3", "linux_amd64", ""},
		archiveName(demo, v123, linux) + archiveName(demo, v123, linux):                {problem: form},
	} {
		v, platform, err := provider.ParseArchiveName(demo, name)
		problem := ""
		if e, ok := errors.AsType[*addrs.ParseError](err); ok && e.Kind == "archive name" && e.Input == name {
			problem = e.Reason
		} else if err != nil {
			problem = err.Error()
		}
		if v.String() != want.version || platform.String() != want.platform || problem != want.problem {
			t.Errorf("ParseArchiveName(%q) is %q, %q, %v, want %+v", name, v, platform, err, want)
		}
	}
}

func FuzzParseArchiveName(f *testing.F) {
	f.Add(archiveName(demo, v123, linux))
	f.Add("terraform-provider-demo_1.2.3_linux_amd64_extra.zip")
	f.Add("TERRAFORM-PROVIDER-Demo_1_a_b_c.ZIP")
	f.Fuzz(func(t *testing.T, name string) {
		v, platform, err := provider.ParseArchiveName(demo, name)
		if v.IsZero() != (err != nil) || platform.IsZero() != (err != nil) {
			t.Fatalf("ParseArchiveName(%q) is %q, %q, %v", name, v, platform, err)
		}
		if err != nil {
			return
		}
		if v2, p2, _ := provider.ParseArchiveName(demo, archiveName(demo, v, platform)); v2 != v || p2 != platform {
			t.Errorf("the name of %s %s is read as %s %s", v, platform, v2, p2)
		}
	})
}

// An archive may have another form of the requested version in its name, but no other version.
func TestEvidenceWant(t *testing.T) {
	t.Parallel()
	for _, tt := range casetest.Read[struct{ Version, Filename, Want string }](t, "requested.txt") {
		pkg := &provider.Package{Provider: demo, Version: version(tt.Version), Platform: linux, Filename: tt.Filename}
		if got := pkg.Evidence().Requested; got != tt.Want {
			t.Errorf("version %s, file %q: want %q, want it to be %q", tt.Version, tt.Filename, got, tt.Want)
		}
	}
	unset := &provider.Package{Provider: demo, Platform: linux, Filename: "terraform-provider-demo__linux_amd64.zip"}
	if got := unset.Evidence().Requested; got != "demo__linux_amd64" {
		t.Errorf("no version: want %q", got)
	}
}

// TestEmptyEvidence: an empty SHA256SUMS document or signature is not a missing one.
func TestEmptyEvidence(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]regtest.Kind{"sums": regtest.Sums, "signature": regtest.Signature} {
		reg, _, client := serveDemo(demoRelease())
		reg.AddFault(regtest.Fault{Kind: kind, Raw: []byte{}})
		pkg := must.Get(client.ProviderPackage(t.Context(), demo, v123, linux))(t)
		path := target(t)
		shared := provider.ShareEvidence(client) // asked three times, the third time from memory
		for _, policy := range []verify.Policy{{}, {AllowUnsigned: true}, {AllowUnchecked: true}} {
			if _, err := provider.Download(t.Context(), shared, pkg, path, provider.DownloadOptions{Policy: policy}); !errors.Is(err, verify.ErrEmpty) {
				t.Errorf("Download with empty %s and %+v: %v, want ErrEmpty", name, policy, err)
			}
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Download with empty %s left a file: %v", name, err)
		}
	}
}

func archiveName(p addrs.Provider, v addrs.Version, platform addrs.Platform) string {
	return (&provider.Package{Provider: p, Version: v, Platform: platform}).ArchiveName()
}
