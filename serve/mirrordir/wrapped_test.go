package mirrordir_test

import (
	"errors"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/storage"
)

// wrapped is a store around another one, as for metrics.
type wrapped struct{ storage.Store }

func (w wrapped) Unwrap() storage.Store { return w.Store }

// TestWrappedDirectory: a wrapper around a directory hides neither unpacked packages nor paths.
func TestWrappedDirectory(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t)
	write(t, dir, home+"/1.0.0/linux_amd64/terraform-provider-alpha", "x")
	twice := &mirrordir.Mirror{Store: wrapped{wrapped{m.Store}}}
	versions := must.Get(twice.ProviderVersions(t.Context(), alpha))(t)
	if len(versions.Versions) != 1 || versions.Versions[0].Version != v1 {
		t.Errorf("ProviderVersions of a wrapped directory = %v, want 1.0.0", versions.Versions)
	}
	want := must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	if got := must.Get(twice.ProviderPackage(t.Context(), alpha, v1, linux))(t); got.Dir != want.Dir || got.Dir == "" {
		t.Errorf("ProviderPackage of a wrapped directory has Dir %q, want %q", got.Dir, want.Dir)
	}
}

// TestHiddenDirectory: behind a wrapper without Unwrap, unpacked packages are an error, not an empty list.
func TestHiddenDirectory(t *testing.T) {
	t.Parallel()
	m, dir := newMirror(t)
	write(t, dir, home+"/1.0.0/linux_amd64/terraform-provider-alpha", "x")
	hidden := &mirrordir.Mirror{Store: struct{ storage.Store }{m.Store}}
	if versions, err := hidden.ProviderVersions(t.Context(), alpha); !errors.Is(err, provider.ErrUnpacked) {
		t.Errorf("ProviderVersions of a hidden directory = %v, %v, want ErrUnpacked", versions, err)
	}
}
