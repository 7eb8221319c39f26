package source

import (
	"errors"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// ParseHashes parses the stated hashes of an archive and returns them sorted, without duplicates.
// A hash without a value, such as "h1:", is ignored.
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

// SetHashes sets the stated hashes of a platform in pkg, if the list is not empty.
func SetHashes(pkg *provider.Package, platform addrs.Platform, hashes []checksum.Hash) {
	if len(hashes) == 0 {
		return
	}
	if pkg.Hashes == nil {
		pkg.Hashes = map[addrs.Platform][]checksum.Hash{}
	}
	pkg.Hashes[platform] = hashes
}
