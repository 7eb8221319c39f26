package bench

import (
	"bufio"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	kflate "github.com/klauspost/compress/flate"

	"github.com/tofureg/tofureg/internal/archive/inflate"
)

// BenchmarkInflate decodes each stream with the three decoders in turn. The
// metrics are the speed of package inflate in MB of output each second of
// processor time, and by how much it is faster than the others: medians of all
// rounds.
func BenchmarkInflate(b *testing.B) {
	for _, s := range streams(b) {
		b.Run(s.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			decoders := newDecoders()
			var speeds [3][]float64
			for b.Loop() {
				for i, d := range decoders {
					speeds[i] = append(speeds[i], speed(b, d, s))
				}
			}
			var median [3]float64
			for i := range speeds {
				slices.Sort(speeds[i])
				median[i] = speeds[i][len(speeds[i])/2]
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median[0], "MB/s")
			b.ReportMetric(median[0]/median[1], "x-klauspost")
			b.ReportMetric(median[0]/median[2], "x-flate")
		})
	}
}

// A decoder reads from the reader that reset was given.
type decoder struct {
	io.Reader
	reset func(*bufio.Reader)
}

func newDecoders() [3]decoder {
	in := bufio.NewReader(bytes.NewReader(nil))
	ours, k, std := inflate.NewReader(in), kflate.NewReader(in), flate.NewReader(in)
	return [3]decoder{
		{ours, ours.Reset},
		{k, func(in *bufio.Reader) { _ = k.(kflate.Resetter).Reset(in, nil) }},
		{std, func(in *bufio.Reader) { _ = std.(flate.Resetter).Reset(in, nil) }},
	}
}

var (
	input  = bufio.NewReaderSize(nil, 64<<10)
	output = make([]byte, 256<<10)
)

// speed decodes s, a small one several times, and returns MB/s.
func speed(b *testing.B, d decoder, s stream) float64 {
	b.Helper()
	start, err := now()
	if err != nil {
		b.Fatal(err)
	}
	total := 0
	for total < 16<<20 {
		input.Reset(bytes.NewReader(s.packed))
		d.reset(input)
		n := 0
		for {
			k, err := d.Read(output)
			n += k
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if n != s.size {
			b.Fatalf("%s: %d bytes, want %d", s.name, n, s.size)
		}
		total += n
	}
	end, err := now()
	if err != nil {
		b.Fatal(err)
	}
	return float64(total) / 1e6 / max(end-start, time.Microsecond).Seconds()
}

// A stream is deflated content of size bytes.
type stream struct {
	name   string
	packed []byte
	size   int
}

func (s stream) String() string {
	return fmt.Sprintf("%s: %d of %d bytes", s.name, len(s.packed), s.size)
}
