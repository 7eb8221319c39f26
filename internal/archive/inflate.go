package archive

import (
	"bufio"
	"io"
	"sync"

	"github.com/tofureg/tofureg/internal/inflate"
)

// An inflater reads deflated data. Inflaters are large, so they are reused.
type inflater struct {
	*inflate.Reader
	in *bufio.Reader
}

var inflaters = sync.Pool{New: func() any {
	in := bufio.NewReaderSize(nil, 64<<10)
	return &inflater{inflate.NewReader(in), in}
}}

// newInflater returns a reader of the deflated data in r.
func newInflater(r io.Reader) *inflater {
	f := inflaters.Get().(*inflater)
	f.in.Reset(r)
	f.Reset(f.in)
	return f
}

// rest reports whether r has data after the end of the deflated data.
func (f *inflater) rest() (bool, error) {
	_, err := f.in.ReadByte()
	if err == io.EOF {
		return false, nil
	}
	return true, err
}

// release makes f reusable. The caller must not use it again.
func (f *inflater) release() {
	f.in.Reset(nil)
	inflaters.Put(f)
}
