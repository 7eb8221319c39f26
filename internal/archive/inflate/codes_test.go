package inflate_test

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/tofureg/tofureg/internal/archive/inflate"
)

// A bitWriter packs bits as RFC 1951, section 3.1.1, has them.
type bitWriter struct {
	out []byte
	n   uint // bits in the last byte
}

func (w *bitWriter) bits(v, n uint) {
	for i := range n {
		if w.n%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[len(w.out)-1] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
}

// codes are lengths of codes by symbol, and the codes.
type codes struct {
	lengths []uint
	codes   []uint
}

// randomCodes returns a complete code of symbols, some of n, with codes as long
// as can be.
func randomCodes(rnd *rand.Rand, n int, must ...int) codes {
	chosen := map[int]bool{}
	for _, s := range must {
		chosen[s] = true
	}
	for range 1 + rnd.IntN(n) {
		chosen[rnd.IntN(n)] = true
	}
	for len(chosen) < 2 {
		chosen[rnd.IntN(n)] = true
	}
	// Leaves of a tree are split until there are enough; the same one again and
	// again makes it deep.
	leaves := []uint{0}
	deep := rnd.IntN(2) == 0
	for at := 0; len(leaves) < len(chosen); {
		if !deep || leaves[at] == 15 || rnd.IntN(20) == 0 {
			at = rnd.IntN(len(leaves))
		}
		if leaves[at] < 15 {
			leaves[at]++
			leaves = append(leaves, leaves[at])
		}
	}
	rnd.Shuffle(len(leaves), func(i, j int) { leaves[i], leaves[j] = leaves[j], leaves[i] })
	c := codes{lengths: make([]uint, n), codes: make([]uint, n)}
	for s := range n {
		if chosen[s] {
			c.lengths[s], leaves = leaves[0], leaves[1:]
		}
	}
	next := uint(0)
	for length := uint(1); length <= 15; length++ {
		for s, l := range c.lengths {
			if l == length {
				c.codes[s] = uint(bits.Reverse16(uint16(next))) >> (16 - length)
				next++
			}
		}
		next <<= 1
	}
	return c
}

func (c codes) write(w *bitWriter, symbol int) { w.bits(c.codes[symbol], c.lengths[symbol]) }

// randomBlock writes a block with random dynamic codes and random symbols, which
// refer to what is not there if tooFar.
func randomBlock(rnd *rand.Rand, w *bitWriter, written uint, final uint, tooFar bool) uint {
	lit, dist := randomCodes(rnd, 286, 'a', 256), randomCodes(rnd, 30, 0)
	w.bits(final, 1)
	w.bits(2, 2)
	w.bits(286-257, 5)
	w.bits(30-1, 5)
	w.bits(19-4, 4)
	// Codes of 4 bits for the lengths 0 to 15, in the order 16, 17, 18, 0, 8 …
	for i := range 19 {
		w.bits([]uint{4, 0}[min(1, max(0, 3-i))], 3)
	}
	for _, l := range append(lit.lengths, dist.lengths...) {
		w.bits(uint(bits.Reverse8(uint8(l))>>4), 4)
	}
	for range rnd.IntN(2000) {
		s := rnd.IntN(286)
		if lit.lengths[s] == 0 || s == 256 {
			s = 'a'
		}
		lit.write(w, s)
		if s < 256 {
			written++
			continue
		}
		extra, length := uint(0), uint(258)
		if s < 285 {
			extra = uint(max(0, (s-261)/4))
			length = 3 // or more
		}
		w.bits(uint(rnd.Uint32()), extra)
		d := rnd.IntN(30)
		for dist.lengths[d] == 0 || !tooFar && d > 0 && uint(2)<<(d/2) > written {
			d = rnd.IntN(d + 1)
		}
		if dist.lengths[d] == 0 {
			d = 0
		}
		dist.write(w, d)
		w.bits(uint(rnd.Uint32()), uint(max(0, d/2-1)))
		written += length
	}
	lit.write(w, 256)
	return written
}

// Codes that no encoder makes: all lengths, deep trees, few symbols.
func TestRandomCodes(t *testing.T) {
	t.Parallel()
	p := newPair()
	ends := map[error]int{}
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		w := &bitWriter{}
		w.bits(0, 3) // a stored block, so that something is there
		w.bits(0, 5)
		w.bits(0xfffe_0001, 32)
		w.bits('x', 8)
		written := uint(1)
		tooFar := seed%4 == 0
		for range rnd.IntN(4) {
			written = randomBlock(rnd, w, written, 0, tooFar)
		}
		randomBlock(rnd, w, written, 1, tooFar)
		ends[p.check(t, w.out, whole).err]++
	}
	if ends[nil] < 200 || ends[inflate.ErrCorrupt] == 0 {
		t.Errorf("the streams end in %v, want most of them without an error", ends)
	}
}
