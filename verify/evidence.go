package verify

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Evidence is what a source, such as a registry or a mirror, states about a package. In JSON,
// Sums and Signature are base64.
type Evidence struct {
	// Filename is the name of the archive in SHA256SUMS. It may be empty if Sums is.
	Filename string `json:"filename,omitempty"`

	Size int64 `json:"size,omitempty"` // stated, in bytes; if zero or less, none

	// Hashes are the stated hashes of this archive, of any scheme.
	Hashes []checksum.Hash `json:"hashes,omitempty"`

	// OthersStated says that the source states hashes for other platforms of the version.
	// AllowUnchecked does not accept a package without Hashes then.
	OthersStated bool `json:"others_stated,omitempty"`

	// Packages are the hashes that the registry of the provider's host states for the packages of
	// the version, a list for each platform, if the CLI records them. A mirror must not set it.
	Packages [][]checksum.Hash `json:"packages,omitempty"`

	// Sums is the SHA256SUMS document, and Signature its detached signature. Nil means that
	// the source names none. An empty slice that is not nil is [ErrEmpty].
	Sums      []byte `json:"sums,omitzero"`
	Signature []byte `json:"signature,omitzero"`

	// Keys are the keys that the source lists for the signature.
	Keys []Key `json:"keys,omitempty"`

	// MustBeSigned overrides AllowUnsigned and AllowUnchecked. It has no effect if
	// [Policy.NeedsEvidence] is false.
	MustBeSigned bool `json:"must_be_signed,omitempty"`

	// Want, if not empty, is the requested package as "TYPE_VERSION_OS_ARCH". Filename must be
	// Want and ".zip", optionally after "terraform-provider-" or "opentofu-provider-". If
	// empty, the source could send another signed package of the same publisher.
	Want string `json:"want,omitempty"`
}

// checkFilename checks that Filename is a valid name for the requested package.
func (ev Evidence) checkFilename(anyName bool) error {
	name := ev.Filename
	switch {
	case name == "":
		return fmt.Errorf("%w: the source states no file name", ErrFilename)
	case len(name) > 255 || !utf8.ValidString(name) || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%w: %.100q is not a plain file name", ErrFilename, name)
	case anyName || ev.Want == "" || isArchiveOf(name, ev.Want):
		return nil
	}
	return fmt.Errorf("%w: %q, want %s%s.zip; set Policy.AllowAnyName to accept any name", ErrFilename, name, archivePrefixes[0], ev.Want)
}

// archivePrefixes may stand before TYPE.
var archivePrefixes = []string{"terraform-provider-", "opentofu-provider-", ""}

// isArchiveOf reports whether name is the archive of want, TYPE_VERSION_OS_ARCH. TYPE may be
// in any case, and VERSION may start with "v". Only known prefixes may stand before TYPE,
// because a type may contain hyphens.
func isArchiveOf(name, want string) bool {
	typ, rest, _ := strings.Cut(want, "_")
	gotType, gotRest, _ := strings.Cut(name, "_")
	return strings.TrimPrefix(gotRest, "v") == rest+".zip" &&
		slices.ContainsFunc(archivePrefixes, func(prefix string) bool { return strings.EqualFold(gotType, prefix+typ) })
}
