// Package workdir prepares a working directory as init of OpenTofu and Terraform does. It installs the modules and
// providers of a configuration, and writes the manifest of modules and the lock file. "tofu validate" and "terraform
// validate" then work without another init. It is experimental.
//
//	config, err := cliconfig.Load(ctx, cliconfig.Host())
//	dir := workdir.New(config, "path/to/configuration")
//	result, err := dir.Prepare(ctx)
//
// [Dir.Plan] returns what Prepare would do. [Dir.Read] returns the module blocks, the required providers and the
// [Contents] of one directory, and the [Problems] beside them; it installs and evaluates nothing. [Dir.Evaluate] evaluates the sources
// too, and [Dir.ReadTree] reads the modules as far as they are local or installed. State, backends and workspaces are not touched.
//
// # Configurations
//
// Configurations are hostile: modules come from others. Names of modules are identifiers, all is written through one
// [os.Root], and the local modules of a package must be in the package. The local modules of the user's own
// configuration may be anywhere. hcl/v2 has no limits: [Limits] bounds the size of files, and a look at each text
// before it is parsed refuses deep nesting, long numbers and names, and templates of too many parts. A file in the
// native syntax has at most 4 MiB, and a directory 10,000 files of a configuration. Names of providers that are not ASCII
// have together about 1 MB. 10,000 calls of one directory take about 110 MB.
//
// Sources and versions of modules may have literals, templates with if, variables, local values, path.*,
// terraform.workspace, attributes and indexes, conditions with ==, !=, &&, || and !, and the functions sensitive,
// nonsensitive, lookup, join, and format with %s, %v, %d and %%. Anything else, such as another function, for, a splat
// or arithmetic, is an error that names it: write the result as a literal or set [Dir.Variables]. Only what a source or
// version needs is evaluated, and the work for all of them has a limit. A text that is put together has at most 4 KiB.
//
// Values are those of the CLI. It also refuses mistakes in what is not needed: the other result of a condition, other
// items of an object, and the rest of a type or of a value for a type. Sensitive values there do not matter either, and
// ephemeral values are only sensitive. Types are not tuples. With the rules of Terraform, variables need "const = true",
// and before version 1.15 sources and versions must be constant.
//
// Rules follow [Dir.Version]. Like init, Prepare does not read ".tfquery.hcl", whose "list" blocks need a provider,
// ".tfcomponent.hcl" of stacks, and ".tfmigrate.hcl".
//
// # Locked modules
//
// [Dir.LockModules] locks modules in a file of package [github.com/tofureg/tofureg/module/lockfile], which the CLI does
// not know. The calls in modules of others are locked too: these modules name their own versions.
//
// # Differences from the CLI
//
// A package that several modules call is fetched once. Each module gets a copy with all files; the CLI omits files
// with a leading dot in all copies but the first. Submodules and hooks of git are not fetched or run. Only what is
// needed to install is checked, and in the native syntax what variables had up to version 0.11: the CLI also refuses, for
// example, unknown blocks. A variable whose value is not needed is not checked, nor are files with values of variables, of which OpenTofu
// refuses broken ones. Hashes for other platforms, which a mirror with trust_all_hashes states, are not locked. A
// directory in a filesystem mirror must have a locked h1 if hashes are locked; for the CLI, a zh alone forbids nothing.
package workdir
