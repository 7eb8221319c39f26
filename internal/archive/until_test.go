package archive_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/archive/xz"
	"github.com/tofureg/tofureg/internal/testing/archivetest"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// tripwire is an archive that ends the context when a certain byte is read.
type tripwire struct {
	data  []byte
	piece int
	at    int // offset at which the context ends
	end   func()

	pos, read, after int // position of Read, bytes that were read, bytes that were read after the end
	mu               sync.Mutex
}

func (w *tripwire) ReadAt(p []byte, off int64) (int, error) {
	n, err := bytes.NewReader(w.data).ReadAt(p, off)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.read >= w.at {
		w.after += n
	}
	if w.read += n; w.read >= w.at {
		w.end()
	}
	return n, err
}

func (w *tripwire) Read(p []byte) (int, error) {
	n, err := w.ReadAt(p[:min(len(p), w.piece)], int64(w.pos))
	w.pos += n
	if n > 0 {
		err = nil
	}
	return n, err
}

var errEnough = errors.New("enough")

// tripped checks that work ends with its context and reads nothing more.
func tripped(t *testing.T, data []byte, at int, work func(context.Context, *tripwire) error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	w := &tripwire{data: data, piece: 64, at: at, end: func() { cancel(errEnough) }}
	err := work(ctx, w)
	if !errors.Is(err, errEnough) || !errors.Is(err, context.Canceled) || errors.Is(err, failure.ErrArchive) {
		t.Errorf("error %v, want the cause", err)
	}
	if w.read < at || w.after > 0 {
		t.Errorf("%d bytes were read, %d after the end of the context at %d", w.read, w.after, at)
	}
}

// zeros is a zip with a file of zeros.
func zeros(t testing.TB, gigabytes int) []byte {
	t.Helper()
	var piece, deflated, archived bytes.Buffer
	w := must.Get(flate.NewWriter(&piece, flate.BestCompression))(t)
	w.Write(make([]byte, 1<<20))
	w.Flush()
	deflated.Write(bytes.Repeat(piece.Bytes(), gigabytes<<10))
	deflated.WriteString("\x03\x00") // the last block, empty
	zw := zip.NewWriter(&archived)
	h := &zip.FileHeader{Name: "zeros", Method: zip.Deflate, CompressedSize64: uint64(deflated.Len()), UncompressedSize64: uint64(gigabytes) << 30}
	raw, err := zw.CreateRaw(h)
	if err == nil {
		_, err = raw.Write(deflated.Bytes())
	}
	must.Do(t, errors.Join(err, zw.Close()))
	return archived.Bytes()
}

// TestZipEndsWithItsContext: reading names and inflating end with the context, and read nothing after its end.
func TestZipEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bomb := zeros(t, 8)
	var many []member
	for i := range 3000 {
		many = append(many, member{Name: fmt.Sprintf("%0200d", i), Stored: true})
	}
	names := pack(t, many...)
	root := openRoot(t, t.TempDir())
	open := func(ctx context.Context, w *tripwire) error {
		_, err := archive.OpenZip(ctx, w, int64(len(w.data)), archive.Options{})
		return err
	}
	hash := func(ctx context.Context, w *tripwire) error {
		z, err := archive.OpenZip(ctx, w, int64(len(w.data)), archive.Options{})
		if err == nil {
			_, err = z.Hash(ctx)
		}
		return err
	}
	blocks := stuffed(t, strings.Repeat("\x00\x00\x00\xff\xff", 1<<20)) // which are empty
	for name, test := range map[string]struct {
		data []byte
		at   int
		work func(context.Context, *tripwire) error
	}{
		"end record": {names, 1, open},
		"names":      {names, 200_000, open},
		"places":     {names, 1_000_000, open},
		"Hash":       {bomb, 500_000, hash},
		"Unpack": {bomb, 200_000, func(ctx context.Context, w *tripwire) error {
			z, err := archive.OpenZip(ctx, w, int64(len(bomb)), archive.Options{})
			if err == nil {
				_, err = z.Unpack(ctx, root)
			}
			return err
		}},
		"empty blocks": {blocks, 1 << 20, hash},
		"UnpackAhead": {blocks, 1 << 20, func(ctx context.Context, w *tripwire) error {
			_, _, _, err := unpackAhead(t, ctx, w, openRoot(t, t.TempDir()), archive.Limits{})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tripped(t, test.data, test.at, test.work)
		})
	}
}

// stuffed is a zip with a file with this deflated content.
func stuffed(t testing.TB, deflated string) []byte {
	return patch(pack(t, member{Name: "a", Content: deflated, Stored: true}), func(b []byte) {
		put16(b[8:], 8)
		put16(b[headers(b)[0]+10:], 8)
	})
}

// 900,000 zeros, and empty content, compressed by bzip2.
const (
	zerosBzip2 = "425a683931415926535963e3eca20006e4c100c00002000008200030cc09aa6994a136a9284f17724538509063e3eca2"
	emptyBzip2 = "425a683917724538509000000000"
)

func repeated(t testing.TB, stream string, n int) []byte {
	t.Helper()
	data := must.Get(hex.DecodeString(stream))(t)
	return bytes.Repeat(data, n)
}

// TestTarEndsWithItsContext: UnpackTar ends with its context: in a file, after the last file, and
// in a sequence of empty streams.
func TestTarEndsWithItsContext(t *testing.T) {
	t.Parallel()
	one := fixture(t, "plain.tar.bz2")
	large := archivetest.Gzip(t, roll(t, regular("a", string(make([]byte, 8<<20)))))
	for name, test := range map[string]struct {
		data []byte
		at   int
	}{
		"first byte":    {one, 1},
		"file":          {large, len(large) / 2},
		"padding":       {append(bytes.Clone(one), repeated(t, zerosBzip2, 20_000)...), len(one) + 100},
		"empty streams": {append(bytes.Clone(one), repeated(t, emptyBzip2, 20_000)...), len(one) + 200_000},
		"empty members": {append(archivetest.Gzip(t, roll(t, regulars("a")...)), bytes.Repeat(archivetest.Gzip(t, nil), 20_000)...), 300_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := openRoot(t, t.TempDir())
			tripped(t, test.data, test.at, func(ctx context.Context, w *tripwire) error {
				_, err := archive.UnpackTar(ctx, w, archive.Sniff(test.data), root, archive.Options{Xz: xz.NewReader})
				return err
			})
		})
	}
}

// TestTarPadding: the zeros after a tar are limited. 20 KB can expand to 16 GB.
func TestTarPadding(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	data := roll(t, regulars("a")...)
	for n, want := range map[int]error{0: nil, most: nil, most + 1: failure.ErrTooLarge} {
		_, list, err := untar(t, archivetest.Gzip(t, append(bytes.Clone(data), make([]byte, n)...)), archive.Options{})
		if !errors.Is(err, want) || want == nil && len(list) != 1 {
			t.Errorf("%d bytes: %v, %v, want %v", n, list, err, want)
		}
	}
	bomb := append(fixture(t, "plain.tar.bz2"), repeated(t, zerosBzip2, 18_000)...)
	w := &tripwire{data: bomb, piece: 64, at: len(bomb)}
	if _, err := untarInto(t, t.TempDir(), w, archive.FormatTarBzip2, archive.Options{}); !errors.Is(err, failure.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
	if w.read > len(bomb)-17_000*len(zerosBzip2)/2 {
		t.Errorf("%d bytes were read of %d", w.read, len(bomb))
	}
}

// TestNamesTogether: the total length of the names is limited by the number of allowed entries.
func TestNamesTogether(t *testing.T) {
	t.Parallel()
	limits := archive.Limits{Entries: 3000} // which is a megabyte of names
	dir := strings.Repeat(strings.Repeat("d", 255)+"/", 3)
	build := func(last int) (zip, tar []byte) {
		var members []member
		var items []item
		add := func(name string) {
			members = append(members, member{Name: name, Stored: true})
			items = append(items, regular(name, ""))
		}
		for i := range 1025 {
			add(dir + fmt.Sprintf("%0255d", i)) // 1,023 bytes
		}
		add(strings.Repeat("x", last))
		return pack(t, members...), archivetest.Gzip(t, roll(t, items...))
	}
	for last, want := range map[int]error{1: nil, 2: failure.ErrTooLarge} {
		zip, tar := build(last)
		if _, err := open(zip, archive.Options{Limits: limits}); !errors.Is(err, want) {
			t.Errorf("zip, %d bytes in the last Name: %v, want %v", last, err, want)
		}
		if _, _, err := untar(t, tar, archive.Options{Limits: limits}); !errors.Is(err, want) {
			t.Errorf("tar, %d bytes in the last Name: %v, want %v", last, err, want)
		}
	}
}
