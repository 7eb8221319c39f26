package module_test

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
)

// archiveOf returns a tar.gz with n files of one MiB. It is generated while it is read.
func archiveOf(content []byte, n int) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		zw, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		tw := tar.NewWriter(zw)
		for i := range n {
			h := &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("modules/%d.tf", i), Mode: 0o644, Size: int64(len(content))}
			if err := tw.WriteHeader(h); err != nil {
				w.CloseWithError(err)
				return
			}
			if _, err := tw.Write(content); err != nil {
				w.CloseWithError(err)
				return
			}
		}
		tw.Close()
		zw.Close()
		w.Close()
	}()
	return r
}

// BenchmarkDownload unpacks generated archives of 16 MiB and 1 GiB. B/op must stay far below their
// size.
func BenchmarkDownload(b *testing.B) {
	rnd := rand.NewChaCha8([32]byte{})
	content := make([]byte, 1<<20)
	rnd.Read(content[:len(content)/2]) // half of it compresses well
	sizes := []int{16, 1024}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("%dMiB", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n) << 20)
			src := opening(func() (*module.Body, error) { return &module.Body{ReadCloser: archiveOf(content, n)}, nil })
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "module")
				must.Get(module.Download(b.Context(), src, module.Request{Location: at(b, archiveURL), Dir: dir}, module.Options{}))(b)
				b.StopTimer()
				os.RemoveAll(dir)
				b.StartTimer()
			}
		})
	}
}
