// Package regtest provides a registry in memory, for tests of programs that use OpenTofu or
// Terraform registries and mirrors. It is like [net/http/httptest] for registries.
//
//	reg := regtest.New("registry.example.com")
//	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
//	reg.AddModule(regtest.Module{Address: "acme/network/aws"})
//	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
//
// Archives, SHA256SUMS documents and OpenPGP signatures are real. Contents are the same in
// every run, keys are not.
//
// A [Registry] can be used in three ways:
//
//   - [Registry.Client] returns an HTTP client that reaches the registry in this process,
//     without ports, TLS and goroutines. It suits testing/synctest.
//   - [Registry.ServeHTTP] makes it an [net/http.Handler].
//   - [Registry.ServeTLS] listens on the loopback interface, for tofu and terraform.
//
// It speaks discovery and the protocols of provider registries, module registries, network
// mirrors and, with [Registry.Login], logins; see [Kind]. Files have strong entity tags and
// support ranges. HEAD is answered with 404.
//
// [Provider] and [Module] describe what is served, valid or not. A [Fault] delays, breaks,
// refuses, redirects or alters answers. Invalid arguments, such as a malformed address, cause
// a panic. Requests never do.
//
// Package [github.com/tofureg/tofureg/regclient/regcheck] checks a real server. Package
// [github.com/tofureg/tofureg/regclient/regtest/vectors] has test cases in JSON.
//
// See https://opentofu.org/docs/internals/remote-service-discovery/,
// https://opentofu.org/docs/internals/provider-registry-protocol/,
// https://opentofu.org/docs/internals/module-registry-protocol/,
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/ and
// https://opentofu.org/docs/internals/login-protocol/.
package regtest
