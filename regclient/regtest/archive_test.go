package regtest_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tofureg/tofureg/internal/must"
	"github.com/tofureg/tofureg/regclient/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

// list reads all of an archive and returns its entries.
func list(t *testing.T, rel *regtest.Release, platform string) map[string][]byte {
	t.Helper()
	r := rel.Archive(platform)
	zr := must.Get(zip.NewReader(r, r.Size()))(t)
	entries := map[string][]byte{}
	for _, f := range zr.File {
		rc := must.Get(f.Open())(t)
		// Reading checks the CRC.
		data, err := io.ReadAll(rc)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		entries[f.Name] = data
		if want := "-rwxr-xr-x"; strings.HasPrefix(f.Name, "terraform-provider-") && f.Mode().String() != want {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
	}
	return entries
}

func TestArchive(t *testing.T) {
	t.Parallel()
	reg := regtest.New("registry.example.com")
	tests := map[string]struct {
		provider regtest.Provider
		platform string
		want     []string // entries
		size     int      // of the executable, 0: any
	}{
		"plain":    {regtest.Provider{}, "linux_amd64", []string{"terraform-provider-alpha_v1.0.0"}, 0},
		"windows":  {regtest.Provider{}, "windows_amd64", []string{"terraform-provider-alpha_v1.0.0.exe"}, 0},
		"spelling": {regtest.Provider{Version: "1.2"}, "linux_amd64", []string{"terraform-provider-alpha_v1.2.0"}, 0},
		"invalid":  {regtest.Provider{Version: "../x"}, "linux_amd64", []string{"terraform-provider-alpha_v.._x"}, 0},
		"files": {regtest.Provider{Files: map[string]string{"LICENSE": "free", "docs/": "", "docs/a.md": "a"}}, "linux_amd64",
			[]string{"LICENSE", "docs/", "docs/a.md", "terraform-provider-alpha_v1.0.0"}, 0},
		"deflated":   {regtest.Provider{Deflate: true, Files: map[string]string{"LICENSE": strings.Repeat("x", 10000), "d/": ""}}, "linux_amd64", []string{"LICENSE", "d/", "terraform-provider-alpha_v1.0.0"}, 0},
		"large":      {regtest.Provider{Size: 3<<20 + 17, Files: map[string]string{"LICENSE": "free"}}, "linux_amd64", []string{"LICENSE", "terraform-provider-alpha_v1.0.0"}, 3<<20 + 17},
		"one byte":   {regtest.Provider{Size: 1}, "linux_amd64", []string{"terraform-provider-alpha_v1.0.0"}, 1},
		"compressed": {regtest.Provider{Size: 100000, Deflate: true}, "linux_amd64", []string{"terraform-provider-alpha_v1.0.0"}, 100000},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.provider.Address = "acme/alpha"
			rel := reg.AddProvider(test.provider)
			entries := list(t, rel, test.platform)
			var names []string
			for n := range entries {
				names = append(names, n)
				if size := len(entries[n]); strings.HasPrefix(n, "terraform-provider-") && test.size > 0 && size != test.size {
					t.Errorf("the executable has %d bytes", size)
				}
			}
			if slices.Sort(names); !slices.Equal(names, test.want) {
				t.Errorf("entries %q, want %q", names, test.want)
			}
			for n, text := range test.provider.Files {
				if string(entries[n]) != text {
					t.Errorf("%s is %q", n, entries[n])
				}
			}
			data := content(t, rel, test.platform)
			if len(data) < 200_000 { // it reads a few bytes at a time
				if err := iotest.TestReader(rel.Archive(test.platform), data); err != nil {
					t.Error(err)
				}
			}
			readSlices(t, rel.Archive(test.platform), data)
			sum := sha256.Sum256(data)
			if got := rel.ZH(test.platform); got != checksum.ZHSum(sum) {
				t.Errorf("ZH is %v, the bytes have %x", got, sum)
			}
			h1, _, err := checksum.H1Zip(t.Context(), bytes.NewReader(data), int64(len(data)), checksum.Limits{})
			if got := rel.H1(test.platform); err != nil || got != h1 {
				t.Errorf("H1 is %v, the bytes have %v, %v", got, h1, err)
			}
		})
	}
}

// TestZips: Zips has precedence over Zip, Zip over generated archives. Both are served unchanged,
// even if they are invalid.
func TestZips(t *testing.T) {
	t.Parallel()
	for _, all := range [][]byte{nil, []byte("for the others"), {}} {
		reg := regtest.New("registry.example.com")
		rel := reg.AddProvider(regtest.Provider{
			Address: "acme/alpha", Platforms: []string{"linux_amd64", "windows_amd64"}, Zip: all,
			Zips: map[string][]byte{"linux_amd64": []byte("one")},
		})
		if got := content(t, rel, "linux_amd64"); string(got) != "one" || rel.ZH("linux_amd64") != checksum.ZHSum(sha256.Sum256(got)) || !rel.H1("linux_amd64").IsZero() {
			t.Errorf("the archive of Zips is %q, h1 %v", got, rel.H1("linux_amd64"))
		}
		if got := content(t, rel, "windows_amd64"); all != nil && !bytes.Equal(got, all) || all == nil && !bytes.HasPrefix(got, []byte("PK")) {
			t.Errorf("the archive for windows_amd64 is %q, with Zip %q", got, all)
		}
	}
}

// readSlices compares what r has at many places, near the borders of pages among them,
// with data.
func readSlices(t *testing.T, r io.ReaderAt, data []byte) {
	t.Helper()
	buf := make([]byte, 9000)
	for _, step := range []int{4096, 65536, 99_991} {
		for at := 0; at < len(data); at += step {
			for _, near := range []int{at - 1, at, at + 1} {
				if near < 0 || near >= len(data) {
					continue
				}
				n, err := r.ReadAt(buf, int64(near))
				if want := data[near:min(near+len(buf), len(data))]; !bytes.Equal(buf[:n], want) || (err == io.EOF) != (n < len(buf)) {
					t.Fatalf("%d bytes at %d are others, or %d, %v", len(want), near, n, err)
				}
			}
		}
	}
}

// TestDeterminism: contents are the same in every run, and no two alike. The
// digest below changes only if the package changes what it serves.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	const want = "zh:8c679861ac12181cecc8404d1714413e5c995aee8baebf66b8f036c45b792e0c"
	_, rel := start()
	if got := rel.ZH("linux_amd64").String(); got != want {
		t.Errorf("acme/alpha 1.0.0 for linux_amd64 is %s", got)
	}
	seen := map[checksum.Hash]string{}
	for _, size := range []int64{0, 1000} {
		for _, address := range []string{"acme/alpha", "acme/beta", "other/alpha"} {
			for _, version := range []string{"1.0.0", "2.0.0"} {
				rel := regtest.New("registry.example.com").AddProvider(regtest.Provider{Address: address, Version: version, Size: size})
				again := regtest.New("registry.example.com").AddProvider(regtest.Provider{Address: address, Version: version, Size: size})
				for _, platform := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64"} {
					name, hash := address+" "+version+" "+platform, rel.ZH(platform)
					if hash != again.ZH(platform) {
						t.Errorf("%s is different each time", name)
					}
					if seen[hash] != "" {
						t.Errorf("%s is the same as %s", name, seen[hash])
					}
					seen[hash] = name
				}
			}
		}
	}
}

// TestMemory: a large package takes no more memory than a small one.
func TestMemory(t *testing.T) {
	const size = 64 << 20
	reg := regtest.New("registry.example.com")
	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Platforms: []string{"linux_amd64"}, Size: size})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp := must.Get(reg.Client().Get(archiveURL(t, reg)))(t)
	defer resp.Body.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, make([]byte, 1<<20))
	if n < size || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated in all for %d served", used, n)
	}
}
