// Package oci installs providers and modules from OCI registries, as OpenTofu does: with
// the method oci_mirror of the CLI configuration, and from module locations oci://HOST/NAME.
//
//	config, err := cliconfig.Load(cliconfig.Host())
//	if err != nil {
//		return err
//	}
//	fetcher := oci.Configure(config)   // for module.Options.Fetcher
//	installer := config.Installer(dir) // installs from oci_mirror too
//
// [Client] is for programs without a CLI configuration: [Client.Mirror] returns a
// [provider.Source], and a Client is a [module.Fetcher].
//
// # Artifacts
//
// The formats are those of OpenTofu 1.12, see
// https://opentofu.org/docs/cli/oci_registries/. The tag of a provider names an index with
// the artifact type application/vnd.opentofu.provider, which has one manifest of the type
// application/vnd.opentofu.provider-target for each platform. The tag or digest of a module
// names a manifest of the type application/vnd.opentofu.modulepkg. Each of these manifests
// has exactly one layer of the media type archive/zip. A manifest of another form is a
// [*ManifestError].
//
// # Rules
//
//   - The digest and size of each manifest and each blob are compared while the bytes
//     arrive. Other content is a [*DigestError], and is never placed under a final name.
//   - Registries are asked over https. A redirect to http is [provider.ErrInsecure], before
//     any request, unless AllowHTTP is set in the settings of requests.
//   - A credential is used for the host of its repository, and for the token service that
//     this host names, over https. It is removed from redirects to another origin. VetoHost is
//     asked about each host.
//   - A document has at most [MaxManifest] bytes, and a list of tags 1000 pages.
//   - A version that has no tag is [provider.ErrNoVersion], so that [provider.Multi] asks
//     the next method. OpenTofu stops there.
//   - Helpers named by the configuration run as docker-credential-NAME, which is looked for
//     in PATH, with the environment of this process.
//
// # Cost
//
// This package is a module of its own. It adds 3 modules (oras-go, image-spec, go-digest)
// to the 14 of a program that uses [cliconfig], and 0.3 MB to its 9.0 MB.
package oci
