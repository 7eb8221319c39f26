// Package module is what a module package is, wherever it comes from, and how to
// get one onto the disk.
//
// A registry knows modules by name and version, but it need not hold them: asked for
// one, it answers with a location, which may be an archive, a git repository, a
// bucket or something else. So a [Source] is asked three times. [Lister] tells which
// versions there are, and where the package of one is: a [Location]. [Opener] brings
// what is at an http location. Package regclient holds the source for registries,
// see https://opentofu.org/docs/internals/module-registry-protocol/.
//
// From a name to a directory with the files:
//
//	source := addrs.MustParseModuleSource("terraform-aws-modules/vpc/aws")
//	versions, err := src.ModuleVersions(ctx, source.Module)
//	version, err := versions.Newest(addrs.MustParseModuleConstraint("~> 5.0"))
//	report, err := module.Download(ctx, src, source, version, "modules/vpc", module.Options{Git: &module.Git{}})
//	fmt.Println(report.ModuleDir(), report.H1)
//
// The public registries keep no packages; they answer with git repositories, for which
// [Options.Git] permits the git program. [Options.Replace] permits that there is an
// earlier package in the directory. [DownloadAll] does all this for many modules side by
// side.
//
// The source of a module block need not be in a registry: [ParseAddress] tells a name
// in a registry, a location and a path apart, as the CLI does.
//
// # Locations
//
// [ParseLocation] reads every form that a module source in a configuration has,
// except names in registries and relative paths, see
// https://opentofu.org/docs/language/modules/sources/. The result is plain data. This
// package fetches archives over http by itself, git repositories through the git
// program if [Options.Git] allows it, and files of this machine if
// [Options.AllowLocal] does. Everything else is the job of an [Options.Fetcher], such
// as one made of go-getter.
//
// # Trust
//
// The protocol has no checksum and no signature for modules. What protects them is
// https alone, unless the caller knows better: [Options.H1] demands the content that
// an earlier [Report] has seen, and fails with a [*checksum.MismatchError] otherwise. A
// "checksum" parameter in a location is verified too.
//
// # Rules
//
// A package appears in its directory whole or not at all, also when the process is
// killed, and what it replaces stays whole until then. Archives are told by their first
// bytes, whatever their name and media type: zip, and tar compressed by gzip, xz or bzip2.
// An archive with a name that leads out of the directory, that collides with another one,
// or that some operating system cannot have, is refused whole, and so is one with links or
// devices;
// [Options.SkipLinks] leaves symbolic links out instead. A .git or .hg directory is no
// part of a package and is left out, wherever the package comes from, and a package that
// is a bare git repository itself is refused. Sizes are counted
// as bytes arrive and are written, within [Options.Limits]. Files get the mode 0755 or
// 0644, less the umask, and no others.
//
// Locations may point on to others, by a header or a tag in a page, at most
// [MaxHops] times. Credentials of the registry go nowhere but to the first, and only
// if the registry asks for that.
//
// # Errors
//
// Downloads and sources return an [*Error], whose text is one line that is safe to
// print: no control characters, no credentials, no query strings. Branch on the
// sentinels, such as [ErrNotFound], with errors.Is.
package module
