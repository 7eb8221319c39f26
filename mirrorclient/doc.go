// Package mirrorclient speaks the provider network mirror protocol.
//
// A mirror serves providers of any origin from one base URL. Its client asks two
// questions, each a GET of a JSON document below that URL:
//
//	HOST/NAMESPACE/TYPE/index.json    which versions are there?
//	HOST/NAMESPACE/TYPE/VERSION.json  where are the archives, and what are their hashes?
//
// HOST is the host in the provider's address, in ASCII and with its port, if it has one.
// The base URL itself is never asked. The protocol is described at
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/.
//
// A [Client] is a provider.Source, so the verbs of package provider work on it:
//
//	mirror := &mirrorclient.Client{BaseURL: "https://mirror.example.com/providers/"}
//	versions, err := mirror.ProviderVersions(ctx, addrs.MustParseProvider("hashicorp/random"))
//	version, err := versions.Newest(addrs.MustParseProviderConstraint("~> 3.6"))
//	pkg, err := mirror.ProviderPackage(ctx, versions.Provider, version, addrs.CurrentPlatform())
//	policy := verify.Policy{AllowUnsigned: true} // see below
//	report, err := provider.Download(ctx, mirror, pkg, pkg.ArchiveName(), provider.Options{Policy: policy})
//
// # Trust
//
// The protocol has no signatures, so the zero verify.Policy accepts nothing from a
// mirror, and its error names the field that would. Which one is right depends on what
// the caller knows:
//
//   - Policy.Accept with the hashes of a lock file: the mirror need not be trusted.
//   - Policy.AllowUnsigned: the archive must have a hash that the mirror states. The
//     mirror and the way to it are trusted.
//   - Policy.AllowUnchecked: for mirrors that state no hashes. Nothing is checked where
//     they state none; hashes of unknown schemes alone are refused.
//
// Of several hashes of a scheme one must match, and hashes of scheme zh are compared
// before those of scheme h1. Hashes that a mirror states for other platforms never
// accept a package; they are in provider.Package.Hashes under their own platforms.
//
// # Rules
//
// All is https, each redirect too; AllowHTTP of [transport.Client] opts out. The token of the
// mirror's own host and port goes to the documents of the mirror, and nowhere else: never
// to archives unless PackageCredentials of [transport.Client] says so, never over http, and across a
// redirect only to the same scheme, host and port. The hosts of the providers play no
// part in this.
//
// Documents must have the media type application/json, as the OpenTofu and Terraform
// CLIs demand of a mirror. URLs of archives are relative to the URL that answered last.
// A version that the mirror does not know in its canonical form is asked for as the mirror
// lists it.
//
// # Limits
//
// Documents may have 16 MiB; a list 100,000 versions, a version 1,000 platforms, each of
// them 100 hashes. What is larger is refused as provider.ErrTooLarge, never cut.
//
// # Errors
//
// Methods return a *provider.Error. Its cause is one of the sentinels of package
// provider: ErrNotFound for a provider that the mirror does not hold, ErrNoVersion and
// ErrNoPlatform within a *provider.UnavailableError that tells what there is,
// ErrUnauthorized, ErrInsecure, ErrTooLarge. A document that is not what the protocol
// says is none of these, so that nobody takes a broken mirror for an empty one. A context
// that ended is found by errors.Is as usual.
package mirrorclient
