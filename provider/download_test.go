package provider_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/progress"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/transport"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestDownload: a zh and both forms of an h1 are accepted. The evidence is not needed then.
func TestDownload(t *testing.T) {
	t.Parallel()
	content := archive(t)
	packed, tree, err := checksum.H1Zip(t.Context(), bytes.NewReader(content), int64(len(content)), checksum.Limits{})
	must.Do(t, err)
	for _, accepted := range []checksum.Hash{zh(content), packed, tree} {
		src, path := serve(content), target(t)
		o := provider.DownloadOptions{Policy: verify.Policy{Accept: checksum.NewSet(accepted)}}
		report := must.Get(provider.Download(t.Context(), src, packageOf(content), path, o))(t)
		wantFile(t, path, content)
		if want := sortedHashes(zh(content), packed, tree); accepted != zh(content) && !slices.Equal(sortedHashes(report.Local...), want) || !slices.Contains(report.Local, zh(content)) {
			t.Errorf("accepting %v: the report has the local hashes %v, want %v", accepted, report.Local, want)
		}
		if src.asked.Load() != 0 || src.opened.Load() != 1 || src.closed.Load() != 1 {
			t.Errorf("accepting %v: evidence was fetched %d times, opened %d bodies, closed %d", accepted, src.asked.Load(), src.opened.Load(), src.closed.Load())
		}
		if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&^0o644 != 0 {
			t.Errorf("mode %v, want at most 0644", info.Mode())
		}
		if _, err := provider.Download(t.Context(), serve([]byte("no zip")), packageOf([]byte("no zip")), path, o); err == nil {
			t.Errorf("accepting %v: accepted an invalid archive", accepted)
		}
		wantFile(t, path, content)
	}
}

func TestDownloadReplacesOnlyWhenVerified(t *testing.T) {
	t.Parallel()
	content, old := archive(t), []byte("the old file")
	path := target(t)
	must.Do(t, os.WriteFile(path, old, 0o600))
	wrong := slices.Clone(content)
	wrong[len(wrong)/2] ^= 1
	report, err := provider.Download(t.Context(), serve(wrong), packageOf(content), path, accepting(content))
	if err == nil || report != nil {
		t.Errorf("a changed byte was accepted: %v", report)
	}
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Op != "verify" || e.Subject != packageOf(content).String() {
		t.Errorf("error %v, want a *failure.Error about verifying the package", err)
	}
	wantFile(t, path, old)

	must.Get(provider.Download(t.Context(), serve(content), packageOf(content), path, accepting(content)))(t)
	wantFile(t, path, content)
}

// TestDownloadIsStrictByDefault: a matching checksum without a signature is not enough. If the
// package has no signature, nothing is fetched.
func TestDownloadIsStrictByDefault(t *testing.T) {
	t.Parallel()
	content := archive(t)
	for name, test := range map[string]struct {
		pkg     *provider.Package
		fetched int32
	}{"offered": {promising(packageOf(content)), 1}, "not offered": {packageOf(content), 0}} {
		src, path := serve(content), target(t)
		_, err := provider.Download(t.Context(), src, test.pkg, path, provider.DownloadOptions{})
		if e, ok := errors.AsType[*failure.Error](err); !ok || e.Op != "verify" || !errors.Is(err, verify.ErrUnsigned) {
			t.Errorf("signature %s: %v, want ErrUnsigned", name, err)
		}
		if src.asked.Load() != test.fetched || src.opened.Load() != test.fetched {
			t.Errorf("signature %s: evidence was fetched %d times, the archive %d times, want %d", name, src.asked.Load(), src.opened.Load(), test.fetched)
		}
		wantFile(t, path, nil)
	}
}

func TestDownloadTargets(t *testing.T) {
	t.Parallel()
	content := archive(t)
	t.Run("symbolic link", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS == "windows" {
			return // links need a privilege there
		}
		path := target(t)
		victim := filepath.Join(t.TempDir(), "victim")
		must.Do(t, os.WriteFile(victim, []byte("precious"), 0o600))
		must.Do(t, os.Symlink(victim, path))
		must.Get(provider.Download(t.Context(), serve(content), packageOf(content), path, accepting(content)))(t)
		wantFile(t, path, content)
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("still a link: %v, %v", info, err)
		}
		wantFile(t, victim, []byte("precious"))
	})
	for name, path := range map[string]string{
		"directory":      t.TempDir(),
		"missing parent": filepath.Join(t.TempDir(), "none", "demo.zip"),
		"empty":          "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := serve(content)
			_, err := provider.Download(t.Context(), src, packageOf(content), path, accepting(content))
			if e, ok := errors.AsType[*failure.Error](err); !ok || e.Op != "store" {
				t.Errorf("error %v, want a *failure.Error about storing", err)
			}
			if src.opened.Load() != 0 {
				t.Error("the archive was fetched although it cannot be stored")
			}
		})
	}
}

// TestDownloadLosesItsPlace: if the target changes during the transfer, storing fails, and no
// file is left behind.
func TestDownloadLosesItsPlace(t *testing.T) {
	t.Parallel()
	content, path := archive(t), target(t)
	src := &fake{open: func(context.Context, int) (*provider.Body, error) {
		return body(bytes.NewReader(content)), os.MkdirAll(filepath.Join(path, "kept"), 0o755)
	}}
	_, err := provider.Download(t.Context(), src, packageOf(content), path, accepting(content))
	if e, ok := errors.AsType[*failure.Error](err); !ok || e.Op != "store" {
		t.Errorf("error %v, want a *failure.Error about storing", err)
	}
	for dir, want := range map[string]string{filepath.Dir(path): filepath.Base(path), path: "kept"} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != want {
			t.Errorf("%s holds %v, %v; want %s only", dir, entries, err, want)
		}
	}
}

// TestReceiveCannotWrite: a write error ends the transfer.
func TestReceiveCannotWrite(t *testing.T) {
	t.Parallel()
	f := must.Get(os.Create(target(t)))(t)
	reads := 0
	src := &fake{open: func(context.Context, int) (*provider.Body, error) {
		return body(readerFunc(func(p []byte) (int, error) {
			if reads++; reads == 3 {
				f.Close()
			}
			return len(p), nil
		})), nil
	}}
	_, err := provider.Receive(t.Context(), src, packageOf(nil), f, provider.ReceiveOptions{Policy: accepting(nil).Policy})
	if _, ok := errors.AsType[*failure.Error](err); !ok || !errors.Is(err, fs.ErrClosed) || reads != 3 || src.closed.Load() != 1 {
		t.Errorf("error %v after %d reads, %d bodies closed", err, reads, src.closed.Load())
	}
}

// TestDownloadUnfetchable: a package without provider, version, platform or archive is not fetched. A source
// that opens nothing without an error is at fault.
func TestDownloadUnfetchable(t *testing.T) {
	t.Parallel()
	content := archive(t)
	for name, change := range map[string]func(*provider.Package){
		"provider": func(p *provider.Package) { p.Provider = addrs.Provider{} },
		"version":  func(p *provider.Package) { p.Version = addrs.Version{} },
		"platform": func(p *provider.Package) { p.Platform = addrs.Platform{} },
		"all":      func(p *provider.Package) { *p = provider.Package{} },
		"unpacked": func(p *provider.Package) { p.URL, p.Dir = "", "providers/demo" },
	} {
		pkg := packageOf(content)
		change(pkg)
		src, path := serve(content), target(t)
		report, err := provider.Download(t.Context(), src, pkg, path, accepting(content))
		_, receiveErr := provider.Receive(t.Context(), src, pkg, nil, provider.ReceiveOptions{})
		for what, err := range map[string]error{"Download": err, "Receive": receiveErr} {
			if report != nil || !typed(err) || errors.Is(err, provider.ErrUnpacked) != (name == "unpacked") || src.opened.Load() > 0 {
				t.Errorf("%s: %s returned %+v, %v after %d requests", name, what, report, err, src.opened.Load())
			}
		}
		wantFile(t, path, nil)
	}
	if _, err := provider.Download(t.Context(), serve(nil), nil, target(t), provider.DownloadOptions{}); err == nil {
		t.Error("no error for no package")
	}
	for name, nothing := range map[string]*provider.Body{"no body": nil, "no reader": {}} {
		path := target(t)
		src := byPackage{open: func(context.Context, *provider.Package) (*provider.Body, error) { return nothing, nil }}
		if _, err := provider.Download(t.Context(), src, packageOf(content), path, accepting(content)); !typed(err) {
			t.Errorf("%s: error %v, want an *Error with operation and subject", name, err)
		}
		wantFile(t, path, nil)
	}
}

func TestDownloadSizes(t *testing.T) {
	t.Parallel()
	content := archive(t)
	n := int64(len(content))
	for _, test := range []struct {
		name                    string
		limit, stated, declared int64
		want                    error // nil if accepted
		opens                   int32
	}{
		{name: "nothing said", opens: 1},
		{name: "limit n", limit: n, opens: 1},
		{name: "limit n-1", limit: n - 1, want: failure.ErrTooLarge, opens: 1},
		{name: "limit n-1, declared", limit: n - 1, declared: n, want: failure.ErrTooLarge, opens: 1},
		{name: "limit n-1, stated", limit: n - 1, stated: n, want: failure.ErrTooLarge},
		{name: "stated n", stated: n, opens: 1},
		{name: "stated n-1", stated: n - 1, want: checksum.ErrMismatch, opens: 1},
		{name: "stated n+1", stated: n + 1, want: checksum.ErrMismatch, opens: 1},
		{name: "declared n", declared: n, opens: 1},
		{name: "declared n+1", declared: n + 1, want: io.ErrUnexpectedEOF, opens: 1},
		{name: "stated n, declared n+1", stated: n, declared: n + 1, want: checksum.ErrMismatch, opens: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			src := &fake{open: func(context.Context, int) (*provider.Body, error) {
				b := body(bytes.NewReader(content))
				b.Size = test.declared
				return b, nil
			}}
			pkg, path, o := packageOf(content), target(t), accepting(content)
			pkg.Size, o.Policy.Limits.Package = test.stated, test.limit
			_, err := provider.Download(t.Context(), src, pkg, path, o)
			if test.want == nil {
				if err != nil {
					t.Errorf("Download returned %v, want no error", err)
				}
				wantFile(t, path, content)
				return
			}
			if !errors.Is(err, test.want) {
				t.Errorf("Download returned %v, want %v", err, test.want)
			}
			if src.opened.Load() != test.opens || src.closed.Load() != test.opens {
				t.Errorf("opened %d bodies, closed %d, want %d", src.opened.Load(), src.closed.Load(), test.opens)
			}
			wantFile(t, path, nil)
		})
	}
}

// errSome marks any error in tables.
var errSome = errors.New("some error")

func TestDownloadStartsOverOnce(t *testing.T) {
	t.Parallel()
	content := archive(t)
	changes := func(times int) *fake {
		return &fake{open: func(_ context.Context, n int) (*provider.Body, error) {
			if n > times {
				return body(bytes.NewReader(content)), nil
			}
			// Longer than the real archive: what is left of it must not stay.
			other := bytes.Repeat([]byte("old"), len(content))
			return body(io.MultiReader(bytes.NewReader(other), iotest.ErrReader(fmt.Errorf("reading: %w", failure.ErrChanged)))), nil
		}}
	}
	path, o := target(t), accepting(content)
	var events []progress.Event
	o.Progress = func(e progress.Event) { events = append(events, e) }
	src := changes(1)
	must.Get(provider.Download(t.Context(), src, packageOf(content), path, o))(t)
	wantFile(t, path, content)
	i := slices.IndexFunc(events, func(e progress.Event) bool { return e.Kind == progress.Restarted })
	if i < 0 || events[i].Bytes != 0 || !errors.Is(events[i].Err, failure.ErrChanged) {
		t.Errorf("no proper event about the restart in %v", events)
	}

	path, src = target(t), changes(2)
	if _, err := provider.Download(t.Context(), src, packageOf(content), path, accepting(content)); !errors.Is(err, failure.ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
	if src.opened.Load() != 2 || src.closed.Load() != 2 {
		t.Errorf("opened %d bodies, closed %d, want 2", src.opened.Load(), src.closed.Load())
	}
	wantFile(t, path, nil)
}

func TestDownloadBrokenBodies(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var read int // of the endless body
	for name, test := range map[string]struct {
		body io.Reader
		want error
	}{
		"error at once":  {iotest.ErrReader(broken), broken},
		"error midway":   {io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken)), broken},
		"never a byte":   {readerFunc(func([]byte) (int, error) { return 0, nil }), io.ErrNoProgress},
		"last with data": {iotest.DataErrReader(strings.NewReader("other")), errSome},
		"byte by byte":   {iotest.OneByteReader(strings.NewReader("other")), errSome},
		"nothing at all": {strings.NewReader(""), errSome},
		"endless":        {readerFunc(func(p []byte) (int, error) { read += len(p); return len(p), nil }), failure.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &fake{open: func(context.Context, int) (*provider.Body, error) { return body(test.body), nil }}
			path, o := target(t), accepting([]byte("content"))
			o.Policy.Limits.Package = 1 << 20
			_, err := provider.Download(t.Context(), src, packageOf([]byte("content")), path, o)
			if err == nil || test.want != errSome && !errors.Is(err, test.want) {
				t.Errorf("Download returned %v, want %v", err, test.want)
			}
			if name == "endless" && read > 2<<20 {
				t.Errorf("%d bytes were read", read)
			}
			if src.closed.Load() != 1 {
				t.Errorf("the body was closed %d times", src.closed.Load())
			}
			wantFile(t, path, nil)
		})
	}
}

// TestDownloadOfOthersError: an error that wraps the *Error of another operation gets one of its own.
func TestDownloadOfOthersError(t *testing.T) {
	t.Parallel()
	src := serve(nil)
	src.open = func(context.Context, int) (*provider.Body, error) {
		return nil, fmt.Errorf("my source: %w", &failure.Error{Op: "list", Err: io.ErrClosedPipe})
	}
	_, err := provider.Download(t.Context(), src, packageOf(archive(t)), target(t), accepting(archive(t)))
	if e, ok := err.(*failure.Error); !ok || e.Op != "fetch" || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Download returned %v, want an *Error about fetching the package", err)
	}
}

func TestReceive(t *testing.T) {
	t.Parallel()
	content := archive(t)
	f := must.Get(os.Create(target(t)))(t)
	defer f.Close()
	// What the file holds, and where its offset is, must not matter.
	must.Get(f.Write(bytes.Repeat([]byte("x"), 2*len(content))))(t)
	got := must.Get(provider.Receive(t.Context(), serve(content), promising(packageOf(content)), f, provider.ReceiveOptions{}))(t)
	if got.Size != int64(len(content)) || got.ZH() != zh(content) {
		t.Errorf("received %d bytes with %v, want %d with %v", got.Size, got.ZH(), len(content), zh(content))
	}
	if got.Evidence.Requested != "demo_1.2.3_linux_amd64" {
		t.Errorf("the evidence is about %q", got.Evidence.Requested)
	}
	wantFile(t, f.Name(), content)

	closed := must.Get(os.Open(f.Name()))(t)
	closed.Close()
	if _, err := provider.Receive(t.Context(), serve(content), promising(packageOf(content)), closed, provider.ReceiveOptions{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("into a closed file: %v", err)
	}
}

// hang waits until ctx ends.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestFirstFailureStopsTheOther: the first failure cancels the other request and is returned.
func TestFirstFailureStopsTheOther(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause")
	late := func() error { time.Sleep(time.Second); return cause }
	for name, src := range map[string]*fake{
		"evidence fails": {
			open: func(ctx context.Context, _ int) (*provider.Body, error) {
				return body(readerFunc(func([]byte) (int, error) { return 0, hang(ctx) })), nil
			},
			evidence: func(context.Context, *provider.Package) (verify.Evidence, error) { return verify.Evidence{}, late() },
		},
		"archive fails": {
			open: func(context.Context, int) (*provider.Body, error) { return nil, late() },
			evidence: func(ctx context.Context, _ *provider.Package) (verify.Evidence, error) {
				return verify.Evidence{}, hang(ctx)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := target(t)
				_, err := provider.Download(t.Context(), src, promising(packageOf(nil)), path, provider.DownloadOptions{})
				if !errors.Is(err, cause) || errors.Is(err, context.Canceled) {
					t.Errorf("%v, want the cause and no cancellation", err)
				}
				wantFile(t, path, nil)
			})
		})
	}
}

// TestCancelBeforeTheVerdict: hashing the content ends with the context, too.
func TestCancelBeforeTheVerdict(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{"archive": archive(t), "no archive": []byte("no archive")} {
		ctx, cancel := context.WithCancel(t.Context())
		o := provider.DownloadOptions{
			Policy: verify.Policy{Accept: checksum.NewSet(checksum.MustParseHash("h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="))},
			Progress: func(e progress.Event) {
				if e.Bytes > 0 && e.Bytes == e.Total {
					cancel() // all has arrived
				}
			},
		}
		path := target(t)
		_, err := provider.Download(ctx, serve(content), packageOf(content), path, o)
		if !errors.Is(err, context.Canceled) || errors.Is(err, failure.ErrArchive) || errors.Is(err, verify.ErrNotAccepted) {
			t.Errorf("%s: %v, want Canceled and no verdict", name, err)
		}
		wantFile(t, path, nil)
	}
}

// TestCancelBetweenReads: the transfer ends even if the source ignores the context.
func TestCancelBetweenReads(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var reads int
	src := &fake{open: func(context.Context, int) (*provider.Body, error) {
		return body(readerFunc(func(p []byte) (int, error) {
			if reads++; reads == 10 {
				cancel()
			}
			return 1, nil
		})), nil
	}}
	_, err := provider.Download(ctx, src, packageOf(nil), target(t), accepting(nil))
	if !errors.Is(err, context.Canceled) || reads != 10 {
		t.Errorf("%v after %d reads, want Canceled after 10", err, reads)
	}
}

// TestProgress: 100,000 small reads in 100 seconds cause about 1,000 calls, with one resumption.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		content := bytes.Repeat([]byte("content "), 12_500)
		rest := bytes.NewReader(content)
		var resumes atomic.Int32
		src := &fake{open: func(context.Context, int) (*provider.Body, error) {
			b := body(readerFunc(func(p []byte) (int, error) {
				time.Sleep(time.Millisecond)
				if rest.Len() == len(content)/2 {
					resumes.Store(1)
				}
				return rest.Read(p[:1])
			}))
			b.Size, b.Resumes = int64(len(content)), func() int { return int(resumes.Load()) }
			return b, nil
		}}
		var events []progress.Event
		var inside atomic.Int32
		o := accepting(content)
		o.Progress = func(e progress.Event) {
			if inside.Add(1) != 1 {
				t.Error("two calls at a time")
			}
			events = append(events, e)
			inside.Add(-1)
		}
		must.Get(provider.Download(t.Context(), src, packageOf(content), target(t), o))(t)
		if len(events) < 900 || len(events) > 1100 {
			t.Errorf("%d events, want about 1000", len(events))
		}
		var last int64
		kinds := map[progress.Kind]int{}
		for _, e := range events {
			kinds[e.Kind]++
			if e.Bytes < last || e.Total != int64(len(content)) || e.Provider != demo || e.Version != version("1.2.3") || e.Platform != linux || e.Err != nil {
				t.Errorf("event %v after %d bytes", e, last)
			}
			last = e.Bytes
		}
		first, end := events[0], events[len(events)-2:]
		if first.Kind != progress.Bytes || first.Bytes != 0 || end[0].Kind != progress.Bytes || end[0].Bytes != last || end[1].Kind != progress.Verified {
			t.Errorf("the first event is %v, the last ones are %v", first, end)
		}
		if last != int64(len(content)) || kinds[progress.Resumed] != 1 || kinds[progress.Restarted] != 0 || kinds[progress.Verified] != 1 {
			t.Errorf("%d bytes, kinds %v", last, kinds)
		}
	})
}

// TestProgressPanic: a callback that panics leaves no file behind.
func TestProgressPanic(t *testing.T) {
	t.Parallel()
	content := archive(t)
	path, o := target(t), accepting(content)
	o.Progress = func(progress.Event) { panic("callback") }
	func() {
		defer func() {
			if recover() != "callback" {
				t.Error("the panic was swallowed")
			}
		}()
		provider.Download(t.Context(), serve(content), packageOf(content), path, o)
	}()
	wantFile(t, path, nil)
}

// peak is an Opener that measures the heap during the transfer.
type peak struct {
	provider.Opener
	most  uint64 // bytes
	reads int
}

func (p *peak) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	body, err := p.Opener.Open(ctx, pkg)
	if err != nil {
		return nil, err
	}
	sampled := *body
	sampled.ReadCloser = &sampler{body, p}
	return &sampled, nil
}

type sampler struct {
	io.ReadCloser
	peak *peak
}

func (s *sampler) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if s.peak.reads++; s.peak.reads%64 == 32 {
		s.peak.most = max(s.peak.most, heap())
	}
	return n, err
}

// heap is the memory of all objects in use. What the registry of the test throws away
// while it makes up the archive does not count.
func heap() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// BenchmarkDownload downloads over HTTP into a verified file. The metric peak-MB is the growth of
// the heap, which does not depend on the size of the package. With -short the larger package has
// 100 MB.
func BenchmarkDownload(b *testing.B) {
	large := 1000
	if testing.Short() {
		large = 100
	}
	for _, megabytes := range []int{10, large} {
		b.Run(fmt.Sprintf("%dMB", megabytes), func(b *testing.B) {
			reg := regtest.New("registry.opentofu.org")
			release := reg.AddProvider(regtest.Provider{Address: "acme/demo", Version: "1.2.3", Platforms: []string{"linux_amd64"}, Size: int64(megabytes) * 1e6})
			release.Sums() // hashes all of it, once
			client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
			pkg := must.Get(client.ProviderPackage(b.Context(), demo, addrs.MustParseVersion("1.2.3"), linux))(b)
			path := filepath.Join(b.TempDir(), "demo.zip")
			var most uint64
			b.SetBytes(release.Archive("linux_amd64").Size())
			b.ReportAllocs()
			for b.Loop() {
				before, src := heap(), &peak{Opener: client}
				must.Get(provider.Download(b.Context(), src, pkg, path, provider.DownloadOptions{}))(b)
				most = max(most, src.most-min(src.most, before))
			}
			b.ReportMetric(float64(most)/1e6, "peak-MB")
			os.Remove(path)
		})
	}
}

// TestMemory: a package of 32 times the size takes no more memory.
func TestMemory(t *testing.T) {
	// Not parallel: others would allocate meanwhile.
	rise := func(megabytes int64) uint64 {
		zeros := io.LimitReader(readerFunc(func(p []byte) (int, error) { return len(p), nil }), megabytes<<20)
		src := &peak{Opener: &fake{open: func(context.Context, int) (*provider.Body, error) { return body(zeros), nil }}}
		before := heap()
		// The verdict does not matter.
		if _, err := provider.Download(t.Context(), src, packageOf(nil), target(t), accepting(nil)); err == nil {
			t.Error("accepted")
		}
		return src.most - min(src.most, before)
	}
	rise(1) // fills the pool of buffers
	small, large := rise(2), rise(64)
	if large > small+1<<20 {
		t.Errorf("the heap rose by %d bytes for 2 MiB and by %d for 64 MiB", small, large)
	}
}

// TestNothingStays: wherever the context ends, Download leaves no file.
func TestNothingStays(t *testing.T) {
	t.Parallel()
	content := archive(t)
	for _, step := range []string{"open", "first byte", "half", "all", "judge"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		at := func(name string) {
			if name == step {
				cancel()
			}
		}
		passes := func(name string) io.Reader {
			return readerFunc(func([]byte) (int, error) { at(name); return 0, io.EOF })
		}
		src := &fake{open: func(context.Context, int) (*provider.Body, error) {
			at("open")
			return body(io.MultiReader(bytes.NewReader(content[:1]), passes("first byte"),
				bytes.NewReader(content[1:len(content)/2]), passes("half"), bytes.NewReader(content[len(content)/2:]), passes("all"))), nil
		}}
		o := accepting(content)
		o.Progress = func(e progress.Event) {
			if e.Bytes == int64(len(content)) {
				at("judge")
			}
		}
		dir := t.TempDir()
		_, err := provider.Download(ctx, src, packageOf(content), filepath.Join(dir, "demo.zip"), o)
		if left := must.Get(os.ReadDir(dir))(t); !errors.Is(err, context.Canceled) || len(left) > 0 {
			t.Errorf("ended at %q: Download: %v, and %v is left; want context.Canceled and nothing", step, err, left)
		}
	}
}
