// Package regclient is the client of provider registries and module registries. It is meant for 1.0.
//
//	client := &regclient.Client{Transport: &transport.Settings{Credentials: auth.Environ(os.Environ())}}
//	random := addrs.MustParseProvider("hashicorp/random")
//	pkg, err := provider.Find(ctx, client, random, addrs.MustParseProviderConstraint("~> 3.6"), provider.Need{})
//	report, err := provider.Download(ctx, client, pkg, pkg.ArchiveName(), provider.DownloadOptions{})
//
// A [Client] is a [provider.Source] and a [module.Source]. It makes the requests of discovery, the
// [provider registry protocol] and the [module registry protocol]:
//
//	https://HOST/.well-known/terraform.json
//	PROVIDERS/NAMESPACE/TYPE/versions
//	PROVIDERS/NAMESPACE/TYPE/VERSION/download/OS/ARCH
//	MODULES/NAMESPACE/NAME/SYSTEM/versions
//	MODULES/NAMESPACE/NAME/SYSTEM/VERSION/download
//
// For modules, use [module.Download]. Programs without providers can use [github.com/tofureg/tofureg/module/registry]. To
// send the header X-Terraform-Version, as the CLIs do, see the example Headers.
//
// # Rules
//
// URLs and redirects must be https, unless AllowHTTP of [transport.Settings] is set. The token of the host in the address
// is sent to this host and its services, and across redirects to the same origin only. Archives of providers, SHA256SUMS
// documents and signatures are fetched without it, unless PackageCredentials of [transport.Settings] allows it; for
// modules see [registry.Client.OpenModule].
//
// Documents have at most 16 MiB, 100,000 versions, and 1,000 platforms of a version. Documents about a package and
// SHA256SUMS have at most 1 MiB, signatures 64 KiB. More is [failure.ErrTooLarge].
//
// # Errors
//
// Errors are as in package [provider]. If the host has no such registry, they wrap [disco.ErrNoService].
//
// If a registry answers 404, 410, 400 or 500 for a package or a location, one request for the versions finds out what is
// missing. For a version or a platform, the error wraps a [*provider.UnavailableError] or [*module.UnavailableError].
//
// [provider registry protocol]: https://opentofu.org/docs/internals/provider-registry-protocol/
// [module registry protocol]: https://opentofu.org/docs/internals/module-registry-protocol/
package regclient
