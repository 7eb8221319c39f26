// Package registry is the client of module registries. It is meant for 1.0.
//
//	client := &registry.Client{Transport: &transport.Settings{Credentials: auth.Environ(os.Environ())}}
//	vpc, err := addrs.ParseModuleSource("app.terraform.io/acme/vpc/aws")
//	report, err := module.Download(ctx, client, module.Request{Source: vpc, Dir: "vpc"}, module.Options{})
//
// A [Client] is a [module.Source]. It makes the requests of the [module registry protocol]:
//
//	https://HOST/.well-known/terraform.json
//	MODULES/NAMESPACE/NAME/SYSTEM/versions
//	MODULES/NAMESPACE/NAME/SYSTEM/VERSION/download
//
// For programs that also need providers, [github.com/tofureg/tofureg/regclient.Client] has the same methods, rules and
// errors. A program with this package alone links no OpenPGP.
//
// Documents have at most 16 MiB and 100,000 versions. More is
// [github.com/tofureg/tofureg/failure.ErrTooLarge].
//
// [module registry protocol]: https://opentofu.org/docs/internals/module-registry-protocol/
package registry
