package mirrordir_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/mirrorclient/mirrordir"
	"github.com/tofureg/tofureg/verify/checksum"
)

// grown returns a storage with some other versions of alpha for three platforms, and some other
// providers. The content of their files is never read.
func grown(versions, providers int) *bucket {
	files := map[string]string{}
	var index strings.Builder
	zh := checksum.ZHSum([32]byte{}).String()
	for i := range versions {
		v := fmt.Sprintf("0.%d.0", i)
		for _, platform := range three {
			name := archive(addrs.MustParseVersion(v), platform)
			files[name] = "x"
			files[name+".record.json"] = `{"size":1,"hashes":["` + zh + `"]}`
		}
		files[home+"/"+v+".json"] = `{"archives":{"linux_amd64":{"url":"terraform-provider-alpha_` + v + `_linux_amd64.zip"}}}`
		fmt.Fprintf(&index, `,"%s":{}`, v)
	}
	files[home+"/index.json"] = `{"versions":{` + strings.TrimPrefix(index.String(), ",") + `}}`
	for i := range providers {
		files[fmt.Sprintf("registry.example.com/other/p%d/index.json", i)] = `{}`
	}
	return &bucket{Content: files}
}

// TestGrowth checks that the number of requests to add, keep, look up and remove one version
// depends neither on the number of versions nor on the number of providers. docs/performance.md
// uses these numbers.
func TestGrowth(t *testing.T) {
	t.Parallel()
	reg, _ := newRegistry(t)
	src := client(reg)
	type sizes struct{ versions, providers int }
	for _, n := range []sizes{{10, 0}, {400, 10}, {4000, 4000}} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			storage := &counted{Storage: grown(n.versions, n.providers)}
			m := &mirrordir.Mirror{Storage: storage, TempDir: t.TempDir()}
			for _, job := range []struct {
				name, want string
				do         func() error
			}{
				// For each archive: open the record and the archive, and read the record for the document.
				{"add a version for one platform", "1 lists, 5 opens, 4 writes, 0 deletes", func() error {
					mustAdd(t, m, src, wants(three[:1], v1), mirrordir.Options{})
					return nil
				}},
				{"add two platforms more", "1 lists, 11 opens, 5 writes, 0 deletes", func() error {
					mustAdd(t, m, src, wants(three, v1), mirrordir.Options{})
					return nil
				}},
				{"keep it", "1 lists, 11 opens, 0 writes, 0 deletes", func() error {
					mustAdd(t, m, src, wants(three, v1), mirrordir.Options{})
					return nil
				}},
				{"find one package", "0 lists, 3 opens, 0 writes, 0 deletes", func() error {
					_, err := m.ProviderPackage(t.Context(), alpha, v1, linux)
					return err
				}},
				{"remove it", "1 lists, 2 opens, 1 writes, 7 deletes", func() error { return m.Remove(t.Context(), alpha, v1) }},
			} {
				storage.take()
				must.Do(t, job.do())
				if got := storage.take(); got != job.want {
					t.Errorf("to %s takes %s, want %s", job.name, got, job.want)
				}
			}
		})
	}
}
