// Package inflate decodes the DEFLATE compressed data format of RFC 1951 and
// the gzip format of RFC 1952. It accepts the streams that [compress/flate]
// and [compress/gzip] accept and returns the same bytes, about three times
// as fast.
//
// Inflating is most of the work of installing a package. This is why the
// decoder is here, and why its loop is written for the compiler.
package inflate

import (
	"bufio"
	"errors"
	"io"
)

// ErrCorrupt is the error of a stream that is not valid by RFC 1951, or of a
// gzip file that is not valid by RFC 1952.
var ErrCorrupt = errors.New("inflate: corrupt input")

const (
	// history is the longest distance of a match: RFC 1951, section 2.
	history = 1 << 15

	// maxMatch is the longest match: RFC 1951, section 3.2.5.
	maxMatch = 258

	// space is the size of the window, a ring. It has the history, and behind it
	// as much that was decoded and not yet read.
	space    = 2 * history
	inWindow = space - 1
)

// A Reader decodes one stream after the other. It takes about 85 KB of memory.
//
// A Reader must not be used by several goroutines at the same time.
type Reader struct {
	in    *bufio.Reader
	buf   []byte // what in has buffered
	pos   int    // bytes of buf that were taken
	bits  uint64 // taken and not yet decoded; the first is the lowest
	nbits uint   // how many they are; those above are 0 or what follows
	err   error  // how the stream ended

	final   bool // no block follows the present one
	stored  int  // bytes left of a stored block
	inCodes bool // inside a block with Huffman codes
	fixed   bool // the tables hold the fixed codes
	litMin  uint // bits to have before a literal or length is looked up
	distMin uint // the same for a distance

	// What lies in the window from read to write was not yet read. Decoding
	// pauses at stop. A position p is at window[p&inWindow]. The bytes beyond
	// space are for the fast loop: see fast.
	read, write, stop uint
	window            [space + overshoot]byte

	lit  [litSize]entry
	dist [distSize]entry

	lengths [maxLit + maxDist]uint8 // of the codes in a dynamic block
}

// NewReader returns a Reader that decodes a stream from in.
func NewReader(in *bufio.Reader) *Reader {
	r := new(Reader)
	r.Reset(in)
	return r
}

// Reset makes r decode another stream, from in.
func (r *Reader) Reset(in *bufio.Reader) {
	r.in, r.buf, r.pos, r.bits, r.nbits, r.err = in, nil, 0, 0, 0, nil
	r.final, r.stored, r.inCodes = false, 0, false
	r.read, r.write = 0, 0
}

// Read implements [io.Reader]. The error is io.EOF after the last byte of the
// stream; the next byte of in is then the first one behind the stream. If the
// stream is cut, the error is io.ErrUnexpectedEOF; if it is not valid,
// ErrCorrupt. An error of in is returned as it is. All that was decoded before
// an error is returned first.
func (r *Reader) Read(p []byte) (int, error) {
	for r.read == r.write {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
	}
	at := r.read & inWindow
	n := copy(p, r.window[at:min(at+r.write-r.read, space)])
	r.read += uint(n)
	return n, nil
}

// fill decodes until the window is full or the stream ends. All was read before.
func (r *Reader) fill() {
	if r.write >= 2*space {
		r.write -= space // and yet more than a history
	}
	r.read, r.stop = r.write, r.write+history
	for r.err == nil && r.write < r.stop {
		switch {
		case r.stored > 0:
			r.err = r.copyStored()
		case r.inCodes:
			r.err = r.decode()
		case r.final:
			r.err = io.EOF
		default:
			r.err = r.header()
		}
	}
	r.giveBack()
	r.buf = r.buf[r.pos:]
	// Discard has no error within what is buffered.
	_, _ = r.in.Discard(r.pos)
	r.pos = 0
}

// header reads the header of a block: RFC 1951, section 3.2.3.
func (r *Reader) header() error {
	if err := r.need(3); err != nil {
		return err
	}
	r.final = r.take(1) == 1
	switch r.take(2) {
	case 0:
		return r.storedHeader()
	case 1:
		r.fixedCodes()
	case 2:
		if err := r.dynamicCodes(); err != nil {
			return err
		}
	default:
		return ErrCorrupt
	}
	r.inCodes = true
	return nil
}

// storedHeader reads LEN and NLEN: RFC 1951, section 3.2.4.
func (r *Reader) storedHeader() error {
	r.take(r.nbits % 8)
	if err := r.need(32); err != nil {
		return err
	}
	n, inverse := r.take(16), r.take(16)
	if n != inverse^0xffff {
		return ErrCorrupt
	}
	r.giveBack()
	r.stored = int(n)
	return nil
}

// copyStored copies what there is of a stored block.
func (r *Reader) copyStored() error {
	if r.pos == len(r.buf) {
		if err := r.more(); err != nil {
			return err
		}
	}
	from := r.buf[r.pos:]
	at := r.write & inWindow
	n := copy(r.window[at:min(at+r.stop-r.write, space)], from[:min(len(from), r.stored)])
	r.pos += n
	r.write += uint(n)
	r.stored -= n
	return nil
}
