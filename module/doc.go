// Package module finds, downloads and unpacks module packages. It is meant for 1.0.
//
//	source := addrs.MustParseModuleSource("terraform-aws-modules/vpc/aws")
//	request := module.Request{Source: source, Constraint: addrs.MustParseModuleConstraint("~> 5.0"), Dir: "modules/vpc"}
//	report, err := module.Download(ctx, src, request, module.Options{Git: &module.Git{}})
//	fmt.Println(report.ModuleDir(), report.H1)
//
// The source is normally a [github.com/tofureg/tofureg/regclient.Client]. The public registries name git repositories,
// which need [Options.Git].
//
// The protocol has no checksums and signatures: only https or SSH protects modules. To demand the content of an earlier
// [Report], set [Request.H1].
//
// # Packages
//
// A [package] appears in its directory completely or not at all.
//
// A package must not contain symbolic links (but see [Options.KeepLinks]), hard links, devices or a bare git
// repository. Its names must not lead out of the directory, contain a backslash or a control character, be changed by
// the target's file system, or, apart from case, equal another name on some file system. Entries named .git and .hg
// are omitted. Files get the mode 0755 or 0644, less the umask.
//
// # Errors
//
// Functions that parse return an [*addrs.ParseError]. Other errors are as in package
// [github.com/tofureg/tofureg/provider].
//
// [package]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#package
package module
