// Package module finds, downloads and unpacks module packages from registries, http servers,
// git repositories and directories.
//
//	source := addrs.MustParseModuleSource("terraform-aws-modules/vpc/aws")
//	versions, err := src.ModuleVersions(ctx, source.Module)
//	version, err := versions.Newest(addrs.MustParseModuleConstraint("~> 5.0"))
//	report, err := module.Download(ctx, src, source, version, "modules/vpc", module.Options{Git: &module.Git{}})
//	fmt.Println(report.ModuleDir(), report.H1)
//
// The source is a [Source], normally a client of package
// [github.com/tofureg/tofureg/regclient]. A registry answers with a [Location] of the package.
// The public registries answer with git repositories, for which [Options.Git] permits the git
// program. [Options.Replace] permits an earlier package in the directory. [DownloadAll] fetches
// many modules at the same time.
//
// The source of a module block need not be in a registry: [ParseAddress] distinguishes modules
// in registries, locations and paths, as the CLI does.
//
// # Locations
//
// [ParseLocation] parses every form that a module source can have, except modules in
// registries and relative paths, see https://opentofu.org/docs/language/modules/sources/. This
// package fetches archives over http, git repositories with the git program if [Options.Git]
// is set, and files of this machine if [Options.AllowLocal] is set. An [Options.Fetcher], such
// as one made of go-getter, fetches from all other locations. [Location.PackageSource] is for
// tools that do without this package's downloads.
//
// Locations may point to others, by a header or a tag in a page, at most [MaxHops] times. The
// token of the registry is sent to the first location only, and only if the registry asks for
// it.
//
// # Trust
//
// The protocol has no checksums and no signatures for modules: https alone protects them.
// [Options.H1] demands the content that an earlier [Report] described. The "checksum" parameter
// of a location is verified too. An error about either wraps [checksum.ErrMismatch].
//
// # Packages
//
// A package appears in its directory completely or not at all, also if the process is killed.
// Its format is detected from its first bytes: zip, or tar compressed by gzip, xz or bzip2.
//
// A package is refused if it has a name that leads out of the directory, that is equal to
// another one on some file system, or that some operating system does not permit. It is also
// refused if it has links or devices, or if it is a bare git repository.
// [Options.SkipLinks] leaves symbolic links out. Directories named .git and .hg are left out.
// [Options.Limits] bound all sizes and counts. Files have the mode 0755 or 0644, less the
// umask. These rules are the same for all kinds of locations.
//
// # Errors
//
// Downloads and sources return an [*Error]. Its text is one line without control characters,
// credentials and query strings. Test for the kinds of errors, such as [ErrNotFound], with
// errors.Is.
package module
