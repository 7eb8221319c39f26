package install_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/provider/install"
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
	data := zipOf(t, entry{name: program, content: strings.Repeat("program", 1000), mode: 0o755}, entry{name: "docs/a.txt", content: "text"})
	d := newDir(t)
	early := staged(d, "docs/a.txt")
	const end = 150 // bytes of the directory of the archive
	src := &scripted{[]io.Reader{io.MultiReader(bytes.NewReader(data[:len(data)-end]), reader(func([]byte) (int, error) {
		waitFor(t, early, "text")
		return 0, io.EOF
	}), bytes.NewReader(data[len(data)-end:]))}}
	done, err := d.Install(t.Context(), src, &anyPackage, install.Options{Policy: verify.Policy{AllowUnchecked: true}})
	must(t, err)
	checkInstalled(t, done)
	wantNames(t, d.Path, home+"/docs/a.txt", home+"/"+program)
}

// TestAheadOfAnother: if the download restarts with another archive, the unpacked files are
// dropped.
func TestAheadOfAnother(t *testing.T) {
	t.Parallel()
	good := zipOf(t, entry{name: program, content: "program", mode: 0o755}, entry{name: "docs/a.txt", content: "text"})
	evil := zipOf(t, entry{name: program, content: "evil"}, entry{name: "evil/x", content: strings.Repeat("evil", 100)}, entry{name: "docs/a.txt"})
	changed := reader(func([]byte) (int, error) { return 0, provider.ErrChanged })
	for name, bodies := range map[string][]io.Reader{
		"changed at once":    {changed, bytes.NewReader(good)},
		"changed on the way": {io.MultiReader(bytes.NewReader(evil[:60]), changed), bytes.NewReader(good)},
		"changed at the end": {io.MultiReader(bytes.NewReader(evil), changed), bytes.NewReader(good)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDir(t)
			done, err := d.Install(t.Context(), &scripted{bodies}, &anyPackage, install.Options{Policy: verify.Policy{AllowUnchecked: true}})
			must(t, err)
			checkInstalled(t, done)
			wantNames(t, d.Path, home+"/docs/a.txt", home+"/"+program)
			if text, err := os.ReadFile(filepath.Join(done.Dir, program)); err != nil || string(text) != "program" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

// TestAheadOfHidden: an archive that starts with entries that its directory does not list is
// refused, and the unpacked files are removed.
func TestAheadOfHidden(t *testing.T) {
	t.Parallel()
	good := zipOf(t, entry{name: program, content: "program", mode: 0o755})
	evil := zipOf(t, entry{name: program, content: "evil"}, entry{name: "evil/x", content: strings.Repeat("evil", 100)})
	evil = evil[:bytes.Index(evil, []byte("PK\x01\x02"))]
	data := append(bytes.Clone(evil), good...)
	directory := data[len(evil)+bytes.Index(good, []byte("PK\x01\x02")):]
	add32(directory[42:], len(evil))
	add32(directory[bytes.Index(directory, []byte("PK\x05\x06"))+16:], len(evil))
	d := newDir(t)
	src := &scripted{[]io.Reader{bytes.NewReader(data)}}
	if done, err := d.Install(t.Context(), src, &anyPackage, install.Options{Policy: verify.Policy{AllowUnchecked: true}}); !errors.Is(err, checksum.ErrArchive) {
		t.Errorf("Install: %v, %v, want ErrArchive", done, err)
	}
	wantNames(t, d.Path)
}

func add32(b []byte, n int) {
	n += int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | int(b[3])<<24
	b[0], b[1], b[2], b[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
}
