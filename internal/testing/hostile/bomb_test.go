package hostile_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/hashlist"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/provider/lockfile"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// A tripwire is data that ends a context when a certain byte is read.
type tripwire struct {
	data []byte
	at   int
	end  func()

	mu               sync.Mutex
	pos, read, after int // position of Read, bytes that were read, bytes that were read after the end
}

func (w *tripwire) ReadAt(p []byte, off int64) (int, error) {
	n, err := bytes.NewReader(w.data).ReadAt(p, off)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read >= w.at {
		w.after += n
	}
	if w.read += n; w.read >= w.at {
		w.end()
	}
	return n, err
}

func (w *tripwire) Read(p []byte) (int, error) {
	n, err := w.ReadAt(p[:min(len(p), 1000)], int64(w.pos))
	if w.pos += n; n > 0 {
		err = nil
	}
	return n, err
}

func (w *tripwire) Close() error { return nil }

// The sources of one package.

func (w *tripwire) ProviderVersions(context.Context, addrs.Provider) (*provider.Versions, error) {
	return nil, failure.ErrNotFound
}

func (w *tripwire) ProviderPackage(context.Context, addrs.Provider, addrs.Version, addrs.Platform) (*provider.Package, error) {
	return &provider.Package{Provider: alpha, Version: v1, Platform: linux, URL: "https://example.com/alpha.zip"}, nil
}

func (w *tripwire) Evidence(context.Context, *provider.Package) (verify.Evidence, error) {
	return verify.Evidence{}, nil
}

func (w *tripwire) Open(context.Context, *provider.Package) (*provider.Body, error) {
	return &provider.Body{ReadCloser: w}, nil
}

func (w *tripwire) OpenModule(context.Context, *module.Location) (*module.Body, error) {
	return &module.Body{ReadCloser: w}, nil
}

// deflated expands a thousandfold, to two gigabytes of zeros.
var deflated = sync.OnceValue(func() []byte {
	var piece bytes.Buffer
	w, _ := flate.NewWriter(&piece, flate.BestCompression)
	w.Write(make([]byte, 1<<20))
	w.Flush()
	return append(bytes.Repeat(piece.Bytes(), 2<<10), 3, 0) // at last an empty block
})

const deflatedSize = 2 << 30

func zipBomb(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	w, err := zw.CreateRaw(&zip.FileHeader{
		Name: "zeros", Method: zip.Deflate, CompressedSize64: uint64(len(deflated())), UncompressedSize64: deflatedSize,
	})
	if err == nil {
		_, err = w.Write(deflated())
	}
	must.Do(t, errors.Join(err, zw.Close()))
	return b.Bytes()
}

func tarBomb(t *testing.T) []byte {
	t.Helper()
	var head bytes.Buffer
	must.Do(t, tar.NewWriter(&head).WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Mode: 0o644, Size: deflatedSize}))
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, err := zw.Write(head.Bytes())
	must.Do(t, errors.Join(err, zw.Close()))
	b.Write([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"))
	b.Write(deflated())
	return b.Bytes()
}

// TestBombsEnd: all functions that inflate or hash end with their context, during the download and
// after it, and leave nothing behind.
func TestBombsEnd(t *testing.T) {
	t.Parallel()
	zipped, tarred := zipBomb(t), tarBomb(t)
	h1 := must.Get(hashlist.H1(func(func(string, [32]byte) bool) {}))(t)
	policy := verify.Policy{Accept: checksum.NewSet(h1)} // which only inflating can tell
	all := len(zipped)
	for name, verb := range map[string]struct {
		data []byte
		at   []int // bytes
		run  func(ctx context.Context, w *tripwire, dir string) error
	}{
		"checksum.ZH": {zipped, []int{1, all / 2, all}, func(ctx context.Context, w *tripwire, _ string) error {
			return errorOf(checksum.ZH(ctx, w))
		}},
		"checksum.H1Zip": {zipped, []int{1, 150_000}, func(ctx context.Context, w *tripwire, _ string) error {
			_, _, err := checksum.H1Zip(ctx, w, int64(len(w.data)), checksum.Limits{})
			return err
		}},
		"checksum.H1Dir": {zipped, []int{1, all / 2, all}, func(ctx context.Context, w *tripwire, _ string) error {
			return errorOf(checksum.H1Dir(ctx, onlyFile{fstest.MapFS{"a": {}}, w}))
		}},
		"Policy.Check": {zipped, []int{1, all / 2, all, all + 150_000}, func(ctx context.Context, w *tripwire, _ string) error {
			return errorOf(policy.Check(ctx, verify.Evidence{}, w, int64(len(w.data))))
		}},
		"provider.Download": {zipped, []int{1, all / 2, all}, func(ctx context.Context, w *tripwire, dir string) error {
			pkg, _ := w.ProviderPackage(ctx, alpha, v1, linux)
			return errorOf(provider.Download(ctx, w, pkg, dir+"/alpha.zip", provider.DownloadOptions{Policy: policy}))
		}},
		"provider.Hashes": {zipped, []int{1, all / 2, all}, func(ctx context.Context, w *tripwire, dir string) error {
			o := provider.HashOptions{Policy: policy, TempDir: dir}
			return errorOf(provider.Hashes(ctx, w, alpha, v1, []addrs.Platform{linux}, o))
		}},
		"Dir.Install": {zipped, []int{1, all / 2, all}, func(ctx context.Context, w *tripwire, dir string) error {
			pkg, _ := w.ProviderPackage(ctx, alpha, v1, linux)
			return errorOf((&install.Dir{Path: dir}).Install(ctx, w, pkg, install.Options{Policy: policy}))
		}},
		"Installer.Ensure": {zipped, []int{1, all / 2, all}, func(ctx context.Context, w *tripwire, dir string) error {
			lock := new(lockfile.File)
			if err := lock.Set(lockfile.Entry{Provider: alpha, Version: v1, Hashes: []checksum.Hash{h1}}); err != nil {
				return err
			}
			installer := &install.Installer{Source: w, Dir: &install.Dir{Path: dir}, Platform: linux}
			return errorOf(installer.Ensure(ctx, install.Requirements{alpha: {}}, lock))
		}},
		"module, zip":    {zipped, []int{1, all / 2, all}, downloadLocation},
		"module, tar.gz": {tarred, []int{1, 20_000}, downloadLocation},
	} {
		for _, n := range verb.at {
			t.Run(fmt.Sprint(name, "/", n), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				enough := errors.New("enough")
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				w := &tripwire{data: verb.data, at: n, end: func() { cancel(enough) }}
				if err := verb.run(ctx, w, dir); !errors.Is(err, context.Canceled) && !errors.Is(err, enough) {
					t.Errorf("%v, want the error of the context", err)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.read < n || w.after > 0 {
					t.Errorf("%d bytes were read, %d after the end of the context at %d", w.read, w.after, n)
				}
				if left := filesIn(t, dir); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

func downloadLocation(ctx context.Context, w *tripwire, dir string) error {
	loc, err := module.ParseLocation("https://example.com/m.zip")
	if err == nil {
		_, err = module.Download(ctx, struct {
			module.Lister
			module.Opener
		}{nil, w}, module.Request{Location: loc, Dir: dir + "/m"}, module.Options{})
	}
	return err
}

// onlyFile has the tripwire as the content of a file.
type onlyFile struct {
	fstest.MapFS
	w *tripwire
}

func (o onlyFile) Open(name string) (fs.File, error) {
	f, err := o.MapFS.Open(name)
	if name != "a" || err != nil {
		return f, err
	}
	return trippedFile{f, o.w}, nil
}

type trippedFile struct {
	fs.File
	w *tripwire
}

func (f trippedFile) Read(p []byte) (int, error) { return f.w.Read(p) }

// filesIn lists the files in dir, except locks.
func filesIn(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) != ".lock" {
			files = append(files, name)
		}
		return err
	})
	must.Do(t, err)
	return files
}

// TestDocumentLimits: every document may have as many bytes as its limit, and one byte more is an
// error, for which no second request is made. The bytes are counted after decompression, whether the
// length is declared or not.
func TestDocumentLimits(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		if op.streams() {
			continue // limited by what the caller of a download says
		}
		for name, f := range map[string]regtest.Fault{
			"length declared":   {},
			"length unknown":    {Header: http.Header{"Content-Length": nil}},
			"compressed":        {Gzip: true},
			"compressed, small": {Gzip: true, Header: http.Header{"Content-Length": {"100"}}}, // a lie, which the transport ends
		} {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				// Large documents take long to compress and to parse, so one for each client
				// is enough.
				large := op.limit > 4<<20
				spare := large && op.kind&(regtest.Versions|regtest.MirrorIndex) == 0
				for _, more := range []int64{0, 1} {
					if name != "length declared" && more == 0 && large || name == "compressed" && spare ||
						name == "compressed, small" && (more == 0 || large) {
						continue
					}
					w := newWorld(t)
					if name == "compressed, small" {
						w.retries = -1
					}
					f := f
					f.PadTo = op.limit + more
					none := more == 0 && spare
					if none { // so that all are read, and then found to be no JSON
						f.Raw = []byte("none")
					}
					_, err := op.ready(t, w, f)(t.Context())
					switch {
					case none:
						if typed(t, err); errors.Is(err, failure.ErrTooLarge) {
							t.Errorf("exactly the limit, and no JSON: %v", err)
						}
					case more == 0 && err != nil:
						t.Errorf("exactly the limit: %v", err)
					case more == 1 && name == "compressed, small":
						typed(t, err)
					case more == 1 && (!errors.Is(err, failure.ErrTooLarge) || typed(t, err).attempts != 1):
						t.Errorf("one byte more: %v", err)
					}
					for _, q := range w.reg.Requests() {
						if op.is(q) && more == 1 && name == "length declared" && q.Sent != 0 {
							t.Errorf("%d bytes were read, although the length was declared", q.Sent)
						}
					}
				}
			})
		}
	}
}

// TestErrorBodies: of the body of an error at most 4 KiB are read, after decompression.
func TestErrorBodies(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for _, f := range []regtest.Fault{{}, {Gzip: true}, {Header: http.Header{"Content-Length": nil}}} {
			w := newWorld(t)
			w.retries = -1
			f.Status, f.PadTo = 400, 1<<20
			_, err := op.ready(t, w, f)(t.Context())
			typed(t, err)
			for _, q := range w.reg.Requests() {
				if most := int64(4 << 10); op.is(q) && (q.Sent > most || !f.Gzip && q.Sent != most) {
					t.Errorf("%s: %d bytes of the error were read", op.name, q.Sent)
				}
			}
		}
	}
}

// TestGarbage: invalid checksums, signatures, archives and pages are errors that can be printed,
// and leave no files.
func TestGarbage(t *testing.T) {
	t.Parallel()
	garbage := map[string]string{
		"empty":    "",
		"a zero":   "\x00",
		"terminal": nasty,
		"a page":   "<!doctype html><title>" + nasty + "</title>",
		"JSON":     `{"errors":["` + "no" + `"]}`,
		"sums":     strings.Repeat("0", 64) + "  " + nasty + "\n",
		"a zip":    "PK\x03\x04" + nasty,
		"a gzip":   "\x1f\x8b\x08" + nasty,
		"an xz":    "\xfd7zXZ\x00" + nasty,
		"armour":   "-----BEGIN PGP SIGNATURE-----\n" + nasty + "\n-----END PGP SIGNATURE-----\n",
		"long":     strings.Repeat("x", 100_000),
		"lines":    strings.Repeat("\n", 60_000),
		"a tag":    `<meta name="terraform-get" content="` + strings.ReplaceAll(nasty, "\x00", "") + `">`,
	}
	for verb, kinds := range map[string][]regtest.Kind{
		"find and download": {regtest.Sums, regtest.Signature, regtest.Archive},
		"through a mirror":  {regtest.Archive},
		"module":            {regtest.ModulePage, regtest.ModulePackage},
	} {
		for _, kind := range kinds {
			for name, body := range garbage {
				t.Run(verb+"/"+kind.String()+"/"+name, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					w := newWorld(t)
					w.reg.AddFault(regtest.Fault{Kind: kind, Raw: []byte(body)})
					err := verbs[verb](t.Context(), w, dir)
					typed(t, err)
					left, readErr := os.ReadDir(dir)
					if readErr != nil || len(left) != 0 {
						t.Errorf("left over: %v, %v", left, readErr)
					}
					if n := w.count()[kind]; n != 1 {
						t.Errorf("%d requests", n)
					}
				})
			}
		}
	}
}
