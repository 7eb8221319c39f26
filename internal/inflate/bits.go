package inflate

import (
	"encoding/binary"
	"io"
)

// need makes at least n bits ready, at most 48. It reads from in only if all ready bits are part of
// these n.
func (r *Reader) need(n uint) error {
	for r.nbits < n {
		if rest := r.buf[r.pos:]; len(rest) >= 8 {
			r.bits |= binary.LittleEndian.Uint64(rest) << r.nbits
			r.pos += int((63 - r.nbits) / 8)
			r.nbits |= 56
			return nil
		}
		if r.pos == len(r.buf) {
			if err := r.more(); err != nil {
				return err
			}
			continue
		}
		r.bits |= uint64(r.buf[r.pos]) << r.nbits
		r.pos++
		r.nbits += 8
	}
	return nil
}

// take removes and returns the next n bits, which must be ready.
func (r *Reader) take(n uint) uint64 {
	v := r.bits & (1<<n - 1)
	r.bits >>= n
	r.nbits -= n
	return v
}

// more replaces buf, which was read completely.
func (r *Reader) more() error {
	// Discard does not fail for buffered data.
	_, _ = r.in.Discard(len(r.buf))
	r.buf, r.pos = nil, 0
	if _, err := r.in.Peek(1); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	r.buf, _ = r.in.Peek(r.in.Buffered())
	return nil
}

// giveBack returns whole undecoded bytes to buf. Bytes of an earlier buf stay: they are part of the
// next code, see need.
func (r *Reader) giveBack() {
	n := min(int(r.nbits/8), r.pos)
	r.pos -= n
	r.nbits -= uint(8 * n)
	r.bits &= 1<<r.nbits - 1
}
