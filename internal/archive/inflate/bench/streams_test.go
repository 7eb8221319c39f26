package bench

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// streams deflates what is found on this machine with level 6, by the package
// that archive/zip uses and by the program zip. Programs are cut to 32 MB.
func streams(b *testing.B) []stream {
	b.Helper()
	goroot := strings.TrimSpace(string(run(b, "go", "env", "GOROOT")))
	text := sources(b, filepath.Join(goroot, "src", "net"))
	contents := []struct {
		name string
		data []byte
	}{
		{"go-compiler", program(b, strings.TrimSpace(string(run(b, "go", "tool", "-n", "compile"))))},
		{"terraform", program(b, "terraform")},
		{"go-sources", text},
		{"small-file", text[:3000]},
		{"json", run(b, "go", "list", "-json", "std")},
		{"random", random(16 << 20)},
		{"zeros", make([]byte, 64<<20)},
	}
	var list []stream
	for _, c := range contents {
		if len(c.data) == 0 {
			continue
		}
		list = append(list, stream{c.name + "/archive-zip", withGo(b, c.data), len(c.data)})
		if packed := withZip(b, c.data); packed != nil {
			list = append(list, stream{c.name + "/zip", packed, len(c.data)})
		}
	}
	for _, s := range list {
		b.Log(s)
	}
	return list
}

func run(b *testing.B, name string, args ...string) []byte {
	b.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		b.Fatalf("%s %v: %v", name, args, err)
	}
	return out
}

// program returns nil if it is not installed.
func program(b *testing.B, name string) []byte {
	b.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		b.Logf("skipped: %s is not installed", name)
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return data[:min(len(data), 32<<20)]
}

func sources(b *testing.B, dir string) (all []byte) {
	b.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, data...)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}

func random(n int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	return data
}

// withGo packs as archive/zip does: with compress/flate.
func withGo(b *testing.B, data []byte) []byte {
	b.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, 6)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// withZip returns nil if the program is not installed.
func withZip(b *testing.B, data []byte) []byte {
	b.Helper()
	if _, err := exec.LookPath("zip"); err != nil {
		b.Log("skipped: zip is not installed")
		return nil
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "content"), data, 0o644); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("zip", "-6", "-q", "out.zip", "content")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("zip: %v\n%s", err, out)
	}
	zr, err := zip.OpenReader(filepath.Join(dir, "out.zip"))
	if err != nil {
		b.Fatal(err)
	}
	defer zr.Close()
	in, err := zr.File[0].OpenRaw()
	if err != nil {
		b.Fatal(err)
	}
	packed, err := io.ReadAll(in)
	if err != nil || zr.File[0].Method != zip.Deflate {
		b.Fatalf("content was packed with method %d, want deflate: %v", zr.File[0].Method, err)
	}
	return packed
}
