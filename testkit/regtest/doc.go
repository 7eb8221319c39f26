// Package regtest has a registry in memory, for tests, with real archives and signatures. It is meant for 1.0.
//
//	reg := regtest.New("registry.example.com")
//	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
//	reg.AddModule(regtest.Module{Address: "acme/network/aws"})
//	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
//
// Three ways to use a [Registry]:
//
//   - [Registry.Client] returns an HTTP client that reaches the registry in this process,
//     without ports, TLS and goroutines. It suits testing/synctest.
//   - [Registry.ServeHTTP] makes it a [net/http.Handler].
//   - [Registry.ServeTLS] listens on the loopback interface, for tofu and terraform.
//
// It serves discovery, providers, modules, a network mirror and, with [Registry].Login, logins; see
// [Kind]. Files support ranges. HEAD is 404.
//
// A [Fault] changes answers. Functions panic on invalid arguments.
//
// Package [github.com/tofureg/tofureg/testkit/regcheck] checks real servers.
package regtest
