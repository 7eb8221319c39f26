// Package oci installs providers and modules from OCI registries, as OpenTofu does: with the method oci_mirror of the
// CLI configuration, and from module locations oci://HOST/NAME. It also pushes them there: see
// [Client.PushProvider] and [Client.PushModule]. It is experimental.
//
//	config, err := cliconfig.Load(ctx, cliconfig.Host())
//	if err != nil {
//		return err
//	}
//	fetcher := oci.Configure(config)   // for module.Options.Fetcher
//	installer := config.Installer(dir) // installs from oci_mirror, too
//
// Without a CLI configuration, use a [Client]: [Client.Mirror] returns a [provider.Source],
// and the Client itself is a [module.Fetcher].
//
// # Artifacts
//
// The formats are the formats of OpenTofu 1.12, see
// https://opentofu.org/docs/cli/oci_registries/. The tag of a provider names an index of the
// artifact type application/vnd.opentofu.provider, with one manifest of the type
// application/vnd.opentofu.provider-target for each platform. The tag or digest of a module
// names a manifest of the type application/vnd.opentofu.modulepkg. Each of these manifests
// has exactly one layer of the media type archive/zip.
//
// # Rules
//
//   - The digest and size of each manifest and blob are verified while it arrives. Wrong
//     content is a [*DigestError] and never gets a final name.
//   - All requests use https. A redirect to http is refused with [failure.ErrInsecure],
//     unless AllowHTTP of [Client.Transport] is set. VetoHost is called for each host.
//   - A credential is sent only to the host of its repository and, over https, to the token
//     service that this host names. Redirects to another origin do not get it.
//   - A document has at most [MaxManifest] bytes, and a list of tags at most 1,000 pages and
//     100,000 versions.
//   - For a version without a tag the error is [failure.ErrNoVersion], so [provider.Multi]
//     tries the next method. OpenTofu stops there.
//   - Credential helpers run as docker-credential-NAME from PATH, with the environment of
//     this process. They are asked for the host, as Docker asks, then for its URL, as OpenTofu
//     asks. The credential of docker.io is also found as https://index.docker.io/v1/, and is sent to
//     registry-1.docker.io; OpenTofu sends none there.
//   - An upload has the limits in time of a download: Idle of [Client.Transport] is also the time
//     for the answer after the last byte.
//
// This package is a separate Go module. It adds 3 modules (oras-go, image-spec, go-digest) to
// the 14 of a program that uses [cliconfig], and 0.3 MB to its 9.0 MB.
package oci
