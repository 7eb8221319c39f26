// Package cliconfig reads the configuration that a user has made for the OpenTofu or
// Terraform CLI, and makes the clients that behave as it says: the same tokens, mirrors,
// host overrides and directories.
//
//	cfg, err := cliconfig.Load(cliconfig.Host())
//	if err != nil {
//		return err // an *Error: everything that is wrong, with files and lines
//	}
//	src := cfg.ProviderSource() // a provider.Source: mirrors and registries as configured
//	versions, err := src.ProviderVersions(ctx, addrs.MustParseProvider("hashicorp/random"))
//
// [Config.Installer] does what "tofu init" does for providers. [Config.Registry] is a client for providers and modules without the mirrors,
// [Config.Discovery] one for services, [Config.Credentials] has the tokens. The settings
// are described at https://opentofu.org/docs/cli/config/config-file/.
//
// # Places
//
// These are the places of OpenTofu; [System.Terraform] has those of Terraform hold. One
// main file is read, the first of these that exists:
//
//	the file in TF_CLI_CONFIG_FILE, or in TERRAFORM_CONFIG
//	~/.tofurc                          on Windows %APPDATA%\tofu.rc
//	~/.terraformrc                     on Windows %APPDATA%\terraform.rc
//	$XDG_CONFIG_HOME/opentofu/tofurc   not on Windows
//
// Unless a variable names the main file, all files *.tfrc and *.tfrc.json of one
// directory follow, in the order of their names; credentials.tfrc.json, where the CLI
// saves tokens, is one of them:
//
//	~/.terraform.d                     on Windows %APPDATA%\terraform.d
//	$XDG_CONFIG_HOME/opentofu          not on Windows; if the former does not exist
//
// A main file that cannot be opened is a warning, and no other one is read in its place. If
// that directory or a file in it cannot be read, it is an error.
//
// A file whose first character is { is JSON, any other is in the native syntax. The
// plugin directories, where credentials helpers are looked for, are plugins and
// plugins/OS_ARCH in ~/.terraform.d (the directory above on Windows) and in
// $XDG_DATA_HOME/opentofu.
//
// # Precedence
//
//   - credentials: TF_TOKEN_ variables, then blocks, then the helper. A block without a
//     usable token ends the search.
//   - credentials, host, credentials_helper, and each argument of registry_protocols: the
//     file that is read last. A later block replaces an earlier one as a whole.
//   - plugin_cache_dir: the file that is read first. plugin_cache_may_break_dependency_lock_file:
//     any file that switches it on.
//   - Variables come before files: TF_PLUGIN_CACHE_DIR,
//     TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE, TF_REGISTRY_DISCOVERY_RETRY,
//     TF_REGISTRY_CLIENT_TIMEOUT (seconds). TF_PROVIDER_DOWNLOAD_RETRY gives way to
//     download_retry_count of a method; these two are for archives, retry_count and its
//     variable for the documents of registries. TF_APPEND_USER_AGENT,
//     OPENTOFU_ENFORCE_GPG_VALIDATION and OPENTOFU_ENFORCE_GPG_EXPIRATION have no
//     counterpart in files.
//   - provider_installation, credentials_helper and oci_default_credentials: one in all
//     files; oci_credentials: one for each label. [Config.OCICredential] tells the rest.
//
// [Config.TokenOrigin] tells where the token of one host stands, without the token.
//
// # Rules
//
// How far packages are trusted is the program's decision; [Config.Policy] is that of the
// CLI. The zero [verify.Policy] is stricter.
//
// Tokens appear in no error, no warning and no report, and no method returns one but
// those of [Config.Credentials] and [Config.OCICredentials]. A path is shown as it is written, without what is in the
// variables that it names. Without provider_installation, packages come from the
// implicit directories, which are terraform.d/plugins in the working directory, plugins in
// the plugin directories and those that the system has for an application's data, and for
// providers that none of them has from the registry.
//
// Where the CLI's answer depends on chance, such as two spellings of one host, the last
// one counts and there is a warning. In JSON a block may be written as an object or as a
// list of objects, also where the CLI wants a list; a comma behind the last element, and
// text behind the object, which the CLI passes over, are errors. Settings that the CLI
// does not know are a warning, methods of installation that it does not know are an error.
// A pattern whose type no provider can have, as acme/terraform-provider-x, selects none,
// which is a warning here. A repository_template must have all variables that include
// leaves open; the CLI overlooks one for which a star stands beside a single other value.
//
// A file may have [MaxFile] bytes and 64 levels of nesting, a directory [MaxFiles] files,
// and a block provider_installation 1000 methods. No file makes this package panic.
package cliconfig
