package verify

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tofureg/tofureg/verify/checksum"
)

// Evidence is what a source says about one package: claims, until [Policy.Judge]
// has compared them with the package and with each other. It can be stored as JSON,
// for audits; Sums and Signature are base64 there.
type Evidence struct {
	// Filename is the name of the archive in the SHA256SUMS document. It may be
	// empty if Sums is.
	Filename string `json:"filename,omitempty"`

	// Size of the archive in bytes as stated; zero or negative: not stated.
	Size int64 `json:"size,omitempty"`

	// Hashes are those that the source states for this platform's archive, never
	// those of other platforms. They may be of any scheme.
	Hashes []checksum.Hash `json:"hashes,omitempty"`

	// OthersStated tells that the source states hashes for other platforms of the
	// version. If Hashes is empty then, [Policy.AllowUnchecked] does not accept the
	// package: a hash that is missing among others was perhaps removed.
	OthersStated bool `json:"others_stated,omitempty"`

	// Sums is the SHA256SUMS document and Signature a detached signature of it, as
	// they were fetched. Nil means that the source names no such document. If the source
	// names one and it is empty, the slice is empty and not nil: that is [ErrEmpty].
	Sums      []byte `json:"sums,omitzero"`
	Signature []byte `json:"signature,omitzero"`

	// Keys are those that may have made the signature, as the source lists them.
	Keys []Key `json:"keys,omitempty"`

	// MustBeSigned refuses the package without a signature, whatever AllowUnsigned and
	// AllowUnchecked of the policy say. It has no effect on a policy that does not look at
	// Sums and Signature, see [Policy.NeedsEvidence].
	MustBeSigned bool `json:"must_be_signed,omitempty"`

	// Want says what was asked for, "TYPE_VERSION_OS_ARCH". If it is not empty,
	// Filename must be that name: nothing else in the protocol keeps a source from
	// answering with another version, platform or provider of the same publisher,
	// correctly signed. Versions are compared as text: who asked for 1.0.0 and takes
	// it under the name 1.0 says 1.0 here.
	Want string `json:"want,omitempty"`
}

// checkFilename makes sure that Filename can stand for what was asked for.
func (ev Evidence) checkFilename(anyName bool) error {
	name := ev.Filename
	switch {
	case name == "":
		return fmt.Errorf("%w: the source does not name the archive", ErrFilename)
	case len(name) > 255 || !utf8.ValidString(name) || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("%w: %.100q is no plain file name", ErrFilename, name)
	case anyName || ev.Want == "" || isArchiveOf(name, ev.Want):
		return nil
	}
	return fmt.Errorf("%w: %q is not %s.zip with or without %q before it; Policy.AllowAnyName takes any name", ErrFilename, name, ev.Want, archivePrefixes[0])
}

// archivePrefixes may stand before TYPE.
var archivePrefixes = []string{"terraform-provider-", "opentofu-provider-", ""}

// isArchiveOf reports whether name is that of the archive of want,
// TYPE_VERSION_OS_ARCH. The type may be in any case, as it is in the address, and
// the version may have a v before it. A type may contain hyphens, so what stands
// before it must be nothing or a known prefix.
func isArchiveOf(name, want string) bool {
	typ, rest, _ := strings.Cut(want, "_")
	gotType, gotRest, _ := strings.Cut(name, "_")
	return strings.TrimPrefix(gotRest, "v") == rest+".zip" &&
		slices.ContainsFunc(archivePrefixes, func(prefix string) bool { return strings.EqualFold(gotType, prefix+typ) })
}
