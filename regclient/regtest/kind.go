package regtest

import (
	"math/bits"
	"strings"
)

// A Kind is what a request asks for. Kinds are bits: a set of them is their OR,
// as in Sums|Signature.
type Kind uint

// The kinds of requests, each a bit of its own.
const (
	Discovery Kind = 1 << iota // the discovery document
	Versions                   // the list of a provider's versions
	Package                    // the metadata of one package of a provider
	Sums                       // a SHA256SUMS document
	Signature                  // the signature over it
	Archive                    // the package itself

	ModuleVersions // the list of a module's versions
	ModuleLocation // where the package of a module is
	ModulePage     // a page that leads on to the package
	ModulePackage  // the package of a module

	MirrorIndex   // the list of a provider's versions at a network mirror
	MirrorVersion // the list of the archives of one version there

	LoginAuthz // the page of the identity server to which a browser is sent
	LoginToken // where a program gets its token for the code from there

	Other // a path that the registry does not know
)

// Sets of kinds: what the APIs of registries and mirrors answer, what their file
// stores do, and what the identity server does. Archives of a mirror are of the kind Archive too.
const (
	Metadata        Kind = Versions | Package              // of providers
	Downloads       Kind = Sums | Signature | Archive      // of providers
	ModuleMetadata  Kind = ModuleVersions | ModuleLocation // of modules
	ModuleDownloads Kind = ModulePage | ModulePackage      // of modules
	MirrorMetadata  Kind = MirrorIndex | MirrorVersion     // of a mirror
	LoginEndpoints  Kind = LoginAuthz | LoginToken         // of the identity server
)

// String returns the names of the kinds in k, as "sums|signature"; "any" for
// zero.
func (k Kind) String() string {
	names := [...]string{
		"discovery", "versions", "package", "sums", "signature", "archive",
		"module versions", "module location", "module page", "module package",
		"mirror index", "mirror version", "login authz", "login token", "other",
	}
	var list []string
	for rest := k; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros(uint(rest)); i < len(names) {
			list = append(list, names[i])
		}
	}
	if len(list) == 0 {
		return "any"
	}
	return strings.Join(list, "|")
}

// has reports whether k, where zero means all kinds, contains kind.
func (k Kind) has(kind Kind) bool { return k == 0 || k&kind != 0 }
