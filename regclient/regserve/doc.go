// Package regserve serves the registry protocols of OpenTofu and Terraform for any
// [github.com/tofureg/tofureg/provider.Source] and
// [github.com/tofureg/tofureg/module.Source]: a caching, filtering or private registry.
//
//	upstream := &regclient.Client{}
//	http.ListenAndServeTLS(":443", cert, key, &regserve.Handler{Providers: upstream, Modules: upstream})
//
// With it, registry.example.com/hashicorp/random is the package that the source has as
// hashicorp/random at [Handler.Host]. SHA256SUMS documents, signatures and keys pass
// through unchanged, so clients verify what the publisher signed. Clients accept a
// registry only if its packages are signed: a package without a SHA256SUMS document,
// signature or key is answered with status 502.
//
// The protocols are described at
// https://opentofu.org/docs/internals/remote-service-discovery/,
// https://opentofu.org/docs/internals/provider-registry-protocol/ and
// https://opentofu.org/docs/internals/module-registry-protocol/.
package regserve
