package inflate_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tofureg/tofureg/internal/archive/inflate"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// The content of all kinds and lengths, packed in all ways, comes back, and the
// bytes that follow a stream are left where they are.
func TestReader(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7, 300, 33_000, 200_000} {
		for kind, content := range contents(n) {
			t.Run(fmt.Sprintf("%d/%s", n, kind), func(t *testing.T) {
				t.Parallel()
				p := newPair()
				for _, level := range []int{-2, 0, 1, 6, 9} {
					for _, flush := range []int{0, n/5 + 1} {
						stream := append(deflate(t, content, level, flush), "what follows"...)
						got := p.check(t, stream, whole)
						if got.err != nil || !bytes.Equal(got.out, content) || got.taken != len(stream)-12 {
							t.Errorf("level %d, flush %d: got %v, want %d bytes of %d", level, flush, got, n, len(stream)-12)
						}
						if n > 40_000 {
							continue
						}
						for name, wrap := range map[string]func(io.Reader) io.Reader{
							"bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "data with EOF": iotest.DataErrReader,
						} {
							if got := p.decode(stream, wrap); got.err != nil || !bytes.Equal(got.out, content) || got.taken != len(stream)-12 && name == "bytes" {
								t.Errorf("level %d, flush %d, %s: got %v, want %d bytes of %d", level, flush, name, got, n, len(stream)-12)
							}
						}
					}
				}
			})
		}
	}
}

// Output can be read in pieces of any size.
func TestSmallReads(t *testing.T) {
	t.Parallel()
	content := contents(100_000)["words"]
	r := inflate.NewReader(bufio.NewReader(bytes.NewReader(deflate(t, content, 6, 0))))
	if err := iotest.TestReader(r, content); err != nil {
		t.Error(err)
	}
}

// Of a stream that is cut anywhere, all that is certain comes out before
// io.ErrUnexpectedEOF, and no more.
func TestCut(t *testing.T) {
	t.Parallel()
	for kind, content := range contents(700) {
		for _, level := range []int{-2, 0, 1, 6} {
			t.Run(fmt.Sprintf("%s/%d", kind, level), func(t *testing.T) {
				t.Parallel()
				p := newPair()
				stream := deflate(t, content, level, 300)
				for n := range stream {
					for _, wrap := range []func(io.Reader) io.Reader{whole, iotest.OneByteReader} {
						if got := p.check(t, stream[:n], wrap); got.err != io.ErrUnexpectedEOF {
							t.Fatalf("cut at %d of %d: %v, want io.ErrUnexpectedEOF", n, len(stream), got)
						}
					}
				}
			})
		}
	}
}

// The end of a stream is seen without a byte behind it: a reader that waits for
// more would wait for ever.
func TestEndWithoutMore(t *testing.T) {
	t.Parallel()
	behind := errors.New("read behind the stream")
	for kind, content := range contents(40_000) {
		for _, level := range []int{-2, 0, 6} {
			stream := deflate(t, content, level, 0)
			for _, size := range []int{16, 4096} {
				in := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(stream), iotest.ErrReader(behind)), size)
				if got, err := io.ReadAll(inflate.NewReader(in)); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%s, level %d: %d bytes, %v, want %d", kind, level, len(got), err, len(content))
				}
			}
		}
	}
}

// An error of the input is returned as it is, after what was decoded.
func TestInputError(t *testing.T) {
	t.Parallel()
	content := contents(5000)["words"]
	stream := deflate(t, content, 6, 0)
	broken := errors.New("broken")
	for n := range stream {
		in := io.MultiReader(bytes.NewReader(stream[:n]), iotest.ErrReader(broken))
		r := inflate.NewReader(bufio.NewReader(in))
		got, err := io.ReadAll(r)
		if err != broken || !bytes.HasPrefix(content, got) {
			t.Fatalf("broken at %d: %d bytes, %v, want a part of the content and the error of the input", n, len(got), err)
		}
		if _, again := r.Read(make([]byte, 1)); again != err {
			t.Fatalf("the next read returned %v, want %v again", again, err)
		}
	}
}

// After Reset nothing is left of the stream before, however it ended.
func TestReset(t *testing.T) {
	t.Parallel()
	p := newPair()
	var streams [][]byte
	for _, content := range contents(40_000) {
		stream := deflate(t, content, 6, 0)
		streams = append(streams, stream, stream[:len(stream)/2], slices.Concat(stream[:len(stream)/3], stream))
		// A match that reaches back to before the stream: fixed codes, length 3, distance 1.
		streams = append(streams, []byte{0x03, 0x02, 0x00})
	}
	for _, stream := range streams {
		p.check(t, stream, whole)
	}
}

func TestAllocations(t *testing.T) {
	// Not parallel: AllocsPerRun counts what others allocate.
	content := contents(200_000)["words"]
	stream := deflate(t, content, 6, 0)
	src, in, buf := bytes.NewReader(stream), bufio.NewReader(nil), make([]byte, 32<<10)
	r := inflate.NewReader(in)
	n := testing.AllocsPerRun(10, func() {
		src.Reset(stream)
		in.Reset(src)
		r.Reset(in)
		for {
			if _, err := r.Read(buf); err != nil {
				break
			}
		}
	})
	if n != 0 {
		t.Errorf("decoding another stream allocates %v times, want 0", n)
	}
}

// wantGunzip decodes file with compress/gzip, member by member: it refuses zeros after the last one, and
// reads other data as a header.
func (p *pair) wantGunzip(file []byte) result {
	var out []byte
	in := bytes.NewReader(file)
	r, err := gzip.NewReader(in)
	if err == io.EOF { // no member at all
		err = io.ErrUnexpectedEOF
	}
	for err == nil {
		r.Multistream(false)
		var more []byte
		if more, err = p.read(r); err != nil {
			out = append(out, more...)
			break
		}
		out = append(out, more...)
		rest := file[len(file)-in.Len():]
		if len(bytes.Trim(rest, "\x00")) == 0 {
			break
		}
		if !bytes.HasPrefix([]byte{0x1f, 0x8b}, rest[:min(2, len(rest))]) {
			err = inflate.ErrCorrupt
			break
		}
		err = r.Reset(in)
	}
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		err = inflate.ErrCorrupt
	}
	return result{out, 0, err}
}

func (p *pair) checkGzip(t *testing.T, file []byte) result {
	t.Helper()
	out, err := p.read(inflate.NewGzipReader(bufio.NewReader(bytes.NewReader(file))))
	if errors.Is(err, inflate.ErrCorrupt) {
		err = inflate.ErrCorrupt
	}
	got, want := result{out, 0, err}, p.wantGunzip(file)
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
		"a zero behind it":    {append(slices.Clone(one), 0), 1, nil},
		"zeros behind it":     {append(slices.Clone(one), make([]byte, 200_000)...), 1, nil},
		"zeros and more":      {append(append(slices.Clone(one), make([]byte, 200_000)...), 1), 1, inflate.ErrCorrupt},
		"zeros and a member":  {slices.Concat(one, []byte{0, 0}, all), 1, inflate.ErrCorrupt},
		"a byte behind it":    {append(slices.Clone(one), 'x'), 1, inflate.ErrCorrupt},
		"half a magic number": {append(slices.Clone(one), 0x1f), 1, io.ErrUnexpectedEOF},
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

var (
	damaged     = flag.Int("inflate.damaged", 3000, "compare this many damaged streams")
	damagedSeed = flag.Uint64("inflate.seed", 1, "seed of the damage")
)

// What compress/flate makes of damaged streams, this package makes of them too:
// the same output, and then the same kind of error.
func TestDamaged(t *testing.T) {
	t.Parallel()
	var streams [][]byte
	for _, n := range []int{20, 300, 3000, 70_000} {
		kinds := contents(n)
		for _, kind := range []string{"random", "few", "words", "far", "zeros", "text"} {
			for _, level := range []int{-2, 0, 1, 6, 9} {
				if n == 70_000 && level != 6 {
					continue
				}
				streams = append(streams, deflate(t, kinds[kind], level, 0), deflate(t, kinds[kind], level, n/3))
			}
		}
	}
	rnd := rand.New(rand.NewPCG(*damagedSeed, 0))
	p := newPair()
	ends := map[error]int{}
	for range *damaged {
		stream := damage(rnd, streams[rnd.IntN(len(streams))], streams)
		ends[p.check(t, stream, whole).err]++
	}
	t.Logf("seed %d: %d streams compared, by their error: %v", *damagedSeed, *damaged, ends)
	if len(ends) < 3 && *damaged >= 1000 {
		t.Errorf("the damaged streams end in %v, want all kinds", ends)
	}
}

// damage returns a changed copy of stream.
func damage(rnd *rand.Rand, stream []byte, others [][]byte) []byte {
	stream = slices.Clone(stream)
	at := func() int { return rnd.IntN(len(stream)) }
	for range 1 + rnd.IntN(3) {
		switch rnd.IntN(7) {
		case 0:
			stream[at()] ^= 1 << rnd.IntN(8)
		case 1:
			stream[at()] = byte(rnd.Uint32())
		case 2: // the header of the first block
			stream[rnd.IntN(min(len(stream), 60))] ^= 1 << rnd.IntN(8)
		case 3:
			stream = stream[:1+at()]
		case 4:
			i := at()
			stream = slices.Delete(stream, i, min(i+1+rnd.IntN(3), len(stream)))
		case 5:
			stream = slices.Insert(stream, at(), byte(rnd.Uint32()))
		case 6: // the end of another stream, or its beginning
			other := others[rnd.IntN(len(others))]
			i := rnd.IntN(len(other))
			stream = slices.Concat(stream[:at()], other[i:])
		}
		if len(stream) == 0 {
			stream = []byte{byte(rnd.Uint32())}
		}
	}
	return stream
}

func FuzzReader(f *testing.F) {
	for _, content := range contents(200) {
		for _, level := range []int{-2, 0, 6} {
			f.Add(deflate(f, content, level, 0))
			f.Add(deflate(f, content, level, 70))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		newPair().check(t, stream, whole)
	})
}
