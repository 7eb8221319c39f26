package inflate

import (
	"encoding/binary"
	"io"
)

const (
	// fastInput is the input that a round of the fast loop needs: it loads 8 bytes twice,
	// and removes at most 7 of the first.
	fastInput = 7 + 8

	// overshoot is the maximum number of bytes that are overwritten after a match.
	overshoot = 16

	// full is where the fast loop stops: a round writes two literals and a match.
	full = space - 2 - maxMatch - overshoot
)

// decode decodes a block until the window is full or the block ends: RFC 1951, section 3.2.3.
func (r *Reader) decode() error {
	for r.inCodes && r.write < r.stop {
		var err error
		if at := r.write & inWindow; len(r.buf)-r.pos >= 8+fastInput && overshoot <= at && at < full {
			err = r.fast()
		} else {
			err = r.careful()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fast decodes a block as [Reader.careful] does while there is enough input and space in the
// window.
//
// The loop has no bounds checks (-gcflags=-d=ssa/check_bce lists them): the input is a slice that
// gets shorter, and array indexes are masked. A round needs:
//
//   - 50 bits up to the distance: two literals of 11 bits, a code of 15 with 5 extra bits, and 8
//     for the first lookup of the distance
//   - 39 bits after that: a code of 15 with 13 extra bits, and 11 for the first lookup of the next
//     round
//
// A refill makes 56 bits ready. Only the lowest 6 bits of nbits count.
func (r *Reader) fast() error {
	// A copy that starts at the end of the window continues after it.
	copy(r.window[space:], r.window[:overshoot])
	in, bits, nbits := refill(r.buf[r.pos:], r.bits, uint64(r.nbits))
	write, limit := r.write, min(r.stop, r.write&^inWindow+full)
	var err error
	e := r.lit[bits&(1<<litBits-1)]
	for len(in) >= fastInput && write < limit {
		saved := bits
		bits, nbits = bits>>(e&63), nbits-uint64(e)
		if e&literal != 0 {
			r.window[write&inWindow] = byte(e >> 16)
			write++
			e, saved = r.lit[bits&(1<<litBits-1)], bits
			bits, nbits = bits>>(e&63), nbits-uint64(e)
			if e&literal != 0 {
				r.window[write&inWindow] = byte(e >> 16)
				write++
				e, saved = r.lit[bits&(1<<litBits-1)], bits
				bits, nbits = bits>>(e&63), nbits-uint64(e)
			}
		}
		if e&subTable == subTable {
			e = r.lit[(uint64(e>>16)+bits&(1<<(e>>8&15)-1))&(litSize-1)]
			saved = bits
			bits, nbits = bits>>(e&63), nbits-uint64(e)
		}
		if e&literal != 0 {
			r.window[write&inWindow] = byte(e >> 16)
			write++
			e = r.lit[bits&(1<<litBits-1)]
			in, bits, nbits = refill(in, bits, nbits)
			continue
		}
		if e&special != 0 {
			if e&endBlock != endBlock {
				err = ErrCorrupt
			}
			r.inCodes = false
			break
		}
		length := uint(e>>16) + uint(saved&(1<<(e&63)-1)>>(e>>8&15))

		e = r.dist[bits&(1<<distBits-1)]
		in, bits, nbits = refill(in, bits, nbits)
		if e&special != 0 {
			if e&subTable == subTable {
				bits, nbits = bits>>distBits, nbits-distBits
				e = r.dist[(uint64(e>>16)+bits&(1<<(e>>8&15)-1))&(distSize-1)]
			}
			if e&special != 0 {
				err = ErrCorrupt
				break
			}
		}
		dist := uint(e>>16) + uint(bits&(1<<(e&63)-1)>>(e>>8&15))
		bits, nbits = bits>>(e&63), nbits-uint64(e)
		if dist > write {
			err = ErrCorrupt
			break
		}
		e = r.lit[bits&(1<<litBits-1)]
		in, bits, nbits = refill(in, bits, nbits)

		from, end := write-dist, write+length
		switch {
		case dist >= 8:
			for ; write < end; write, from = write+16, from+16 {
				to, from := r.window[write&inWindow:], r.window[from&inWindow:]
				binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
				binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
			}
		case dist == 1:
			v := uint64(r.window[from&inWindow]) * 0x0101010101010101
			for ; write < end; write += 8 {
				binary.LittleEndian.PutUint64(r.window[write&inWindow:], v)
			}
		default:
			for ; write < end; write, from = write+dist, from+dist {
				binary.LittleEndian.PutUint64(r.window[write&inWindow:], binary.LittleEndian.Uint64(r.window[from&inWindow:]))
			}
		}
		write = end
	}
	r.pos = len(r.buf) - len(in)
	r.bits, r.nbits, r.write = bits, uint(nbits&63), write
	r.giveBack()
	return err
}

// refill makes at least 56 bits ready. The bits above them are the following input, which the next
// refill sets again.
func refill(in []byte, bits, nbits uint64) ([]byte, uint64, uint64) {
	bits |= binary.LittleEndian.Uint64(in) << (nbits & 63)
	return in[^nbits>>3&7:], bits, nbits | 56
}

// careful decodes a literal, a match or the end of a block. It removes only the bits that it needs.
func (r *Reader) careful() error {
	e, err := r.symbol(r.lit[:], litBits, r.litMin)
	if err != nil {
		return err
	}
	switch {
	case e&literal != 0:
		r.window[r.write&inWindow] = byte(e.value())
		r.write++
		return nil
	case e&special != 0:
		r.inCodes = false
		return nil
	}
	length, err := r.extra(e)
	if err != nil {
		return err
	}
	length += e.value()
	if e, err = r.symbol(r.dist[:], distBits, r.distMin); err != nil {
		return err
	}
	dist, err := r.extra(e)
	if err != nil {
		return err
	}
	dist += e.value()
	if dist > r.write {
		return ErrCorrupt
	}
	for range length {
		r.window[r.write&inWindow] = r.window[(r.write-dist)&inWindow]
		r.write++
	}
	return nil
}

// symbol decodes the next symbol and removes its code. The first lookup in table takes width bits.
// The shortest code has shortest bits.
func (r *Reader) symbol(table []entry, width, shortest uint) (entry, error) {
	for n := shortest; ; {
		if err := r.need(n); err != nil {
			return 0, err
		}
		e := table[r.bits&(1<<width-1)]
		n = e.codeBits()
		if e&subTable == subTable {
			e = table[e.value()+uint(r.bits>>width&(1<<n-1))]
			n = width + e.codeBits()
		}
		// Missing bits are 0 here. Then e belongs to a code that is not longer, since
		// shorter codes are smaller.
		if n > r.nbits {
			continue
		}
		if e&(special|endBlock) == invalid {
			return 0, ErrCorrupt
		}
		r.take(n)
		return e, nil
	}
}

// extra removes and returns the extra bits of e.
func (r *Reader) extra(e entry) (uint, error) {
	n := e.bits() - e.codeBits()
	if err := r.need(n); err != nil {
		return 0, err
	}
	return uint(r.take(n)), nil
}

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
