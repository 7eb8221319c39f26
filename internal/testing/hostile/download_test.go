package hostile_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// download is one way to get the files of a package. It reports whether the files are those that
// were published; no files are an error.
type download struct {
	name string
	kind regtest.Kind
	run  func(ctx context.Context, w *world, dir string) (right bool, err error)
}

var downloads = []download{
	{"provider", regtest.Archive, func(ctx context.Context, w *world, dir string) (bool, error) {
		return downloadProvider(ctx, w.registry(), verify.Policy{}, dir)
	}},
	{"mirror", regtest.Archive, func(ctx context.Context, w *world, dir string) (bool, error) {
		return downloadProvider(ctx, w.mirror(), verify.Policy{AllowUnsigned: true}, dir)
	}},
	{"module", regtest.ModulePackage, func(ctx context.Context, w *world, dir string) (bool, error) {
		report, err := module.Download(ctx, w.registry(), module.Request{Source: addrs.ModuleSource{Module: plain}, Version: v1, Dir: filepath.Join(dir, "m")}, module.Options{})
		if err != nil {
			return false, err
		}
		return report.H1 == w.module.H1(), nil
	}},
	{"install", regtest.Archive, func(ctx context.Context, w *world, dir string) (bool, error) {
		return installProvider(ctx, w, &install.Installer{Source: w.registry()}, dir)
	}},
	{"install in a cache", regtest.Archive, func(ctx context.Context, w *world, dir string) (bool, error) {
		unsigned := func(addrs.Provider) verify.Policy { return verify.Policy{AllowUnsigned: true} }
		in := &install.Installer{Source: w.mirror(), Policy: unsigned, Cache: &install.Dir{Path: filepath.Join(dir, "install", "cache")}}
		return installProvider(ctx, w, in, dir)
	}},
}

// installProvider installs below dir. After an error it removes what stays of an installation: lock files and empty
// directories.
func installProvider(ctx context.Context, w *world, in *install.Installer, dir string) (bool, error) {
	dir = filepath.Join(dir, "install")
	in.Dir, in.Platform = &install.Dir{Path: filepath.Join(dir, "plugins")}, linux
	result, err := in.Ensure(ctx, install.Requirements{alpha: {}}, nil)
	if err != nil {
		var files []string
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() && filepath.Ext(path) != ".lock" {
				files = append(files, path)
			}
			return nil
		})
		if len(files) == 0 {
			os.RemoveAll(dir)
		}
		return false, err
	}
	h1, err := checksum.H1Dir(ctx, os.DirFS(result.Selections[0].Dir))
	return err == nil && h1 == w.provider.H1(linux.String()), err
}

func downloadProvider(ctx context.Context, src provider.Source, policy verify.Policy, dir string) (bool, error) {
	pkg, err := src.ProviderPackage(ctx, alpha, v1, linux)
	if err != nil {
		return false, err
	}
	path := filepath.Join(dir, pkg.ArchiveName())
	report, err := provider.Download(ctx, src, pkg, path, provider.DownloadOptions{Policy: policy})
	if err != nil {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	sum, err := checksum.ZH(ctx, f)
	return err == nil && slices.Contains(report.Local, sum), err
}

// The result of a download with a fault.
const (
	arrives = iota // as if nothing had been
	breaks         // with an error that callers can look into
	either
)

// troubles are the faults of archives.
var troubles = map[string]struct {
	faults []regtest.Fault
	want   int
}{
	"reset":                     {[]regtest.Fault{cut}, arrives},
	"reset at once":             {[]regtest.Fault{{Break: "cut", First: 2}}, arrives},
	"reset, again and again":    {[]regtest.Fault{{Break: "cut", After: 20_000, First: 12}}, arrives},
	"reset before the answer":   {[]regtest.Fault{{Drop: true, First: 2}}, arrives},
	"silence":                   {[]regtest.Fault{{Break: "stall", After: packageSize / 2, First: 2}}, arrives},
	"a pause":                   {[]regtest.Fault{{Break: "stall", After: packageSize / 2, Pause: 29 * time.Second}}, arrives},
	"a trickle":                 {[]regtest.Fault{{Rate: 100}}, arrives}, // for most of an hour
	"busy, then reset":          {[]regtest.Fault{{Status: 503, RetryAfter: "20", First: 2}, {Skip: 2, First: 1, Break: "cut", After: packageSize / 2}}, arrives},
	"resetting for ever":        {[]regtest.Fault{{Break: "cut"}}, breaks},
	"silence for ever":          {[]regtest.Fault{{Break: "stall"}}, breaks},
	"gone meanwhile":            {[]regtest.Fault{cut, {Skip: 1, Status: 404}}, breaks},
	"busy meanwhile":            {[]regtest.Fault{cut, {Skip: 1, First: 1, Status: 503}}, arrives},
	"busy for ever meanwhile":   {[]regtest.Fault{cut, {Skip: 1, Status: 503}}, breaks},
	"no length":                 {[]regtest.Fault{{Header: http.Header{"Content-Length": nil}}}, arrives},
	"no length, reset":          {[]regtest.Fault{cut, {Header: http.Header{"Content-Length": nil}}}, arrives},
	"truncated, and says so":    {[]regtest.Fault{{Break: "short", After: packageSize / 2}}, breaks},
	"stated to be shorter":      {[]regtest.Fault{{Header: http.Header{"Content-Length": {"200000"}}}}, breaks},
	"stated to be longer":       {[]regtest.Fault{{Header: http.Header{"Content-Length": {"400000"}}}}, breaks},
	"stated to be longer, once": {[]regtest.Fault{{First: 1, Header: http.Header{"Content-Length": {"400000"}}}}, either}, // the registry may have stated the size
	"corrupt":                   {[]regtest.Fault{{Corrupt: true}}, breaks},
	"corrupt after a reset":     {[]regtest.Fault{cut, {Skip: 1, Corrupt: true}}, breaks},
	"another file":              {[]regtest.Fault{cut, {Skip: 1, Changed: true}}, breaks},
	"another file for a time":   {[]regtest.Fault{{First: 1, Changed: true}, cut}, arrives},
	"ever another file":         {[]regtest.Fault{{Break: "cut", After: packageSize / 2}, {Every: 2, Changed: true}}, breaks},
	"no validator":              {[]regtest.Fault{cut, {Header: http.Header{"Etag": nil, "Last-Modified": nil}}}, arrives},
	"a weak validator":          {[]regtest.Fault{cut, {Header: http.Header{"Etag": {`W/"1"`}, "Last-Modified": nil}}}, arrives},
	"no ranges":                 {[]regtest.Fault{cut, {Part: "whole"}}, arrives},
	"no ranges, no validator":   {[]regtest.Fault{cut, {Part: "whole", Header: http.Header{"Etag": nil, "Last-Modified": nil}}}, arrives},
	"no ranges, another file":   {[]regtest.Fault{cut, {Part: "whole", Header: http.Header{"Etag": nil, "Last-Modified": nil}}, {Skip: 1, Changed: true}}, breaks},
	"part starts early":         {[]regtest.Fault{cut, {Part: "overlap"}}, arrives},
	"part starts late":          {[]regtest.Fault{cut, {Part: "gap"}}, arrives},
	"part of a longer file":     {[]regtest.Fault{cut, {Part: "other total"}}, arrives},
	"part in parts":             {[]regtest.Fault{cut, {Part: "multipart"}}, arrives},
	"part without a range":      {[]regtest.Fault{cut, {Part: "unlabelled"}}, arrives},
	"part that is not there":    {[]regtest.Fault{cut, {Part: "unsatisfiable"}}, arrives},
	"wrong part, ever":          {[]regtest.Fault{{Break: "cut", After: packageSize / 2}, {Part: "overlap"}}, breaks},
	"refuses tokens":            {[]regtest.Fault{cut, {RefuseToken: true}}, arrives},
	"redirects to signed URLs":  {[]regtest.Fault{{Redirect: "https://" + elsewhere + "?X-Amz-Signature=1"}, {Host: elsewhere, RefuseToken: true}, {Host: elsewhere, First: 1, Break: "cut", After: packageSize / 2}}, arrives},
	"compressed all the same":   {[]regtest.Fault{{Header: http.Header{"Content-Encoding": {"gzip"}}}}, arrives}, // the archive is not compressed
}

// cut is a connection that breaks once, in the middle.
var cut = regtest.Fault{First: 1, Break: "cut", After: packageSize / 2}

// TestDownloads: whatever happens to a download, the result is the published package, or an error
// and no file.
func TestDownloads(t *testing.T) {
	t.Parallel()
	for _, d := range downloads {
		for name, trouble := range troubles {
			for _, throttled := range []bool{false, true} {
				if throttled && d.name != "provider" {
					continue // they go the same way
				}
				t.Run(fmt.Sprintf("%s/%s/throttled %v", d.name, name, throttled), func(t *testing.T) {
					t.Parallel()
					d.suffers(t, trouble.faults, trouble.want, throttled)
				})
			}
		}
	}
}

// suffers makes a download with these faults.
func (d download) suffers(t *testing.T, faults []regtest.Fault, want int, throttled bool) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if throttled {
			w.throttled()
		}
		w.http.Timeout = 20 * time.Second // is not for downloads
		for _, f := range faults {
			f.Kind = d.kind
			w.reg.AddFault(f)
		}
		right, err := d.run(t.Context(), w, dir)
		left, readErr := os.ReadDir(dir)
		if readErr != nil {
			t.Fatal(readErr)
		}
		switch want {
		case arrives:
			if err != nil || !right || len(left) != 1 {
				t.Errorf("right: %v, files: %v, %v", right, left, err)
			}
		case breaks, either:
			if err == nil && right && want == either {
				break
			}
			if typed(t, err); len(left) != 0 {
				t.Errorf("left over: %v", left)
			}
		}
		for _, q := range w.reg.Requests() {
			if q.Method != http.MethodGet || q.Kind == d.kind && q.Authorization != "" {
				t.Errorf("%v was made", q)
			}
		}
	})
}

// TestCutTwentyTimes: a package of 30 MB is complete although the connection breaks at twenty
// random places. At most a twentieth is sent twice, and memory does not grow. The test is not
// parallel, because it measures memory.
func TestCutTwentyTimes(t *testing.T) {
	const size = 30_000_000
	random := rand.New(rand.NewPCG(1, 2))
	for _, d := range downloads {
		t.Run(d.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := newWorldOf(t, size)
				var places []int64
				for range 20 {
					places = append(places, random.Int64N(size))
				}
				slices.Sort(places)
				at := int64(0)
				for i, place := range places {
					w.reg.AddFault(regtest.Fault{Kind: d.kind, Skip: i, First: 1, Break: "cut", After: place - at})
					at = place
				}
				memory := &watched{RoundTripper: w.reg}
				w.http = &http.Client{Transport: memory}
				before := heap()
				right, err := d.run(t.Context(), w, dir)
				if err != nil || !right {
					t.Fatalf("right: %v, %v", right, err)
				}
				requests, sent := 0, int64(0)
				for _, q := range w.reg.Requests() {
					if q.Kind == d.kind {
						requests++
						sent += q.Sent
					}
				}
				if requests != 21 || sent < size || sent > size*21/20 {
					t.Errorf("%d requests, %d bytes sent", requests, sent)
				}
				if more := int64(memory.most) - int64(before); memory.most == 0 || more > 8<<20 {
					t.Errorf("memory has grown by %d bytes", more)
				}
				t.Logf("%d bytes sent, %d more than there are; memory grew by %d", sent, sent-size, int64(memory.most)-int64(before))
			})
		})
	}
}

// watched is a transport that measures memory while bodies are read.
type watched struct {
	http.RoundTripper
	most uint64
	seen int64
}

func (w *watched) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.RoundTripper.RoundTrip(req)
	if err == nil && resp.ContentLength > 1<<20 { // not what comes beside it
		resp.Body = &watchedBody{resp.Body, w}
	}
	return resp, err
}

type watchedBody struct {
	io.ReadCloser
	w *watched
}

func (b *watchedBody) Read(p []byte) (int, error) {
	const every = 2_000_000
	n, err := b.ReadCloser.Read(p)
	before := b.w.seen / every
	if b.w.seen += int64(n); b.w.seen/every > before {
		b.w.most = max(b.w.most, heap())
	}
	return n, err
}

// heap returns the size of all objects in use.
func heap() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
