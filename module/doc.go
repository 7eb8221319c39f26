// Package module finds, downloads and unpacks module packages. They come from registries, http servers, git repositories
// and directories. It is meant for 1.0.
//
//	source := addrs.MustParseModuleSource("terraform-aws-modules/vpc/aws")
//	request := module.Request{Source: source, Constraint: addrs.MustParseModuleConstraint("~> 5.0"), Dir: "modules/vpc"}
//	report, err := module.Download(ctx, src, request, module.Options{Git: &module.Git{}})
//	fmt.Println(report.ModuleDir(), report.H1)
//
// The source is normally a [github.com/tofureg/tofureg/regclient.Client]. It returns the [Location] of a package. The
// public registries name git repositories, which need [Options.Git].
//
// The protocol has no checksums and signatures for modules: only https or SSH protects them. To demand the content of an
// earlier [Report], set [Request.H1].
//
// # Packages
//
// A [package] appears in its directory completely or not at all. Archives are zip, or tar with gzip, xz or bzip2.
//
// A package is refused if it contains symbolic links (but see [Options.KeepLinks]), hard links, devices or a bare git
// repository. Names are refused if they lead out of the directory, contain a backslash or a control character, or are
// changed by the target's file system, and so are two names that some file system treats as equal, unless only the case
// differs. Files and directories named .git and .hg are omitted. Files get the mode 0755 or 0644, less the umask.
//
// # Errors
//
// Errors are as in package [github.com/tofureg/tofureg/provider]. Those of functions that parse, and of
// [Location.WithSubdir], are an [*addrs.ParseError].
//
// [package]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#package
package module
