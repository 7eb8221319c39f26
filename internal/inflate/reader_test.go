package inflate_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/tofureg/tofureg/internal/inflate"
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
