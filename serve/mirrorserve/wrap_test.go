package mirrorserve_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"github.com/tofureg/tofureg/failure"
	"io"
	"net/http"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/serve/mirrorserve"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// opaque has the methods of a Source only, and transparent also Unwrap.
type (
	opaque      struct{ provider.Source }
	transparent struct{ provider.Source }
)

func (w transparent) Unwrap() provider.Source { return w.Source }

// plain is a transparent source whose archives can only be read.
type plain struct{ provider.Source }

func (w plain) Unwrap() provider.Source { return w.Source }

func (w plain) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	body, err := w.Source.Open(ctx, pkg)
	if err != nil {
		return nil, err
	}
	return &provider.Body{ReadCloser: struct{ io.ReadCloser }{body.ReadCloser}, Size: body.Size}, nil
}

// TestWrapped serves a mirror and a cache behind wrappers. With Unwrap there are the same documents, archives, requests and files as
// without a wrapper. Without Unwrap there are all versions and archives, with the hashes that the source states. A wrapper that
// hides how archives can be read costs ranges.
func TestWrapped(t *testing.T) {
	t.Parallel()
	type result struct {
		index, doc, archive, part string
		requests                  int
		files                     string
	}
	serve := func(kind string, wrap func(provider.Source) provider.Source) (got result) {
		reg, client := newRegistry(t)
		m, dir := newMirror(t)
		var src provider.Source = m
		if kind == "cache" {
			src = &mirrorserve.Cache{Source: client, Mirror: m}
		} else {
			mustAdd(t, m, client, wants(three, v1, v2), mirrordir.AddOptions{})
		}
		reg.Reset()
		h := &mirrorserve.Handler{Source: wrap(src), TempDir: t.TempDir()}
		got.archive = fmt.Sprintf("%x", sha256.Sum256([]byte(mustFetch(t, h, archive(v1, linux)))))
		w := ask(h, "GET", "/"+archive(v1, linux), "Range", "bytes=1-2")
		got.part = fmt.Sprint(w.Code, w.Body.Len())
		got.doc = ask(h, "GET", "/"+home+"/1.0.0.json").Body.String()
		got.index = versionsOf(t, h)
		got.requests, got.files = reg.Count(^regtest.Kind(0)), fmt.Sprint(files(t, dir))
		return got
	}
	for _, kind := range []string{"mirror", "cache"} {
		want := serve(kind, func(src provider.Source) provider.Source { return src })
		if want.index != "1.0.0 2.0.0" || want.part != "206 2" || len(mirrortest.Parse[document](t, want.doc).Archives) != 3 {
			t.Fatalf("%s: %+v", kind, want)
		}
		if got := serve(kind, func(src provider.Source) provider.Source { return transparent{transparent{src}} }); got != want {
			t.Errorf("%s, wrapped twice: %+v, want %+v", kind, got, want)
		}
		got := serve(kind, func(src provider.Source) provider.Source { return plain{src} })
		if got.part = want.part; got != want { // the whole archive
			t.Errorf("%s whose archives can only be read: %+v, want %+v", kind, got, want)
		}
		got = serve(kind, func(src provider.Source) provider.Source { return transparent{opaque{src}} })
		doc := mirrortest.Parse[document](t, got.doc)
		if got.index != want.index || got.archive != want.archive || got.part != want.part || got.files != want.files || len(doc.Archives) != 3 || len(doc.Archives["linux_amd64"].Hashes) == 0 {
			t.Errorf("%s, without Unwrap: %+v, want what %+v has, with hashes", kind, got, want)
		}
	}
}

// TestOnlyReadable: an archive of a cache behind a wrapper that hides how it can be read is sent as a whole, whatever range is
// requested, and a truncated archive of a mirror behind one is not sent.
func TestOnlyReadable(t *testing.T) {
	t.Parallel()
	_, client := newRegistry(t)
	m, dir := newMirror(t)
	h := &mirrorserve.Handler{Source: plain{&mirrorserve.Cache{Source: client, Mirror: m}}, TempDir: t.TempDir()}
	for range 2 { // downloaded, then cached
		w := ask(h, "GET", "/"+archive(v1, linux), "Range", "bytes=1-2")
		if w.Code != http.StatusOK || w.Body.String() != read(t, dir, archive(v1, linux)) {
			t.Errorf("a range of an archive that can only be read: status %d, %d bytes, want 200 and the archive", w.Code, w.Body.Len())
		}
	}
	write(t, dir, archive(v1, linux), read(t, dir, archive(v1, linux))[1:])
	if code, _ := fetch(&mirrorserve.Handler{Source: plain{m}}, archive(v1, linux)); code != http.StatusBadGateway {
		t.Errorf("a truncated archive that can only be read has status %d, want 502", code)
	}
}

// newest is a filtering source: without Unwrap it hides the catalogue, and lists only 2.0.0.
type newest struct{ provider.Source }

func (n newest) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	list, err := n.Source.ProviderVersions(ctx, p)
	if err == nil {
		list.Versions = list.Versions[:1]
	}
	return list, err
}

// own is a wrapper with lists of its own.
type own struct{ provider.Source }

func (w own) Unwrap() provider.Source { return w.Source }

func (own) ListedVersions(context.Context, addrs.Provider) ([]addrs.Version, error) {
	return []addrs.Version{v2}, nil
}

func (own) ListedArchives(context.Context, addrs.Provider, addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	return nil, failure.ErrNotFound
}

// TestWrapperDecides: a source that filters and one that lists itself are found before the mirror or cache behind them, and a
// source that filters is judged by Policy.
func TestWrapperDecides(t *testing.T) {
	t.Parallel()
	m, _, _, client := filled(t)
	for kind, src := range map[string]provider.Source{"mirror": m, "cache": &mirrorserve.Cache{Source: client, Mirror: m}} {
		for name, h := range map[string]*mirrorserve.Handler{
			"filtering":          {Source: newest{src}},
			"filtering, wrapped": {Source: transparent{newest{transparent{src}}}},
			"listing":            {Source: own{src}},
			"listing, wrapped":   {Source: transparent{own{transparent{src}}}},
		} {
			if got := versionsOf(t, h); got != "2.0.0" {
				t.Errorf("%s behind a source that is %s: versions %s, want 2.0.0", kind, name, got)
			}
			if w := ask(h, "GET", "/"+home+"/1.0.0.json"); w.Code != 404 {
				t.Errorf("%s behind a source that is %s: 1.0.0.json has status %d, want 404", kind, name, w.Code)
			}
		}
		strict := &mirrorserve.Handler{Source: newest{src}, Policy: policyOf(verify.Policy{Accept: checksum.NewSet()}), TempDir: t.TempDir()}
		if code, body := fetch(strict, archive(v2, linux)); code == 200 && len(body) > 0 {
			t.Errorf("%s behind a source that filters: Policy was not asked", kind)
		}
	}
}

// TestPlatforms: a cache requests its Platforms if its source lists none.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	plan9 := addrs.MustParsePlatform("plan9_mips")
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"plan9_mips"}})
	m, _ := newMirror(t)
	c := &mirrorserve.Cache{Source: unlisted{client(reg)}, Mirror: m, Platforms: []addrs.Platform{plan9}}
	list := must.Get(c.ListedArchives(t.Context(), alpha, v1))(t)
	if len(list) != 1 || len(list[plan9]) == 0 {
		t.Errorf("ListedArchives = %v, want hashes for %s", list, plan9)
	}
}

// unlisted is a source that lists no platforms.
type unlisted struct{ provider.Source }

func (u unlisted) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	list, err := u.Source.ProviderVersions(ctx, p)
	for i := range list.Versions {
		list.Versions[i].Platforms = nil
	}
	return list, err
}
