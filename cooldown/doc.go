// Package cooldown holds back versions of providers and modules until they are old enough, so that a version that an
// attacker has just published is not chosen. It is meant for 1.0.
//
//	week := cooldown.Rule{Age: 7 * 24 * time.Hour, Dates: &cooldown.Ledger{Store: store}}
//	src := &cooldown.Providers{Source: registry, Rule: week}
//	pkg, err := provider.Find(ctx, src, random, constraint, provider.Need{}) // the newest version that is a week old
//
// [Providers] and [Modules] are sources that list only versions of at least [Rule].Age. The lists name
// the other versions in [provider.Versions.Held]. If no version fits but held ones do, the error is a
// [*provider.HeldError] or a [*module.HeldError].
//
// # Dates
//
// The [age] of a version counts from when a registry first saw it, as the list states, never from a tag or
// an archive, whose dates the publisher sets. Mirrors and many registries state no dates, and a registry
// that is taken over can lie. A [Ledger] records when this program, or a server, first saw each version.
// If both are known, the later date counts. By default a version without a date is held back.
//
// # Lock files
//
// Only lists are filtered: a program that knows a version, from a lock file for example, gets its package.
// So [github.com/tofureg/tofureg/provider/install.Installer.Ensure] installs what is locked. A CLI that
// uses a server fails if the list lacks a locked version: set [Providers.Permit]. A version that was old
// enough once stays listed until the source removes it.
//
// [age]: https://github.com/tofureg/tofureg/blob/main/docs/concepts.md#age
package cooldown
