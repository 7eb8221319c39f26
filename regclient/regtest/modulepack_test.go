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

	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

// unpack reads a package with readers that are not ours.
func unpack(t *testing.T, format regtest.Format, r *io.SectionReader) map[string]string {
	t.Helper()
	if format == regtest.Zip {
		return unpackZip(t, r)
	}
	open := map[regtest.Format]func(io.Reader) (io.Reader, error){
		regtest.TarGzip: func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		regtest.TarXz:   func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) },
	}
	inner, err := open[format](r)
	if err != nil {
		t.Fatal(err)
	}
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
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if want := fs.FileMode(0o644); h.Typeflag == tar.TypeReg && h.FileInfo().Mode() != want {
			t.Errorf("%s has the mode %v", h.Name, h.FileInfo().Mode())
		}
		files[h.Name] = string(data)
	}
	// What follows the tar must be in order too, the checksum for one.
	if _, err := io.Copy(io.Discard, inner); err != nil {
		t.Fatal(err)
	}
	return files
}

func unpackZip(t *testing.T, r *io.SectionReader) map[string]string {
	t.Helper()
	zr, err := zip.NewReader(r, r.Size())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range zr.File {
		rc, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(rc)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(data)
	}
	return files
}

var formats = []regtest.Format{regtest.TarGzip, regtest.Zip, regtest.TarXz}

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
				if deflate && format != regtest.TarGzip && format != regtest.Zip {
					continue
				}
				t.Run(fmt.Sprintf("%s %v %t", name, format, deflate), func(t *testing.T) {
					t.Parallel()
					rel := regtest.New("registry.example.com").AddModule(regtest.Module{
						Address: "acme/network/aws", Files: files, Format: format, Deflate: deflate,
					})
					if diff := cmp.Diff(files, unpack(t, format, rel.Package())); diff != "" {
						t.Errorf("(-want +got):\n%.1000s", diff)
					}
					dir := fstest.MapFS{}
					for name, text := range files {
						if !strings.HasSuffix(name, "/") {
							dir[name] = &fstest.MapFile{Data: []byte(text)}
						}
					}
					if want, err := checksum.H1Dir(t.Context(), dir); err != nil || rel.H1() != want {
						t.Errorf("H1 %s, want %s, %v", rel.H1(), want, err)
					}
				})
			}
		}
	}
}

// TestModulePrograms has the programs of the formats test the packages.
func TestModulePrograms(t *testing.T) {
	t.Parallel()
	for format, program := range map[regtest.Format]string{regtest.TarGzip: "gzip", regtest.TarXz: "xz"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("skipped: %s is not installed", program)
			}
			rel := regtest.New("registry.example.com").AddModule(regtest.Module{
				Address: "acme/network/aws", Format: format,
				Files: map[string]string{"main.tf": strings.Repeat("# a line of text\n", 5000)}, // more than a block
			})
			cmd := exec.CommandContext(t.Context(), program, "-t")
			cmd.Stdin = rel.Package()
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
	for _, format := range []regtest.Format{regtest.TarGzip, regtest.Zip, regtest.TarXz} {
		t.Run(format.String(), func(t *testing.T) {
			t.Parallel()
			reg := regtest.New("registry.example.com")
			rel := reg.AddModule(regtest.Module{Address: "acme/network/aws", Size: size, Format: format})
			files := unpack(t, format, rel.Package())
			if len(files) != 2 || len(files["large.bin"]) != size {
				t.Errorf("%d files, %d bytes", len(files), len(files["large.bin"]))
			}
			dir := fstest.MapFS{}
			for name, text := range files {
				dir[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if want, err := checksum.H1Dir(t.Context(), dir); err != nil || rel.H1() != want {
				t.Errorf("H1 %s, want %s, %v", rel.H1(), want, err)
			}
			whole, err := io.ReadAll(rel.Package())
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []int{0, 1, 9, 10, 14, 15, 600, 65540, 65550, 131085, len(whole) - 30, len(whole) - 1} {
				a := get(t, reg.Client(), base+rel.Path(), "Range", fmt.Sprintf("bytes=%d-%d", at, at+70_000))
				if want := whole[at:min(at+70_001, len(whole))]; a.StatusCode != 206 || !bytes.Equal(a.body, want) {
					t.Errorf("from %d: %s, %d bytes", at, a.Status, len(a.body))
				}
			}
		})
	}
}

// TestModuleBytes: a package can be anything, under any name.
func TestModuleBytes(t *testing.T) {
	t.Parallel()
	for _, format := range append(formats, regtest.TarBzip2) {
		reg := regtest.New("registry.example.com")
		rel := reg.AddModule(regtest.Module{Address: "acme/network/aws", Package: []byte("no archive"), Format: format, Size: 1 << 30})
		if !strings.HasSuffix(rel.Path(), "/network-1.0.0."+format.String()) || !rel.H1().IsZero() {
			t.Errorf("%s, %s", rel.Path(), rel.H1())
		}
		if a := get(t, reg.Client(), base+rel.Path()); string(a.body) != "no archive" {
			t.Errorf("%v: %s: %s", format, a.Status, a.body)
		}
	}
}
