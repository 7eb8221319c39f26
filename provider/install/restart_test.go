package install_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// TestAheadOfForged: files of one archive are never taken for those of the archive that replaced
// it. The two archives differ only in content; all sizes, offsets and CRC-32 are equal.
func TestAheadOfForged(t *testing.T) {
	t.Parallel()
	content := []byte("a program that does what it says....")
	evil := []byte("evil, with the same checksum....")
	good, forged := storedZip(t, content), storedZip(t, forge(evil, crc32.ChecksumIEEE(content)))
	if len(good) != len(forged) {
		t.Fatal("the archives are not alike")
	}
	d := newDir(t)
	synctest.Test(t, func(t *testing.T) {
		second := staged(d, "second")
		first := io.MultiReader(bytes.NewReader(forged), reader(func([]byte) (int, error) {
			waitFor(t, second, "second") // so the one before it is done
			return 0, provider.ErrChanged
		}))
		policy := verify.Policy{Accept: []checksum.Hash{zhOf(t, good)}}
		done, err := d.Install(t.Context(), &scripted{[]io.Reader{first, bytes.NewReader(good)}}, &anyPackage, install.Options{Policy: policy})
		must(t, err)
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

func zhOf(t *testing.T, data []byte) checksum.Hash {
	t.Helper()
	zh, err := checksum.ZH(t.Context(), bytes.NewReader(data))
	must(t, err)
	return zh
}

// storedZip returns an archive with a stored program and a second file.
func storedZip(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range []struct {
		name    string
		content []byte
	}{{program, content}, {"second", []byte("second")}} {
		n := uint64(len(f.content))
		w, err := z.CreateRaw(&zip.FileHeader{Name: f.name, CRC32: crc32.ChecksumIEEE(f.content), CompressedSize64: n, UncompressedSize64: n})
		if err == nil {
			_, err = w.Write(f.content)
		}
		must(t, err)
	}
	must(t, z.Close())
	return out.Bytes()
}

// forge appends four bytes that give data this CRC-32.
func forge(data []byte, sum uint32) []byte {
	state := ^sum
	for range 4 {
		for i, entry := range crc32.IEEETable {
			if entry>>24 == state>>24 {
				state = (state^entry)<<8 | uint32(i)
				break
			}
		}
	}
	return binary.LittleEndian.AppendUint32(data, state^^crc32.ChecksumIEEE(data))
}
