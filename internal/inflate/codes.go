package inflate

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
