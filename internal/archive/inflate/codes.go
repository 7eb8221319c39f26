package inflate

import (
	"math/bits"
)

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

// The extra bits and the smallest values of lengths and distances: RFC 1951, section 3.2.5.
var (
	lengthExtra = [...]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}
	lengthBase  = [...]uint16{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115,
		131, 163, 195, 227, 258}
	distExtra = [...]uint8{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13}
	distBase  = [...]uint16{1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
		3073, 4097, 6145, 8193, 12289, 16385, 24577}
)

// The entries of all symbols, without their codes.
var (
	litSymbols  = literalsAndLengths()
	distSymbols = distances()
	preSymbols  = codeLengths()
)

func literalsAndLengths() (list [maxLit + 2]entry) {
	for i := range 256 {
		list[i] = literal | entry(i)<<16
	}
	list[256] = endBlock
	for i, base := range lengthBase {
		list[257+i] = entry(base)<<16 | entry(lengthExtra[i])
	}
	for i := maxLit; i < len(list); i++ {
		list[i] = invalid
	}
	return list
}

func distances() (list [maxDist + 2]entry) {
	for i, base := range distBase {
		list[i] = entry(base)<<16 | entry(distExtra[i])
	}
	for i := maxDist; i < len(list); i++ {
		list[i] = invalid
	}
	return list
}

// codeLengths returns the symbols of RFC 1951, section 3.2.7: lengths, and 16 to 18 with extra
// bits.
func codeLengths() (list [19]entry) {
	for i := range list {
		list[i] = entry(i) << 16
	}
	list[16] |= 2
	list[17] |= 3
	list[18] |= 7
	return list
}

// fixedCodes fills the tables for a block with fixed codes: RFC 1951, section
// 3.2.6.
func (r *Reader) fixedCodes() {
	if r.fixed {
		return
	}
	var lengths [maxLit + 2]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	r.litMin, _ = build(r.lit[:], litBits, lengths[:], litSymbols[:])
	for i := range maxDist + 2 {
		lengths[i] = 5
	}
	r.distMin, _ = build(r.dist[:], distBits, lengths[:maxDist+2], distSymbols[:])
	r.fixed = true
}

// codeOrder is the order of the lengths of the codes for code lengths.
var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamicCodes reads the codes of a block and fills the tables: RFC 1951,
// section 3.2.7.
func (r *Reader) dynamicCodes() error {
	r.fixed = false
	if err := r.need(14); err != nil {
		return err
	}
	hlit, hdist, hclen := int(r.take(5))+257, int(r.take(5))+1, int(r.take(4))+4
	if hlit > maxLit || hdist > maxDist {
		return ErrCorrupt
	}
	var pre [19]uint8
	for _, i := range codeOrder[:hclen] {
		if err := r.need(3); err != nil {
			return err
		}
		pre[i] = uint8(r.take(3))
	}
	// The table of distances is unused until it is built below.
	shortest, ok := build(r.dist[:], preBits, pre[:], preSymbols[:])
	if !ok {
		return ErrCorrupt
	}
	lengths := r.lengths[:hlit+hdist]
	if err := r.codeLengths(lengths, shortest); err != nil {
		return err
	}
	var okLit, okDist bool
	r.litMin, okLit = build(r.lit[:], litBits, lengths[:hlit], litSymbols[:])
	r.distMin, okDist = build(r.dist[:], distBits, lengths[hlit:], distSymbols[:])
	if !okLit || !okDist {
		return ErrCorrupt
	}
	// The block contains at least the code of its end.
	r.litMin = max(r.litMin, uint(lengths[256]))
	return nil
}

// codeLengths reads code lengths with the codes in r.dist.
func (r *Reader) codeLengths(lengths []uint8, shortest uint) error {
	for i := 0; i < len(lengths); {
		e, err := r.symbol(r.dist[:], preBits, shortest)
		if err != nil {
			return err
		}
		if e.value() < 16 {
			lengths[i] = uint8(e.value())
			i++
			continue
		}
		if e.value() == 16 && i == 0 {
			return ErrCorrupt
		}
		more, err := r.extra(e)
		if err != nil {
			return err
		}
		n, repeated := 3+int(more), uint8(0)
		switch e.value() {
		case 16:
			repeated = lengths[i-1]
		case 18:
			n += 8
		}
		if n > len(lengths)-i {
			return ErrCorrupt
		}
		for range n {
			lengths[i] = repeated
			i++
		}
	}
	return nil
}
