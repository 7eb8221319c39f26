//go:build unix

package mirrordir_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
)

// TestLinksNowhere checks that a link without a target is ignored.
func TestLinksNowhere(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{
		"nothing":        "none",
		"a loop":         "x",
		"below a file":   "1.0.0.json/x",
		"too long names": strings.Repeat("x", 300),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, dir, _, _ := filled(t)
			top := filepath.Join(dir, filepath.FromSlash(home))
			if err := os.Symlink(to, filepath.Join(top, "x")); err != nil {
				t.Skipf("skipped: this link cannot be made here: %v", err)
			}
			if list, err := m.ProviderVersions(t.Context(), alpha); err != nil || len(list.Versions) != 2 {
				t.Errorf("%v, %v", list, err)
			}
			wantGood(t, m)
			if name == "too long names" {
				return // the system does not support the name
			}
			for _, file := range []string{archive(v2, linux), home + "/2.0.0.json"} {
				remove(t, dir, file)
				must.Do(t, os.Symlink("x", filepath.Join(dir, filepath.FromSlash(file))))
				if _, err := m.Store.Open(t.Context(), file); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("Open: %v, want fs.ErrNotExist", err)
				}
			}
			if _, err := m.ProviderPackage(t.Context(), alpha, v2, linux); !errors.Is(err, provider.ErrNoPlatform) {
				t.Errorf("%v, want ErrNoPlatform", err)
			}
			if report := mustCheck(t, m, mirrordir.CheckOptions{}); report.Archives != 5 || len(report.Problems) != 1 || report.Problems[0].Kind != "missing" {
				t.Errorf("%+v", report)
			}
			must.Get(m.ProviderPackage(t.Context(), alpha, v1, linux))(t)
		})
	}
}

// TestCheckLongName checks that a listed file whose name is too long is reported as missing.
func TestCheckLongName(t *testing.T) {
	t.Parallel()
	m, dir, _, _ := filled(t)
	doc := home + "/1.0.0.json"
	entry := `"plan9_mips": {"url": "` + strings.Repeat("x", 300) + `.zip"},`
	write(t, dir, doc, strings.Replace(read(t, dir, doc), `"archives": {`, `"archives": {`+entry, 1))
	report := mustCheck(t, m, mirrordir.CheckOptions{})
	if len(report.Problems) != 1 || report.Problems[0].Kind != "missing" || report.Archives != 6 {
		t.Errorf("%+v", report)
	}
	mustReindex(t, m)
	wantGood(t, m)
}
