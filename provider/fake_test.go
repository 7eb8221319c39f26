package provider_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// fake is an Opener whose methods are functions.
type fake struct {
	open     func(ctx context.Context, n int) (*provider.Body, error) // n counts the calls from 1
	evidence func(ctx context.Context, pkg *provider.Package) (verify.Evidence, error)

	opened, asked, closed atomic.Int32
}

func (f *fake) Open(ctx context.Context, _ *provider.Package) (*provider.Body, error) {
	body, err := f.open(ctx, int(f.opened.Add(1)))
	if err != nil {
		return nil, err
	}
	body.ReadCloser = &countedCloser{body.ReadCloser, &f.closed}
	return body, nil
}

func (f *fake) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	f.asked.Add(1)
	if f.evidence == nil {
		return pkg.Evidence(), nil
	}
	return f.evidence(ctx, pkg)
}

type countedCloser struct {
	io.ReadCloser
	closed *atomic.Int32
}

func (c *countedCloser) Close() error {
	c.closed.Add(1)
	return c.ReadCloser.Close()
}

// serve returns a fake with this archive.
func serve(content []byte) *fake {
	return &fake{open: func(context.Context, int) (*provider.Body, error) { return body(bytes.NewReader(content)), nil }}
}

func body(r io.Reader) *provider.Body { return &provider.Body{ReadCloser: io.NopCloser(r)} }

// readerFunc is an io.Reader.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// archive returns a small zip with an entry for a directory, so that it has two h1.
func archive(t testing.TB) []byte {
	t.Helper()
	const readme, program = "docs/README", "terraform-provider-demo_v1.2.3"
	return archivetest.Zip(t, archivetest.Entry{Name: "docs/"}, archivetest.Entry{Name: readme, Content: strings.Repeat(readme, 50)},
		archivetest.Entry{Name: program, Content: strings.Repeat(program, 50)})
}

func zh(content []byte) checksum.Hash { return checksum.ZHSum(sha256.Sum256(content)) }

// packageOf returns the package with this archive.
func packageOf(content []byte) *provider.Package {
	return &provider.Package{
		Provider: demo, Version: version("1.2.3"), Platform: linux,
		Filename: "terraform-provider-demo_1.2.3_linux_amd64.zip", URL: "https://files.example.com/demo.zip", SHA256: zh(content),
	}
}

// promising returns a package with all that the zero policy requires.
func promising(pkg *provider.Package) *provider.Package {
	pkg.SumsURL, pkg.SignatureURL = "https://files.example.com/SHA256SUMS", "https://files.example.com/SHA256SUMS.sig"
	pkg.Keys = []verify.Key{{ID: "51852D87348FFC4C", Armor: "armor"}}
	return pkg
}

// accepting returns a policy that accepts the hash of this archive.
func accepting(content []byte) provider.DownloadOptions {
	return provider.DownloadOptions{Policy: verify.Policy{Accept: checksum.NewSet(zh(content))}}
}

func target(t testing.TB) string { return filepath.Join(t.TempDir(), "demo.zip") }

// wantFile fails unless path is the only file in its directory and has this content. If content is
// nil, path must not exist.
func wantFile(t *testing.T, path string, content []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if content == nil != os.IsNotExist(err) || !bytes.Equal(got, content) {
		t.Errorf("%s holds %d bytes, %v; want %d bytes", path, len(got), err, len(content))
	}
	for _, e := range must.Get(os.ReadDir(filepath.Dir(path)))(t) {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}
