package install_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// entry is an entry of an archive.
type entry struct {
	name, content string
	mode          fs.FileMode // zero as in an archive made on Windows
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if strings.HasSuffix(e.name, "/") {
			h.Method = zip.Store
		}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(e.content))
		}
		must(t, err)
	}
	must(t, z.Close())
	return out.Bytes()
}

// TestHostileArchives: correctly signed but unsafe archives are refused, and no file is left inside
// or outside of the plugin directory. internal/archive.TestRefused has all kinds.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	good := entry{name: program, content: "program", mode: 0o755}
	bomb := entry{name: "zeros", content: strings.Repeat("\x00", 1<<20)}
	many := make([]entry, 200)
	for i := range many {
		many[i].name = fmt.Sprintf("f%d", i)
	}
	one := zipOf(t, good)
	for name, c := range map[string]struct {
		zip  []byte
		want error
	}{
		"traversal":            {zipOf(t, good, entry{name: "../../escaped"}), checksum.ErrArchive},
		"backslashes":          {zipOf(t, good, entry{name: `..\..\escaped`}), checksum.ErrArchive},
		"symbolic link":        {zipOf(t, good, entry{name: "link", content: "/etc", mode: fs.ModeSymlink | 0o777}), checksum.ErrArchive},
		"file through link":    {zipOf(t, entry{name: "l", content: "/tmp", mode: fs.ModeSymlink | 0o777}, entry{name: "l/escaped"}), checksum.ErrArchive},
		"device":               {zipOf(t, good, entry{name: "dev", mode: fs.ModeDevice | 0o666}), checksum.ErrArchive},
		"not an archive":       {[]byte("<html>"), checksum.ErrArchive},
		"cut off":              {one[:len(one)-1], checksum.ErrArchive},
		"damaged content":      {bytes.Replace(one, []byte("PK\x03\x04"), []byte("PK\x03\x05"), 1), checksum.ErrArchive},
		"bomb":                 {zipOf(t, good, bomb), failure.ErrTooLarge},
		"bomb of small pieces": {zipOf(t, many...), failure.ErrTooLarge},
		"long name":            {zipOf(t, good, entry{name: strings.Repeat("long/", 60)}), failure.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffer(t, regtest.Provider{Zip: c.zip})
			base := t.TempDir()
			d := &install.Dir{Path: filepath.Join(base, "a", "b", "plugins")}
			policy := verify.Policy{Limits: checksum.Limits{Unpacked: 1 << 19, Entries: 100, NameLen: 280}}
			done, err := d.Install(t.Context(), o.src, o.pkg, install.Options{Policy: policy})
			if _, ok := errors.AsType[*provider.Error](err); !ok || !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if done != nil {
				t.Errorf("%+v", done)
			}
			wantNames(t, d.Path)
			for _, name := range names(t, base) {
				if !strings.HasSuffix(name, "/") {
					t.Errorf("left behind: %q", name)
				}
			}
		})
	}
}

// TestModes: an archive cannot make files writable for other users. The program is executable even
// if the archive was made on Windows.
func TestModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // no such modes
	}
	o := newOffer(t, regtest.Provider{Zip: zipOf(t,
		entry{name: program, content: "program"},
		entry{name: "setuid", mode: fs.ModeSetuid | 0o777},
		entry{name: "secret", mode: 0o600},
		entry{name: "none/"},
		entry{name: "terraform-provider-alpha/x", content: "not a program"},
		entry{name: "terraform-provider-alpha_x/x", content: "not a program"},
	)})
	done := o.install(t, newDir(t), install.Options{})
	placed, err := newDir(t).Place(t.Context(), done, true)
	must(t, err)
	mask := fs.FileMode(0o777)
	if info, err := os.Stat(filepath.Join(done.Dir, "setuid")); err == nil {
		mask = info.Mode().Perm() // 0755 less the umask
	}
	for name, want := range map[string]fs.FileMode{
		program: 0o755, "setuid": 0o755, "secret": 0o644,
		"terraform-provider-alpha/x": 0o644, "terraform-provider-alpha_x/x": 0o644,
		"none": fs.ModeDir | 0o755,
	} {
		for _, dir := range []string{done.Dir, placed.Dir} {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || info.Mode() != want&(mask|^fs.FileMode(0o777)) {
				t.Errorf("%s: %v, %v; want %v", filepath.Join(dir, name), info.Mode(), err, want)
			}
		}
	}
}
