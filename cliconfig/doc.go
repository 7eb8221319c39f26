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
// [Config.ProviderSource] follows the configured mirrors, [Config.Registry] does not. [Config.Policy] is weaker than the
// zero [verify.Policy].
//
// Errors, warnings and printed values contain no tokens.
//
// See https://opentofu.org/docs/cli/config/config-file/.
package cliconfig
