package archive_test

import (
	"fmt"
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

// BenchmarkHash reads and hashes 40 MB, deflated and stored.
func BenchmarkHash(b *testing.B) {
	content := program(40 << 20)
	for name, stored := range map[string]bool{"deflated": false, "stored": true} {
		data := pack(b, member{name: "terraform-provider-x", content: content, mode: 0o755, stored: stored})
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(content)))
			for b.Loop() {
				z, err := open(data, archive.Options{})
				must(b, err)
				if _, err := z.Hash(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
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
				z, err := open(data, archive.Options{})
				must(b, err)
				if _, err := z.Unpack(b.Context(), root); err != nil {
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
