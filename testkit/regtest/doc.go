// Package regtest has a registry in memory, for tests, with real archives and signatures. It is meant for 1.0.
//
//	reg := regtest.New("registry.example.com")
//	reg.AddProvider(regtest.Provider{Address: "acme/alpha", Version: "1.2.0"})
//	client := &regclient.Client{Transport: &transport.Settings{HTTP: reg.Client()}}
//
// [Registry.Client] needs no ports, TLS or goroutines, also in [testing/synctest]. [Registry.ServeTLS] serves tofu
// and terraform.
//
// Functions panic on invalid arguments. Package [github.com/tofureg/tofureg/testkit/regcheck] checks real
// servers.
package regtest
