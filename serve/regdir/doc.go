// Package regdir publishes providers and modules as files of a registry. A plain web server or an object store serves
// them. It is experimental.
//
//	registry := &regdir.Registry{Store: &storage.Dir{Path: "/srv/registry"}, Host: host}
//	published, err := registry.PublishProvider(ctx, regdir.Release{
//		Provider: demo, Version: v, Keys: keys,
//		Sums: "dist/terraform-provider-demo_1.0.0_SHA256SUMS", // of goreleaser
//	})
//
// A [Registry] is also a [provider.Source] and a [module.Source], for programs and for
// [github.com/tofureg/tofureg/serve/regserve.Handler].
//
// # Files
//
//	.well-known/terraform.json
//	v1/providers/NAMESPACE/TYPE/versions
//	v1/providers/NAMESPACE/TYPE/VERSION/download/OS/ARCH
//	files/providers/NAMESPACE/TYPE/VERSION/record.json
//	files/providers/NAMESPACE/TYPE/VERSION/DIR/
//	v1/modules/NAMESPACE/NAME/SYSTEM/versions
//	v1/modules/NAMESPACE/NAME/SYSTEM/VERSION/download
//	files/modules/NAMESPACE/NAME/SYSTEM/VERSION/record.json
//	files/modules/NAMESPACE/NAME/SYSTEM/VERSION/package.tar.gz
//	files/modules/NAMESPACE/NAME/name.json
//
// DIR has SHA256SUMS, its signature and archives. The record of a version decides what the documents say; clients do
// not read it. The record of a removed version stays, and its documents without the archive. URLs in documents are
// relative, so the files may be below any path. Only terraform.json, which is written once, must be at the root of a
// host, with the media type application/json. Where it cannot be, a "host" block in the configuration of the CLI
// names the services.
//
// Other documents work with any media type. Terraform before 1.12 reads the location of a module only in a header.
// These nginx rules add the header and the media type:
//
//	location ~ ^(?:.*/)?v1/modules/([^/]+/[^/]+/[^/]+/[^/]+)/download$ {
//	    add_header X-Terraform-Get ../../../../../../files/modules/$1/package.tar.gz;
//	    default_type application/json;
//	}
//	location ~ ^(?:.*/)?v1/(?:providers|modules)/ {
//	    default_type application/json;
//	}
//
// No rule can name the archive of a module in a directory of its package, "tree.tar.gz", or in a store without locks,
// where archives are in directories with random names. [github.com/tofureg/tofureg/serve/regserve.Handler] with
// StreamModules adds the header for all modules.
//
// # Concurrency
//
// Several processes may publish and remove versions at the same time, in all stores. Documents name only complete and
// verified files. If a call fails or its process is killed, the next call for the version completes the work, and
// [Registry.Sweep] deletes what is left.
package regdir
