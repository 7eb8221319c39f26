package inflate

import "encoding/binary"

const (
	// fastInput is what a round of the fast loop needs of input: it loads 8 bytes
	// twice, and takes at most 7 of the first.
	fastInput = 7 + 8

	// overshoot is how many bytes behind a match are overwritten at most.
	overshoot = 16

	// full is how far the fast loop fills the window: a round writes two literals
	// and a match.
	full = space - 2 - maxMatch - overshoot
)

// fast decodes the codes of a block as [Reader.careful] does, many of them, while
// there is plenty of input and the end of the window is not near.
//
// The loop has no bounds checks, which -gcflags=-d=ssa/check_bce would list: the
// input is a slice that gets shorter, and each index of an array is cut to the
// bits that it can have. A round needs:
//
//   - 50 bits up to the distance: two literals of 11 bits, a code of 15 with 5
//     extra bits, and the 8 of the first lookup of the distance
//   - 39 bits from there: a code of 15 with 13 extra bits, and the 11 of the
//     first lookup of the next round
//
// A refill makes 56 bits ready. Of nbits only the lowest 6 bits count; those
// above are borrowed.
func (r *Reader) fast() error {
	// A copy that begins at the end of the window goes on behind it.
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

// refill makes 56 bits or more ready. What it puts above them is the input that
// follows; the next refill puts the same there.
func refill(in []byte, bits, nbits uint64) ([]byte, uint64, uint64) {
	bits |= binary.LittleEndian.Uint64(in) << (nbits & 63)
	return in[^nbits>>3&7:], bits, nbits | 56
}
