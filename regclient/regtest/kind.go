package regtest

import (
	"math/bits"
	"strings"
)

// A Kind is a kind of request, or a set of kinds, such as Sums|Signature.
type Kind uint

// The kinds of requests, with GET except [LoginToken].
const (
	Discovery Kind = 1 << iota // /.well-known/terraform.json
	Versions                   // /v1/providers/NAMESPACE/TYPE/versions
	Package                    // /v1/providers/NAMESPACE/TYPE/VERSION/download/OS/ARCH
	Sums                       // …_SHA256SUMS
	Signature                  // …_SHA256SUMS.sig
	Archive                    // ….zip, also of a mirror

	ModuleVersions // /v1/modules/NAMESPACE/NAME/SYSTEM/versions
	ModuleLocation // /v1/modules/NAMESPACE/NAME/SYSTEM/VERSION/download
	ModulePage     // …/page-1?terraform-get=1
	ModulePackage  // ….tar.gz

	MirrorIndex   // /mirror/HOST/NAMESPACE/TYPE/index.json
	MirrorVersion // /mirror/HOST/NAMESPACE/TYPE/VERSION.json

	LoginAuthz // /oauth/authorization, by a browser
	LoginToken // POST /oauth/token

	Other // any other path
)

// Sets of kinds.
const (
	Metadata        Kind = Versions | Package              // of providers
	Downloads       Kind = Sums | Signature | Archive      // of providers
	ModuleMetadata  Kind = ModuleVersions | ModuleLocation // of modules
	ModuleDownloads Kind = ModulePage | ModulePackage      // of modules
	MirrorMetadata  Kind = MirrorIndex | MirrorVersion     // of a mirror
	LoginEndpoints  Kind = LoginAuthz | LoginToken         // of the identity server
)

// String returns, for example, "sums|signature", or "any" for zero.
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

// has reports whether k contains kind. Zero contains all kinds.
func (k Kind) has(kind Kind) bool { return k == 0 || k&kind != 0 }
