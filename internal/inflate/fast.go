package inflate

import "encoding/binary"

const (
	// fastInput is the input that a round of the fast loop needs: it loads 8 bytes twice,
	// and removes at most 7 of the first.
	fastInput = 7 + 8

	// overshoot is the maximum number of bytes that are overwritten after a match.
	overshoot = 16

	// full is where the fast loop stops: a round writes two literals and a match.
	full = space - 2 - maxMatch - overshoot
)

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
