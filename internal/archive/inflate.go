package archive

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// inflaters hands out readers of deflated data and takes them back: one costs
// about as much memory as the usual small file has bytes.
type inflaters struct{ pool sync.Pool }

// open returns a reader of what r holds deflated.
func (p *inflaters) open(r io.Reader) *inflater {
	in, ok := p.pool.Get().(*inflater)
	if !ok {
		in = &inflater{owner: p, buf: bufio.NewReaderSize(r, 64<<10)}
		in.ReadCloser = flate.NewReader(in.buf)
		return in
	}
	in.buf.Reset(r)
	// Reset has no error without a dictionary.
	_ = in.ReadCloser.(flate.Resetter).Reset(in.buf, nil)
	return in
}

type inflater struct {
	io.ReadCloser
	buf   *bufio.Reader
	owner *inflaters
}

// rest reports whether something follows the end of the deflated data.
func (in *inflater) rest() (bool, error) {
	_, err := in.buf.ReadByte()
	if err == io.EOF {
		return false, nil
	}
	return true, err
}

// Close gives the inflater back; it must not be used again, and a second Close
// must not give it to two.
func (in *inflater) Close() error {
	if in.owner == nil {
		return nil
	}
	owner := in.owner
	in.owner = nil
	in.buf.Reset(nil)
	owner.pool.Put(&inflater{ReadCloser: in.ReadCloser, buf: in.buf, owner: owner})
	return nil
}

// isCorrupt reports whether err says that deflated data makes no sense.
func isCorrupt(err error) bool {
	if _, ok := errors.AsType[flate.CorruptInputError](err); ok {
		return true
	}
	_, ok := errors.AsType[flate.InternalError](err)
	return ok
}
