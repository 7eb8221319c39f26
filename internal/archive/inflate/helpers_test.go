package inflate_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/archive/inflate"
	"github.com/tofureg/tofureg/internal/testing/must"
)

// A result is what a decoder makes of a stream.
type result struct {
	out   []byte
	taken int   // bytes of the input; compared only if err is nil
	err   error // nil, io.ErrUnexpectedEOF or inflate.ErrCorrupt
}

func (r result) String() string {
	return fmt.Sprintf("%d bytes of %d, error %v", len(r.out), r.taken, r.err)
}

func (r result) equal(other result) bool {
	return r.err == other.err && bytes.Equal(r.out, other.out) && (r.err != nil || r.taken == other.taken)
}

// A pair has the decoder under test and the one that it is compared with, to be
// used for many streams.
type pair struct {
	in   *bufio.Reader
	ours *inflate.Reader
	std  io.ReadCloser
	buf  []byte
}

func newPair() *pair {
	in := bufio.NewReaderSize(nil, 4096)
	return &pair{in: in, ours: inflate.NewReader(in), std: flate.NewReader(bytes.NewReader(nil)), buf: make([]byte, 32<<10)}
}

// decode decodes stream, which wrap may hand out in other pieces.
func (p *pair) decode(stream []byte, wrap func(io.Reader) io.Reader) result {
	src := bytes.NewReader(stream)
	p.in.Reset(wrap(src))
	p.ours.Reset(p.in)
	out, err := p.read(p.ours)
	return result{out, len(stream) - src.Len() - p.in.Buffered(), err}
}

// want decodes stream with compress/flate.
func (p *pair) want(stream []byte) result {
	src := bytes.NewReader(stream)
	// Reset has no error without a dictionary.
	_ = p.std.(flate.Resetter).Reset(src, nil)
	out, err := p.read(p.std)
	if _, ok := errors.AsType[flate.CorruptInputError](err); ok {
		err = inflate.ErrCorrupt
	}
	return result{out, len(stream) - src.Len(), err}
}

// read reads at most 64 MiB.
func (p *pair) read(r io.Reader) (out []byte, err error) {
	for len(out) < 64<<20 {
		n, err := r.Read(p.buf)
		out = append(out, p.buf[:n]...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// whole hands out what there is.
func whole(r io.Reader) io.Reader { return r }

// check fails unless both decoders make the same of stream.
func (p *pair) check(t *testing.T, stream []byte, wrap func(io.Reader) io.Reader) result {
	t.Helper()
	got, want := p.decode(stream, wrap), p.want(stream)
	if !got.equal(want) {
		t.Fatalf("decoding %d bytes %.200x: got %v, compress/flate has %v", len(stream), stream, got, want)
	}
	return got
}

// deflate packs content with the given level, in pieces if flush is not 0.
func deflate(t testing.TB, content []byte, level, flush int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := must.Get(flate.NewWriter(&out, level))(t)
	for len(content) > 0 {
		n := len(content)
		if flush > 0 {
			n = min(n, flush)
		}
		must.Get(w.Write(content[:n]))(t)
		if flush > 0 {
			must.Do(t, w.Flush())
		}
		content = content[n:]
	}
	must.Do(t, w.Close())
	return out.Bytes()
}

// contents are of many kinds, and about n bytes each.
func contents(n int) map[string][]byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	random, few, words, far := make([]byte, n), make([]byte, n), []byte{}, []byte{}
	for i := range random {
		random[i] = byte(rnd.Uint32())
		few[i] = byte(rnd.ExpFloat64() * 4)
	}
	list := make([]string, 300)
	for i := range list {
		list[i] = fmt.Sprintf("%x", random[i%n:min(i%n+1+rnd.IntN(9), n)])
	}
	for len(words) < n {
		words = append(words, list[rnd.IntN(len(list))]...)
	}
	// Matches as far away as can be, and of each short distance.
	for d := 1; len(far) < n; d = d*3/2 + 1 {
		far = append(far, random[:min(d, n, 32<<10)]...)
		far = append(far, random[:min(d, n, 32<<10)]...)
	}
	return map[string][]byte{
		"random": random, "few": few, "words": words[:n], "far": far[:n],
		"zeros": make([]byte, n), "text": []byte(strings.Repeat("all of it, or nothing; ", n/23+1))[:n],
	}
}
