package provider_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
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
		Via:    "direct", MustBeSigned: true,
	}
}

func TestPackageJSON(t *testing.T) {
	t.Parallel()
	pkg := somePackage()
	data, err := json.Marshal(pkg)
	if err != nil {
		t.Fatal(err)
	}
	var back *provider.Package
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
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

func TestArchiveName(t *testing.T) {
	t.Parallel()
	pkg := somePackage()
	pkg.Filename = "../../evil.zip"
	if got, want := pkg.ArchiveName(), "terraform-provider-demo_1.2.3_linux_amd64.zip"; got != want {
		t.Errorf("ArchiveName() = %s, want %s", got, want)
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
