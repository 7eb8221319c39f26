package module

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/tofureg/tofureg/verify/checksum"
)

// algorithm is an algorithm that a checksum parameter can name.
type algorithm struct {
	name string
	new  func() hash.Hash
	size int
}

var algorithms = []algorithm{
	{"md5", md5.New, md5.Size},
	{"sha1", sha1.New, sha1.Size},
	{"sha256", sha256.New, sha256.Size},
	{"sha512", sha512.New, sha512.Size},
}

// canonicalChecksum returns ALGORITHM:HEX in lower case. Like go-getter, it finds a missing
// algorithm by the length.
func canonicalChecksum(s string) (canonical, reason string) {
	const form = "the checksum must be md5, sha1, sha256 or sha512, a colon, and hex digits"
	if s == "" {
		return "", ""
	}
	name, digits, found := strings.Cut(strings.ToLower(s), ":")
	switch {
	case found && name == "file":
		return "", "a checksum in another file is not supported; state the checksum itself"
	case !found:
		name, digits = "", name
	}
	sum, err := hex.DecodeString(digits)
	if err != nil {
		return "", form
	}
	for _, a := range algorithms {
		if len(sum) == a.size && (name == "" || name == a.name) {
			return a.name + ":" + digits, ""
		}
	}
	return "", form
}

// ChecksumError means that an archive does not have its stated checksum. It wraps
// [checksum.ErrMismatch].
type ChecksumError struct {
	Algorithm string // md5, sha1, sha256 or sha512
	Want, Got string // in hex
}

// Error names both checksums.
func (e *ChecksumError) Error() string {
	return fmt.Sprintf("archive does not match its location: want %s %s, got %s", e.Algorithm, e.Want, e.Got)
}

// Is matches [checksum.ErrMismatch].
func (e *ChecksumError) Is(target error) bool { return target == checksum.ErrMismatch }

// checksummer computes the checksum that a location states. The zero checksummer computes
// nothing.
type checksummer struct {
	hash.Hash
	name, want string
}

func newChecksummer(stated string) checksummer {
	name, want, _ := strings.Cut(stated, ":")
	for _, a := range algorithms {
		if a.name == name {
			return checksummer{a.new(), name, want}
		}
	}
	return checksummer{}
}

func (s checksummer) write(p []byte) {
	if s.Hash != nil {
		s.Hash.Write(p)
	}
}

func (s checksummer) check() error {
	if s.Hash == nil {
		return nil
	}
	if got := hex.EncodeToString(s.Sum(nil)); got != s.want {
		return &ChecksumError{Algorithm: s.name, Want: s.want, Got: got}
	}
	return nil
}
