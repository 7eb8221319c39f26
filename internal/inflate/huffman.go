package inflate

import "math/bits"

const (
	maxLit     = 286 // HLIT + 257 at most; the fixed codes have two more
	maxDist    = 30  // HDIST + 1 at most; the fixed codes have two more
	maxCodeLen = 15

	// A table is looked up with this many bits first.
	litBits  = 11
	distBits = 8
	preBits  = 7 // of the code for code lengths: no code is longer

	// The tables have at most 2,342 and 402 entries, by the program "enough" of
	// zlib for 288 symbols and 11 bits, and for 32 symbols and 8 bits.
	litSize  = 1 << 12
	distSize = 1 << 9
)

// An entry of a table says what the bits mean that it was looked up with.
//
//	bits 0–7    bits to take: the code and the extra bits behind it
//	bits 8–11   bits of the code
//	bits 12–14  kind, if bit 15 is set
//	bit 15      not a literal, length or distance: see kind
//	bits 16–30  value: literal, base of length or distance, or index of a sub-table
//	bit 31      literal
//
// In a sub-table the bits of the code are those behind the first lookup. In an
// entry that leads to a sub-table, bits 0–7 are the bits of the first lookup
// and bits 8–11 those of the second.
type entry uint32

const (
	special  entry = 1 << 15
	subTable entry = 1<<14 | special
	endBlock entry = 1<<13 | special
	invalid  entry = special // no code begins with the bits, or a symbol that must not occur
	literal  entry = 1 << 31
)

func (e entry) bits() uint     { return uint(e & 63) }
func (e entry) codeBits() uint { return uint(e >> 8 & 15) }
func (e entry) value() uint    { return uint(e >> 16 & 0x7fff) }

// build fills table with the codes of the given lengths: RFC 1951, section
// 3.2.2. The symbols have the entries in symbols, which lack the code. It
// returns the length of the shortest code, 0 if there is none. It returns false
// unless the codes are complete; no code at all, and one of a single bit, are
// allowed too, as zlib does.
func build(table []entry, width uint, lengths []uint8, symbols []entry) (shortest uint, ok bool) {
	var count [maxCodeLen + 1]uint
	for _, n := range lengths {
		count[n]++
	}
	count[0] = 0
	var longest, codes uint
	var next [maxCodeLen + 2]uint // index in sorted
	for n := uint(1); n <= maxCodeLen; n++ {
		codes = codes<<1 + count[n]
		next[n+1] = next[n] + count[n]
		if count[n] > 0 {
			longest = n
			if shortest == 0 {
				shortest = n
			}
		}
	}
	total := next[maxCodeLen+1]
	if total == 0 || total == 1 && longest == 1 {
		fill := table[:1<<width]
		for i := range fill {
			fill[i] = invalid
		}
	} else if codes != 1<<maxCodeLen {
		return 0, false
	}
	var sorted [maxLit + 2]uint16 // the symbols by their codes
	for s, n := range lengths {
		if n > 0 {
			sorted[next[n]] = uint16(s)
			next[n]++
		}
	}
	if total == 1 {
		for i := uint(0); i < 1<<width; i += 2 {
			table[i] = symbols[sorted[0]] + 0x101
		}
		return 1, true
	}
	if total > 0 {
		assign(table, width, sorted[:total], &count, symbols)
	}
	return shortest, true
}

// assign gives each symbol in sorted its place in table, with the codes in
// order: RFC 1951, section 3.2.2. A code is read from its first bit, which is
// the lowest one of an index, so codes are counted with their bits reversed.
func assign(table []entry, width uint, sorted []uint16, count *[maxCodeLen + 1]uint, symbols []entry) {
	var code uint
	n := uint(1)
	for count[n] == 0 {
		n++
	}
	filled := uint(1) << n // the entries that codes of up to n bits have
	sub, subEnd, prefix := uint(0), uint(1)<<width, ^uint(0)
	for _, s := range sorted {
		for count[n] == 0 {
			n++
			if n <= width {
				copy(table[filled:2*filled], table[:filled])
				filled *= 2
			}
		}
		e := symbols[s]
		if n <= width {
			table[code] = e + entry(n)*0x101
		} else {
			if low := code & (1<<width - 1); low != prefix {
				prefix, sub = low, subEnd
				more := subBits(n, width, count)
				subEnd = sub + 1<<more
				table[prefix] = subTable | entry(sub)<<16 | entry(more)<<8 | entry(width)
			}
			for i := sub + code>>width; i < subEnd; i += 1 << (n - width) {
				table[i] = e + entry(n-width)*0x101
			}
		}
		count[n]--
		code = increment(code, n)
	}
	for ; n < width; n++ {
		copy(table[filled:2*filled], table[:filled])
		filled *= 2
	}
}

// increment adds 1 to a code of n bits whose bits are reversed. The last one
// becomes 0.
func increment(code, n uint) uint {
	zeros := ^code & (1<<n - 1)
	if zeros == 0 {
		return 0
	}
	bit := uint(1) << (bits.Len(zeros) - 1)
	return code&(bit-1) | bit
}

// subBits returns how many bits a sub-table is looked up with that begins with
// a code of n bits, if count are the codes to come.
func subBits(n, width uint, count *[maxCodeLen + 1]uint) uint {
	more := n - width
	for used := count[n]; used < 1<<more; used = used<<1 + count[width+more] {
		more++
	}
	return more
}
