// Package regclient speaks the protocols of provider registries and module
// registries.
//
// A registry serves the providers or the modules of one host. Its client asks where
// the services of the host are, which versions there are, and where the package of
// one is, each a GET:
//
//	https://HOST/.well-known/terraform.json
//	PROVIDERS/NAMESPACE/TYPE/versions
//	PROVIDERS/NAMESPACE/TYPE/VERSION/download/OS/ARCH
//	MODULES/NAMESPACE/NAME/SYSTEM/versions
//	MODULES/NAMESPACE/NAME/SYSTEM/VERSION/download
//
// About a provider the last answer points to an archive, to a SHA256SUMS document and
// to a detached OpenPGP signature over it, and lists the keys that may sign. About a
// module it is a location, of an archive, a git repository or something else, and
// says nothing about checksums. See
// https://opentofu.org/docs/internals/provider-registry-protocol/ and
// https://opentofu.org/docs/internals/module-registry-protocol/.
//
// A [Client] is a [provider.Source] and a [module.Source], so the verbs of those
// packages work on it:
//
//	client := &regclient.Client{Transport: &transport.Client{Credentials: auth.Environ(os.Environ())}}
//	versions, err := client.ProviderVersions(ctx, addrs.MustParseProvider("hashicorp/random"))
//	version, err := versions.Newest(addrs.MustParseProviderConstraint("~> 3.6"))
//	pkg, err := client.ProviderPackage(ctx, versions.Provider, version, addrs.CurrentPlatform())
//	report, err := provider.Download(ctx, client, pkg, pkg.ArchiveName(), provider.Options{})
//
//	source := addrs.MustParseModuleSource("terraform-aws-modules/iam/aws//modules/iam-user")
//	versions, err := client.ModuleVersions(ctx, source.Module)
//	version, err := versions.Newest(addrs.MustParseModuleConstraint("~> 5.0"))
//	report, err := module.Download(ctx, client, source, version, "modules/iam", module.Options{Git: &module.Git{}})
//
// # Rules
//
// All is https, each redirect too; AllowHTTP of [transport.Client] opts out. A token belongs to
// the host that the user named. It goes to that host's discovery and to the
// registries that the host's document declares, wherever they are, but never over
// http, and across a redirect only to the same scheme, host and port. Archives, sums
// and signatures of providers are fetched without it unless
// PackageCredentials of it says so, and packages of modules unless the registry
// both asks for it and serves them itself, see [Client.OpenModule]. Users and passwords,
// as of a netrc file, go to packages of modules only, and only if the caller wants that,
// see [Client.ModuleCredentials].
//
// Relative URLs in an answer about a provider are relative to the URL that answered
// last; the location of a module is relative to the URL that was asked. Media types
// are not checked, since static file servers send none or wrong ones.
//
// The header X-Terraform-Version, which the CLIs send, is not sent, because a library has
// no version of OpenTofu or Terraform to state. The example Headers adds it.
//
// # Limits
//
// Documents may have 16 MiB, SHA256SUMS 4 MiB, signatures 64 KiB; a list 100,000
// versions, a version 1,000 platforms. What is larger is refused as
// [provider.ErrTooLarge], never cut. Where a list of module versions comes in pages,
// 100 of them are read, and a warning says that there are more; the pages may have 16 MiB
// together.
//
// # Errors
//
// Methods return a [*provider.Error], which is also called [module.Error]. Its cause
// is one of the sentinels of packages provider and module: ErrNotFound for an unknown
// provider or module, ErrNoVersion and ErrNoPlatform within an UnavailableError that
// tells what there is, ErrUnauthorized, ErrInsecure, ErrTooLarge. It is
// [disco.ErrNoService] where the host has no such registry. A context that ended is
// found by errors.Is as usual.
package regclient
