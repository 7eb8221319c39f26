package inflate_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tofureg/tofureg/internal/inflate"
	"github.com/tofureg/tofureg/internal/must"
)

// gunzip decodes file.
func (p *pair) gunzip(file []byte) result {
	out, err := p.read(inflate.NewGzipReader(bufio.NewReader(bytes.NewReader(file))))
	return result{out, 0, err}
}

// wantGunzip decodes file with compress/gzip.
func (p *pair) wantGunzip(file []byte) result {
	var out []byte
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err == nil {
		out, err = p.read(r)
	} else if err == io.EOF { // no member at all
		err = io.ErrUnexpectedEOF
	}
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		err = inflate.ErrCorrupt
	}
	return result{out, 0, err}
}

func (p *pair) checkGzip(t *testing.T, file []byte) result {
	t.Helper()
	got, want := p.gunzip(file), p.wantGunzip(file)
	if !got.equal(want) {
		t.Fatalf("decoding %d bytes %.200x: got %v, compress/gzip has %v", len(file), file, got, want)
	}
	return got
}

// member packs content, after change of the header.
func member(t testing.TB, content []byte, change func(*gzip.Header)) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	change(&w.Header)
	must.Get(w.Write(content))(t)
	must.Do(t, w.Close())
	return out.Bytes()
}

func plain(*gzip.Header) {}

func full(h *gzip.Header) {
	h.Name, h.Comment, h.Extra, h.OS = "name", "comment", []byte("extra"), 3
}

// withSum gives the header of n bytes of a member a checksum.
func withSum(file []byte, n int) []byte {
	file = slices.Clone(file)
	file[3] |= 2
	sum := crc32.ChecksumIEEE(file[:n])
	return slices.Insert(file, n, byte(sum), byte(sum>>8))
}

func TestGzip(t *testing.T) {
	t.Parallel()
	content := contents(70_000)["words"]
	one, all := member(t, content, plain), member(t, content, full)
	summed := withSum(one, 10)
	tests := map[string]struct {
		file []byte
		n    int // members
		err  error
	}{
		"one":                 {one, 1, nil},
		"all fields":          {all, 1, nil},
		"header sum":          {summed, 1, nil},
		"two":                 {slices.Concat(one, all), 2, nil},
		"empty member":        {slices.Concat(member(t, nil, plain), one), 1, nil},
		"name of 511 bytes":   {member(t, content, func(h *gzip.Header) { h.Name = strings.Repeat("n", 511) }), 1, nil},
		"name of 512 bytes":   {member(t, content, func(h *gzip.Header) { h.Name = strings.Repeat("n", 512) }), 0, inflate.ErrCorrupt},
		"nothing":             {nil, 0, io.ErrUnexpectedEOF},
		"text":                {[]byte("hello, this is text"), 0, inflate.ErrCorrupt},
		"zeros behind it":     {append(slices.Clone(one), make([]byte, 20)...), 1, inflate.ErrCorrupt},
		"cut header behind":   {append(slices.Clone(one), one[:5]...), 1, io.ErrUnexpectedEOF},
		"wrong header sum":    {changed(summed, 10), 0, inflate.ErrCorrupt},
		"wrong checksum":      {changed(one, len(one)-8), 1, inflate.ErrCorrupt},
		"wrong size":          {changed(one, len(one)-1), 1, inflate.ErrCorrupt},
		"wrong method":        {changed(one, 2), 0, inflate.ErrCorrupt},
		"no trailer":          {one[:len(one)-8], 1, io.ErrUnexpectedEOF},
		"half of the trailer": {one[:len(one)-3], 1, io.ErrUnexpectedEOF},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newPair().checkGzip(t, test.file)
			if want := bytes.Repeat(content, test.n); got.err != test.err || !bytes.Equal(got.out, want) {
				t.Errorf("got %v, want %d bytes, error %v", got, len(want), test.err)
			}
		})
	}
}

// changed returns file with another byte at i.
func changed(file []byte, i int) []byte {
	file = slices.Clone(file)
	file[i] ^= 0x80
	return file
}

// Every cut of a file with all fields, and every byte changed.
func TestGzipDamaged(t *testing.T) {
	t.Parallel()
	p := newPair()
	file := slices.Concat(withSum(member(t, []byte("hello, hello"), plain), 10), member(t, []byte("world"), full))
	for i := range file {
		p.checkGzip(t, file[:i])
		for _, bit := range []byte{1, 2, 4, 8, 16, 128} {
			bad := slices.Clone(file)
			bad[i] ^= bit
			p.checkGzip(t, bad)
		}
	}
}

func TestGzipInputError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	file := member(t, []byte("hello, hello"), full)
	for n := range len(file) + 1 {
		in := io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(broken))
		z := inflate.NewGzipReader(bufio.NewReader(in))
		if got, err := io.ReadAll(z); err != broken {
			t.Errorf("broken at %d: %q, %v, want the error of the input", n, got, err)
		}
		if n, err := z.Read(make([]byte, 1)); n != 0 || err != broken {
			t.Errorf("the next read returned %d, %v, want 0 and the error again", n, err)
		}
	}
}

func FuzzGzip(f *testing.F) {
	for i, content := range []string{"", "hello, hello", strings.Repeat("all of it, or nothing; ", 20)} {
		one := member(f, []byte(content), plain)
		f.Add(one)
		f.Add(withSum(one, 10))
		f.Add(slices.Concat(one, member(f, fmt.Append(nil, i), full)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		newPair().checkGzip(t, file)
	})
}
