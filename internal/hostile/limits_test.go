package hostile_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/regclient/regtest"
)

// TestDocumentLimits: every document may have as many bytes as its limit, and one byte more is an
// error, for which no second request is made. The bytes are counted after decompression, whether the
// length is declared or not.
func TestDocumentLimits(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		if op.streams() {
			continue // limited by what the caller of a download says
		}
		for name, f := range map[string]regtest.Fault{
			"length declared":   {},
			"length unknown":    {Header: http.Header{"Content-Length": nil}},
			"compressed":        {Gzip: true},
			"compressed, small": {Gzip: true, Header: http.Header{"Content-Length": {"100"}}}, // a lie, which the transport ends
		} {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				// Large documents take long to compress and to parse, so one for each client
				// is enough.
				large := op.limit > 4<<20
				spare := large && op.kind&(regtest.Versions|regtest.MirrorIndex) == 0
				for _, more := range []int64{0, 1} {
					if name != "length declared" && more == 0 && large || name == "compressed" && spare ||
						name == "compressed, small" && (more == 0 || large) {
						continue
					}
					w := newWorld(t)
					if name == "compressed, small" {
						w.retries = -1
					}
					run := op.ready(t, w)
					f := f
					f.Kind, f.PadTo = op.kind, op.limit+more
					none := more == 0 && spare
					if none { // so that all are read, and then found to be no JSON
						f.Raw = []byte("none")
					}
					w.reg.AddFault(f)
					_, err := run(t.Context())
					switch {
					case none:
						if typed(t, err); errors.Is(err, failure.ErrTooLarge) {
							t.Errorf("exactly the limit, and no JSON: %v", err)
						}
					case more == 0 && err != nil:
						t.Errorf("exactly the limit: %v", err)
					case more == 1 && name == "compressed, small":
						typed(t, err)
					case more == 1 && (!errors.Is(err, failure.ErrTooLarge) || typed(t, err).attempts != 1):
						t.Errorf("one byte more: %v", err)
					}
					for _, q := range w.reg.Requests() {
						if op.is(q) && more == 1 && name == "length declared" && q.Sent != 0 {
							t.Errorf("%d bytes were read, although the length was declared", q.Sent)
						}
					}
				}
			})
		}
	}
}

// TestErrorBodies: of the body of an error at most 4 KiB are read, after decompression.
func TestErrorBodies(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for _, f := range []regtest.Fault{{}, {Gzip: true}, {Header: http.Header{"Content-Length": nil}}} {
			w := newWorld(t)
			w.retries = -1
			run := op.ready(t, w)
			f.Kind, f.Status, f.PadTo = op.kind, 400, 1<<20
			w.reg.AddFault(f)
			_, err := run(t.Context())
			typed(t, err)
			for _, q := range w.reg.Requests() {
				if most := int64(4 << 10); op.is(q) && (q.Sent > most || !f.Gzip && q.Sent != most) {
					t.Errorf("%s: %d bytes of the error were read", op.name, q.Sent)
				}
			}
		}
	}
}
