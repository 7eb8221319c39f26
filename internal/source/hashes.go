package source

import (
	"errors"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ParseHashes parses the hashes that a source states of one archive, sorted and each
// once. One without a value, as "h1:", is as good as absent.
func ParseHashes(list []string) ([]checksum.Hash, error) {
	var hashes []checksum.Hash
	for _, text := range list {
		h, err := checksum.ParseHash(text)
		if errors.Is(err, checksum.ErrEmptyHash) {
			continue
		}
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	return checksum.Sorted(hashes), nil
}

// SetHashes states the hashes of a platform in pkg, if there are any.
func SetHashes(pkg *provider.Package, platform addrs.Platform, hashes []checksum.Hash) {
	if len(hashes) == 0 {
		return
	}
	if pkg.Hashes == nil {
		pkg.Hashes = map[addrs.Platform][]checksum.Hash{}
	}
	pkg.Hashes[platform] = hashes
}
