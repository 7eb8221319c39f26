// Package workdir prepares a working directory as init of OpenTofu and Terraform does. It installs the modules and
// providers of a configuration, and writes the manifest of modules and the lock file. "tofu validate" and "terraform
// validate" then work without another init.
//
//	config, err := cliconfig.Load(cliconfig.Host())
//	dir := workdir.New(config, "path/to/configuration")
//	result, err := dir.Prepare(ctx)
//
// [Dir.Plan] returns what Prepare would do. [Dir.Read] returns the module blocks and the required providers of one
// directory, and installs nothing. State, backends and workspaces are not touched.
//
// # Configurations
//
// Configurations are hostile: modules come from others. Names of modules are identifiers, all is written through one
// [os.Root], and the local modules of a package must be in the package. The local modules of the user's own
// configuration may be anywhere. hcl/v2 has no limits, so a look at the text first refuses files of more than 2 MiB
// or 200,000 words and symbols, and deeper nesting than 250 levels.
//
// With the rules of OpenTofu, sources and versions of modules may have variables, local values and the functions of
// [github.com/zclconf/go-cty/cty/function/stdlib] that the CLI has too. Loops are not evaluated. With the rules of
// Terraform they must be constant.
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
// needed to install is checked: the CLI also refuses, for example, unknown blocks, and types of variables as in version
// 0.11.
package workdir
