package mirrordir

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

// For tests of pure functions, also for other systems.
var (
	Resolve         = resolve
	RecordName      = recordName
	RecordedArchive = recordedArchive
	EntryURL        = func(archive string) string { return (&record{}).entry(archive).URL }
	RenderIndex     = func(old []byte) ([]byte, error) {
		i, err := parseIndex(old)
		if err != nil {
			return nil, err
		}
		return i.render()
	}
	RenderVersion = func(dir string, old []byte) ([]byte, error) {
		return renderVersion(dir, nil, old, func(string) (bool, error) { return true, nil })
	}
	ParseArchive = func(p addrs.Provider, name string) (version, platform, problem string) {
		v, on, problem := provider.ParseArchiveName(p, name)
		return v.String(), on.String(), problem
	}
)
