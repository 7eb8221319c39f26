package mirrorserve_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/mirrorclient/mirrorserve"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestCacheKeepsEvidence checks that the signature is recorded even if the policy does not require
// it.
func TestCacheKeepsEvidence(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	h, c, _ := newCache(t, src)
	pkg := must.Get(src.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	c.Policy = verify.Policy{Accept: []checksum.Hash{pkg.SHA256}}
	mustFetch(t, h, archive(v1, linux))
	down(reg)
	mustFetch(t, &mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: c.Mirror}}, archive(v1, linux))
}

// TestCacheIsOvertaken checks that an archive that another process has added during the download is
// kept.
func TestCacheIsOvertaken(t *testing.T) {
	t.Parallel()
	_, src := newRegistry(t)
	slow := &gated{Source: src, open: make(chan struct{})}
	h, c, dir := newCache(t, slow)
	pkg := must.Get(c.ProviderPackage(t.Context(), alpha, v1, linux))(t)
	body := must.Get(c.Open(t.Context(), pkg))(t)
	mustAdd(t, c.Mirror, src, wants(three[:1], v1), mirrordir.Options{})
	path := filepath.Join(dir, filepath.FromSlash(archive(v1, linux)))
	f := must.Get(os.Open(path))(t) // so that its inode is not reused
	defer f.Close()
	before := must.Get(f.Stat())(t)
	close(slow.open)
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Error(err)
	}
	body.Close()
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("it was replaced: %v", err)
	}
	mustFetch(t, h, archive(v1, linux))
}

// stubborn is a source that answers only after its context has ended, with an error.
type stubborn struct{ failing }

func (stubborn) ProviderVersions(ctx context.Context, _ addrs.Provider) (*provider.Versions, error) {
	<-ctx.Done()
	return nil, errors.New("too late")
}

// TestCacheWaitsForAnySource checks that a timeout is a fault of the source, whatever its error is,
// and that a canceled caller is not.
func TestCacheWaitsForAnySource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, _, _, _ := filled(t)
		c := &mirrorserve.Cache{Source: stubborn{}, Mirror: m}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if list, err := c.ProviderVersions(ctx, alpha); err == nil {
			t.Errorf("the caller has left and gets %v", list)
		}
		start := time.Now()
		list, err := c.ProviderVersions(t.Context(), alpha)
		if err != nil || len(list.List) != 2 || time.Since(start) != 5*time.Second {
			t.Errorf("%v, %v after %v", list, err, time.Since(start))
		}
	})
}

// TestCacheLetsGo checks that a client gets the whole archive before it is added.
func TestCacheLetsGo(t *testing.T) {
	t.Parallel()
	reg, src := newRegistry(t)
	got := make(chan struct{})
	storage := failingStorage{&bucket{}, func(ctx context.Context, name string) error {
		if strings.HasSuffix(name, ".zip") {
			<-got
		}
		return nil
	}}
	m := &mirrordir.Mirror{Storage: storage, TempDir: t.TempDir()}
	srv := httptest.NewServer(&mirrorserve.Handler{Source: &mirrorserve.Cache{Source: src, Mirror: m, Wait: -1}})
	resp := must.Get(srv.Client().Get(srv.URL + "/" + archive(v1, linux)))(t)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%d, %v", resp.StatusCode, err)
	}
	resp.Body.Close()
	close(got)
	srv.Close() // waits for the response, which waits until the archive is added
	if got := all(t, m); len(got) != 1 || reg.Count(regtest.Archive) != 1 {
		t.Errorf("kept: %v", got)
	}
}
