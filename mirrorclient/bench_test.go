package mirrorclient_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tofureg/tofureg/internal/must"
)

// manyVersions returns an index with many versions.
func manyVersions(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(`"%d.%d.%d": {}`, i/200, i/10%20, i%10)
	}
	return "{\n  \"versions\": {\n    " + strings.Join(names, ",\n    ") + "\n  }\n}\n"
}

// BenchmarkIndex lists 2,000 versions. It also reports the time as a multiple of json.Unmarshal for
// the same document.
func BenchmarkIndex(b *testing.B) {
	doc := manyVersions(2000)
	c := answering(&doc)
	var plain, whole time.Duration
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		var wire struct{ Versions map[string]struct{} }
		must.Do(b, json.Unmarshal([]byte(doc), &wire))
		decoded := time.Now()
		versions, err := c.ProviderVersions(b.Context(), alpha)
		if err != nil || len(versions.List) != 2000 {
			b.Fatal(len(versions.List), err)
		}
		plain += decoded.Sub(start)
		whole += time.Since(decoded)
	}
	b.ReportMetric(float64(whole)/float64(plain), "x-json")
}

// BenchmarkPackage finds a package in a document with 12 platforms.
func BenchmarkPackage(b *testing.B) {
	var archives []string
	for i := range 12 {
		platform := []string{"darwin", "freebsd", "linux", "windows"}[i%4] + "_" + []string{"386", "amd64", "arm"}[i/4]
		archives = append(archives, fmt.Sprintf(`%q:{"url":"alpha_%s.zip","hashes":["h1:4A07+ZFc2wgJwo8YNlQpr1rVlgUDlxXHhPJciaPY5gs=",%q]}`, platform, platform, goodZH))
	}
	doc := `{"archives":{` + strings.Join(archives, ",") + `}}`
	c := answering(&doc)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if pkg, err := c.ProviderPackage(b.Context(), alpha, v120, linux); err != nil || len(pkg.Hashes) != 12 {
			b.Fatal(pkg, err)
		}
	}
}
