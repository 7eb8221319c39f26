// Package cliconfig reads the CLI configuration of the user and makes clients that follow it: with its tokens, mirrors,
// host overrides and directories. It is meant for 1.0.
//
//	config, err := cliconfig.Load(ctx, cliconfig.Host())
//	if err != nil {
//		return err // an *Error
//	}
//	installer := config.Installer(filepath.Join(project, ".terraform", "providers"))
//	result, err := installer.Ensure(ctx, requirements, lock)
//
// [Config.Installer] does for providers what "tofu init" does. [Config.ProviderSource] is the configured mirrors and
// registries, [Config.Registry] the registries alone, also for modules. [Config.Policy] is weaker than the zero
// [verify.Policy].
//
// Errors, warnings and printed values contain no tokens.
//
// Unlike the CLI, Load refuses a URL of a network mirror with a space, a query, a fragment or a user name. In JSON it
// accepts an installation method that is an object and not a list with one.
//
// See https://opentofu.org/docs/cli/config/config-file/.
package cliconfig
