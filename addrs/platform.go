package addrs

import (
	"cmp"
	"runtime"
	"strings"
	"unique"
)

// Platform is an operating system and an architecture, named as in Go.
type Platform struct{ os, arch string }

// maxWord is the maximum length of an operating system or an architecture, in bytes.
const maxWord = 32

// ParsePlatform parses OS_ARCH. Both are 1 to 32 ASCII letters and digits, whose case counts.
func ParsePlatform(s string) (Platform, error) {
	os, arch, ok := strings.Cut(s, "_")
	if !ok {
		return Platform{}, refuse(kindPlatform, s, "it must be OS_ARCH, such as linux_amd64")
	}
	return NewPlatform(os, arch)
}

// MustParsePlatform is [ParsePlatform], but panics.
func MustParsePlatform(s string) Platform { return must(ParsePlatform(s)) }

// NewPlatform checks as [ParsePlatform] does.
func NewPlatform(os, arch string) (Platform, error) {
	for _, word := range []struct{ name, text string }{{"operating system", os}, {"architecture", arch}} {
		if !consists(word.text, maxWord, isAlnum) {
			return Platform{}, refuse(kindPlatform, os+"_"+arch, "the "+word.name+" must be 1 to 32 ASCII letters and digits")
		}
	}
	// Lists of thousands of versions share the memory of the words.
	return Platform{unique.Make(os).Value(), unique.Make(arch).Value()}, nil
}

// CurrentPlatform returns the platform of this program.
func CurrentPlatform() Platform { return Platform{runtime.GOOS, runtime.GOARCH} }

// OS returns the operating system.
func (p Platform) OS() string { return p.os }

// Arch returns the architecture.
func (p Platform) Arch() string { return p.arch }

// String returns OS_ARCH.
func (p Platform) String() string {
	if p.IsZero() {
		return ""
	}
	return p.os + "_" + p.arch
}

// IsZero reports whether p is zero.
func (p Platform) IsZero() bool { return p == Platform{} }

// Compare orders by part.
func (p Platform) Compare(o Platform) int {
	return cmp.Or(strings.Compare(p.os, o.os), strings.Compare(p.arch, o.arch))
}

func (p Platform) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p *Platform) UnmarshalText(b []byte) error { return unmarshal(p, b, ParsePlatform) }
