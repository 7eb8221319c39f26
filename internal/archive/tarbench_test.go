package archive_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/ulikunitz/xz"

	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/inflate"
)

// stream generates a tar.gz with files of 1 MiB while it is read.
func stream(content []byte, files int) io.Reader {
	r, w := io.Pipe()
	go func() {
		zw, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		tw := tar.NewWriter(zw)
		for i := range files {
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

// BenchmarkUnpackTar unpacks generated archives of 16 MiB and 1 GiB. The heap peaks must be equal.
func BenchmarkUnpackTar(b *testing.B) {
	content := []byte(program(1 << 20))
	sizes := []int{16, 1024}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, files := range sizes {
		b.Run(fmt.Sprintf("%dMiB", files), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(files) << 20)
			peak := heapPeak(b)
			for b.Loop() {
				dir, err := os.MkdirTemp(b.TempDir(), "")
				must(b, err)
				if _, err := untarInto(b, dir, stream(content, files), archive.FormatTarGzip, archive.Limits{}, archive.Options{}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				os.RemoveAll(dir)
				b.StartTimer()
			}
			b.ReportMetric(peak(), "MiB-peak")
		})
	}
}

// heapPeak measures the peak of the heap until the returned function is called.
func heapPeak(b *testing.B) func() float64 {
	runtime.GC()
	stop, result := make(chan struct{}), make(chan uint64)
	go func() {
		var peak uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapInuse)
			select {
			case <-stop:
				result <- peak
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() float64 {
		close(stop)
		return float64(<-result) / (1 << 20)
	}
}

// BenchmarkDecompress compares the decompressors with others.
func BenchmarkDecompress(b *testing.B) {
	content := roll(b, regular("main.tf", program(16<<20)))
	var gz, lzma bytes.Buffer
	zw := gzip.NewWriter(&gz)
	zw.Write(content)
	zw.Close()
	xw, err := xz.NewWriter(&lzma)
	must(b, err)
	xw.Write(content)
	xw.Close()
	discard := func(b *testing.B, open func() (io.Reader, error)) {
		b.ReportAllocs()
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			r, err := open()
			must(b, err)
			if _, err := io.Copy(io.Discard, r); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("gzip-stdlib", func(b *testing.B) {
		discard(b, func() (io.Reader, error) { return gzip.NewReader(bytes.NewReader(gz.Bytes())) })
	})
	b.Run("gzip-inflate", func(b *testing.B) {
		discard(b, func() (io.Reader, error) {
			return inflate.NewGzipReader(bufio.NewReader(bytes.NewReader(gz.Bytes()))), nil
		})
	})
	b.Run("xz-library", func(b *testing.B) {
		discard(b, func() (io.Reader, error) { return xz.NewReader(bytes.NewReader(lzma.Bytes())) })
	})
	b.Run("xz-unpacked", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			if _, err := untarInto(b, b.TempDir(), bytes.NewReader(lzma.Bytes()), archive.FormatTarXz, archive.Limits{}, archive.Options{}); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.StartTimer()
		}
	})
}
