package regtest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify/checksum"
)

// list reads an archive of a provider and returns its entries.
func list(t *testing.T, rel *regtest.Release, platform string) map[string]string {
	t.Helper()
	r := rel.Archive(platform)
	return unpackZip(t, r, r.Size())
}

// unpackZip reads all of an archive, which checks its CRC, and returns its entries.
func unpackZip(t *testing.T, r io.ReaderAt, size int64) map[string]string {
	t.Helper()
	zr := must.Get(zip.NewReader(r, size))(t)
	entries := map[string]string{}
	for _, f := range zr.File {
		entries[f.Name] = string(must.Get(io.ReadAll(must.Get(f.Open())(t)))(t))
		if want := "-rwxr-xr-x"; strings.HasPrefix(f.Name, "terraform-provider-") && f.Mode().String() != want {
			t.Errorf("%s has mode %v, want %s", f.Name, f.Mode(), want)
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
				if entries[n] != text {
					t.Errorf("%s is %q", n, entries[n])
				}
			}
			data := content(t, rel, test.platform)
			if len(data) < 200_000 { // it reads a few bytes at a time
				must.Do(t, iotest.TestReader(rel.Archive(test.platform), data))
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
		zips := map[string][]byte{"linux_amd64": []byte("one")}
		rel := reg.AddProvider(regtest.Provider{
			Address: "acme/alpha", Platforms: []string{"linux_amd64", "windows_amd64"}, Zip: all, Zips: zips,
		})
		zips["linux_amd64"] = []byte("of the next version")
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

// unpack reads a package with readers that are not ours.
func unpack(t *testing.T, format string, data []byte) map[string]string {
	t.Helper()
	r := bytes.NewReader(data)
	if format == "zip" {
		return unpackZip(t, r, r.Size())
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
		must.Do(t, err)
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

// h1Of returns the h1 of files.
func h1Of(t *testing.T, files map[string]string) checksum.Hash {
	t.Helper()
	dir := fstest.MapFS{}
	for name, text := range files {
		if !strings.HasSuffix(name, "/") {
			dir[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return must.Get(checksum.H1Dir(t.Context(), dir))(t)
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

var document = []byte("0000  terraform-provider-alpha_1.0.0_linux_amd64.zip\n")

// check checks a signature as the CLI does, at a point in time.
func check(t *testing.T, key *regtest.Key, document, sig []byte, at time.Time) error {
	t.Helper()
	ring := must.Get(openpgp.ReadArmoredKeyRing(strings.NewReader(key.Public().Armor)))(t)
	_, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(document), bytes.NewReader(sig), &packet.Config{Time: func() time.Time { return at }})
	return err
}

func TestKeys(t *testing.T) {
	t.Parallel()
	bubble := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	year := func(y int) time.Time { return time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC) }
	tests := map[string]struct {
		options regtest.KeyOptions
		at      time.Time
		want    error
	}{
		"now":             {regtest.KeyOptions{}, time.Now(), nil},
		"in a bubble":     {regtest.KeyOptions{}, bubble, nil},
		"RSA":             {regtest.KeyOptions{RSABits: 2048}, time.Now(), nil},
		"subkey":          {regtest.KeyOptions{Subkey: true}, time.Now(), nil},
		"RSA subkey":      {regtest.KeyOptions{RSABits: 2048, Subkey: true}, bubble, nil},
		"not yet expired": {regtest.KeyOptions{Created: year(2010), Expires: year(2012)}, year(2011), nil},
		"expired since":   {regtest.KeyOptions{Created: year(2010), Expires: year(2012), Signs: year(2011)}, year(2013), pgperrors.ErrKeyExpired},
		"expired before":  {regtest.KeyOptions{Created: year(2010), Expires: year(2012), Signs: year(2013)}, year(2014), pgperrors.ErrKeyExpired},
		"revoked":         {regtest.KeyOptions{Revoked: true}, time.Now(), pgperrors.ErrKeyRevoked},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := regtest.NewKey(test.options)
			sig := regtest.New("registry.example.com").AddProvider(regtest.Provider{
				Address: "acme/alpha", SignedBy: key, EditSums: func([]byte) []byte { return document },
			}).Signature()
			err := check(t, key, document, sig, test.at)
			if test.want == nil && err != nil || test.want != nil && !errors.Is(err, test.want) && !errors.Is(err, pgperrors.ErrUnknownIssuer) {
				t.Errorf("signature: %v, want %v", err, test.want)
			}
			if err := check(t, key, append(document, ' '), sig, test.at); err == nil {
				t.Error("the signature is good for another document")
			}
			if len(key.Fingerprint()) != 40 || key.Public().ID != key.Fingerprint()[24:] {
				t.Errorf("fingerprint %s, ID %s", key.Fingerprint(), key.Public().ID)
			}
			p, err := packet.Read(bytes.NewReader(sig))
			want := test.options.Signs
			if want.IsZero() && !test.options.Created.IsZero() {
				want = test.options.Created.Add(time.Hour)
			}
			if s, ok := p.(*packet.Signature); err != nil || !ok || !want.IsZero() && !s.CreationTime.Equal(want) {
				t.Errorf("signature packet: %v, %v, want %v", s.CreationTime, err, want)
			}
		})
	}
}

// TestGPG has the real program verify what the registry serves.
func TestGPG(t *testing.T) {
	t.Parallel()
	gpg, err := exec.LookPath("gpg")
	if err != nil {
		t.Skip("skipped: gpg is not installed")
	}
	for name, options := range map[string]regtest.KeyOptions{
		"Ed25519": {}, "RSA": {RSABits: 2048}, "subkey": {Subkey: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := regtest.NewKey(options)
			reg := regtest.New("registry.example.com")
			rel := reg.AddProvider(regtest.Provider{Address: "acme/alpha", Keys: []*regtest.Key{key}})
			// Not t.TempDir: the agent's socket needs a short path.
			home := must.Get(os.MkdirTemp("", "gpg"))(t)
			t.Cleanup(func() { os.RemoveAll(home) })
			for file, data := range map[string][]byte{"key": []byte(key.Public().Armor), "sums": rel.Sums(), "sig": rel.Signature()} {
				must.Do(t, os.WriteFile(filepath.Join(home, file), data, 0o600))
			}
			run := func(args ...string) string {
				cmd := exec.Command(gpg, append([]string{"--homedir", home, "--batch", "--no-autostart", "--status-fd", "1"}, args...)...)
				cmd.Dir = home
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("gpg %q: %v\n%s", args, err, out)
				}
				return string(out)
			}
			run("--import", "key")
			if out := run("--verify", "sig", "sums"); !strings.Contains(out, "VALIDSIG") || !strings.Contains(out, key.Fingerprint()) {
				t.Errorf("gpg --verify sig:\n%s", out)
			}
		})
	}
}
