package archive_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/archive"
)

// program returns n bytes that deflate to somewhat less than half, like executables.
func program(n int) string {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 1<<12)
	for i := range words {
		var word [6]byte
		for j := range word {
			word[j] = byte(rnd.Uint32())
		}
		words[i] = string(word[:2+rnd.IntN(5)])
	}
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[int(rnd.ExpFloat64()*200)%len(words)])
	}
	return b.String()[:n]
}

// BenchmarkHash reads and hashes 40 MB, deflated and stored. The last number is what the
// standard library takes for the deflated content.
func BenchmarkHash(b *testing.B) {
	content := program(40 << 20)
	packed := func(stored bool) []byte {
		return pack(b, member{name: "terraform-provider-x", content: content, mode: 0o755, stored: stored})
	}
	hash := func(stored bool) func(*testing.B) {
		return func(b *testing.B) {
			data := packed(stored)
			b.ReportAllocs()
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				z, err := open(data, archive.Limits{})
				must(b, err)
				if _, err := z.Hash(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("deflated", hash(false))
	b.Run("stored", hash(true))
	b.Run("deflated-stdlib", func(b *testing.B) {
		data := packed(false)
		b.ReportAllocs()
		b.SetBytes(int64(len(content)))
		buf := make([]byte, 256<<10)
		for b.Loop() {
			zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
			must(b, err)
			h := sha256.New()
			r, err := zr.File[0].Open()
			must(b, err)
			if _, err := io.CopyBuffer(h, r, buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpenZip reads the directory of an archive with many small files.
func BenchmarkOpenZip(b *testing.B) {
	var members []member
	for i := range 10_000 {
		members = append(members, member{name: fmt.Sprintf("modules/%d/file-%d.tf", i%100, i), content: "x"})
	}
	data := pack(b, members...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := open(data, archive.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUnpack writes to a temporary directory; memory must not grow with size.
func BenchmarkUnpack(b *testing.B) {
	for _, size := range []int{1 << 20, 64 << 20} {
		data := pack(b, member{name: "terraform-provider-x", content: program(size), mode: 0o755})
		b.Run(fmt.Sprintf("%dMiB", size>>20), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				b.StopTimer()
				dir, err := os.MkdirTemp(b.TempDir(), "")
				must(b, err)
				root, err := os.OpenRoot(dir)
				must(b, err)
				b.StartTimer()
				z, err := open(data, archive.Limits{})
				must(b, err)
				if _, err := z.Unpack(b.Context(), root, archive.Options{}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				root.Close()
				os.RemoveAll(dir)
				b.StartTimer()
			}
		})
	}
}
