package archive

import (
	"bufio"
	"io"
	"sync"

	"github.com/tofureg/tofureg/internal/inflate"
)

// An inflater reads deflated data. It costs more memory than the usual small
// file has bytes, so it is used again.
type inflater struct {
	*inflate.Reader
	in *bufio.Reader
}

var inflaters = sync.Pool{New: func() any {
	in := bufio.NewReaderSize(nil, 64<<10)
	return &inflater{inflate.NewReader(in), in}
}}

// newInflater returns a reader of what r holds deflated.
func newInflater(r io.Reader) *inflater {
	f := inflaters.Get().(*inflater)
	f.in.Reset(r)
	f.Reset(f.in)
	return f
}

// rest reports whether something follows the end of the deflated data.
func (f *inflater) rest() (bool, error) {
	_, err := f.in.ReadByte()
	if err == io.EOF {
		return false, nil
	}
	return true, err
}

// release gives f back; it must not be used again.
func (f *inflater) release() {
	f.in.Reset(nil)
	inflaters.Put(f)
}
