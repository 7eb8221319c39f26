package inflate

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
