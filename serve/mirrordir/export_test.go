package mirrordir

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/provider"
)

// For tests of pure functions, also for other systems.
var (
	Resolve         = resolve
	RecordName      = recordName
	RecordedArchive = recordedArchive
	EntryURL        = func(archive string) string { return (&record{}).entry(archive, "").URL }
	RenderIndex     = func(old []byte) ([]byte, error) {
		i, err := parseIndex(stored.Document{Data: old})
		if err != nil {
			return nil, err
		}
		return i.render()
	}
	RenderVersion = func(old []byte) ([]byte, error) {
		d, err := parseDocument(stored.Document{Data: old})
		if err != nil {
			return nil, err
		}
		return d.render()
	}
	ParseArchive = func(p addrs.Provider, name string) (version, platform, problem string) {
		v, on, problem := provider.ParseArchiveName(p, name)
		return v.String(), on.String(), problem
	}
)

// SetNonce makes the names of uploads and the serials of documents predictable.
func SetNonce(m *Mirror, nonce func() string) { m.nonce = nonce }
