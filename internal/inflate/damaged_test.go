package inflate_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	damaged     = flag.Int("inflate.damaged", 3000, "compare this many damaged streams")
	damagedSeed = flag.Uint64("inflate.seed", 1, "seed of the damage")
)

// What compress/flate makes of damaged streams, this package makes of them too:
// the same output, and then the same kind of error.
func TestDamaged(t *testing.T) {
	t.Parallel()
	var streams [][]byte
	for _, n := range []int{20, 300, 3000, 70_000} {
		kinds := contents(n)
		for _, kind := range []string{"random", "few", "words", "far", "zeros", "text"} {
			for _, level := range []int{-2, 0, 1, 6, 9} {
				if n == 70_000 && level != 6 {
					continue
				}
				streams = append(streams, deflate(t, kinds[kind], level, 0), deflate(t, kinds[kind], level, n/3))
			}
		}
	}
	rnd := rand.New(rand.NewPCG(*damagedSeed, 0))
	p := newPair()
	ends := map[error]int{}
	for range *damaged {
		stream := damage(rnd, streams[rnd.IntN(len(streams))], streams)
		ends[p.check(t, stream, whole).err]++
	}
	t.Logf("seed %d: %d streams compared, by their error: %v", *damagedSeed, *damaged, ends)
	if len(ends) < 3 && *damaged >= 1000 {
		t.Errorf("the damaged streams end in %v, want all kinds", ends)
	}
}

// damage returns a changed copy of stream.
func damage(rnd *rand.Rand, stream []byte, others [][]byte) []byte {
	stream = slices.Clone(stream)
	at := func() int { return rnd.IntN(len(stream)) }
	for range 1 + rnd.IntN(3) {
		switch rnd.IntN(7) {
		case 0:
			stream[at()] ^= 1 << rnd.IntN(8)
		case 1:
			stream[at()] = byte(rnd.Uint32())
		case 2: // the header of the first block
			stream[rnd.IntN(min(len(stream), 60))] ^= 1 << rnd.IntN(8)
		case 3:
			stream = stream[:1+at()]
		case 4:
			i := at()
			stream = slices.Delete(stream, i, min(i+1+rnd.IntN(3), len(stream)))
		case 5:
			stream = slices.Insert(stream, at(), byte(rnd.Uint32()))
		case 6: // the end of another stream, or its beginning
			other := others[rnd.IntN(len(others))]
			i := rnd.IntN(len(other))
			stream = slices.Concat(stream[:at()], other[i:])
		}
		if len(stream) == 0 {
			stream = []byte{byte(rnd.Uint32())}
		}
	}
	return stream
}

func FuzzReader(f *testing.F) {
	for _, content := range contents(200) {
		for _, level := range []int{-2, 0, 6} {
			f.Add(deflate(f, content, level, 0))
			f.Add(deflate(f, content, level, 70))
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		newPair().check(t, stream, whole)
	})
}
