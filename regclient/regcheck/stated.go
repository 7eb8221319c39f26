package regcheck

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/weburl"
	"github.com/tofureg/tofureg/verify/checksum"
)

// statedPackage is an element of "packages" in a package document.
type statedPackage struct {
	Hashes []string
	Size   int64 `json:"package_size"`
}

// statedPackages checks "packages" in a package document. It may be missing, but the CLI
// refuses incomplete elements.
func (e *examiner) statedPackages(u *url.URL, packages map[string]statedPackage, shasum string) {
	if len(packages) == 0 {
		return
	}
	p := &e.pkg
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if _, err := addrs.ParsePlatform(name); err != nil {
			e.failf("%s: packages: %w", weburl.Redact(u), err)
		}
		hashes := e.statedHashes(weburl.Redact(u)+": packages: "+name, packages[name].Hashes)
		if name == p.platform.String() {
			p.stated = hashes
		}
	}
	own, ok := packages[p.platform.String()]
	if !ok {
		e.failf("%s: packages does not have %s", weburl.Redact(u), p.platform)
		return
	}
	if p.size = own.Size; p.size <= 0 {
		e.failf("%s: packages: %s: package_size is %d, want the size of the archive", weburl.Redact(u), p.platform, p.size)
	}
	if !checksum.HasScheme(p.stated, checksum.SchemeZH) {
		e.failf("%s: packages: %s has no zh hash", weburl.Redact(u), p.platform)
	}
	for _, text := range own.Hashes {
		if digest, ok := strings.CutPrefix(text, checksum.SchemeZH+":"); ok && digest != shasum {
			e.failf("%s: packages: %s: %.80q is not the shasum, with digits in the same case", weburl.Redact(u), p.platform, text)
		}
	}
}

// statedHashes checks the stated hashes of an archive.
func (e *examiner) statedHashes(where string, list []string) []checksum.Hash {
	var hashes []checksum.Hash
	for _, text := range list {
		h, err := checksum.ParseHash(text)
		switch {
		case errors.Is(err, checksum.ErrEmptyHash):
			e.note(Advice, fmt.Sprintf("%s: %v", where, err))
		case err != nil:
			e.failf("%s: %w", where, err)
		default:
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// checkable reports whether clients can compare h with an archive.
func checkable(h checksum.Hash) bool {
	return h.Scheme() == checksum.SchemeZH || h.Scheme() == checksum.SchemeH1
}
