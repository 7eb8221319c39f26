package verify_test

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/scheme"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/hashstore"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/serve/mirrordir"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

var (
	random = addrs.MustParseProvider("registry.example.com/acme/random")
	v360   = addrs.MustParseVersion("3.6.0")
	linux  = addrs.MustParsePlatform("linux_amd64")
)

// publisher is a source of one package, with a signed document that lists it.
type publisher struct {
	*pack
	stated []checksum.Hash
	opened atomic.Int32
	open   func() // called before an archive is sent
}

func (s *publisher) ProviderVersions(context.Context, addrs.Provider) (*provider.Versions, error) {
	return &provider.Versions{Versions: []provider.Release{{Version: v360}}}, nil
}

func (s *publisher) ProviderPackage(context.Context, addrs.Provider, addrs.Version, addrs.Platform) (*provider.Package, error) {
	return &provider.Package{
		Provider: random, Version: v360, Platform: linux, Filename: archiveName, URL: "https://registry.example.com/archive",
		SumsURL: "https://registry.example.com/sums", SignatureURL: "https://registry.example.com/sig", Keys: []verify.Key{s.key},
		Hashes: map[addrs.Platform][]checksum.Hash{linux: s.stated},
	}, nil
}

func (s *publisher) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	ev := pkg.Evidence()
	ev.Sums, ev.Signature = s.ev.Sums, s.ev.Signature
	return ev, nil
}

func (s *publisher) Open(context.Context, *provider.Package) (*provider.Body, error) {
	s.opened.Add(1)
	s.open()
	return &provider.Body{ReadCloser: io.NopCloser(bytes.NewReader(s.zip)), Size: int64(len(s.zip))}, nil
}

// TestAnotherScheme adds a scheme to the table and follows it from a document like SHA256SUMS to a lock file. Each
// producer of digests computes it, or reads the archive again where an earlier version did not know it. Not parallel: the
// table is one for all tests.
func TestAnotherScheme(t *testing.T) {
	p := newPack(t)
	sum := sha512.Sum512(p.zip)
	h512 := checksum.MustParseHash("sha512:" + hex.EncodeToString(sum[:]))
	publish := func(digest []byte) *publisher {
		q := *p
		q.ev.Sums = fmt.Appendf(nil, "%s  %s\n%x  %[2]s\n", p.zh.Value(), archiveName, digest)
		q.ev.Signature = p.sign(q.ev.Sums)
		return &publisher{pack: &q, open: func() {}}
	}
	src := publish(sum[:])
	ctx, policy := t.Context(), verify.Policy{Now: now}
	pkg := must.Get(src.ProviderPackage(ctx, random, v360, linux))(t)
	only512 := verify.Policy{Accept: checksum.NewSet(h512)}

	// What a version without the scheme has stored: it ignored the line with the sha512.
	store := &hashstore.Dir{Path: t.TempDir()}
	mirror := must.Get(mirrordir.Open(t.TempDir()))(t)
	wants := []mirrordir.Want{{Provider: random, Version: v360, Platforms: []addrs.Platform{linux}}}
	policies := func(addrs.Provider) verify.Policy { return policy }
	must.Get(mirror.Add(ctx, src, wants, mirrordir.AddOptions{Policy: policies}))(t)
	must.Get(provider.Hashes(ctx, src, random, v360, []addrs.Platform{linux}, provider.HashOptions{Policy: policy, Store: store}))(t)

	src.opened.Store(0)
	before := scheme.Archive
	t.Cleanup(func() { scheme.Archive = before })
	scheme.Archive = append(slices.Clip(before), scheme.Scheme{Name: "sha512", Size: sha512.Size, New: sha512.New})

	recorded := func(who string, opened int32, report *verify.Report, err error) {
		t.Helper()
		if err != nil || report.Trust != verify.Signed || !slices.Contains(report.Local, h512) || !slices.Contains(report.Local, p.zh) {
			t.Errorf("%s: %v, %v, want signed with %s and %s", who, report, err, h512, p.zh)
		}
		if n := src.opened.Swap(0); n != opened {
			t.Errorf("%s: the archive was fetched %d times, want %d", who, n, opened)
		}
	}

	// Judging: a digest is computed, or its absence is an error.
	report, err := src.check(policy, src.ev)
	recorded("Check", 0, report, err)
	if _, err := policy.Judge(ctx, src.ev, p.digests(p.zh, p.h1)); !errors.Is(err, verify.ErrNotComputed) {
		t.Errorf("Judge without a sha512 returned %v, want ErrNotComputed", err)
	}
	if _, err := only512.Judge(ctx, p.ev, p.digests(p.zh, p.h1)); !errors.Is(err, verify.ErrNotComputed) {
		t.Errorf("Judge without the accepted sha512 returned %v, want ErrNotComputed", err)
	}

	// Downloads.
	path := filepath.Join(t.TempDir(), "p.zip")
	report, err = provider.Download(ctx, src, pkg, path, provider.DownloadOptions{Policy: policy})
	recorded("Download", 1, report, err)
	evil := publish(bytes.Repeat([]byte{1}, sha512.Size))
	if _, err := provider.Download(ctx, evil, pkg, path, provider.DownloadOptions{Policy: policy}); !errors.Is(err, checksum.ErrMismatch) {
		t.Errorf("Download with another sha512 in the document returned %v, want a mismatch", err)
	}

	// The store: an old entry has no sha512, a new one does.
	hash := func() (*verify.Report, error) {
		src.stated = []checksum.Hash{p.zh}
		defer func() { src.stated = nil }()
		reports, err := provider.Hashes(ctx, src, random, v360, []addrs.Platform{linux}, provider.HashOptions{Policy: policy, Store: store})
		return reports[linux], err
	}
	report, err = hash()
	recorded("Hashes with an old store", 1, report, err)
	report, err = hash()
	recorded("Hashes with a new store", 0, report, err)

	// The lock file.
	lock := &lockfile.File{}
	must.Do(t, lock.Merge(random, v360, addrs.ProviderConstraint{}, report.Recordable()))
	lock = must.Get(lockfile.Parse(lock.Bytes(), lockfile.Name))(t)
	if accept := lock.Accept(random, v360); !slices.Contains(accept.Hashes(), h512) {
		t.Errorf("the lock file accepts %s, want %s too", accept.Hashes(), h512)
	}
	if report, err := provider.Download(ctx, src, pkg, path, provider.DownloadOptions{Policy: only512}); err != nil || report.Trust != verify.Accepted {
		t.Errorf("Download by the locked sha512 returned %v, %v, want accepted", report, err)
	}
	wrong := verify.Policy{Accept: checksum.NewSet(checksum.MustParseHash("sha512:" + hex.EncodeToString(bytes.Repeat([]byte{1}, sha512.Size))))}
	if _, err := provider.Download(ctx, src, pkg, path, provider.DownloadOptions{Policy: wrong}); !errors.Is(err, verify.ErrNotAccepted) {
		t.Errorf("Download by another sha512 returned %v, want ErrNotAccepted", err)
	}
	src.opened.Store(0)

	// The mirror: the old record is not enough, and the archive is there to be read.
	for _, read := range []bool{true, false} {
		added := must.Get(mirror.Add(ctx, src, wants, mirrordir.AddOptions{Policy: policies}))(t)
		if a := added[0]; a.Fetched || (a.Report != nil) != read || !slices.Contains(a.Hashes, h512) {
			t.Errorf("Add: fetched %t, report %v, %s; want the archive read %t, with %s", a.Fetched, a.Report, a.Hashes, read, h512)
		}
	}

	// Installations: a call that waits learns the sha512 from the one that fetches.
	dir := &install.Dir{Path: t.TempDir()}
	var once sync.Once
	waiting := make(chan struct{})
	wait := func(e progress.Event) {
		if e.Kind == progress.Waiting {
			once.Do(func() { close(waiting) })
		}
	}
	src.open = func() { <-waiting }
	installed := make(chan *install.Installed)
	for range 2 {
		go func() {
			got, err := dir.Install(ctx, src, pkg, install.Options{Policy: policy, Progress: wait})
			if err != nil {
				t.Error("Install:", err)
			}
			installed <- got
		}()
	}
	for range 2 {
		if got := <-installed; got == nil || !slices.Contains(got.Report.Local, h512) {
			t.Errorf("Install returned %+v, want a report with %s", got, h512)
		}
	}
	if n := src.opened.Load(); n != 1 {
		t.Errorf("two calls of Install fetched the archive %d times, want once", n)
	}
}
