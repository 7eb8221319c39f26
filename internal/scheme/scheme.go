// Package scheme has the hash schemes of packages, and the limits of the documents that state hashes.
package scheme

import (
	"crypto/sha256"
	"hash"
	"slices"
)

// L1 is the scheme of a directory of a module with symbolic links.
const L1 = "l1"

// The maximum sizes of documents in bytes.
const (
	MaxSums      = 1 << 20  // a SHA256SUMS document
	MaxSignature = 64 << 10 // a signature
)

// A Scheme hashes the bytes of an archive. Its hashes are "NAME:" and lower-case hex.
type Scheme struct {
	Name string
	Size int // of a digest in bytes
	New  func() hash.Hash
}

// Archive are the schemes. A producer computes all of them, and SHA256SUMS may list each. Only a test changes it.
var Archive = []Scheme{{"zh", sha256.Size, sha256.New}}

// Named returns the scheme with a name, and Sized the one whose digests have a size. Without such a scheme ok is false.
func Named(name string) (s Scheme, ok bool) {
	return find(func(s Scheme) bool { return s.Name == name })
}

// Sized is described at [Named].
func Sized(size int) (s Scheme, ok bool) {
	return find(func(s Scheme) bool { return s.Size == size })
}

func find(is func(Scheme) bool) (s Scheme, ok bool) {
	if i := slices.IndexFunc(Archive, is); i >= 0 {
		return Archive[i], true
	}
	return s, false
}
