// Package regclient speaks the provider registry protocol.
//
// A registry serves the providers of one host. Its client asks three questions,
// each a GET:
//
//	https://HOST/.well-known/terraform.json           where are the services?
//	PROVIDERS/NAMESPACE/TYPE/versions                 which versions are there?
//	PROVIDERS/NAMESPACE/TYPE/VERSION/download/OS/ARCH  where is the package?
//
// The last answer points to the archive, to a SHA256SUMS document and to a detached
// OpenPGP signature over it, and lists the keys that may sign. The protocol is
// described at https://opentofu.org/docs/internals/provider-registry-protocol/.
//
// A [Client] is a [provider.Source], so the verbs of package provider work on it:
//
//	client := &regclient.Client{Credentials: auth.Environ(os.Environ())}
//	versions, err := client.ProviderVersions(ctx, addrs.MustParseProvider("hashicorp/random"))
//	version, err := versions.Newest(addrs.MustParseProviderConstraint("~> 3.6"))
//	pkg, err := client.ProviderPackage(ctx, versions.Provider, version, addrs.CurrentPlatform())
//	report, err := provider.Download(ctx, client, pkg, pkg.ArchiveName(), provider.Options{})
//
// # Rules
//
// All is https, each redirect too; [Client.AllowHTTP] opts out. A token belongs to
// the host that the user named. It goes to that host's discovery and to the
// registry that the host's document declares, wherever that is, but never to
// archives, sums and signatures unless [Client.PackageCredentials] says so, never
// over http, and across a redirect only to the same scheme, host and port.
//
// Relative URLs in an answer are relative to the URL that answered last. Media types
// are not checked, since static file servers send none or wrong ones.
//
// # Limits
//
// Documents may have 16 MiB, SHA256SUMS 4 MiB, signatures 64 KiB; a list 100,000
// versions, a version 1,000 platforms. What is larger is refused as
// [provider.ErrTooLarge], never cut.
//
// # Errors
//
// Methods return a [*provider.Error]. Its cause is one of the sentinels of package
// provider: ErrNotFound for an unknown provider, ErrNoVersion and ErrNoPlatform
// within a [*provider.UnavailableError] that tells what there is, ErrUnauthorized,
// ErrInsecure, ErrTooLarge. It is [disco.ErrNoService] where the host has no provider
// registry. A context that ended is found by errors.Is as usual.
package regclient
