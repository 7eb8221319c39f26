package regtest

import (
	"bytes"
	"cmp"
	"io"
	"math/bits"
	"slices"
)

// A bzip2Writer packs what is written to it when it is closed. The standard
// library only reads the format. This one does all that the format demands, and
// nothing to make the result small.
type bzip2Writer struct {
	w   io.Writer
	in  bytes.Buffer
	out bitWriter
}

// bzip2Block is how much of the input goes into a block. With runs encoded it
// is at most a quarter longer, and so fits the smallest size of blocks, 100 kB.
const bzip2Block = 64 << 10

// Write implements [io.Writer].
func (z *bzip2Writer) Write(p []byte) (int, error) { return z.in.Write(p) }

// Close implements [io.Closer].
func (z *bzip2Writer) Close() error {
	z.out.write('B', 8)
	z.out.write('Z', 8)
	z.out.write('h', 8)
	z.out.write('1', 8)
	var all uint32
	for z.in.Len() > 0 {
		data := z.in.Next(bzip2Block)
		sum := bzip2Sum(data)
		all = bits.RotateLeft32(all, 1) ^ sum
		z.block(data, sum)
	}
	z.out.write(0x177245385090, 48)
	z.out.write(uint64(all), 32)
	z.out.write(0, z.out.free)
	_, err := z.w.Write(z.out.data)
	return err
}

func (z *bzip2Writer) block(data []byte, sum uint32) {
	sorted, origin := rotate(encodeRuns(data))
	z.out.write(0x314159265359, 48)
	z.out.write(uint64(sum), 32)
	z.out.write(0, 1)
	z.out.write(uint64(origin), 24)

	used := slices.Compact(slices.Sorted(slices.Values(sorted)))
	var groups uint64
	var members [16]uint64
	for _, c := range used {
		groups |= 1 << (15 - c>>4)
		members[c>>4] |= 1 << (15 - c&15)
	}
	z.out.write(groups, 16)
	for _, m := range members {
		if m != 0 {
			z.out.write(m, 16)
		}
	}
	z.symbols(moveToFront(sorted, used), len(used)+2)
}

// symbols writes symbols of an alphabet in codes that are as good as equally
// long, the same in each of the two tables that there must be at least.
func (z *bzip2Writer) symbols(list []int, alphabet int) {
	long := bits.Len(uint(alphabet - 1))
	short := 1<<long - alphabet // as many codes are one bit shorter
	selectors := (len(list) + 49) / 50
	z.out.write(2, 3)
	z.out.write(uint64(selectors), 15)
	z.out.write(0, selectors)
	for range 2 {
		z.out.write(uint64(long-min(short, 1)), 5)
		for i := range alphabet {
			if i == short && short > 0 {
				z.out.write(2, 2) // longer by one
			}
			z.out.write(0, 1)
		}
	}
	for _, s := range list {
		if s < short {
			z.out.write(uint64(s), long-1)
		} else {
			z.out.write(uint64(s+short), long)
		}
	}
}

// bzip2Sum is the CRC of bzip2: that of Ethernet, with the bits in the other
// order.
func bzip2Sum(data []byte) uint32 {
	sum := ^uint32(0)
	for _, c := range data {
		sum ^= uint32(c) << 24
		for range 8 {
			if sum>>31 != 0 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
	}
	return ^sum
}

// encodeRuns replaces what follows four equal bytes, and is equal to them, by
// its number.
func encodeRuns(data []byte) (out []byte) {
	for i := 0; i < len(data); {
		n := 1
		for n < 255 && i+n < len(data) && data[i+n] == data[i] {
			n++
		}
		out = append(out, data[i:i+min(n, 4)]...)
		if n >= 4 {
			out = append(out, byte(n-4))
		}
		i += n
	}
	return out
}

// rotate returns the last column of the sorted rotations of data, and which of
// them is data itself. Sorting doubles the compared length in every round.
func rotate(data []byte) (column []byte, origin int) {
	n := len(data)
	order, rank, next := make([]int, n), make([]int, n), make([]int, n)
	for i, c := range data {
		order[i], rank[i] = i, int(c)
	}
	for length := 0; length < n; length = max(1, 2*length) {
		compare := func(a, b int) int {
			return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(rank[(a+length)%n], rank[(b+length)%n]))
		}
		slices.SortFunc(order, compare)
		next[order[0]] = 0
		for i := 1; i < n; i++ {
			next[order[i]] = next[order[i-1]]
			if compare(order[i-1], order[i]) != 0 {
				next[order[i]] = i
			}
		}
		rank, next = next, rank
	}
	column = make([]byte, n)
	for i, start := range order {
		column[i] = data[(start+n-1)%n]
		if start == 0 {
			origin = i
		}
	}
	return column, origin
}

// moveToFront replaces each byte by its place among the used ones, of which the
// last that occurred is the first. Runs of first places become binary numbers of
// the digits 0 and 1, so that other places are one higher.
func moveToFront(data, used []byte) (list []int) {
	recent, zeros := slices.Clone(used), 0
	flush := func() {
		for ; zeros > 0; zeros = (zeros - 1) / 2 {
			list = append(list, (zeros-1)&1)
		}
	}
	for _, c := range data {
		at := bytes.IndexByte(recent, c)
		if at == 0 {
			zeros++
			continue
		}
		flush()
		list = append(list, at+1)
		copy(recent[1:at+1], recent[:at])
		recent[0] = c
	}
	flush()
	return append(list, len(used)+1) // the end of the block
}

// A bitWriter collects bits, the most significant first.
type bitWriter struct {
	data []byte
	free int // bits of the last byte
}

// write adds the lower n bits of v.
func (b *bitWriter) write(v uint64, n int) {
	for n--; n >= 0; n-- {
		if b.free == 0 {
			b.data, b.free = append(b.data, 0), 8
		}
		b.free--
		b.data[len(b.data)-1] |= byte(v>>n&1) << b.free
	}
}
