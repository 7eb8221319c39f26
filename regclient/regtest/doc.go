// Package regtest provides a registry in memory, for tests of programs that use OpenTofu or
// Terraform registries and mirrors. It is like [net/http/httptest] for registries.
//
//	reg := regtest.New("registry.example.com")
//	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
//	reg.AddModule(regtest.Module{Address: "acme/network/aws"})
//	client := &regclient.Client{Transport: &transport.Client{HTTP: reg.Client()}}
//
// Archives, SHA256SUMS documents and OpenPGP signatures are real.
//
// A [Registry] can be used in three ways:
//
//   - [Registry.Client] returns an HTTP client that reaches the registry in this process,
//     without ports, TLS and goroutines. It suits testing/synctest.
//   - [Registry.ServeHTTP] makes it an [net/http.Handler].
//   - [Registry.ServeTLS] listens on the loopback interface, for tofu and terraform.
//
// It speaks discovery and the protocols of provider registries, module registries, network mirrors
// and, with [Registry.Login], logins; see [Kind]. Files support ranges. HEAD is answered with 404.
//
// [Provider] and [Module] describe what is served, valid or not. A [Fault] changes answers.
// Functions panic on invalid arguments, such as a malformed address.
//
// Package [github.com/tofureg/tofureg/regclient/regtest/vectors] has test cases in JSON for other
// languages, and package [github.com/tofureg/tofureg/regclient/regcheck] checks real servers.
package regtest
