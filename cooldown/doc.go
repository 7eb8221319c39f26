// Package cooldown holds back versions of providers and modules until they are old enough, so that a version
// that an attacker has just published is not chosen. It is meant for 1.0.
//
//	week := cooldown.Rule{Age: 7 * 24 * time.Hour, Dates: &cooldown.Ledger{Store: store}}
//	src := &cooldown.Providers{Source: registry, Rule: week}
//	pkg, err := provider.Find(ctx, src, random, constraint, provider.Need{}) // the newest version that is a week old
//
// [Providers] and [Modules] are sources that list only versions of at least Rule.Age; the others are
// [held]. If only held versions fit, the error is a [*provider.HeldError] or [*module.HeldError].
//
// The date of a version is when a registry first saw it, as the list states, or when a [Ledger] did, if later.
//
// Packages of all versions can be opened, so [github.com/tofureg/tofureg/provider/install.Installer.Ensure]
// installs what is locked. A CLI fails if the list of a server lacks a locked version: set Providers.Permit.
//
// [held]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#age
package cooldown
