package mirrordir

import "github.com/tofureg/tofureg/addrs"

// For tests that look at what another system would do, and at pure functions.
var (
	Nameable     = nameable
	URLOf        = urlOf
	Resolve      = resolve
	ParseArchive = func(p addrs.Provider, name string) (version, platform, problem string) {
		k, problem := parseArchive(p, name)
		return k.version.String(), k.platform.String(), problem
	}
)
