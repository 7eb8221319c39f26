package install_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/testkit/regtest"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// scripted is a source that returns the bodies in turn.
type scripted struct{ bodies []io.Reader }

func (s *scripted) Evidence(_ context.Context, pkg *provider.Package) (verify.Evidence, error) {
	return pkg.Evidence(), nil
}

func (s *scripted) Open(context.Context, *provider.Package) (*provider.Body, error) {
	body := s.bodies[0]
	s.bodies = s.bodies[1:]
	return &provider.Body{ReadCloser: io.NopCloser(body)}, nil
}

// reader is a function that reads.
type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

var anyPackage = provider.Package{Provider: alpha, Version: v1, Platform: linux, URL: "https://example.com/alpha.zip"}

// TestUnpacksAhead: content is unpacked before the archive is complete, but only in the staging
// directory.
func TestUnpacksAhead(t *testing.T) {
	t.Parallel()
	data := archivetest.Zip(t, entry{Name: program, Content: strings.Repeat("program", 1000), Mode: 0o755},
		entry{Name: "docs/a.txt", Content: "text"})
	d := newDir(t)
	early := staged(d, "docs/a.txt")
	const end = 150 // bytes of the directory of the archive
	src := &scripted{[]io.Reader{io.MultiReader(bytes.NewReader(data[:len(data)-end]), reader(func([]byte) (int, error) {
		waitFor(t, early, "text")
		return 0, io.EOF
	}), bytes.NewReader(data[len(data)-end:]))}}
	done := must.Get(d.Install(t.Context(), src, &anyPackage, install.Options{Policy: verify.Policy{AllowUnchecked: true}}))(t)
	checkInstalled(t, done)
	wantNames(t, d.Path, home+"/docs/a.txt", home+"/"+program)
}

// TestAheadOfAnother: if the download restarts with another archive, the unpacked files are
// dropped.
func TestAheadOfAnother(t *testing.T) {
	t.Parallel()
	good := archivetest.Zip(t, entry{Name: program, Content: "program", Mode: 0o755}, entry{Name: "docs/a.txt", Content: "text"})
	evil := archivetest.Zip(t, entry{Name: program, Content: "evil"}, entry{Name: "evil/x", Content: strings.Repeat("evil", 100)},
		entry{Name: "docs/a.txt"})
	changed := reader(func([]byte) (int, error) { return 0, failure.ErrChanged })
	for name, bodies := range map[string][]io.Reader{
		"changed at once":    {changed, bytes.NewReader(good)},
		"changed on the way": {io.MultiReader(bytes.NewReader(evil[:60]), changed), bytes.NewReader(good)},
		"changed at the end": {io.MultiReader(bytes.NewReader(evil), changed), bytes.NewReader(good)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDir(t)
			done := must.Get(d.Install(t.Context(), &scripted{bodies}, &anyPackage, install.Options{Policy: verify.Policy{AllowUnchecked: true}}))(t)
			checkInstalled(t, done)
			wantNames(t, d.Path, home+"/docs/a.txt", home+"/"+program)
			if text, err := os.ReadFile(filepath.Join(done.Dir, program)); err != nil || string(text) != "program" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

// TestInflatesLater: content that is much larger than its archive is written when the archive is accepted.
func TestInflatesLater(t *testing.T) {
	t.Parallel()
	data := archivetest.Zip(t, entry{Name: program, Content: strings.Repeat("\x00", 8<<20), Mode: 0o755},
		entry{Name: "docs/a.txt", Content: "text"})
	d := newDir(t)
	other := verify.Policy{Accept: checksum.NewSet(zhOf(data[1:]))}
	if done, err := d.Install(t.Context(), &scripted{[]io.Reader{bytes.NewReader(data)}}, &anyPackage, install.Options{Policy: other}); !errors.Is(err, verify.ErrNotAccepted) {
		t.Errorf("Install of another archive: %v, error %v, want %v", done, err, verify.ErrNotAccepted)
	}
	wantNames(t, d.Path)
	policy := verify.Policy{Accept: checksum.NewSet(zhOf(data))}
	done := must.Get(d.Install(t.Context(), &scripted{[]io.Reader{bytes.NewReader(data)}}, &anyPackage, install.Options{Policy: policy, Sync: true}))(t)
	checkInstalled(t, done)
	wantNames(t, d.Path, home+"/docs/a.txt", home+"/"+program)
}

// TestAheadOfHidden: an archive that starts with entries that its directory does not list is
// refused, and the unpacked files are removed.
func TestAheadOfHidden(t *testing.T) {
	t.Parallel()
	good := archivetest.Zip(t, entry{Name: program, Content: "program", Mode: 0o755})
	evil := archivetest.Zip(t, entry{Name: program, Content: "evil"}, entry{Name: "evil/x", Content: strings.Repeat("evil", 100)})
	evil = evil[:bytes.Index(evil, []byte("PK\x01\x02"))]
	data := append(bytes.Clone(evil), good...)
	directory := data[len(evil)+bytes.Index(good, []byte("PK\x01\x02")):]
	add32(directory[42:], len(evil))
	add32(directory[bytes.Index(directory, []byte("PK\x05\x06"))+16:], len(evil))
	d := newDir(t)
	src := &scripted{[]io.Reader{bytes.NewReader(data)}}
	if done, err := d.Install(t.Context(), src, &anyPackage, install.Options{Policy: verify.Policy{AllowUnchecked: true}}); !errors.Is(err, failure.ErrArchive) {
		t.Errorf("Install: %v, %v, want ErrArchive", done, err)
	}
	wantNames(t, d.Path)
}

func add32(b []byte, n int) {
	n += int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | int(b[3])<<24
	b[0], b[1], b[2], b[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
}

// TestAheadOfForged: files of one archive are never taken for those of the archive that replaced
// it. The two archives differ only in content; all sizes, offsets and CRC-32 are equal.
func TestAheadOfForged(t *testing.T) {
	t.Parallel()
	content := []byte("a program that does what it says....")
	evil := []byte("evil, with the same checksum....")
	stored := func(content []byte) []byte {
		return archivetest.Zip(t, entry{Name: program, Content: string(content), Raw: true}, entry{Name: "second", Content: "second", Raw: true})
	}
	good, forged := stored(content), stored(archivetest.Forge(evil, crc32.ChecksumIEEE(content)))
	if len(good) != len(forged) {
		t.Fatal("the archives are not alike")
	}
	d := newDir(t)
	synctest.Test(t, func(t *testing.T) {
		second := staged(d, "second")
		first := io.MultiReader(bytes.NewReader(forged), reader(func([]byte) (int, error) {
			waitFor(t, second, "second") // so the one before it is done
			return 0, failure.ErrChanged
		}))
		policy := verify.Policy{Accept: checksum.NewSet(zhOf(good))}
		done := must.Get(d.Install(t.Context(), &scripted{[]io.Reader{first, bytes.NewReader(good)}}, &anyPackage, install.Options{Policy: policy}))(t)
		checkInstalled(t, done)
		if text, err := os.ReadFile(filepath.Join(done.Dir, program)); err != nil || string(text) != string(content) {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// staged returns a pattern for a file in the staging directory.
func staged(d *install.Dir, name string) string {
	return filepath.Join(d.Path, ".tofureg", ".tofureg-*.part", "tree", filepath.FromSlash(name))
}

// waitFor waits until the file of the pattern has this content.
func waitFor(t *testing.T, pattern, content string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		found, _ := filepath.Glob(pattern)
		if len(found) == 1 {
			if text, err := os.ReadFile(found[0]); err == nil && string(text) == content {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("%s is not there: %q", pattern, found)
			return
		}
	}
}

func zhOf(data []byte) checksum.Hash { return checksum.ZHSum(sha256.Sum256(data)) }

type entry = archivetest.Entry

// TestHostileArchives: correctly signed but unsafe archives are refused, and no file is left inside
// or outside of the plugin directory. internal/archive.TestRefused has all kinds.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	good := entry{Name: program, Content: "program", Mode: 0o755}
	bomb := entry{Name: "zeros", Content: strings.Repeat("\x00", 1<<20)}
	one := archivetest.Zip(t, good)
	for name, c := range map[string]struct {
		zip  []byte
		want error
	}{
		"traversal":       {archivetest.Zip(t, good, entry{Name: "../../escaped"}), failure.ErrArchive},
		"symbolic link":   {archivetest.Zip(t, good, entry{Name: "link", Content: "/etc", Mode: fs.ModeSymlink | 0o777}), failure.ErrArchive},
		"damaged content": {bytes.Replace(one, []byte("PK\x03\x04"), []byte("PK\x03\x05"), 1), failure.ErrArchive},
		"bomb":            {archivetest.Zip(t, good, bomb), failure.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffer(t, regtest.Provider{Zip: c.zip})
			base := t.TempDir()
			d := &install.Dir{Path: filepath.Join(base, "a", "b", "plugins")}
			policy := verify.Policy{Limits: checksum.Limits{Unpacked: 1 << 19}}
			done, err := d.Install(t.Context(), o.src, o.pkg, install.Options{Policy: policy})
			if _, ok := errors.AsType[*failure.Error](err); !ok || !errors.Is(err, c.want) {
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
	o := newOffer(t, regtest.Provider{Zip: archivetest.Zip(t,
		entry{Name: program, Content: "program"},
		entry{Name: "setuid", Mode: fs.ModeSetuid | 0o777},
		entry{Name: "secret", Mode: 0o600},
		entry{Name: "none/"},
		entry{Name: "terraform-provider-alpha/x", Content: "not a program"},
		entry{Name: "terraform-provider-alpha_x/x", Content: "not a program"},
	)})
	done := o.install(t, newDir(t), install.Options{})
	placed := must.Get(newDir(t).Place(t.Context(), done, true))(t)
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
