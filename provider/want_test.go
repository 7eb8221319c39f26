package provider_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// An archive may have another form of the requested version in its name, but no other version.
func TestEvidenceWant(t *testing.T) {
	t.Parallel()
	tests := []struct {
		version, filename, want string
	}{
		{"1.0.0", "terraform-provider-demo_1.0.0_linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_1.0_linux_amd64.zip", "demo_1.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_1_linux_amd64.zip", "demo_1_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_v1.0_linux_amd64.zip", "demo_1.0_linux_amd64"},
		{"1.0.0", "demo_1.0_linux_amd64.zip", "demo_1.0_linux_amd64"},
		{"1.0.0", "terraform-provider-Demo_1.0_linux_amd64.zip", "demo_1.0_linux_amd64"},
		{"1.0.0-rc1", "terraform-provider-demo_1.0-rc1_linux_amd64.zip", "demo_1.0-rc1_linux_amd64"},
		{"1.0.0+b.1", "terraform-provider-demo_1.0+b.1_linux_amd64.zip", "demo_1.0+b.1_linux_amd64"},

		{"1.0.0", "terraform-provider-demo_1.0.1_linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_1.1_linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_1.0-rc1_linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_1.0+b_linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0-rc1", "terraform-provider-demo_1.0-RC1_linux_amd64.zip", "demo_1.0.0-rc1_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_1.0_linux_arm64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_1.0_x_linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_ 1.0_linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_vv1.0_linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo__linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "terraform-provider-demo_1.0_linux_amd64", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "_linux_amd64.zip", "demo_1.0.0_linux_amd64"},
		{"1.0.0", "", "demo_1.0.0_linux_amd64"},
	}
	for _, tt := range tests {
		pkg := &provider.Package{Provider: demo, Version: version(tt.version), Platform: linux, Filename: tt.filename}
		if got := pkg.Evidence().Requested; got != tt.want {
			t.Errorf("version %s, file %q: want %q, want it to be %q", tt.version, tt.filename, got, tt.want)
		}
	}
	unset := &provider.Package{Provider: demo, Platform: linux, Filename: "terraform-provider-demo__linux_amd64.zip"}
	if got := unset.Evidence().Requested; got != "demo__linux_amd64" {
		t.Errorf("no version: want %q", got)
	}
}

// The same with Download: the SHA256SUMS document lists the archive in its own form.
func TestDownloadOtherSpelling(t *testing.T) {
	t.Parallel()
	content := archive(t)
	for filename, want := range map[string]error{
		"terraform-provider-demo_1.0_linux_amd64.zip":   nil,
		"terraform-provider-demo_1.0.1_linux_amd64.zip": verify.ErrFilename,
		"terraform-provider-evil_1.0_linux_amd64.zip":   verify.ErrFilename,
	} {
		pkg := packageOf(content)
		pkg.Version, pkg.Filename = addrs.MustParseVersion("1.0.0"), filename
		src := serve(content)
		src.evidence = withSums(zh(content).Value() + "  " + filename + "\n")
		path := filepath.Join(t.TempDir(), "demo.zip")
		_, err := provider.Download(t.Context(), src, pkg, path, provider.Options{Policy: verify.Policy{AllowUnsigned: true}})
		if !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", filename, err, want)
		}
		if _, statErr := os.Stat(path); (statErr == nil) != (want == nil) {
			t.Errorf("file for %s: %v", filename, statErr)
		}
	}
}

// If the zh is accepted, the content is not read: here it is not an archive.
func TestDownloadNeedsNoH1(t *testing.T) {
	t.Parallel()
	content := []byte("bytes that do not inflate")
	accept := []checksum.Hash{checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), zh(content)}
	report, err := provider.Download(t.Context(), serve(content), packageOf(content), target(t), provider.Options{Policy: verify.Policy{Accept: accept}})
	if err != nil || report.Trust != verify.Accepted {
		t.Errorf("Download returned %+v, %v, want an accepted archive", report, err)
	}
	if _, err := provider.Download(t.Context(), serve(content), packageOf(content), target(t), provider.Options{Policy: verify.Policy{Accept: accept[:1]}}); !errors.Is(err, checksum.ErrArchive) {
		t.Errorf("only the h1 could decide: error %v, want ErrArchive", err)
	}
}

// withSums is a source with an unsigned SHA256SUMS document.
func withSums(doc string) func(context.Context, *provider.Package) (verify.Evidence, error) {
	return func(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
		ev := pkg.Evidence()
		ev.Sums = []byte(doc)
		return ev, nil
	}
}
