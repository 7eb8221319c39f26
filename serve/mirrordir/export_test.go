package mirrordir

import (
	"context"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/storage"
)

// For tests of pure functions, also for other systems.
var (
	Resolve         = resolve
	RecordName      = recordName
	RecordedArchive = recordedArchive
	EntryURL        = func(archive string) string { return (&record{}).entry(archive, "").URL }
	RenderIndex     = func(old []byte) ([]byte, error) {
		m := mirrorWith(indexName(renderOf), old)
		i, err := m.readIndex(context.Background(), renderOf)
		if err != nil {
			return nil, err
		}
		return stored.Encode(i)
	}
	RenderVersion = func(old []byte) ([]byte, error) {
		m := mirrorWith(documentName(renderOf, v0), old)
		d, err := m.readDocument(context.Background(), providerDir(renderOf), v0)
		if err != nil {
			return nil, err
		}
		return stored.Encode(d)
	}
)

var renderOf = addrs.MustParseProvider("example.com/acme/alpha")

// mirrorWith returns a mirror that has one file.
func mirrorWith(name string, data []byte) *Mirror {
	m := &Mirror{Store: &storage.Memory{}}
	if err := stored.Put(context.Background(), m.Store, name, data, ""); err != nil {
		panic(err)
	}
	return m
}

// SetNonce makes the names of uploads and the serials of documents predictable.
func SetNonce(m *Mirror, nonce func() string) { m.nonce = nonce }
