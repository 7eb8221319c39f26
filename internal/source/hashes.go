package source

import (
	"errors"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// ParseHashes parses the hashes that a source states of one archive, sorted and each
// once. One without a value, as "h1:", is as good as absent.
func ParseHashes(list []string) ([]verify.Hash, error) {
	var hashes []verify.Hash
	for _, text := range list {
		h, err := verify.ParseHash(text)
		if errors.Is(err, verify.ErrEmptyHash) {
			continue
		}
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, h)
	}
	slices.SortFunc(hashes, verify.Hash.Compare)
	return slices.Compact(hashes), nil
}

// SetHashes states the hashes of a platform in pkg, if there are any.
func SetHashes(pkg *provider.Package, platform addrs.Platform, hashes []verify.Hash) {
	if len(hashes) == 0 {
		return
	}
	if pkg.Hashes == nil {
		pkg.Hashes = map[addrs.Platform][]verify.Hash{}
	}
	pkg.Hashes[platform] = hashes
}
