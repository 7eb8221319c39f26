// Package regserve serves the registry protocols for any source. It makes a private, caching or filtering registry
// from any [github.com/tofureg/tofureg/provider.Source], such as a
// [github.com/tofureg/tofureg/serve/mirrorserve.Cache] or a [github.com/tofureg/tofureg/provider.Multi] with
// patterns, and any [github.com/tofureg/tofureg/module.Source]. It is experimental.
//
//	upstream := &regclient.Client{}
//	http.ListenAndServeTLS(":443", cert, key, &regserve.Handler{Providers: upstream, Modules: upstream})
//
// The address registry.example.com/hashicorp/random then stands for hashicorp/random at [Handler.Host]. SHA256SUMS
// documents, signatures and keys are served unchanged, so clients verify what the publisher signed. Without them the
// status is 502, for an unpacked package 404.
//
// # Paths
//
//	/.well-known/terraform.json
//	/v1/providers/NAMESPACE/TYPE/versions
//	/v1/providers/NAMESPACE/TYPE/VERSION/download/OS/ARCH
//	/v1/providers/NAMESPACE/TYPE/VERSION/download/OS/ARCH/{archive.zip,SHA256SUMS,SHA256SUMS.sig}
//	/v1/modules/NAMESPACE/NAME/SYSTEM/versions
//	/v1/modules/NAMESPACE/NAME/SYSTEM/VERSION/download
//	/v1/modules/NAMESPACE/NAME/SYSTEM/VERSION/package
//
// Names have their canonical spelling, without escapes; other paths are not found. For the path package see
// [Handler.StreamModules].
//
// See https://opentofu.org/docs/internals/remote-service-discovery/,
// https://opentofu.org/docs/internals/provider-registry-protocol/ and
// https://opentofu.org/docs/internals/module-registry-protocol/.
package regserve
