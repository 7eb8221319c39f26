package regtest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unpack reads a package with readers that are not ours.
func unpack(t *testing.T, format string, data []byte) map[string]string {
	t.Helper()
	r := bytes.NewReader(data)
	if format == "zip" {
		return unpackZip(t, r)
	}
	open := map[string]func(io.Reader) (io.Reader, error){
		"tar.gz": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"tar.xz": func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) },
	}
	inner := must.Get(open[format](r))(t)
	files := map[string]string{}
	tr := tar.NewReader(inner)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data := must.Get(io.ReadAll(tr))(t)
		if want := fs.FileMode(0o644); h.Typeflag == tar.TypeReg && h.FileInfo().Mode() != want {
			t.Errorf("%s has the mode %v", h.Name, h.FileInfo().Mode())
		}
		files[h.Name] = string(data)
	}
	// What follows the tar must be in order too, the checksum for one.
	must.Get(io.Copy(io.Discard, inner))(t)
	return files
}

func unpackZip(t *testing.T, r *bytes.Reader) map[string]string {
	t.Helper()
	zr := must.Get(zip.NewReader(r, r.Size()))(t)
	files := map[string]string{}
	for _, f := range zr.File {
		rc := must.Get(f.Open())(t)
		data := must.Get(io.ReadAll(rc))(t)
		files[f.Name] = string(data)
	}
	return files
}

// h1Of returns the h1 of files.
func h1Of(t *testing.T, files map[string]string) checksum.Hash {
	t.Helper()
	dir := fstest.MapFS{}
	for name, text := range files {
		if !strings.HasSuffix(name, "/") {
			dir[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	h1 := must.Get(checksum.H1Dir(t.Context(), dir))(t)
	return h1
}

var formats = []string{"tar.gz", "zip", "tar.xz"}

// TestModulePackage packs files in all formats and reads them with other
// programs' readers.
func TestModulePackage(t *testing.T) {
	t.Parallel()
	sets := map[string]map[string]string{
		"none":  {},
		"few":   {"main.tf": "# main\n", "modules/": "", "modules/subnet/main.tf": "# subnet\n", "empty": "", "ö/ü": "ä"},
		"many":  {},
		"large": {"zeros": strings.Repeat("\x00", 300_000)}, // more than one stored block
	}
	for i := range 300 {
		sets["many"][fmt.Sprintf("%03d/%s", i, strings.Repeat("x", i))] = strings.Repeat("y", i)
	}
	for name, files := range sets {
		for _, format := range formats {
			for _, deflate := range []bool{false, true} {
				if deflate && format != "tar.gz" && format != "zip" {
					continue
				}
				t.Run(fmt.Sprintf("%s %v %t", name, format, deflate), func(t *testing.T) {
					t.Parallel()
					reg, rel := withModule(regtest.Module{Files: files, Format: format, Deflate: deflate})
					if diff := cmp.Diff(files, unpack(t, format, get(t, reg.Client(), base+packageBase+format).body)); diff != "" {
						t.Errorf("(-want +got):\n%.1000s", diff)
					}
					if want := h1Of(t, files); rel.H1() != want {
						t.Errorf("H1 %s, want %s", rel.H1(), want)
					}
				})
			}
		}
	}
}

// TestModulePrograms has the programs of the formats test the packages.
func TestModulePrograms(t *testing.T) {
	t.Parallel()
	for format, program := range map[string]string{"tar.gz": "gzip", "tar.xz": "xz"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("skipped: %s is not installed", program)
			}
			reg, _ := withModule(regtest.Module{
				Format: format,
				Files:  map[string]string{"main.tf": strings.Repeat("# a line of text\n", 5000)}, // more than a block
			})
			cmd := exec.CommandContext(t.Context(), program, "-t")
			cmd.Stdin = bytes.NewReader(get(t, reg.Client(), base+packageBase+format).body)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestModuleLarge: large packages are the same whichever way they are read, and
// are not held in memory.
func TestModuleLarge(t *testing.T) {
	t.Parallel()
	const size = 3<<20 + 12345
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			reg, rel := withModule(regtest.Module{Size: size, Format: format})
			whole := get(t, reg.Client(), base+packageBase+format).body
			files := unpack(t, format, whole)
			if len(files) != 2 || len(files["large.bin"]) != size {
				t.Errorf("%d files, %d bytes", len(files), len(files["large.bin"]))
			}
			if want := h1Of(t, files); rel.H1() != want {
				t.Errorf("H1 %s, want %s", rel.H1(), want)
			}
			for _, at := range []int{0, 1, 9, 10, 14, 15, 600, 65540, 65550, 131085, len(whole) - 30, len(whole) - 1} {
				a := get(t, reg.Client(), base+packageBase+format, "Range", fmt.Sprintf("bytes=%d-%d", at, at+70_000))
				if want := whole[at:min(at+70_001, len(whole))]; a.StatusCode != 206 || !bytes.Equal(a.body, want) {
					t.Errorf("from %d: %s, %d bytes", at, a.Status, len(a.body))
				}
			}
		})
	}
}
