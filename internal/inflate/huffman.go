package inflate

import "math/bits"

const (
	maxLit     = 286 // HLIT + 257 at most; the fixed codes have two more
	maxDist    = 30  // HDIST + 1 at most; the fixed codes have two more
	maxCodeLen = 15

	// The number of bits of the first lookup in a table.
	litBits  = 11
	distBits = 8
	preBits  = 7 // the longest code for code lengths

	// The tables have at most 2,342 and 402 entries, by the program "enough" of
	// zlib for 288 symbols and 11 bits, and for 32 symbols and 8 bits.
	litSize  = 1 << 12
	distSize = 1 << 9
)

// An entry of a table is the meaning of the bits of a lookup.
//
//	bits 0–7    number of bits to remove: the code and its extra bits
//	bits 8–11   bits of the code
//	bits 12–14  kind, if bit 15 is set
//	bit 15      not a literal, length or distance: see kind
//	bits 16–30  value: literal, base of length or distance, or index of a sub-table
//	bit 31      literal
//
// In a sub-table, the bits of the code are those after the first lookup. In an entry for a
// sub-table, bits 0–7 are the number of bits of the first lookup and bits 8–11 of the second.
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

// build fills table with codes of the given lengths: RFC 1951, section 3.2.2. The symbols have the
// entries in symbols, without codes. build returns the length of the shortest code, or 0 if the
// table is empty. It returns false unless the codes are complete. Like zlib, it also permits no
// code and a single code of one bit.
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

// assign enters each symbol in sorted into table, with ascending codes: RFC 1951, section 3.2.2.
// The first bit of a code is the lowest bit of the index, so codes are incremented with reversed
// bits.
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

// increment adds 1 to a code of n bits with reversed bits. The last code becomes 0.
func increment(code, n uint) uint {
	zeros := ^code & (1<<n - 1)
	if zeros == 0 {
		return 0
	}
	bit := uint(1) << (bits.Len(zeros) - 1)
	return code&(bit-1) | bit
}

// subBits returns the number of bits of lookups in a sub-table that starts with a code of n bits.
// count has the following codes.
func subBits(n, width uint, count *[maxCodeLen + 1]uint) uint {
	more := n - width
	for used := count[n]; used < 1<<more; used = used<<1 + count[width+more] {
		more++
	}
	return more
}
