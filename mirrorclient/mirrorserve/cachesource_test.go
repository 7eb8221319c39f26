package mirrorserve_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestCacheAsSource uses a Cache as a source in a program.
func TestCacheAsSource(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	_, c, dir := newCache(t, src)
	to := filepath.Join(t.TempDir(), "a.zip")
	var before *provider.Package
	for i := range 3 {
		pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		if i == 0 {
			before = pkg
		}
		if i == 2 {
			pkg = before // the package of the registry
		}
		report, err := provider.Download(t.Context(), c, pkg, to, provider.Options{})
		if err != nil || report.Trust != verify.Signed {
			t.Fatalf("%v, %v", report, err)
		}
		if data, err := os.ReadFile(to); err != nil || string(data) != read(t, dir, archive(v1, linux)) {
			t.Errorf("%d bytes, %v", len(data), err)
		}
		down(reg)
	}
	list, err := c.ProviderVersions(t.Context(), alpha)
	if err != nil || len(list.List) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := c.ProviderVersions(t.Context(), addrs.MustParseProvider("registry.example.com/acme/beta")); !provider.IsFault(err) {
		t.Errorf("what is not kept: %v", err)
	}
	if _, err := c.Open(t.Context(), &provider.Package{Provider: alpha, Version: v1, Platform: linux, Dir: dir}); !errors.Is(err, provider.ErrUnpacked) {
		t.Errorf("%v, want ErrUnpacked", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Open(ctx, before); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

// TestCacheRemoved checks that an archive that is removed after the lookup is downloaded again.
func TestCacheRemoved(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	h, c, dir := newCache(t, src)
	mustFetch(t, h, archive(v1, linux))
	pkg, err := c.ProviderPackage(t.Context(), alpha, v1, linux)
	if err != nil || !strings.HasPrefix(pkg.URL, "file:") {
		t.Fatalf("%+v, %v", pkg, err)
	}
	must.Do(t, c.Mirror.Remove(t.Context(), alpha))
	body := must.Get(c.Open(t.Context(), pkg))(t)
	zh, err := checksum.ZH(t.Context(), body)
	if err != nil || zh != pkg.SHA256 || body.Size != pkg.Size {
		t.Errorf("%v, %v", zh, err)
	}
	body.Close()
	body.Close()
	if read(t, dir, archive(v1, linux)) == "" {
		t.Error("not kept")
	}
}
