package install_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tofureg/tofureg/internal/archive/inflate"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// BenchmarkInstall compares an install from memory with the minimum work, in the same run: hashing
// and inflating the archive, hashing and writing the content. The ratio is of CPU time where
// available.
func BenchmarkInstall(b *testing.B) {
	for _, size := range []int{20, 200} {
		b.Run(fmt.Sprintf("%dMB", size), func(b *testing.B) {
			if size > 20 && testing.Short() {
				b.Skip("skipped: -short")
			}
			data := packed(b, size<<20)
			sum := checksum.ZHSum(sha256.Sum256(data))
			pkg := &provider.Package{Provider: alpha, Version: v1, Platform: linux, URL: "https://example.com/alpha.zip", Size: int64(len(data))}
			policy := verify.Policy{Accept: checksum.NewSet(sum)}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			var ours, least float64
			for b.Loop() {
				b.StopTimer()
				least += cpu(func() { unavoidable(b, data) })
				d := newDir(b)
				b.StartTimer()
				ours += cpu(func() {
					must.Get(d.Install(b.Context(), &scripted{[]io.Reader{bytes.NewReader(data)}}, pkg, install.Options{Policy: policy}))(b)
				})
				b.StopTimer()
				os.RemoveAll(d.Path)
				b.StartTimer()
			}
			if least > 0 {
				b.ReportMetric(ours/least, "cpu-ratio")
				b.ReportMetric(1000*ours/float64(b.N), "cpu-ms/op")
			}
		})
	}
}

// unavoidable does the minimum work of an install.
func unavoidable(b *testing.B, data []byte) {
	dir := b.TempDir()
	defer os.RemoveAll(dir)
	sum := sha256.New()
	buf := make([]byte, 256<<10)
	must.Get(io.CopyBuffer(sum, struct{ io.Reader }{bytes.NewReader(data)}, buf))(b)
	r := must.Get(zip.NewReader(bytes.NewReader(data), int64(len(data))))(b)
	r.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser {
		return io.NopCloser(inflate.NewReader(bufio.NewReader(r)))
	})
	for _, f := range r.File {
		in := must.Get(f.Open())(b)
		out := must.Get(os.Create(filepath.Join(dir, f.Name)))(b)
		sum.Reset()
		_, err := io.CopyBuffer(io.MultiWriter(out, sum), in, buf)
		in.Close()
		if err == nil {
			err = out.Sync()
		}
		out.Close()
		must.Do(b, err)
	}
}

// packed returns an archive of about this size, with content that deflates like programs.
func packed(b *testing.B, size int) []byte {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	words := make([][]byte, 4096)
	for i := range words {
		words[i] = make([]byte, 4+r.IntN(6))
		for j := range words[i] {
			words[i][j] = byte(r.Uint32())
		}
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 1) })
	w, err := z.Create(program)
	for err == nil && out.Len() < size {
		for range 1000 {
			if _, err = w.Write(words[r.IntN(len(words))]); err != nil {
				break
			}
		}
	}
	if err == nil {
		err = z.Close()
	}
	must.Do(b, err)
	return out.Bytes()
}
