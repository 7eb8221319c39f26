// Package regserve serves the registry protocols of OpenTofu and Terraform: a caching, filtering or
// private registry. It serves any [github.com/tofureg/tofureg/provider.Source], such as a
// [github.com/tofureg/tofureg/mirrorclient/mirrorserve.Cache] or a
// [github.com/tofureg/tofureg/provider.Multi] with patterns, and any
// [github.com/tofureg/tofureg/module.Source].
//
//	upstream := &regclient.Client{}
//	http.ListenAndServeTLS(":443", cert, key, &regserve.Handler{Providers: upstream, Modules: upstream})
//
// The address registry.example.com/hashicorp/random then stands for hashicorp/random at
// [Handler.Host]. SHA256SUMS documents, signatures and keys are served unchanged, so clients
// verify what the publisher signed. Clients require these: without them the status is 502, for an
// unpacked package 404.
//
// See https://opentofu.org/docs/internals/remote-service-discovery/,
// https://opentofu.org/docs/internals/provider-registry-protocol/ and
// https://opentofu.org/docs/internals/module-registry-protocol/.
package regserve
